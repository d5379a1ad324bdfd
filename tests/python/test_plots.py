"""The pictures show the numbers they were given, and refuse what they cannot show."""

import pickle
import sys
from collections.abc import Iterator
from itertools import pairwise

import numpy as np
import pytest

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("Agg")

from matplotlib import pyplot as plt  # noqa: E402
from sklearn.model_selection import GridSearchCV, TimeSeriesSplit  # noqa: E402

import kernelstream as ks  # noqa: E402
from kernelstream import koopman, plots  # noqa: E402
from kernelstream.plots import forecasts  # noqa: E402


@pytest.fixture(autouse=True)
def _close_figures() -> Iterator[None]:
    yield
    plt.close("all")


class Fitted:
    """What the functions need of an estimator."""

    eigenvalues_ = np.array([1.0, np.exp(-0.5), np.exp(-2.0)], dtype=complex)

    def eigenfunctions(self, X: np.ndarray, k: int = 1) -> np.ndarray:
        return np.stack([X[:, 0] ** i for i in range(k)], axis=1).astype(complex)


def test_eigenfunction_is_the_same_from_estimator_function_and_array() -> None:
    box = (-1.0, 3.0, 0.0, 1.0)
    from_model = plots.eigenfunction(Fitted(), box=box, index=1, resolution=9)
    from_function = plots.eigenfunction(lambda p: p[:, 0], box=box, resolution=9)
    grid = np.tile(np.linspace(-1, 3, 9), (9, 1))
    from_values = plots.eigenfunction(grid, box=box)
    for ax in (from_model, from_function, from_values):
        image = ax.get_images()[0]
        np.testing.assert_allclose(image.get_array(), grid)
        assert image.get_clim()[0] == -image.get_clim()[1]
        assert tuple(image.get_extent()) == box


def test_eigenfunction_draws_trajectories_and_parts() -> None:
    path = np.array([[0.0, 0.0], [1.0, 0.5], [1.5, 0.2]])
    ax = plots.eigenfunction(lambda p: 1j * p[:, 1], part="imag", trajectories=[path], resolution=5)
    np.testing.assert_array_equal(ax.get_lines()[0].get_xydata(), path)
    assert np.max(np.abs(ax.get_images()[0].get_array())) == pytest.approx(2.0)
    with pytest.raises(ValueError, match="trajectory has shape"):
        plots.eigenfunction(np.zeros((3, 3)), trajectories=[np.zeros((4, 3))])
    with pytest.raises(ValueError, match="got 'size'"):
        plots.eigenfunction(np.zeros((3, 3)), part="size")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="returned shape"):
        plots.eigenfunction(lambda p: p, resolution=5)


def test_spectrum_puts_every_eigenvalue_where_it_is() -> None:
    values = np.array([1.0, 0.5 + 0.5j, 0.5 - 0.5j, -1.2])
    residuals = np.array([0.001, 0.1, 0.1, 2.0])
    ax = plots.spectrum(values, residuals=residuals, reference=[1.0])
    dots = ax.collections[0]
    drawn = {complex(*xy): c for xy, c in zip(dots.get_offsets(), dots.get_array(), strict=True)}
    assert drawn == dict(zip(values, residuals, strict=True))
    assert ax.get_xlim()[0] < -1.2
    assert len(plots.spectrum(Fitted(), n=2).collections[0].get_offsets()) == 2
    with pytest.raises(ValueError, match="3 residuals for 4 eigenvalues"):
        plots.spectrum(values, residuals=residuals[:3])


def test_growth_adds_curves_to_the_same_axes() -> None:
    ax = plots.growth([1, 10, 100], [1, 5, 7], label="a")
    again = plots.growth([1, 10, 100], [1, 3, 4], label="b", ax=ax, cap=8)
    assert again is ax
    first, second, _ = ax.get_lines()
    assert first.get_color() != second.get_color()
    np.testing.assert_array_equal(second.get_ydata(), [1, 3, 4])
    with pytest.raises(ValueError, match="n_seen has 2"):
        plots.growth([1, 2], [1])


def test_importances_are_bars_from_the_largest_down() -> None:
    ax = plots.importances([0.1, 0.7, 0.2], names=["a", "b", "c"], most=2)
    assert [bar.get_width() for bar in ax.patches] == [0.7, 0.2]
    assert [label.get_text() for label in ax.get_yticklabels()] == ["b", "c"]
    assert ax.yaxis_inverted()
    X = np.random.default_rng(0).normal(size=(100, 2))
    model = ks.KernelRegressor(ks.Linear(), scale=False).fit(X, X[:, 1])
    ax = plots.importances(model)
    assert [label.get_text() for label in ax.get_yticklabels()] == ["1", "0"]
    with pytest.raises(ValueError, match="1 names for 2 columns"):
        plots.importances(model, names=["a"])


