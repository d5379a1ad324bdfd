"""Short records that grow, with nothing chosen: forecasts are right, or bounded and warned of."""

from __future__ import annotations

import pickle
import warnings

import numpy as np
import pytest

import kernelstream as ks
from kernelstream.exceptions import KernelstreamWarning

AHEAD = [1, 5, 20, 60]
LEAVE = "further from the states learned"


def fitted(record: np.ndarray, **parameters: int) -> ks.Koopman:
    """A model of a record, without the warning about its eigenvalues."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", KernelstreamWarning)
        model = ks.Koopman(**parameters).fit(record)
    model._warned().clear()
    return model


def distances(forecasts: np.ndarray, record: np.ndarray) -> np.ndarray:
    """Largest distance of each forecast from the record's mean, in its deviations."""
    return np.abs((forecasts - record.mean(axis=0)) / record.std(axis=0)).max(axis=-1)


@pytest.mark.parametrize("n_delays", [0, 2])
@pytest.mark.parametrize("rows", [20, 50, 100, 400])
@pytest.mark.parametrize("slopes", [[3.0], [-0.5], [3.0, -1.0]])
def test_lines_are_continued(slopes, rows, n_delays) -> None:
    line = 7.0 + np.arange(rows + max(AHEAD))[:, None] * slopes
    model = ks.Koopman(n_delays=n_delays).fit(line[:rows])
    forecasts = model.predict(line[rows - n_delays - 1 : rows], AHEAD)[:, 0]
    expected = line[rows - 1 + np.array(AHEAD)]
    np.testing.assert_allclose(forecasts, expected, atol=1e-6 * line.std())


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("noise", [0.3, 3.0])
@pytest.mark.parametrize("rows", [50, 100, 400])
def test_noisy_lines_are_continued(rows, noise, seed) -> None:
    line = 3.0 * np.arange(rows + max(AHEAD))
    record = line[:rows, None] + noise * np.random.default_rng(seed).normal(size=(rows, 1))
    forecasts = ks.Koopman().fit(record).predict(record[-1:], AHEAD)[:, 0, 0]
    errors = np.abs(forecasts - line[rows - 1 + np.array(AHEAD)])
    # The noise of the states makes the eigenvalue of the slope a little too small or too large.
    assert (errors < 0.6 * record.std()).all()


GROWING = {
    "squares": lambda t: t**2,
    "cubes": lambda t: (t - 10.0) ** 3 / 100.0 + t,
    "a line beside a wave": lambda t: np.column_stack([t, 10.0 * np.sin(0.3 * t)]),
    "a wave on a line": lambda t: t + 3.0 * np.sin(0.5 * t),
}


@pytest.mark.parametrize("rows", [20, 30, 50, 100])
@pytest.mark.parametrize("name", GROWING)
def test_forecasts_of_other_growth_stay_near_the_record(name, rows) -> None:
    record = GROWING[name](np.arange(rows, dtype=float)).reshape(rows, -1)
    model = fitted(record)
    kernel = model.chosen_["kernel"]
    assert isinstance(kernel, ks.Gaussian)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        forecasts = model.predict(record[-1:], AHEAD)[:, 0]
        again = model.predict(record[-1:], AHEAD[-1])
    assert (distances(forecasts, record) < 20.0).all()
    np.testing.assert_allclose(again, forecasts[-1:], rtol=1e-6)
    # Once a model, and for the same model after a file.
    assert sum(LEAVE in str(one.message) for one in caught) <= 1
    same = pickle.loads(pickle.dumps(model)).predict(record[-1:], AHEAD[-1])
    np.testing.assert_array_equal(same, again)


def test_growth_of_a_linear_map_is_continued_and_warned_of() -> None:
    record = 1.05 ** np.arange(110.0)[:, None]
    model = ks.Koopman().fit(record[:50])
    with pytest.warns(KernelstreamWarning, match=LEAVE):
        forecast = model.predict(record[49:50], 60)
    np.testing.assert_allclose(forecast, record[109:], rtol=1e-6)


def test_forecasts_that_leave_the_record_are_warned_of_once_and_only_those() -> None:
    record = np.arange(20.0)[:, None] ** 2
    model = fitted(record)
    model.predict(record[-1:])
    with pytest.warns(KernelstreamWarning, match=LEAVE):
        model.predict(record[-1:], 60)
    model.predict(record[-1:], 60)
    for ask in (
        lambda model: model.weights(record[-1:], 60),
        lambda model: model.expectation(lambda x: x[:, 0], record[-1:], 60),
    ):
        model = fitted(record)
        with pytest.warns(KernelstreamWarning, match=LEAVE):
            made = ask(model)
        assert np.abs(made).max() < 1e5


def test_each_row_and_number_of_steps_is_bounded_by_itself() -> None:
    record = np.arange(20.0)[:, None] ** 2
    model = fitted(record)
    with pytest.warns(KernelstreamWarning, match=LEAVE):
        together = model.predict(record[::4], AHEAD)
    for i, state in enumerate(record[::4]):
        for j, steps in enumerate(AHEAD):
            np.testing.assert_allclose(together[j, i], model.predict([state], steps)[0], rtol=1e-6)


def test_a_line_that_is_longer_than_the_rows_of_its_units_is_no_growth() -> None:
    record = np.arange(4000.0)[:, None]
    model = ks.Koopman().fit(record)
    np.testing.assert_allclose(model.predict(record[-1:], 2), [[4001.0]], rtol=1e-6)


def test_a_system_that_stays_is_forecast_as_before() -> None:
    data = ks.datasets.ornstein_uhlenbeck(400, tau=0.5, random_state=0).trajectories[0]
    model = ks.Koopman().fit(data)
    assert isinstance(model.chosen_["kernel"], ks.Gaussian)
    np.testing.assert_allclose(model.predict(data[:5], [3])[0], model.predict(data[:5], 3))
    assert distances(model.predict(data, 60), data).max() < 1.0
