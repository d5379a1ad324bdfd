"""Mixed forecasts: against the formulas in numpy, and beside the trivial ones on a field."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from scipy import stats
from sklearn.base import clone

import kernelstream as ks

KINDS = ("operator", "increments", "linear", "modes", "persistence", "mean")

LINEAR = 1e-4  # regularization of what is linear in the state
GOLDEN = (np.sqrt(5) - 1) / 2


class Rule:
    """Weights by regrets bounded below, from the definition; NaN is no forecast."""

    def __init__(self, size: int) -> None:
        self.weights = np.full(size, 1 / size)
        self.regret, self.squares, self.largest = np.zeros((3, size))
        self.count = 0

    def mean(self, made: np.ndarray) -> np.ndarray:
        there = ~np.isnan(made).any(axis=tuple(range(1, made.ndim)))
        w = self.weights[there] if self.weights[there].sum() > 0 else np.ones(there.sum())
        return (w / w.sum()) @ made[there]

    def learn(self, step: np.ndarray) -> None:
        self.count += 1
        keep = max(1 - 1 / self.count, 0.5)
        self.regret, self.squares, self.largest = (
            keep**power * values
            for power, values in ((1, self.regret), (2, self.squares), (2, self.largest))
        )
        step = np.nan_to_num(step)
        self.squares += step**2
        self.largest = np.maximum(self.largest, step**2)
        scale = self.squares + self.largest
        self.regret = np.maximum(self.regret + step, -np.sqrt(scale))
        heard = np.divide(
            np.maximum(self.regret, 0), scale, out=np.zeros(len(scale)), where=scale > 0
        )
        self.weights = (
            heard / heard.sum() if heard.sum() > 0 else np.full(len(heard), 1 / len(heard))
        )


class Size:
    """The geometric mean of the latest 50 errors; of the latest ten where that is another."""

    def __init__(self) -> None:
        self.usual = self.latest = -700.0
        self.met = 0

    def follow(self, error: float) -> None:
        self.met += 1
        error = max(error, self.usual - 4)
        self.usual += (error - self.usual) / min(self.met, 50)
        self.latest += (error - self.latest) / min(self.met, 10)
        if abs(self.usual - self.latest) > 1.5:
            self.usual, self.met = self.latest, 5

    def density(self, error: float) -> float:
        """That of Gaussian errors, with rare ones that are large."""
        deviation = np.exp(self.usual + 0.635181)
        return stats.t.pdf(error / deviation, 10) / deviation if self.met else np.nan


class Odds:
    """How probable each is by the size of its own errors; the weight is that by the square."""

    def __init__(self, size: int, count: float) -> None:
        self.count, self.sizes = count, [Size() for _ in range(size)]
        self.probable = np.full(size, 1 / 3 / (size - 2))
        self.probable[[0, 1 + KINDS.index("persistence")]] = 1 / 3
        self.weights = self.probable

    mean = Rule.mean

    def hear(self, made: np.ndarray, truth: float) -> None:
        errors = np.abs(made - truth)
        density = np.array([s.density(e) for s, e in zip(self.sizes, errors, strict=True)])
        known = ~np.isnan(density)
        if known.any():
            mean = np.average(density[known], weights=self.probable[known])
            p = self.probable * np.where(known, density / mean, 1.0) ** self.count
            self.probable = (1 - 1e-4) * p / p.sum() + 1e-4 / len(p)
        for size, error in zip(self.sizes, errors, strict=True):
            if error > 0:
                size.follow(np.log(error))
        precise = [np.exp(-2 * size.usual) if size.met else 0.0 for size in self.sizes]
        self.weights = self.probable * precise / (self.probable @ precise)


class Horizon:
    """One horizon's mixture: a rule for all components, and odds of each one, which hear it."""

    def __init__(self, width: int, horizon: int) -> None:
        self.common = Rule(len(KINDS))
        self.own = [Odds(len(KINDS) + 1, 0.25 / min(horizon, 10)) for _ in range(width)]

    def mix(self, made: np.ndarray) -> np.ndarray:
        experts = np.vstack([self.common.mean(made), made])
        return np.array([odds.mean(experts[:, c]) for c, odds in enumerate(self.own)])

    def learn(self, made: np.ndarray, state: np.ndarray, counts: np.ndarray) -> None:
        common = self.common.mean(made)
        for c, odds in enumerate(self.own):
            odds.hear(np.append(common[c], made[:, c]), state[c])
        self.common.learn(np.sum(counts * (common - state) * (common - made), axis=1))

    @property
    def weights(self) -> np.ndarray:
        parts = [odds.weights[0] * self.common.weights + odds.weights[1:] for odds in self.own]
        return np.transpose(parts)