def test_intervals_mark_and_count_the_targets_outside() -> None:
    y = np.array([0.0, 1.0, 2.0, 3.0, 9.0])
    ends = np.column_stack([y - 1, y + 1])
    ends[0], ends[4] = (-np.inf, np.inf), (2.0, 4.0)
    ax = plots.intervals(y, ends, coverage=0.9)
    lines = {str(line.get_label()): line for line in ax.get_lines()}
    np.testing.assert_array_equal(lines["outside"].get_xdata(), [4])
    np.testing.assert_array_equal(lines["inside"].get_ydata(), y[:4])
    np.testing.assert_array_equal(lines["prediction"].get_ydata(), [np.nan, 1.0, 2.0, 3.0, 3.0])
    assert ax.get_title() == "75.0 % inside, of 90 % asked"
    for wrong in ({"ends": ends[:4]}, {"ends": ends, "predictions": y[:4]}):
        with pytest.raises(ValueError, match=r"shape|do not fit"):
            plots.intervals(y, **wrong)


def test_calibration_draws_the_share_inside_against_the_coverage() -> None:
    y = np.arange(10.0)
    ends = {0.9: [[0.0, 7.5]] * 10, 0.5: [[0.0, 4.5]] * 10}
    ax = plots.calibration(y, ends)
    plots.calibration(y, ends, label="again", ax=ax)
    _, first, again = ax.get_lines()
    np.testing.assert_allclose(first.get_xydata(), [[0.5, 0.5], [0.9, 0.8]])
    assert first.get_color() != again.get_color()
    with pytest.raises(ValueError, match="no intervals"):
        plots.calibration(y, {})


def test_timescales_from_eigenvalues_are_minus_lag_over_log() -> None:
    ax = plots.timescales([1, 2], [Fitted(), Fitted()], time_step=0.1, unit="ns")
    slow, fast = ax.get_lines()[:2]
    np.testing.assert_allclose(slow.get_ydata(), [0.2, 0.4])
    np.testing.assert_allclose(fast.get_ydata(), [0.05, 0.1])
    np.testing.assert_allclose(slow.get_xdata(), [0.1, 0.2])
    table = plots.timescales([1, 2], np.array([[5.0], [6.0]]))
    np.testing.assert_allclose(table.get_lines()[0].get_ydata(), [5.0, 6.0])
    bars = plots.timescales([1, 2], [[5.0], [6.0]], errors=[[0.5], [9.0]]).collections[0]
    ends = [segment[:, 1] for segment in bars.get_segments()]
    np.testing.assert_allclose(ends, [[4.0, 6.0], [0.3, 24.0]])
    with pytest.raises(ValueError, match="errors have shape"):
        plots.timescales([1, 2], [[5.0], [6.0]], errors=[0.5, 9.0])
    with pytest.raises(ValueError, match="1 models for 2 lags"):
        plots.timescales([1, 2], [Fitted()])
    with pytest.raises(ValueError, match="increasing"):
        plots.timescales([2, 1], [Fitted(), Fitted()])


def test_chapman_kolmogorov_draws_powers_beside_data_with_two_errors() -> None:
    steps = np.arange(1.0, 4.0)
    shown = koopman.ChapmanKolmogorov(
        np.array([1]),
        0.5 * steps,
        0.8 ** steps[:, None] + 0j,
        np.full((3, 1), 0.5 + 0j),
        np.full((3, 1), 0.1),
    )
    ax = plots.chapman_kolmogorov(shown, unit="ns")
    line = next(line for line in ax.get_lines() if len(line.get_xdata()) == 4)
    np.testing.assert_allclose(line.get_xydata(), [[0, 1], [0.5, 0.8], [1, 0.64], [1.5, 0.512]])
    (bars,) = ax.collections
    np.testing.assert_allclose(bars.get_segments()[0], [[0.5, 0.3], [0.5, 0.7]])
    assert ax.get_xlabel() == "time (ns)"


