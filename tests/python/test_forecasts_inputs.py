"""Forecasts under inputs: what is imposed on a system, or known in advance."""

import pickle

import numpy as np
import pytest

import kernelstream as ks
from kernelstream.exceptions import DataError, KernelstreamWarning, SentinelWarning

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


def test_a_nonlinear_system_is_forecast_nearly_as_by_the_operator_alone() -> None:
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
    assert (mixed < 1.5 * own).all(), (mixed, own)
    blind = ks.Forecaster(HORIZONS).fit(T[:500]).forecast(T[480:860])[:, 20:]
    without = [blind[i, :340] - T[500 + h : 840 + h] for i, h in enumerate(HORIZONS)]
    speed = np.median(np.abs(np.array(made) - truth)[..., 1], axis=0)
    assert (speed < 0.1 * np.median(np.abs(without)[..., 1], axis=1)).all()


def test_an_input_of_the_same_row_belongs_to_the_row_before() -> None:
    n = 700
    t, load = np.arange(n), rng(4).normal(size=n)
    T = 10 + 5 * np.sin(2 * np.pi * t / 24) + 3 * load + 0.1 * rng(5).normal(size=n)
    known = 600
    T = T[:, None]
    model = ks.Forecaster(HORIZONS).fit(T[: known - 1], inputs=load[1:known])
    # From the last state, whose input is not learned yet.
    made = model.forecast(
        T[known - 2 : known], inputs=[load[known - 1], *load[known : known + LONGEST]]
    )[:, -1, 0]
    assert np.abs(made - T[[known - 1 + h for h in HORIZONS], 0]).max() < 0.5


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
    with pytest.warns(KernelstreamWarning, match="nothing is known of its effect"):
        np.testing.assert_array_equal(model.forecast(inputs=np.ones(4)), made)


def test_every_wrong_input_is_refused_by_name_and_changes_nothing() -> None:
    U = np.column_stack([switched(120), rng().normal(size=120)])
    T = room(U[:, 0], 0.1)
    model = ks.Forecaster((1, 4)).partial_fit(T[:100], inputs=U[:100])
    before = model._core.to_bytes()
    bad = U[100:110].copy()
    bad[3, 1] = np.nan
    for inputs, message in [
        (None, "pass those of each state"),
        (bad, "inputs contains NaN at row 3, column 1"),
        (U[100:109], "one is needed for each row"),
        (U[100:110, :1], "shape"),
    ]:
        with pytest.raises(ValueError, match=message):
            model.partial_fit(T[100:110], inputs=inputs)
    for inputs, message in [
        (None, r"inputs=\.\.\. of shape \(4, 2\)"),
        (U[99:102], "inputs have 3 rows, but 4 are needed"),
        (U[99:103, 0], "shape"),
        (bad[:4], "inputs contains NaN at row 3, column 1"),
        (U[None, 99:103], r"must have shape \(4 or more, 2\)"),
    ]:
        with pytest.raises(ValueError, match=message):
            model.forecast(inputs=inputs)
        with pytest.raises(ValueError, match=message):
            model.forecast_interval(inputs=inputs)
    with pytest.raises(ValueError, match="without"):
        ks.Forecaster().fit(T).forecast(inputs=U[:1])
    with pytest.raises(ValueError, match="lag must be 1"):
        ks.Forecaster(operator=ks.Koopman(n_inputs=2, lag=2)).fit(T, inputs=U[:120])
    with pytest.raises(ValueError, match="has learned trajectories without: fit starts again"):
        ks.Forecaster().fit(T).partial_fit(T, inputs=U)
    with pytest.raises(ValueError, match=r"its operator has none: set operator=Koopman.n_inputs=2"):
        ks.Forecaster(operator=ks.Koopman()).fit(T, inputs=U)
    for nothing in ("abc", 3.0, np.zeros((120, 0))):
        with pytest.raises((ValueError, TypeError), match=r"must have shape .n_times, n_inputs"):
            ks.Forecaster().fit(T, inputs=nothing)
    for wide in (
        ks.Forecaster(candidates=False).fit(T),
        ks.Forecaster().fit(rng().normal(size=(80, 65))),
    ):
        with pytest.raises(ValueError, match="without"):
            wide.forecast(inputs=U[:1])
        with pytest.raises(ValueError, match="without"):
            wide.forecast_interval(inputs=U[:1])
    with pytest.raises(ValueError, match="at most 64 for forecasts"):
        ks.Forecaster().fit(T, inputs=rng().normal(size=(120, 65)))
    with pytest.raises(ValueError, match="need candidates=True"):
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


