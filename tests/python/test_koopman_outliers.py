"""Outlying states: they set no scale, and the pairs that contain them are left out."""

from __future__ import annotations

import copy
import warnings
from pathlib import Path

import numpy as np
import pytest

import kernelstream as ks
from kernelstream import datasets
from kernelstream.exceptions import KernelstreamWarning, OutlierWarning, SentinelWarning

MU = 0.99 * np.exp(0.2j)


def oscillation(n: int = 4000, seed: int = 0) -> np.ndarray:
    noise = 0.1 * np.random.default_rng(seed).normal(size=(n, 2))
    states = np.zeros((n, 2))
    A = np.array([[MU.real, -MU.imag], [MU.imag, MU.real]])
    for i in range(1, n):
        states[i] = A @ states[i - 1] + noise[i]
    return states


def rms(values: np.ndarray) -> float:
    return float(np.sqrt((values**2).mean()))


def spoilt(states: np.ndarray, row: int, value: float) -> np.ndarray:
    states = states.copy()
    states[row, 0] = value
    return states


def apart(states: np.ndarray, row: int) -> list[np.ndarray]:
    return [states[:row], states[row + 1 :]]


def fitted(*states: np.ndarray, **parameters: object) -> ks.Koopman:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", OutlierWarning)
        return ks.Koopman(**parameters).fit(*states)


@pytest.mark.parametrize("row", [20, 300, 1000, 2500, 3990])
@pytest.mark.parametrize("deviations", [-60.0, 1e4, 1e6])
def test_an_outlier_is_like_a_gap(row: int, deviations: float) -> None:
    T = oscillation()
    model = fitted(spoilt(T, row, T[row, 0] + deviations * T[:, 0].std()))
    assert (model.n_left_out_, model.n_seen_) == (2, len(T) - 1)
    held_out = oscillation(1000, seed=1)
    clean = fitted(apart(T, row))
    # Selected by a few pairs more or less.
    np.testing.assert_allclose(model.scale_, clean.scale_, rtol=0.01)
    for steps in (1, 10):
        error = model.predict(held_out, n_steps=steps) - clean.predict(held_out, n_steps=steps)
        assert rms(error) < 0.02 * rms(held_out)
    assert np.abs(model.eigenvalues_ - MU).min() < 0.01
    with pytest.warns(OutlierWarning) as caught:
        ks.Koopman().fit(spoilt(T, row, -9999.0))
    (message,) = [str(each.message) for each in caught]
    assert f"-9999 at row {row}, column 0 is an outlier" in message
    assert "pairs that contain it are left out" in message


def test_after_the_warm_up_the_operator_is_that_with_a_gap() -> None:
    T = oscillation()
    model, clean = fitted(spoilt(T, 2500, -9999.0)), fitted(apart(T, 2500))
    np.testing.assert_allclose(model.operator_, clean.operator_, atol=1e-11)


@pytest.mark.parametrize("row", [20, 1000, 2500])
def test_delays_of_an_outlier_are_left_out(row: int) -> None:
    T = oscillation()[:, :1]
    model = fitted(spoilt(T, row, 1e4), n_delays=3, lag=2)
    # Four windows contain it as state of now, four as next state, of which two are the same.
    assert model.n_left_out_ == 6
    clean = fitted(apart(T, row), n_delays=3, lag=2)
    error = model.predict(T[-500:]) - clean.predict(T[-500:])
    assert rms(error) < 0.02 * rms(T)


@pytest.mark.parametrize("row", [50, 1000, 3000])
def test_pairs_in_any_order(row: int) -> None:
    T = oscillation()
    order = np.random.default_rng(2).permutation(len(T) - 1)
    X, X_next = T[:-1][order], T[1:][order]
    with pytest.warns(OutlierWarning, match=f"-9999 at row {row} of X_next, column 0 is an"):
        model = ks.Koopman().fit(X, spoilt(X_next, row, -9999.0))
    assert model.n_left_out_ == 1
    assert np.abs(model.eigenvalues_ - MU).min() < 0.01
    weighted = ks.Koopman()
    with pytest.warns(OutlierWarning, match=f"-9999 at row {row} of X, column 0 is an"):
        weighted.fit(spoilt(X, row, -9999.0), X_next, sample_weight=np.full(len(X), 2.0))
    assert weighted.n_left_out_ == 1
    np.testing.assert_allclose(weighted.scale_, model.scale_, rtol=0.01)


@pytest.mark.parametrize("row", [20, 1000, 2500])
def test_chunks_do_not_matter_and_files_keep_limits(row: int, tmp_path: Path) -> None:
    T = spoilt(spoilt(oscillation(), row, -9999.0), 3000, 1e6)
    with warnings.catch_warnings():
        # Before the 16th pair an outlier is learned.
        warnings.simplefilter("ignore", KernelstreamWarning)
        whole = ks.Koopman(lag=2).partial_fit_trajectory(T)
        asked, kept = ks.Koopman(lag=2), ks.Koopman(lag=2)
        for piece in np.split(T, [1, 2, 9, 15, 17, 19, 20, 21, 64, 1000, 1001, 2047, 2500, 3001]):
            asked.partial_fit_trajectory(piece, continued=True).save(tmp_path / "model")
            asked = ks.load(tmp_path / "model")
            kept.partial_fit_trajectory(piece, continued=True)
    assert asked._core.to_bytes() == kept._core.to_bytes()
    assert asked.n_left_out_ == kept.n_left_out_ == whole.n_left_out_ == 4
    assert asked.n_seen_ == whole.n_seen_ == len(T) - 2
    np.testing.assert_allclose(asked.operator_, whole.operator_, atol=1e-9)
    live = ks.Koopman(lag=2)
    for x, after in zip(T[:-2], T[2:], strict=True):
        live.learn_one(x, after)
    assert live.n_left_out_ == 4
    np.testing.assert_allclose(live.operator_, whole.operator_, atol=1e-9)