def test_vamp_draws_a_search_or_scores_of_folds() -> None:
    ax = plots.vamp([10, 1, 100], [[1.0, 3.0], [0.0, 2.0], [4.0, 4.0]], label="a")
    np.testing.assert_allclose(ax.get_lines()[0].get_xydata(), [[1, 1], [10, 2], [100, 4]])
    assert ax.get_xscale() == "log"
    plots.vamp([1, 10], [0.0, 1.0], label="b", ax=ax)
    assert ax.get_lines()[0].get_color() != ax.get_lines()[1].get_color()
    T = np.random.default_rng(0).normal(size=(60, 1))
    grid = {"lag": [1, 2, 3]}
    search = GridSearchCV(ks.Koopman(), grid, cv=TimeSeriesSplit(2)).fit(T)
    drawn = plots.vamp(search).get_lines()[0]
    np.testing.assert_allclose(drawn.get_ydata(), search.cv_results_["mean_test_score"])
    assert drawn.axes.get_xlabel() == "lag"
    with pytest.raises(ValueError, match="for 2 values"):
        plots.vamp([1, 2], [1.0])
    search = GridSearchCV(ks.Koopman(), {**grid, "rank": [1]}, cv=TimeSeriesSplit(2)).fit(T)
    with pytest.raises(ValueError, match="2 parameters"):
        plots.vamp(search)


def test_modes_are_maps_of_amplitude_and_phase() -> None:
    real = np.arange(12.0).reshape(2, 6)
    axes = plots.modes(real + 1j * real, shape=(2, 3), n=1, titles=["slow"])
    assert axes.shape == (1, 2)
    amplitude, phase = (ax.get_images()[0].get_array() for ax in axes[0])
    np.testing.assert_allclose(amplitude, np.sqrt(2) * real[0].reshape(2, 3))
    np.testing.assert_allclose(phase.ravel()[1:], np.pi / 4)
    assert axes[0, 1].get_title() == "slow: phase"
    pod = ks.POD(2).fit(np.random.default_rng(0).normal(size=(9, 4, 5)))
    axes = plots.modes(pod)
    assert axes.shape == (2, 1)
    np.testing.assert_allclose(axes[1, 0].get_images()[0].get_array(), pod.modes_[1])
    assert len(plots.modes(real)[0, 0].get_lines()[0].get_ydata()) == 6
    assert plots.modes(1j * real).shape == (2, 2)
    with pytest.raises(ValueError, match="not \\(k, 5, 2\\)"):
        plots.modes(real, shape=(5, 2))
    with pytest.raises(ValueError, match="pass their shape"):
        plots.modes(np.zeros((2, 3, 4, 5)))


def test_without_matplotlib_the_error_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(ImportError, match=r"kernelstream\[plot\]"):
        plots.growth([1], [1])


def test_a_fan_has_its_bands_at_the_horizons() -> None:
    rng = np.random.default_rng(0)
    T = np.cumsum(rng.normal(size=(300, 2)), axis=0)
    model = ks.Forecaster([3, 1, 2], ks.Koopman(time_step=0.5)).fit(T)
    ax = plots.forecast(model, T[-20:], T[:6], component=1)
    past, line, dots = ax.get_lines()
    np.testing.assert_array_equal(past.get_ydata(), T[-20:, 1])
    np.testing.assert_allclose(line.get_xdata(), [0.0, 0.5, 1.0, 1.5])
    np.testing.assert_allclose(line.get_ydata()[1:], model.forecast()[[1, 2, 0], 0, 1])
    np.testing.assert_array_equal(dots.get_ydata(), T[:6, 1])
    outer, inner = (band.get_paths()[0].vertices[:, 1] for band in ax.collections)
    ends = model.forecast_interval(coverage=0.9)[:, 0, 1]
    np.testing.assert_allclose([outer.min(), outer.max()], [ends.min(), ends.max()])
    assert np.ptp(inner) < np.ptp(outer)


@pytest.mark.parametrize(
    ("horizons", "lag", "seasons", "runs"),
    [
        ([1, 2, 3], 1, [], [[0, 1, 2, 3]]),
        ([1, 6, 24, 48], 1, [24], [[0, 1], [2], [3], [4]]),
        ([1, 4, 7, 48], 1, [24, 168], [[0, 1, 2, 3], [4]]),
        ([1, 2, 3, 5, 8, 12, 18], 1, [], [[0, 1, 2, 3, 4, 5, 6, 7]]),
        ([24], 1, [24], [[0], [1]]),
        ([2, 4, 6], 2, [4], [[0, 1, 2, 3]]),
    ],
)
def test_horizons_far_apart_are_points(
    horizons: list[int], lag: int, seasons: list[int], runs: list[list[int]]
) -> None:
    found = forecasts._runs(np.array(horizons, dtype=float), lag, seasons)
    assert [run.tolist() for run in found] == runs