def test_inputs_stronger_and_longer_than_ever_are_not_cut_off() -> None:
    rare = (rng(8).uniform(size=1000) < 0.01).astype(float)
    T = np.zeros((1000, 1))
    for t in range(999):
        T[t + 1] = 0.9 * T[t] + rare[t] + 0.02 * rng(t).normal()
    model = ks.Forecaster((1, 12, 48)).fit(T, inputs=rare)
    made = model.forecast(inputs=np.ones(48))[:, 0, 0]
    truth = [0.9**h * T[-1, 0] + (1 - 0.9**h) / 0.1 for h in (1, 12, 48)]
    np.testing.assert_allclose(made, truth, rtol=0.15)
    ends = model.forecast_interval(inputs=np.ones(48))[:, 0, 0]
    assert (ends[:, 0] < made).all()
    assert (made < ends[:, 1]).all()


@pytest.mark.parametrize("rows", [1, 2, 3, 5, 8])
def test_inputs_count_in_histories_of_a_few_rows(rows: int) -> None:
    U = rng(9).normal(size=(1400, 1))
    T = np.zeros((1400, 1))
    for t in range(1399):
        T[t + 1] = 0.9 * T[t] + U[t] + 0.1 * rng(t).normal()
    model = ks.Forecaster((1, 10)).fit(T[:1000], inputs=U[:1000])
    starts = range(1001, 1380, 3)
    X = np.stack([T[i : i + rows] for i in starts])
    under = np.stack([U[i : i + rows + 9] for i in starts])
    made = model.forecast(X, inputs=under)[..., 0]
    truth = np.array([[T[i + rows - 1 + h, 0] for i in starts] for h in (1, 10)])
    rms = np.sqrt(((made - truth) ** 2).mean(axis=1))
    assert rms[0] < 0.15, rms  # the noise is .1, and .2 over ten steps
    assert rms[1] < 0.6, rms
    ends = model.forecast_interval(X, inputs=under)[:, :, 0]
    assert ((ends[..., 0] <= truth) & (truth <= ends[..., 1])).mean() > 0.85


def test_many_short_trajectories_are_learned() -> None:
    U, T = [], []
    for i in range(150):
        u, x = rng(i).normal(size=(4, 1)), rng(i + 1000).normal(size=(4, 1))
        for t in range(3):
            x[t + 1] = 0.9 * x[t] + u[t] + 0.1 * rng(i + 2000 + t).normal()
        U.append(u)
        T.append(x)
    model = ks.Forecaster((1, 3)).fit(T[:100], inputs=U[:100])
    made = model.forecast(
        np.stack([x[:1] for x in T[100:]]), inputs=np.stack([u[:3] for u in U[100:]])
    )[..., 0]
    truth = np.array([[x[h, 0] for x in T[100:]] for h in (1, 3)])
    assert np.sqrt(((made - truth) ** 2).mean(axis=1)).max() < 0.35


@pytest.mark.parametrize("dead", [3, 12, 20])
def test_an_effect_may_begin_late(dead: int) -> None:
    U = rng(10).normal(size=(900, 1))
    T = np.zeros((900, 1))
    for t in range(dead, 899):
        T[t + 1] = 0.8 * T[t] + U[t - dead] + 0.1 * rng(t).normal()
    errors, _ = rolling(T, U, range(500, 880, 20))
    assert np.sqrt((errors[:, 0] ** 2).mean()) < 0.15