class Reference:
    """The mixtures from their definition; states one after the other."""

    def __init__(self, horizons: tuple[int, ...], regularization: float) -> None:
        self.horizons, self.regularization = horizons, regularization
        self.states: list[np.ndarray] = []
        self.seen: list[np.ndarray] = []
        self.examples: list[tuple[np.ndarray, np.ndarray]] = []
        self.came: dict[int, list] = {h: [] for h in horizons}
        self.made: list[dict[int, np.ndarray]] = []
        self.mixtures = {h: Horizon(2, h) for h in horizons}

    def begin(self) -> None:
        self.states, self.made = [], []

    def judge(self, state: np.ndarray) -> None:
        for h in self.horizons:
            made = self.made[-h].get(h) if len(self.made) >= h else None
            if made is not None:
                variance = np.var(self.seen, axis=0)
                self.mixtures[h].learn(made, state, variance.mean() / variance)

    def learn(self, model: ks.Koopman, state: np.ndarray) -> None:
        """Linear forecasts learn what came over each horizon, increments when the last has."""
        self.states.append(state)
        for h in self.horizons:
            if len(self.states) > h and self.ready(model):
                before = self.states[-1 - h]
                self.came[h].append((np.append(1.0, before), state - before))
        longest = max(self.horizons)
        if len(self.states) > longest and self.ready(model):
            past = self.states[-1 - longest :]
            later = np.concatenate([past[h] - past[0] for h in self.horizons])
            self.examples.append((model.transform(past[:1])[0], later))

    def forecasts(self, model: ks.Koopman, state: np.ndarray) -> dict[int, np.ndarray]:
        size, d = model.n_stored_, len(state)
        added = np.full((len(self.horizons), 2, d), np.nan)
        if self.examples:
            Z = [np.pad(z, (0, size - len(z))) for z, _ in self.examples]
            z = model.transform([state])[0]
            found = ridge(Z, [later for _, later in self.examples], z, self.regularization)
            added[:, 0] = found.reshape(-1, d)
        for k, h in enumerate(self.horizons):
            if self.came[h]:
                added[k, 1] = ridge(*zip(*self.came[h], strict=True), np.append(1.0, state), LINEAR)
        low, high = np.min(self.seen, axis=0), np.max(self.seen, axis=0)
        near = (low - (high - low) / 2, high + (high - low) / 2)
        mean, none = np.mean(self.seen, axis=0), np.full(d, np.nan)
        made = {
            h: np.array([model.predict([state], h)[0], *(state + part), none, state, mean])
            for h, part in zip(self.horizons, added, strict=True)
        }
        return {h: np.clip(forecasts, *near) for h, forecasts in made.items()}

    @staticmethod
    def ready(model: ks.Koopman) -> bool:
        return model.__sklearn_is_fitted__() and model.n_seen_ > 1

    def meet(self, model: ks.Koopman, state: np.ndarray) -> None:
        """Judge, then forecast from a state of which the model has learned nothing."""
        self.judge(state)
        self.seen.append(state)
        due = [h for h in self.horizons if max(h // 10, 1) * (len(self.seen) * GOLDEN % 1) < 1]
        ready = self.ready(model)
        made = self.forecasts(model, state) if ready else {}
        if ready or self.made:
            self.made.append({h: made[h] for h in due} if ready else {})


def ridge(A: Sequence, Y: Sequence, x: np.ndarray, regularization: float) -> np.ndarray:
    """Forecast by least squares."""
    normal = np.transpose(A) @ A + regularization * np.eye(len(x))
    return x @ np.linalg.solve(normal, np.transpose(A) @ Y)


def spiral(count: int, seed: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((count, 2))
    turn = 0.97 * np.array([[np.cos(0.3), np.sin(0.3)], [-np.sin(0.3), np.cos(0.3)]])
    for t in range(1, count):
        x[t] = x[t - 1] @ turn + 0.2 * x[t]
    return x


def test_weights_and_forecasts_are_those_of_the_formulas() -> None:
    horizons = (3, 1, 23)
    operator = ks.Koopman(ks.Gaussian(2.0), ks.ALD(1e-2), ks.Ridge(0.1))
    forecaster = ks.Forecaster(horizons, operator, candidates=False)
    model = operator
    reference = Reference(horizons, 0.1)
    for seed in (0, 1):
        reference.begin()
        for i, state in enumerate(spiral(60, seed)):
            reference.meet(model, state)
            if seed == i == 0:
                forecaster.partial_fit([state])
                model = forecaster.operator_
            else:
                forecaster._core.follow([state[None]], 1, i > 0)
            reference.learn(model, state)
    expected = np.array([reference.mixtures[h].weights for h in horizons])
    found = np.transpose([forecaster.forecast_weights_[kind] for kind in KINDS], (1, 0, 2))
    np.testing.assert_allclose(found, expected, atol=1e-6)
    np.testing.assert_allclose(found.sum(axis=1), 1.0)
    assert np.ptp(expected) > 0.3
    made = reference.forecasts(model, state)
    mixed = [reference.mixtures[h].mix(made[h]) for h in horizons]
    np.testing.assert_allclose(forecaster.forecast()[:, 0], mixed, atol=1e-6)
    np.testing.assert_array_equal(forecaster.forecast([state]), forecaster.forecast())


def field(hours: int, seed: int = 0) -> np.ndarray:
    """A temperature about 280 K: a daily cycle, waves that travel and decay, and noise."""
    rng, t = np.random.default_rng(seed), np.arange(hours)
    y, x = np.mgrid[0:1:9j, 0:1:13j]
    T = 280.0 + 3.0 * np.cos(2 * np.pi * t / 24)[:, None, None] * (1 - y / 2) + 6.0 * (y - 0.5)
    for kx, ky, turn in ((1, 1, 0.08), (2, 1, 0.15), (3, 2, 0.3)):
        wave = np.zeros(hours, dtype=complex)
        for i in range(1, hours):
            noise = 0.25 * rng.standard_normal(2) @ [1, 1j]
            wave[i] = 0.985 * np.exp(1j * turn) * wave[i - 1] + noise
        T = T + (wave[:, None, None] * np.exp(2j * np.pi * (kx * x + ky * y))).real
    return (T + 0.2 * rng.standard_normal(T.shape)).reshape(hours, -1)


def test_a_field_in_kelvin_is_forecast_no_worse_than_by_the_trivial_forecasts() -> None:
    T, n = field(500), 300
    long = ks.Gaussian(29.0)
    operator = ks.Koopman(long, learner=ks.Ridge(0.01), scale=True)
    model = ks.Forecaster((1, 6, 24), operator).fit(T[:n])
    made = []
    for state in T[n:]:
        made.append(model.forecast()[:, 0])
        model.partial_fit([state])
    assert T.min() - 2.0 < np.min(made) < np.max(made) < T.max() + 2.0
    mean = T[:n].mean(axis=0)
    modes = np.linalg.svd(T[:n] - mean, full_matrices=False)[2][:10]
    Z = (T - mean) @ modes.T
    A = np.linalg.lstsq(Z[: n - 1], Z[1:n], rcond=None)[0]
    for k, h in enumerate((1, 6, 24)):
        truth, start = T[n - 1 + h :], slice(n - 1, len(T) - h)
        linear = mean + Z[start] @ np.linalg.matrix_power(A, h) @ modes
        forecasts = np.array(made)[: len(truth), k]
        error = np.linalg.norm(forecasts - truth)
        assert error < 0.95 * min(np.linalg.norm(one - truth) for one in (T[start], mean))
        assert error < 1.05 * np.linalg.norm(linear - truth)


def test_wide_states_are_forecast_in_leading_modes() -> None:
    T, n = field(400), 300
    with pytest.warns(UserWarning, match="nearly every one"):
        model = ks.Forecaster([1, 6]).fit(T[:n])
    ahead = model.forecast(T[n:])
    for k, h in enumerate((1, 6)):
        truth = T[n + h :]
        error = np.linalg.norm(ahead[k][: len(truth)] - truth)
        trivial = T[n:][: len(truth)], T[:n].mean(axis=0)
        assert error < 0.97 * min(np.linalg.norm(one - truth) for one in trivial)
        assert model.forecast_weights_["modes"][k].mean() > 0.5


@pytest.mark.filterwarnings("ignore::kernelstream.exceptions.KernelstreamWarning")
@pytest.mark.parametrize("candidates", [True, False])
def test_chunks_and_files_do_not_matter(tmp_path, candidates) -> None:
    T = field(150)[:, :20]
    parameters = {"horizons": [1, 5], "operator": ks.Koopman(n_delays=2, lag=2)}
    parameters["candidates"] = candidates
    whole = ks.Forecaster(**parameters).partial_fit([T[:90], T[90:]])
    pieces = ks.Forecaster(**parameters)
    for i, piece in enumerate(np.split(T, [3, 4, 60, 90, 120])):
        pieces.partial_fit(piece, continued=i != 4).save(tmp_path / "model")
        pieces = ks.load(tmp_path / "model")
    np.testing.assert_array_equal(pieces.forecast(), whole.forecast())
    assert pieces._core.to_bytes() == whole._core.to_bytes()
    windows = T[100:110]
    assert whole.forecast(windows).shape == (2, 10 if candidates else 8, 20)


def test_experts_that_cannot_be_mixed_are_refused() -> None:
    T = field(80)[:, :3]
    with pytest.raises(ValueError, match="horizons must be"):
        ks.Forecaster([]).fit(T)
    with pytest.raises(ValueError, match="inputs"):
        ks.Forecaster([1], ks.Koopman(n_inputs=1)).fit(T)
    with pytest.raises(ValueError, match="horizons must be"):
        ks.Forecaster([2, 2]).fit(T)
    with pytest.raises(TypeError, match="operator must be a Koopman"):
        ks.Forecaster(operator=ks.Ridge()).fit(T)
    bad = T.copy()
    bad[50, 1] = np.inf
    model = ks.Forecaster([2]).fit(T)
    before = model._core.to_bytes()
    with pytest.raises(ValueError, match="row 50"):
        model.partial_fit(bad)
    assert model._core.to_bytes() == before


def test_a_forecaster_is_cloned_and_saved_with_its_operator(tmp_path) -> None:
    T = field(80)[:, :3]
    model = ks.Forecaster(4, ks.Koopman(ks.Gaussian(3.0), scale=True, time_step=0.5), period=24)
    again = clone(model).set_params(operator__lag=2)
    assert (again.operator.lag, model.operator.lag) == (2, 1)
    np.testing.assert_array_equal(again.times_, [4.0])
    assert not hasattr(again.fit(T), "merge")
    again.save(tmp_path / "model")
    restored = ks.Forecaster.load(tmp_path / "model")
    assert repr(restored) == repr(again)
    np.testing.assert_array_equal(restored.forecast(), again.forecast())
    operator = restored.operator_
    np.testing.assert_array_equal(operator.eigenvalues_, again.operator_.eigenvalues_)
    alone = ks.Koopman(ks.Gaussian(3.0), scale=True, time_step=0.5, lag=2).fit(T)
    np.testing.assert_allclose(operator.predict(T, 4), alone.predict(T, 4), rtol=1e-9)


@pytest.mark.filterwarnings("ignore::kernelstream.exceptions.KernelstreamWarning")
@pytest.mark.parametrize("order", ["sorted", "duplicated"])
def test_records_in_an_order_are_forecast_alike_in_any_chunks(order: str) -> None:
    T = spiral(200, 0)
    T = np.sort(T, axis=0) if order == "sorted" else np.repeat(T, 3, axis=0)[:200]
    whole = ks.Forecaster([1, 5]).partial_fit(T)
    pieces = ks.Forecaster([1, 5])
    for part in np.split(T, [1, 2, 30, 31, 150]):
        pieces.partial_fit(part)
    np.testing.assert_allclose(pieces.forecast(), whole.forecast(), rtol=1e-9, atol=1e-9)
    assert np.abs(whole.forecast() - T[-1]).max() < np.ptp(T)