SEASONAL = (50 + 8 * np.sin(np.arange(700) / 24 * 2 * np.pi))[:, None]
SEASONAL = SEASONAL + np.random.default_rng(0).normal(size=SEASONAL.shape)


def test_a_fan_shows_seasons_before_it_and_no_line_between_far_horizons() -> None:
    model = ks.Forecaster([1, 6, 24, 48]).fit(SEASONAL[:300])
    for rows in (100, 7, 1, 1, 1, 190):
        model.partial_fit(SEASONAL[model.n_states_ :][:rows])
    ax = plots.forecast(model)
    past, line = ax.get_lines()
    np.testing.assert_array_equal(past.get_ydata(), SEASONAL[600 - 144 : 600, 0])
    assert past.get_xdata()[-1] == 0.0
    assert line.get_marker() == "o"
    at = line.get_xdata()
    assert np.isnan(at).sum() == 3
    np.testing.assert_array_equal(at[np.isfinite(at)], [0.0, 1.0, 6.0, 24.0, 48.0])
    np.testing.assert_allclose(line.get_ydata()[np.isfinite(at)][1:], model.forecast()[:, 0, 0])
    # Bars of three horizons and the area of the first, twice.
    assert len(ax.collections) == 8


@pytest.mark.parametrize(
    ("horizons", "period", "count"), [([1], 24, 48), ([1], None, 20), ([30], None, 90)]
)
def test_a_fan_shows_two_seasons_or_three_horizons(
    horizons: list[int], period: int | None, count: int
) -> None:
    noise = np.random.default_rng(0).normal(size=(300, 1))
    model = ks.Forecaster(horizons, period=period).fit(noise)
    assert len(plots.forecast(model).get_lines()[0].get_xdata()) == count


def test_a_fan_shows_no_states_from_before_a_gap_or_another_trajectory() -> None:
    model = ks.Forecaster([1]).fit(SEASONAL[:300])
    model.partial_fit(SEASONAL[400:430], continued=False)
    np.testing.assert_array_equal(
        plots.forecast(model).get_lines()[0].get_ydata(), SEASONAL[400:430, 0]
    )


LONG = ["the area of the rooms of the house in square metres, without the cellar", "z", "of it"]


class Explained:
    """What the functions need of an explanation."""

    values = np.array([[-3190.0, 235.0, 1.2], [2000.0, -100.0, 3.0], [10.0, 40.0, -1.0]])
    base_values = np.full(3, 234.7)
    data = np.random.default_rng(0).normal(size=(3, 3))

    def __init__(self, names: list[str]) -> None:
        self.feature_names = names


@pytest.mark.parametrize("names", [["size of the living room", "k", "z"], LONG])
@pytest.mark.parametrize("kind", ["waterfall", "beeswarm", "contributions", "importances"])
def test_no_label_is_cut_off(kind: str, names: list[str]) -> None:
    if kind == "importances":
        ax = plots.importances([0.9, 0.1, 0.0], names=names)
    else:
        ax = getattr(plots, kind)(Explained(names))
    figure = ax.figure
    figure.canvas.draw()
    texts = [ax.xaxis.label, *ax.get_yticklabels(), *ax.texts]
    low, high = sorted(ax.get_xlim())
    ticks = zip(ax.get_xticks(), ax.get_xticklabels(), strict=True)
    shown = [text for at, text in ticks if low <= at <= high]
    texts += shown
    width, height = figure.canvas.get_width_height()
    for text in texts:
        box = text.get_window_extent()
        assert box.x0 >= 0, text
        assert box.y0 >= 0, text
        assert box.x1 <= width, text
        assert box.y1 <= height, text
    if kind == "waterfall":
        # The numbers beside the bars are drawn: they are within the axes.
        assert all(low < text.xy[0] < high for text in ax.texts)
        boxes = [text.get_window_extent() for text in shown]
        assert all(a.x1 < b.x0 for a, b in pairwise(boxes))


def test_a_fan_of_a_loaded_model_shows_the_states_that_its_forecast_needs() -> None:
    model = ks.Forecaster([1, 2]).fit(SEASONAL[:300])
    again = pickle.loads(pickle.dumps(model))
    shown = plots.forecast(again).get_lines()[0].get_ydata()
    np.testing.assert_array_equal(shown, SEASONAL[300 - len(shown) : 300, 0])
    again.partial_fit(SEASONAL[300:400])
    shown = plots.forecast(again).get_lines()[0].get_ydata()
    np.testing.assert_array_equal(shown, SEASONAL[400 - len(shown) : 400, 0])