@pytest.mark.filterwarnings("ignore::kernelstream.exceptions.KernelstreamWarning")
@pytest.mark.parametrize("numbers", [9, 20])
def test_states_of_many_numbers_are_linear_in_all_of_them(numbers: int) -> None:
    random, n = rng(11), 700
    A = random.normal(size=(numbers, numbers))
    A *= 0.9 / np.abs(np.linalg.eigvals(A)).max()
    B, U = random.normal(size=(numbers, 2)), random.normal(size=(n, 2))
    T = np.zeros((n, numbers))
    for t in range(n - 1):
        T[t + 1] = A @ T[t] + B @ U[t] + 0.1 * random.normal(size=numbers)
    model = ks.Forecaster().fit(T[:500], inputs=U[:500])
    made = model.forecast(T[500:-1], inputs=U[500:-1])[0]
    assert np.sqrt(((made - T[501:]) ** 2).mean()) < 0.13


def test_columns_of_inputs_keep_their_names_and_order(tmp_path) -> None:
    pd = pytest.importorskip("pandas")
    U = pd.DataFrame({"heat": switched(120), "wind": rng().normal(size=120)})
    T = room(U["heat"].to_numpy(), 0.1)
    model = ks.Forecaster((1, 4)).fit(T, inputs=U)
    model.save(tmp_path / "model")
    for one in (model, ks.load(tmp_path / "model"), pickle.loads(pickle.dumps(model))):
        np.testing.assert_array_equal(
            one.forecast(inputs=U[:4]), model.forecast(inputs=U[:4].to_numpy())
        )
        with pytest.raises(ValueError, match="in this order"):
            one.forecast(inputs=U[["wind", "heat"]][:4])
        with pytest.raises(ValueError, match="in this order"):
            one.partial_fit(T, inputs=U[["wind", "heat"]])
    gaps = U.astype("Float64")
    gaps.iloc[7, 1] = pd.NA
    with pytest.raises(ValueError, match="inputs contains NaN at row 7, column 1"):
        ks.Forecaster().fit(T, inputs=gaps)


def test_an_interrupted_call_goes_on_with_the_next_state() -> None:
    U = switched(100)
    T = room(U, 0.1)
    model = ks.Forecaster((1, 4)).partial_fit(T[:60], inputs=U[:60])
    assert model.n_states_ == 60
    assert ks.Forecaster((1, 4)).partial_fit(T[:60]).n_states_ == 60
    model.partial_fit(T[model.n_states_ :], inputs=U[model.n_states_ :])
    assert model.n_states_ == 100


def test_the_order_of_horizons_does_not_matter() -> None:
    U = switched(300)
    T = room(U, 0.1)
    one, other = (ks.Forecaster(h).fit(T, inputs=U) for h in [(1, 5, 20), (20, 1, 5)])
    under = U[:20]
    for ask in ("forecast", "forecast_interval"):
        found = getattr(one, ask)(inputs=under)
        np.testing.assert_array_equal(getattr(other, ask)(inputs=under), found[[2, 0, 1]])


@pytest.mark.filterwarnings("ignore::kernelstream.exceptions.KernelstreamWarning")
def test_an_operator_that_knows_its_states_by_heart_is_not_believed() -> None:
    n, random = 400, rng(12)
    U, T = random.normal(size=(n, 1)), random.normal(size=(n, 1))  # nothing can be forecast
    by_heart = ks.Koopman(
        ks.Gaussian(0.05), ks.ALD(1e-9), ks.Ridge(1e-9), n_inputs=1, input_kernel=ks.Gaussian(0.05)
    )
    model = ks.Forecaster((1, 10), by_heart).fit(T, inputs=U)
    assert model.forecast_weights_["operator"].max() < 0.2
    _, deviations = model.forecast(inputs=U[:10], return_std=True)
    assert deviations.min() > 0.9


def test_rows_beyond_those_that_are_kept() -> None:
    n = 4300
    U = switched(n)
    T = room(U, 0.1)
    model = ks.Forecaster().partial_fit(T[:4000], inputs=U[:4000])
    other = pickle.loads(pickle.dumps(model))
    model.partial_fit(T[4000:], inputs=U[4000:])
    for start in range(4000, n, 60):
        other.partial_fit(T[start : start + 60], inputs=U[start : start + 60])
    assert model._core.to_bytes() == other._core.to_bytes()
    effect = model.forecast(inputs=[1.0]) - model.forecast(inputs=[0.0])
    np.testing.assert_allclose(effect, 0.5, atol=0.02)


