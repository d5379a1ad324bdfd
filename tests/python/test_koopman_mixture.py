"""Mixed forecasts: against the formulas in numpy, and beside the trivial ones on a field."""

from __future__ import annotations

import numpy as np
import pytest

import kernelstream as ks

KINDS = ("operator", "increments", "persistence", "mean")


class Reference:
    """The mixture of one horizon from its definition; states one after the other."""

    def __init__(self, horizons: tuple[int, ...], regularization: float) -> None:
        self.horizons, self.regularization = horizons, regularization
        self.states: list[np.ndarray] = []
        self.seen: list[np.ndarray] = []
        self.examples: list[tuple[np.ndarray, np.ndarray]] = []
        self.made: list[dict[int, np.ndarray]] = []
        self.weights = {h: np.full(4, 0.25) for h in horizons}
        self.regrets = {h: np.zeros((3, 4)) for h in horizons}

    def begin(self) -> None:
        self.states, self.made = [], []

    def judge(self, state: np.ndarray) -> None:
        for h in self.horizons:
            made = self.made[-h].get(h) if len(self.made) >= h else None
            if made is None:
                continue
            w, (regret, squares, largest) = self.weights[h], self.regrets[h]
            mixed = w @ made
            variance = np.var(self.seen, axis=0)
            counts = variance.mean() / variance
            step = np.sum(counts * (mixed - state) * (mixed - made), axis=1)
            squares += step**2
            largest[:] = np.maximum(largest, step**2)
            regret[:] = np.maximum(regret + step, -np.sqrt(squares + largest))
            heard = np.maximum(regret, 0.0) / (squares + largest)
            self.weights[h] = heard / heard.sum() if heard.sum() > 0 else np.full(4, 0.25)

    def learn(self, model: ks.Koopman, state: np.ndarray) -> None:
        self.states.append(state)
        self.seen.append(state)
        longest = max(self.horizons)
        if len(self.states) > longest:
            past = self.states[-1 - longest :]
            later = np.concatenate([past[h] - past[0] for h in self.horizons])
            self.examples.append((model.transform(past[:1])[0], later))

    def forecasts(self, model: ks.Koopman, state: np.ndarray) -> dict[int, np.ndarray]:
        size, d = model.n_stored_, len(state)
        added = np.zeros(d * len(self.horizons))
        if self.examples:
            Z = np.array([np.pad(z, (0, size - len(z))) for z, _ in self.examples])
            Y = np.array([later for _, later in self.examples])
            ridge = Z.T @ Z + self.regularization * np.eye(size)
            added = model.transform([state])[0] @ np.linalg.solve(ridge, Z.T @ Y)
        parts = np.split(added, len(self.horizons))
        low, high = np.min(self.seen, axis=0), np.max(self.seen, axis=0)
        near = (low - (high - low) / 2, high + (high - low) / 2)
        mean = np.mean(self.seen, axis=0)
        made = {
            h: np.array([model.predict([state], h)[0], state + part, state, mean])
            for h, part in zip(self.horizons, parts, strict=True)
        }
        return {h: np.clip(forecasts, *near) for h, forecasts in made.items()}

    def follow(self, model: ks.Koopman, state: np.ndarray) -> None:
        self.judge(state)
        self.learn(model, state)
        due = [h for h in self.horizons if len(self.seen) % max(h // 4, 1) == 0]
        ready = model.__sklearn_is_fitted__() and model.n_seen_ > 0
        made = self.forecasts(model, state) if ready else {}
        if ready or self.made:
            self.made.append({h: made[h] for h in due} if ready else {})


def spiral(count: int, seed: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((count, 2))
    turn = 0.97 * np.array([[np.cos(0.3), np.sin(0.3)], [-np.sin(0.3), np.cos(0.3)]])
    for t in range(1, count):
        x[t] = x[t - 1] @ turn + 0.2 * x[t]
    return x


def test_weights_and_forecasts_are_those_of_the_formulas() -> None:
    horizons = (3, 1, 8)
    model = ks.Koopman(ks.Gaussian(2.0), ks.ALD(1e-2), ks.Ridge(0.1), horizons=horizons)
    reference = Reference(horizons, 0.1)
    for seed in (0, 1):
        reference.begin()
        for i, state in enumerate(spiral(60, seed)):
            if seed == i == 0:
                model.partial_fit_trajectory([state], continued=True)
            else:
                model._core.follow([state[None]], 1, i > 0)
            reference.follow(model, state)
    expected = np.array([reference.weights[h] for h in horizons])
    found = np.column_stack([model.forecast_weights_[kind] for kind in KINDS])
    np.testing.assert_allclose(found, expected, atol=1e-6)
    assert np.ptp(expected) > 0.3
    made = reference.forecasts(model, state)
    mixed = [w @ made[h] for w, h in zip(expected, horizons, strict=True)]
    np.testing.assert_allclose(model.forecast()[:, 0], mixed, atol=1e-6)
    np.testing.assert_array_equal(model.forecast([state]), model.forecast())


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
    model = ks.Koopman(long, learner=ks.Ridge(0.01), standardize=True, horizons=(1, 6, 24))
    model.fit_trajectory(T[:n])
    made = []
    for state in T[n:]:
        made.append(model.forecast()[:, 0])
        model.partial_fit_trajectory([state], continued=True)
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


def test_chunks_and_files_do_not_matter(tmp_path) -> None:
    T = field(150)[:, :20]
    parameters = {"horizons": [1, 5], "n_delays": 2, "lag": 2}
    whole = ks.Koopman(**parameters).partial_fit_trajectory([T[:90], T[90:]])
    pieces = ks.Koopman(**parameters)
    for i, piece in enumerate(np.split(T, [3, 4, 60, 90, 120])):
        pieces.partial_fit_trajectory(piece, continued=i != 4).save(tmp_path / "model")
        pieces = ks.load(tmp_path / "model")
    np.testing.assert_array_equal(pieces.forecast(), whole.forecast())
    assert pieces._core.to_bytes() == whole._core.to_bytes()
    windows = T[100:110]
    assert whole.forecast(windows).shape == (2, 8, 20)


def test_what_cannot_be_mixed_is_refused() -> None:
    T = field(80)[:, :3]
    with pytest.raises(ValueError, match="horizons must be"):
        ks.Koopman().fit(T).forecast()
    with pytest.raises(ValueError, match="inputs"):
        ks.Koopman(n_inputs=1, horizons=[1]).fit(T, inputs=T[:, :1])
    with pytest.raises(ValueError, match="horizons must be"):
        ks.Koopman(horizons=[2, 2]).fit(T)
    model = ks.Koopman(horizons=[2]).fit(T[:-1], T[1:])
    with pytest.raises(ValueError, match="trajectory"):
        model.forecast()
    with pytest.raises(ValueError, match="order"):
        model.merge(ks.Koopman(horizons=[2]).fit(T))
    bad = T.copy()
    bad[50, 1] = np.inf
    model = ks.Koopman(horizons=[2]).fit(T)
    before = model._core.to_bytes()
    with pytest.raises(ValueError, match="row 50"):
        model.partial_fit_trajectory(bad, continued=True)
    assert model._core.to_bytes() == before
