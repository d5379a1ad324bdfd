"""Forecasts under inputs: what is imposed on a system, or known in advance."""

import pickle

import numpy as np
import pytest

import kernelstream as ks

HORIZONS = (1, 5, 20)
LONGEST = max(HORIZONS)


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def switched(n: int, every: int = 10, seed: int = 0) -> np.ndarray:
    """An input that is on or off for some rows."""
    return np.repeat(rng(seed).integers(0, 2, n // every + 1), every)[:n].astype(float)


def room(U: np.ndarray, noise: float = 0.0, seed: int = 1) -> np.ndarray:
    """A room with a heater: the input of a row acts until the next."""
    shocks = noise * rng(seed).normal(size=len(U))
    x = np.zeros((len(U), 1))
    for t in range(len(U) - 1):
        x[t + 1] = 0.95 * x[t] + 0.5 * U[t] + shocks[t]
    return x


def oscillator(U: np.ndarray) -> np.ndarray:
    """A van der Pol oscillator under a force."""
    x = np.zeros((len(U), 2))
    for t in range(len(U) - 1):
        angle, speed = x[t]
        x[t + 1] = x[t] + 0.1 * np.array([speed, (1 - angle**2) * speed - angle + U[t]])
    return x


def rolling(T: np.ndarray, U: np.ndarray, origins: range, **parameters: object):
    """Errors over each horizon of forecasts along the stream, and whether intervals held."""
    model, start, errors, inside = ks.Forecaster(HORIZONS, **parameters), 0, [], []
    for last in origins:
        model.partial_fit(T[start : last + 1], inputs=U[start : last + 1])
        start = last + 1
        under = U[last : last + LONGEST]
        truth = T[[last + h for h in HORIZONS]]
        errors.append(model.forecast(inputs=under)[:, 0] - truth)
        ends = model.forecast_interval(inputs=under)[:, 0]
        inside.append((ends[..., 0] <= truth) & (truth <= ends[..., 1]))
    return np.abs(errors), np.array(inside)


@pytest.mark.parametrize("scale", [1.0, 1e-6, 1e6])
def test_a_linear_system_without_noise_is_forecast_exactly(scale: float) -> None:
    U = switched(400)
    T = room(U)
    errors, _ = rolling(T, scale * U, range(200, 370, 20))
    assert errors.max() < 1e-6 * np.ptp(T)


@pytest.mark.parametrize("order", ["switched", "rising", "sorted blocks", "nearly constant"])
def test_forecasts_reach_the_noise_in_any_order_of_inputs(order: str) -> None:
    n, noise = 1200, 0.05
    U = {
        "switched": switched(n),
        "rising": np.linspace(0.0, 1.0, n) + 0.3 * rng(3).normal(size=n),
        "sorted blocks": np.sort(rng(3).uniform(size=(n // 50, 50)), axis=1).ravel(),
        "nearly constant": 1.0 + 0.01 * rng(3).normal(size=n),
    }[order]
    errors, inside = rolling(room(U, noise), U, range(300, n - LONGEST, 20))
    # The variance that no forecast can explain.
    floor = [noise * np.sqrt(sum(0.95 ** (2 * k) for k in range(h))) for h in HORIZONS]
    ratio = np.sqrt((errors[:, :, 0] ** 2).mean(axis=0)) / floor
    assert ratio.max() < 1.35, ratio
    assert inside.mean() > 0.8


def test_a_nonlinear_system_is_forecast_as_by_the_operator_alone() -> None:
    U = rng().uniform(-1.0, 1.0, 900)
    T = oscillator(U)
    model, made, alone, truth = ks.Forecaster(HORIZONS), [], [], []
    model.partial_fit(T[:500], inputs=U[:500])
    for last in range(500, 880, 20):
        model.partial_fit(T[last : last + 1], inputs=U[last : last + 1])
        under = U[last : last + LONGEST]
        made.append(model.forecast(inputs=under)[:, 0])
        window = T[last - 2 : last + 1]
        alone.append(model.operator_.predict(window, HORIZONS, inputs=under[None, :, None])[:, 0])
        truth.append(T[[last + h for h in HORIZONS]])
        model.partial_fit(T[last + 1 : last + 20], inputs=U[last + 1 : last + 20])
    mixed, own = (np.median(np.abs(np.array(e) - truth), axis=(0, 2)) for e in (made, alone))
    assert (mixed < 1.1 * own).all(), (mixed, own)
    blind = ks.Forecaster(HORIZONS).fit(T[:500]).forecast(T[480:860])[:, 20:]
    without = [blind[i, :340] - T[500 + h : 840 + h] for i, h in enumerate(HORIZONS)]
    assert (mixed < 0.1 * np.median(np.abs(without), axis=(1, 2))).all()


def test_an_input_of_the_same_row_belongs_to_the_row_before() -> None:
    n = 700
    t, load = np.arange(n), rng(4).normal(size=n)
    T = 10 + 5 * np.sin(2 * np.pi * t / 24) + 3 * load + 0.1 * rng(5).normal(size=n)
    known = 600
    model = ks.Forecaster(HORIZONS).fit(T[: known - 1, None], inputs=load[1:known])
    made = model.forecast(inputs=load[known - 1 : known - 1 + LONGEST])[:, 0, 0]
    assert np.abs(made - T[[known - 2 + h for h in HORIZONS]]).max() < 0.5


@pytest.mark.parametrize("name", ["room", "oscillator"])
@pytest.mark.parametrize("size", [1, 7, 64])
def test_the_same_bits_in_any_chunks_and_through_files(name: str, size: int, tmp_path) -> None:
    U = np.column_stack([switched(180), rng(6).normal(size=180)])
    T = room(U[:, 0], 0.1) if name == "room" else oscillator(U[:, 0])
    whole = ks.Forecaster((1, 4)).partial_fit(T[:90], inputs=U[:90])
    whole.partial_fit(T[90:150], inputs=U[90:150], continued=False)
    pieces = ks.Forecaster((1, 4))
    for first, last in [(0, 90), (90, 150)]:
        for start in range(first, last, size):
            stop = min(start + size, last)
            new = start == first == 90
            pieces.partial_fit(T[start:stop], inputs=U[start:stop], continued=not new)
        pieces = pickle.loads(pickle.dumps(pieces))
    pieces.save(tmp_path / "model")
    pieces = ks.load(tmp_path / "model")
    assert pieces.n_inputs_ == 2
    assert pieces._core.to_bytes() == whole._core.to_bytes()
    under = U[149:153]
    np.testing.assert_array_equal(pieces.forecast(inputs=under), whole.forecast(inputs=under))
    np.testing.assert_array_equal(
        pieces.forecast_interval(inputs=under), whole.forecast_interval(inputs=under)
    )


def test_a_trajectory_may_begin_with_one_state() -> None:
    U = switched(300)
    T = room(U, 0.1)
    one = ks.Forecaster((1, 4)).partial_fit(T[:200], inputs=U[:200])
    other = pickle.loads(pickle.dumps(one))
    one.partial_fit(T[200:230], inputs=U[200:230], continued=False)
    other.partial_fit(T[200:201], inputs=U[200:201], continued=False)
    other.partial_fit(T[201:230], inputs=U[201:230])
    assert one._core.to_bytes() == other._core.to_bytes()


def test_forecasts_from_states_are_those_along_the_stream() -> None:
    U = switched(400, seed=7)
    T = room(U, 0.1)
    model = ks.Forecaster((1, 4)).partial_fit(T[:300], inputs=U[:300])
    latest = model.forecast(inputs=U[299:303])
    overlapping = model.forecast(T[280:300], inputs=U[280:303])
    assert overlapping.shape == (2, 20, 1)
    np.testing.assert_allclose(overlapping[:, -1:], latest, rtol=1e-12)
    # Beyond the end they continue from all that was learned.
    beyond = model.forecast(T[290:330], inputs=U[290:333])
    np.testing.assert_allclose(beyond[:, 9:10], latest, rtol=1e-12)
    own = model.forecast(T[310:340], inputs=U[310:343])
    truth = np.stack([T[319 + h : 340 + h] for h in (1, 4)])
    assert np.sqrt(((own[:, 9:] - truth) ** 2).mean(axis=(1, 2))).max() < 0.35
    both = model.forecast(
        np.stack([T[310:340], T[320:350]]), inputs=np.stack([U[310:343], U[320:353]])[..., None]
    )
    np.testing.assert_array_equal(both[:, 0], own[:, -1])


def test_an_input_changed_in_the_last_row_counts() -> None:
    U = switched(300)
    T = room(U)
    model = ks.Forecaster((1, 3)).fit(T, inputs=U)
    on, off = (model.forecast(inputs=np.full(3, value))[:, 0, 0] for value in (1.0, 0.0))
    np.testing.assert_allclose(on - off, [0.5, 0.5 * (1 + 0.95 + 0.95**2)], rtol=1e-4)


def test_an_input_that_has_never_acted_changes_nothing() -> None:
    T = room(switched(300), 0.1)
    without = ks.Forecaster((1, 4)).fit(T).forecast()
    model = ks.Forecaster((1, 4)).fit(T, inputs=np.zeros(300))
    made = model.forecast(inputs=np.zeros(4))
    np.testing.assert_allclose(made, without, atol=0.2 * T.std())
    np.testing.assert_allclose(model.forecast(inputs=np.ones(4)), made, atol=0.2 * T.std())


def test_every_wrong_input_is_refused_by_name_and_changes_nothing() -> None:
    U = np.column_stack([switched(120), rng().normal(size=120)])
    T = room(U[:, 0], 0.1)
    model = ks.Forecaster((1, 4)).partial_fit(T[:100], inputs=U[:100])
    before = model._core.to_bytes()
    bad = U[100:110].copy()
    bad[3, 1] = np.nan
    for inputs, message in [
        (None, "inputs"),
        (bad, "row 3"),
        (U[100:109], "one is needed for each row"),
        (U[100:110, :1], "shape"),
    ]:
        with pytest.raises(ValueError, match=message):
            model.partial_fit(T[100:110], inputs=inputs)
    for inputs, message in [
        (None, r"inputs=\.\.\. of shape \(4, 2\)"),
        (U[99:102], "inputs have 3 rows, but 4 are needed"),
        (U[99:103, 0], "shape"),
        (bad[:4], "row 3"),
    ]:
        with pytest.raises(ValueError, match=message):
            model.forecast(inputs=inputs)
        with pytest.raises(ValueError, match=message):
            model.forecast_interval(inputs=inputs)
    with pytest.raises(ValueError, match="without"):
        ks.Forecaster().fit(T).forecast(inputs=U[:1])
    with pytest.raises(ValueError, match="lag must be 1"):
        ks.Forecaster(operator=ks.Koopman(n_inputs=2, lag=2)).fit(T, inputs=U[:120])
    with pytest.raises(ValueError, match="candidates"):
        ks.Forecaster(candidates=False).fit(T, inputs=U)
    with pytest.raises(ValueError, match="at most 64 numbers"):
        ks.Forecaster().fit(rng().normal(size=(120, 65)), inputs=U)
    with pytest.raises(ValueError, match="without inputs"):
        model.skill(T)
    assert model._core.to_bytes() == before


def test_frames_with_gaps_in_their_times_split_inputs_too() -> None:
    pd = pytest.importorskip("pandas")
    U = switched(200)
    T = room(U, 0.1)
    times = pd.date_range("2026-01-01", periods=400, freq="h")
    times = times[:120].append(times[200:280])
    frame = pd.DataFrame({"room": T[:, 0]}, index=times)
    one = ks.Forecaster((1, 4)).fit(frame, inputs=U)
    other = ks.Forecaster((1, 4)).fit([T[:120], T[120:]], inputs=[U[:120], U[120:]])
    np.testing.assert_array_equal(one.forecast(inputs=U[:4]), other.forecast(inputs=U[:4]))


@pytest.mark.parametrize("inputs", [1, 2, 3, 30])
def test_operators_with_inputs_survive_files(inputs: int, tmp_path) -> None:
    U = rng().normal(size=(80, inputs))
    T = room(U[:, 0], 0.1)
    model = ks.Koopman(n_inputs=inputs, n_delays=1).partial_fit_trajectory(T, inputs=U)
    model.save(tmp_path / "model")
    again = ks.load(tmp_path / "model")
    ask = (T[-2:], 1)
    np.testing.assert_array_equal(
        again.predict(*ask, inputs=U[-1:]), model.predict(*ask, inputs=U[-1:])
    )