@pytest.mark.parametrize("begin", [500, 2500])
@pytest.mark.parametrize("noise", [0.0, 1.0])
def test_a_lasting_change_is_learned(begin: int, noise: float) -> None:
    T = oscillation()
    level = 1000.0 + noise * np.random.default_rng(3).normal(size=(400, 2))
    T[begin : begin + 400] = level + T[begin : begin + 400]
    model = fitted(T)
    assert model.n_left_out_ <= 2
    assert model.dictionary_[:, 0].max() > 900.0
    np.testing.assert_allclose(model.predict([[1000.0, 1000.0]]), 1000.0, rtol=0.05)


def test_two_outliers_in_a_row_and_frequent_ones_are_learned_in_the_warm_up() -> None:
    T = oscillation(1500)
    T[700:702, 0] = [-9999.0, 8000.0]
    with pytest.warns(SentinelWarning):
        assert ks.Koopman().fit(T).n_left_out_ == 0
    T = oscillation(1500)
    T[50::50, 0] = 9000.0
    assert fitted(T).n_left_out_ == 0


def records() -> dict[str, np.ndarray]:
    random = np.random.default_rng(5)
    kicks = np.zeros(4000)
    for i in range(1, 4000):
        # About ten large excursions, each of a few rows.
        kick = 50.0 if random.random() < 1 / 400 else 0.0
        kicks[i] = 0.9 * kicks[i - 1] + random.normal() + kick
    heavy = random.standard_t(3, size=(4000, 2))
    for i in range(1, 4000):
        heavy[i] += 0.8 * heavy[i - 1]
    t = np.arange(4000.0)
    return {
        "lorenz": datasets.lorenz(4000, random_state=0).trajectories[0],
        "kicks": kicks[:, None],
        "heavy tails": heavy,
        "independent": random.standard_t(3, size=(4000, 1)),
        "growth": 1.02 ** t[:900, None],
        "fast growth": 2.0 ** t[:30, None],
        "ramp": 3.0 * t[:, None],
        "decay": 0.5 ** t[:300, None],
        "flags": (random.random((4000, 2)) < [0.5, 1 / 1500]).astype(float),
        "bursts": (np.sin(0.3 * t) * np.where(t % 1000 > 960, 100.0, 1.0))[:, None],
    }


@pytest.mark.parametrize("name", records())
@pytest.mark.filterwarnings("ignore::kernelstream.exceptions.KernelstreamWarning")
def test_ordinary_records_are_learned_whole(name: str) -> None:
    T = records()[name]
    for model in (ks.Koopman(), ks.Koopman(n_delays=2)):
        assert model.fit(T).n_left_out_ == 0


def test_models_of_states_as_they_are_learn_all_pairs() -> None:
    T = spoilt(oscillation(500), 300, 1e4)
    model = ks.Koopman(ks.Gaussian(1.0), ks.ALD(1e-3), ks.Ridge(0.1))
    with pytest.warns(SentinelWarning):
        model.fit(T)
    assert model.n_left_out_ == 0
    assert model.dictionary_.max() == 1e4
    scaled = fitted(T, kernel=ks.Gaussian(1.0), scale=True)
    assert scaled.n_left_out_ == 2
    assert scaled.scale_.max() < 2.0


def test_an_outlier_is_named_by_its_column_and_warned_of_once() -> None:
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(spoilt(oscillation(), 2500, -9999.0), columns=["p", "q"])
    with pytest.warns(OutlierWarning) as caught:
        model = ks.Koopman().fit([frame[:100], frame[100:]])
    (message,) = [str(each.message) for each in caught]
    assert '-9999 at row 2400 of trajectory 1, column "p" is an' in message
    with warnings.catch_warnings():
        warnings.simplefilter("error", OutlierWarning)
        model.partial_fit(frame)
    assert model.n_left_out_ == 4


def test_merged_models_count_all_pairs_left_out() -> None:
    T = oscillation()
    begun = fitted(T[:2500])
    begun.freeze_dictionary()
    parts = []
    for row in (100, 200):
        part = copy.deepcopy(begun)
        with pytest.warns(OutlierWarning):
            part.partial_fit(spoilt(T, row, -9999.0))
        parts.append(part)
    assert parts[0].merge(parts[1]).n_left_out_ == 4


def test_states_and_inputs_are_not_confused() -> None:
    T, inputs = oscillation(600), np.random.default_rng(1).normal(size=(600, 1))
    X, X_next = T[:-1], T[1:].copy()
    X_next[50, 1] = -9999.0
    with pytest.warns(OutlierWarning, match=r"row 50 of X_next, column 1"):
        model = ks.Koopman(n_inputs=1).fit(X, X_next, inputs=inputs[:-1])
    assert model.n_left_out_ == 1
    # A code among the inputs, which are learned as they are, is warned of beside an outlier.
    inputs[100] = -9999.0
    with (
        pytest.warns(OutlierWarning, match="row 50"),
        pytest.warns(SentinelWarning, match="row 100"),
    ):
        ks.Koopman(n_inputs=1).fit(spoilt(T, 50, 7777.0), inputs=inputs)


def test_a_warning_names_the_outlier_of_its_call() -> None:
    T = oscillation(700)
    model = ks.Koopman().fit(T[:500])
    model.learn_one(T[500], [5000.0, 0.0])
    assert model.n_left_out_ == 1
    with pytest.warns(OutlierWarning, match=r"-9999 at row 20"):
        model.partial_fit(spoilt(T[501:], 20, -9999.0))
    assert model.n_left_out_ == 3