@pytest.mark.parametrize("shared", [3, 5, 12])
def test_a_periodic_record_continues_from_what_was_learned(shared: int) -> None:
    t = np.arange(300)
    T = np.round(5 * np.sin(2 * np.pi * t / 24))[:, None]
    model = ks.Forecaster((1, 2)).fit(T[:200])
    made = model.forecast(T[200 - shared : 203])[:, -1, 0]
    np.testing.assert_allclose(made, T[[203, 204], 0], atol=0.1)


@pytest.mark.parametrize("named", [True, False])
@pytest.mark.parametrize("kind", ["forecaster", "operator"])
def test_an_input_that_is_no_measurement_is_named(named: bool, kind: str) -> None:
    pd = pytest.importorskip("pandas")
    U = rng().normal(size=1000)
    T = room(U, 0.1)
    T = pd.DataFrame(T, columns=["room"]) if named else T
    model = ks.Forecaster() if kind == "forecaster" else ks.Koopman(n_inputs=1)
    fit = model.fit if kind == "forecaster" else model.fit_trajectory
    U[-1] = -9999.0
    with pytest.warns(SentinelWarning, match="contains -9999 at row 999, input 0"):
        fit(T, inputs=U)
    U[5] = 1e200
    with pytest.raises(DataError, match=r"too large at row 5, input 0") as caught:
        fit(T, inputs=U)
    assert (caught.value.array, caught.value.row, caught.value.column) == ("inputs", 5, 0)


@pytest.mark.parametrize("constant", [0.0, 5.0, 1e6, 0.3])
@pytest.mark.parametrize("rows", [40, 300])
@pytest.mark.parametrize("walks", [False, True])
def test_an_input_that_was_constant_has_no_effect_and_is_warned_of(walks, rows, constant) -> None:
    noise = rng(1).normal(size=rows)
    states = 20.0 + (np.cumsum(noise) if walks else noise)
    nearly = constant * (1.0 + 1e-11 * rng(2).normal(size=rows))
    live = ks.Forecaster(HORIZONS).fit(states[:, None], inputs=nearly)
    known = live.forecast(inputs=np.full(LONGEST, constant))
    with pytest.warns(KernelstreamWarning, match="input 0 is .* nothing is known of its effect"):
        changed = live.forecast(inputs=np.full(LONGEST, constant + 3.0))
    np.testing.assert_array_equal(changed, known)
    live.forecast(inputs=np.full(LONGEST, constant - 100.0))  # warned of once
    same = pickle.loads(pickle.dumps(live))
    same._warned().add("constant inputs")
    np.testing.assert_array_equal(same.forecast(inputs=np.full(LONGEST, constant + 3.0)), known)


def test_an_input_that_begins_to_vary_does_no_harm_and_is_learned() -> None:
    U = np.concatenate([np.full(300, 5.0), 5.0 + switched(300)])
    T = room(U - 5.0, noise=0.1)
    live, without = ks.Forecaster([1]), ks.Forecaster([1])
    live.fit(T[:301], inputs=U[:301])
    without.fit(T[:301])
    errors = []
    for t in range(301, 341):
        live._warned().add("constant inputs")
        made = live.forecast(inputs=U[t - 1 : t])[0, 0], without.forecast()[0, 0]
        errors.append([abs(float(one[0] - T[t, 0])) for one in made])
        live.partial_fit(T[t : t + 1], inputs=U[t : t + 1])
        without.partial_fit(T[t : t + 1])
    errors = np.array(errors)
    assert (errors[:, 0] < errors[:, 1] + 1.0).all()
    live.partial_fit(T[341:], inputs=U[341:])
    ahead = [live.forecast(inputs=[[u]])[0, 0, 0] for u in (5.0, 6.0)]
    assert 0.2 < ahead[1] - ahead[0] < 0.8  # the heater's effect is 0.5


def test_forecasts_do_not_depend_on_the_zero_of_an_input() -> None:
    U = switched(400)
    T = room(U, noise=0.1)
    made = [
        ks.Forecaster(HORIZONS)
        .fit(T, inputs=U + zero)
        .forecast(inputs=np.full(LONGEST, 1.0 + zero))
        for zero in (0.0, 64.0)
    ]
    np.testing.assert_allclose(made[1], made[0], atol=0.05)
