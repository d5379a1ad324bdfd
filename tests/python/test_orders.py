"""Models after rows that come in an order, and intervals and weights of the first rows."""

import time

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_matrix, random_array
from sklearn.base import clone
from sklearn.datasets import load_iris, load_wine
from sklearn.preprocessing import StandardScaler

import kernelstream as ks
from kernelstream.estimators.order import ordered_columns


def table(n=2400, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1.0, 1.0, size=(n, 3))
    return X, np.sin(3.0 * X[:, 0]) + X[:, 1] + 0.05 * rng.normal(size=n)


def in_blocks(y, rows):
    fifths = np.searchsorted(np.quantile(y, [0.2, 0.4, 0.6, 0.8]), y)
    parts = [np.array_split(np.flatnonzero(fifths == k), len(y) // 5 // rows) for k in range(5)]
    return np.concatenate([block for turn in zip(*parts, strict=True) for block in turn])


@pytest.mark.parametrize("load", [load_iris, load_wine])
@pytest.mark.parametrize("model", [ks.KernelExpertsClassifier, ks.KernelClassifier])
def test_fit_of_rows_sorted_by_label_is_right(load, model):
    X, y = load(return_X_y=True)
    X = StandardScaler().fit_transform(X)
    assert np.mean(model().fit(X, y).predict(X) == y) > 0.94


def labels_in_an_order(y, order):
    return {
        "sorted": np.argsort(y, kind="stable"),
        "falling": np.argsort(-y, kind="stable"),
        "blocks": np.lexsort((y, rank_within(y) // 200)),
    }[order]


def rank_within(y):
    rank = np.zeros(len(y), int)
    for label in np.unique(y):
        rank[y == label] = np.arange(np.sum(y == label))
    return rank


@pytest.mark.filterwarnings("ignore::kernelstream.exceptions.DriftWarning")
@pytest.mark.filterwarnings("ignore::kernelstream.exceptions.MovedColumnsWarning")
@pytest.mark.parametrize("weight", [None, "balanced", {0: 1.0, 1: 1.0}, {0: 1.0, 1: 4.0}])
@pytest.mark.parametrize("order", ["sorted", "falling", "blocks"])
def test_class_weights_are_right_on_sorted_labels(weight, order):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(3000, 2))
    y = (X[:, 0] + 0.3 * rng.normal(size=3000) > 0).astype(int)
    Z = rng.normal(size=(3000, 2))
    z = Z[:, 0] > (-0.25 if weight == {0: 1.0, 1: 4.0} else 0.0)
    places = labels_in_an_order(y, order)
    shuffled, by_label = (
        np.mean(
            ks.KernelClassifier(class_weight=weight).partial_fit(*rows, classes=[0, 1]).predict(Z)
            == z
        )
        for rows in ((X, y), (X[places], y[places]))
    )
    assert by_label > shuffled - 0.02


@pytest.mark.parametrize("order", ["sorted", "falling", "blocks"])
@pytest.mark.parametrize("weight", [None, "balanced"])
def test_experts_are_right_on_labels_in_an_order(order, weight):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(4500, 2))
    y = (X[:, 0] + 0.3 * rng.normal(size=4500) > 0).astype(int)
    (X, Z), (y, z) = np.split(X, [2500]), np.split(y, [2500])
    places = labels_in_an_order(y, order)
    model = ks.KernelExpertsClassifier(size=30, class_weight=weight)
    model.partial_fit(X[places], y[places], classes=[0, 1])
    # The best there is is 0.91.
    assert np.mean(model.predict(Z) == z) > 0.89


def test_rows_that_continue_an_order_are_predicted_by_it():
    # The target of a row is that of the rows next to it, of which no column tells.
    rng = np.random.default_rng(0)
    X = np.column_stack([np.linspace(0.0, 1.0, 2500), rng.normal(size=2500)])
    y = np.repeat([0, 1, 0, 1, 0], 500)
    model = ks.KernelExpertsClassifier(size=30)
    wrong = 0
    for start in range(0, 2500, 50):
        rows = slice(start, start + 50)
        if start:
            wrong += np.sum(model.predict(X[rows]) != y[rows])
        model.partial_fit(X[rows], y[rows], classes=[0, 1])
    assert wrong < 400


def test_fit_keeps_the_order_of_unordered_rows_and_on_request():
    X, y = table(300)
    order = np.argsort(y)
    kept = ks.KernelRegressor().partial_fit(X, y).predict(X)
    np.testing.assert_array_equal(ks.KernelRegressor().fit(X, y).predict(X), kept)
    by_target = ks.KernelRegressor().partial_fit(X[order], y[order]).predict(X)
    asked = ks.KernelRegressor().fit(X[order], y[order], shuffle=False).predict(X)
    np.testing.assert_array_equal(asked, by_target)
    assert not np.array_equal(ks.KernelRegressor().fit(X[order], y[order]).predict(X), by_target)


def in_own_units(n, seed):
    """Columns without a relation of their own to the target, and labels."""
    rng = np.random.default_rng(seed)
    X = np.c_[np.exp(rng.normal(size=n)), 1e3 * rng.normal(size=n), rng.integers(0, 5, size=n)]
    y = np.sin(2.0 * X[:, 0]) * X[:, 1] / 1e3 + (X[:, 2] - 2) * np.cos(X[:, 1] / 500)
    return X, y + 0.1 * rng.normal(size=n)


@pytest.mark.parametrize("kind", ["array", "frame", "sparse", "gaps", "outlier"])
@pytest.mark.parametrize("by", [0, 1, 2])
@pytest.mark.parametrize("falling", [False, True])
def test_fit_of_rows_sorted_by_a_column_is_that_of_shuffled_rows(kind, by, falling):
    X, y = in_own_units(3000, 0)
    Z, z = in_own_units(1000, 1)
    places = np.argsort(-X[:, by] if falling else X[:, by], kind="stable")
    X, y = X[places], y[places]
    if kind == "outlier":
        X[-1, by] = -1e6 if falling else 1e6
    if kind == "gaps":
        X[::50, by] = np.nan
    rows = {"frame": pd.DataFrame(X, columns=["a", "b", "c"]), "sparse": csr_matrix(X)}.get(kind, X)
    missing = "fill" if kind == "gaps" else "error"
    # scale=True of a sparse matrix would make it dense.
    settings = {"missing": missing, "scale": kind != "sparse"}
    model = ks.KernelRegressor(**settings).fit(rows, y)
    shuffled = ks.KernelRegressor(**settings).fit(rows, y, shuffle=True)
    asked = pd.DataFrame(Z, columns=["a", "b", "c"]) if kind == "frame" else Z
    np.testing.assert_array_equal(model.predict(asked), shuffled.predict(asked))
    if kind in {"array", "frame"}:
        assert model.score(asked, z) > 0.85


@pytest.mark.parametrize("by", [0, 1, 2])
def test_fit_of_labels_in_rows_sorted_by_a_column_is_right(by):
    X, y = in_own_units(3000, 0)
    Z, z = in_own_units(1000, 1)
    places = np.argsort(X[:, by], kind="stable")
    model = ks.KernelClassifier().fit(X[places], y[places] > 0)
    assert model.score(Z, z > 0) > ks.KernelClassifier().fit(X, y > 0).score(Z, z > 0) - 0.02


def test_fit_of_learners_that_favour_recent_rows_keeps_the_order_of_a_column():
    X, y = in_own_units(600, 0)
    X, y = X[np.argsort(X[:, 1])], y[np.argsort(X[:, 1])]
    for learner in (
        ks.Ridge(forgetting=0.99),
        ks.Gradient(),
        ks.BudgetedGradient(budget=50),
    ):
        model = ks.KernelRegressor(learner=learner)
        in_order = clone(model).partial_fit(X, y).predict(X)
        np.testing.assert_array_equal(model.fit(X, y).predict(X), in_order)


@pytest.mark.parametrize("order", ["rising", "falling"])
def test_fit_with_forgetting_keeps_the_order_of_rising_targets(order):
    """A learner that forgets is for rows whose relation changes with time, as theirs does."""
    rng = np.random.default_rng(0)
    X, drift = rng.normal(size=(4000, 2)), np.linspace(0.0, 10.0, 4000)
    y = np.sin(X[:, 0]) + (drift if order == "rising" else -drift) + 0.1 * rng.normal(size=4000)
    model = ks.KernelRegressor(learner=ks.Ridge(forgetting=0.98)).fit(X[:3500], y[:3500])
    assert np.abs(model.predict(X[3500:3520]) - y[3500:3520]).mean() < 0.5


@pytest.mark.filterwarnings("ignore::kernelstream.exceptions.UselessPredictionsWarning")
@pytest.mark.filterwarnings("ignore::kernelstream.exceptions.MovedColumnsWarning")
def test_fit_keeps_the_order_of_times():
    X, y = in_own_units(1000, 0)
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    frame["b"] = np.sort(frame["b"])
    frame["when"] = pd.date_range("2024-01-01", periods=1000, freq="h")
    in_order = ks.KernelRegressor().partial_fit(frame, y).predict(frame)
    np.testing.assert_array_equal(ks.KernelRegressor().fit(frame, y).predict(frame), in_order)
    drawn = frame.assign(when=frame["when"].sample(frac=1.0, random_state=0).to_numpy())
    shuffled = ks.KernelRegressor().fit(drawn, y, shuffle=True).predict(drawn)
    np.testing.assert_array_equal(ks.KernelRegressor().fit(drawn, y).predict(drawn), shuffled)


@pytest.mark.filterwarnings("ignore::kernelstream.exceptions.MovedColumnsWarning")
@pytest.mark.parametrize("zone", [None, "Europe/Berlin"])
def test_fit_keeps_the_order_of_an_index_of_times(zone):
    X, y = in_own_units(600, 0)
    frame = pd.DataFrame(X[np.argsort(X[:, 1])], columns=["a", "b", "c"])
    y = y[np.argsort(X[:, 1])]
    shuffled = ks.KernelRegressor().fit(frame, y, shuffle=True).predict(frame)
    np.testing.assert_array_equal(ks.KernelRegressor().fit(frame, y).predict(frame), shuffled)
    frame.index = pd.date_range("2024-01-01", periods=600, freq="h", tz=zone)
    in_order = ks.KernelRegressor().partial_fit(frame, y).predict(frame)
    np.testing.assert_array_equal(ks.KernelRegressor().fit(frame, y).predict(frame), in_order)


def test_fit_keeps_the_order_where_any_learner_forgets():
    X, y = in_own_units(600, 0)
    X, y = X[np.argsort(y)], np.sort(y)
    plain, forgets = ks.KernelRegressor(), ks.KernelRegressor(learner=ks.Ridge(forgetting=0.99))
    order = (X, X, y)
    assert ks.KernelExperts([plain, plain])._is_in_order(*order)
    assert not ks.KernelExperts([plain, forgets])._is_in_order(*order)
    staged = ks.Staged(then=ks.Ridge(forgetting=0.99))
    assert not ks.KernelRegressor(learner=staged)._is_in_order(*order)
    assert ks.KernelRegressor(learner=ks.Staged())._is_in_order(*order)


def test_fit_judges_columns_for_given_experts_alone():
    X, y = in_own_units(600, 0)
    X, y = X[np.argsort(X[:, 1])], y[np.argsort(X[:, 1])]
    plain, gradient = ks.KernelRegressor(), ks.KernelRegressor(learner=ks.Gradient())
    model = ks.KernelExperts([plain, plain]).fit(X, y)
    shuffled = ks.KernelExperts([plain, plain]).fit(X, y, shuffle=True)
    np.testing.assert_array_equal(model.predict(X), shuffled.predict(X))
    kept = ks.KernelExperts([plain, gradient]).fit(X, y)
    in_order = ks.KernelExperts([plain, gradient]).fit(X, y, shuffle=False)
    np.testing.assert_array_equal(kept.predict(X), in_order.predict(X))
    assert not ks.KernelExperts()._is_in_order(X, X, y)


def test_many_sparse_columns_are_judged_as_dense_ones():
    wide = random_array((3000, 40000), density=0.001, rng=np.random.default_rng(0), format="csr")
    y = np.random.default_rng(1).normal(size=3000)
    started = time.perf_counter()
    assert ordered_columns(wide, y).size == 0
    assert time.perf_counter() - started < 1.0
    few = wide[:, :400].tolil()
    few[:100, 7], few[:600, 9], few[::2, 11] = 1.0, 1.0, np.nan
    few = few.tocsr()
    assert ordered_columns(few, y).tolist() == ordered_columns(few.toarray(), y).tolist() == [7, 9]


@pytest.mark.parametrize("n", [64, 300, 5000])
def test_columns_in_a_random_order_are_in_no_order(n):
    for seed in range(10):
        rng = np.random.default_rng(seed)
        X = np.c_[
            rng.normal(size=(n, 10)),
            rng.standard_cauchy((n, 10)),
            rng.random((n, 10)) < 0.02,
            rng.random((n, 10)) < 0.3,
            np.zeros((n, 1)),
        ]
        y = rng.normal(size=n)
        assert ordered_columns(X, y).size == 0
        assert ordered_columns(csr_matrix(X), y).size == 0
        # Repeated rows are the same as weights of rows.
        counts = rng.integers(1, 4, n)
        assert ordered_columns(X.repeat(counts, axis=0), y.repeat(counts)).size == 0
        # A rare flag is not judged.
        X[:, 40] = np.arange(n) < n / 100
        assert ordered_columns(X, y).size == 0
        X[:, 40] = np.arange(n) < n / 10
        assert ordered_columns(X, y).tolist() == [40]
        assert ordered_columns(csr_matrix(X), y).tolist() == [40]
        assert ordered_columns(X.repeat(counts, axis=0), y.repeat(counts)).tolist() == [40]


@pytest.mark.filterwarnings("ignore:50 % of:kernelstream.exceptions.RepeatedRowsWarning")
@pytest.mark.parametrize("order", ["target", "column", "blocks", "long blocks", "duplicates"])
def test_experts_are_right_about_any_row_after_rows_in_an_order(order):
    X, y = table()
    Z, z = table(1000, seed=1)
    places = {
        "target": np.argsort(y),
        "column": np.argsort(X[:, 0]),
        "blocks": in_blocks(y, 96),
        "long blocks": in_blocks(y, 480),
        "duplicates": np.repeat(np.arange(len(y) // 2), 2),
    }[order]

    def error(rows):
        model = ks.KernelExperts(size=50).partial_fit(X[rows], y[rows])
        return np.mean(np.square(model.predict(Z) - z)) / np.var(z)

    assert error(places) < 2.0 * error(np.arange(len(y))) + 0.005


@pytest.mark.parametrize("order", ["random", "rising", "falling", "column"])
def test_gaps_do_not_tell_how_late_a_row_is(order):
    X, y = table(3000, 1)
    shares, others = [], []
    for seed in (2, 3, 4):
        rows = X.copy()
        rows[np.random.default_rng(seed).random(3000) < 0.1, 0] = np.nan
        first, Z, z = rows[:2000], rows[2000:], y[2000:]
        by = {
            "rising": y[:2000],
            "falling": -y[:2000],
            "column": first[:, 1],
            "random": np.zeros(2000),
        }[order]
        places = np.argsort(by, kind="stable")
        model = ks.KernelExperts(missing="fill", n_warm_up=100)
        model.partial_fit(first[places], y[:2000][places])
        losses, gaps = (model.predict(Z) - z) ** 2, np.isnan(Z[:, 0])
        # Nothing tells the part of the target that the first column has.
        shares.append(losses[gaps].mean() / np.var(np.sin(3.0 * Z[~gaps, 0])))
        others.append(losses[~gaps].mean())
    # A hundred rows alone have shares of 0.93 to 1.2.
    assert np.mean(shares) < 1.1
    assert np.mean(others) < 0.01


def noisy(n, seed, labels):
    """Numbers or rare labels of which no column tells much alone."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 8))
    y = np.sin(2.0 * X[:, 0]) * X[:, 1] + 0.5 * X[:, 2] + 0.6 * rng.normal(size=n)
    return X, (y > np.quantile(y, 0.88)).astype(int) if labels else y


@pytest.mark.parametrize("end", [2210, 2300, 2400, 2600])
@pytest.mark.parametrize("rows", [100, 200, 400])
@pytest.mark.parametrize("labels", [False, True])
def test_experts_are_right_wherever_sorted_blocks_end(labels, rows, end):
    """The latest targets, which predict the next one, have no part in the answer for any row."""
    X, y = noisy(2600, 0, labels)
    Z, z = noisy(1000, 1, labels)
    parts = np.array_split(np.arange(len(y)), len(y) // rows)
    places = np.concatenate([part[np.argsort(y[part], kind="stable")] for part in parts])[:end]
    if labels:
        model = ks.KernelExpertsClassifier(size=60)
        model.partial_fit(X[places], y[places], classes=[0, 1])
        assert np.mean(model.predict(Z) != z) < np.mean(z) + 0.015
    else:
        model = ks.KernelExperts(size=60).partial_fit(X[places], y[places])
        # Shuffled it is 0.38.
        assert np.mean(np.square(model.predict(Z) - z)) < 0.55 * np.var(z)


@pytest.mark.parametrize("rows", [100, 1000, 5000])
def test_experts_are_right_about_labels_in_long_blocks(rows):
    """A label that first varies, and an alarm when it changes, in blocks up to the whole stream."""
    X, y = noisy(5000, 0, labels=True)
    Z, z = noisy(1000, 1, labels=True)
    rank = rank_within(y)
    places = np.lexsort((y, rank * np.where(y == 1, len(y) / y.sum(), 1.0) // rows))
    model = ks.KernelExpertsClassifier(size=60)
    model.partial_fit(X[places], y[places], classes=[0, 1])
    shuffled = ks.KernelExpertsClassifier(size=60)
    shuffled.partial_fit(X, y, classes=[0, 1])
    right = np.mean(shuffled.predict(Z) != z)
    assert np.mean(model.predict(Z) != z) < 1.5 * right + 0.01


@pytest.mark.filterwarnings("ignore::kernelstream.exceptions.DriftWarning")
@pytest.mark.parametrize("end", [2304, 2400, 2600])
@pytest.mark.parametrize("leap", ["once", "rising"])
def test_experts_are_right_about_earlier_rows_after_a_leap(leap, end):
    """Errors far out of range look like a change; experts of the latest rows know no others."""

    def target(X):
        here = np.sin(2.0 * X[:, 1]) + X[:, 2] * X[:, 3]
        return here + np.where(X[:, 0] > 5.0, X[:, 0] * np.cos(3.0 * X[:, 2]) / 3.0, X[:, 0])

    early, late = [], []
    for seed in range(4):
        rng = np.random.default_rng(seed)
        X, Z = (rng.normal(size=(n, 4)) for n in (end, 1000))
        X[2048:, 0] += 10.0 if leap == "once" else np.linspace(8.0, 18.0, end - 2048)
        y, z = target(X) + 0.3 * rng.normal(size=end), target(Z)
        model = ks.KernelExperts(size=60).partial_fit(X, y)
        early.append(np.mean(np.square(model.predict(Z) - z)) / np.var(z))
        made = model.predict(X[-100:])
        late.append(np.mean(np.square(made - y[-100:])) / np.var(y[-100:]))
    # Before the leap it is 0.02.
    assert np.mean(early) < 0.3
    assert max(early) < 0.5
    if end > 2304:
        assert np.mean(late) < 0.2


def test_a_model_that_learns_rows_in_an_order_continues_from_its_file(tmp_path):
    X, y = table(1600)
    order = np.argsort(y)
    model = ks.KernelExperts(size=30).partial_fit(X[order[:1100]], y[order[:1100]])
    model.save(tmp_path / "model")
    other = ks.load(tmp_path / "model")
    for each in (model, other):
        each.partial_fit(X[order[1100:]], y[order[1100:]])
    np.testing.assert_array_equal(other.predict(X), model.predict(X))


@pytest.mark.parametrize("unit", [1.0 / 1500, 1e-6, 1e3])
def test_weights_of_experts_count_by_their_ratios(unit):
    X, y = table(1500)
    weights = np.random.default_rng(2).uniform(0.5, 2.0, size=1500)
    one, other = (
        ks.KernelExperts(size=30).partial_fit(X, y, sample_weight=scale * weights).predict(X)
        for scale in (1.0, unit)
    )
    np.testing.assert_allclose(other, one, atol=0.02)


def test_intervals_hold_from_the_third_row_on():
    inside = np.zeros((200, 40))
    for stream in range(200):
        rng = np.random.default_rng(stream)
        X = rng.normal(size=(40, 1))
        y = X[:, 0] + rng.normal(size=40)
        ends = ks.KernelRegressor().partial_fit_predict_interval(X, y, coverage=0.9)
        inside[stream] = (ends[:, 0] <= y) & (y <= ends[:, 1])
    share = inside.mean(axis=0)
    assert share[2:10].mean() > 0.83
    assert share[10:].mean() > 0.83


@pytest.mark.parametrize("dtype", ["Int64", "boolean", "bool[pyarrow]", "int64[pyarrow]"])
def test_nullable_labels_come_back_as_numbers(dtype):
    X = np.random.default_rng(0).normal(size=(100, 2))
    y = pd.Series(X[:, 0] > 0, dtype="bool" if "bool" in dtype else int).astype(dtype)
    predicted = ks.KernelClassifier().fit(X, y).predict(X)
    assert predicted.dtype == (bool if "bool" in dtype else np.int64)


def towns(n, seed, levels=8):
    rng = np.random.default_rng(seed)
    town, a = rng.integers(levels, size=n), rng.normal(size=n)
    effect = np.random.default_rng(0).normal(scale=2.0, size=levels)
    frame = {"a": a, "town": np.array([f"town {k:02}" for k in town])}
    return frame, effect[town] + np.sin(2 * a) + 0.1 * rng.normal(size=n)


def rows_of(frame, places):
    return {name: cells[places] for name, cells in frame.items()}


@pytest.mark.parametrize("order", ["by_text", "falling", "in_turn"])
@pytest.mark.parametrize("chunk", [100, 2200])
@pytest.mark.filterwarnings("ignore::kernelstream.exceptions.UnknownCategoriesWarning")
def test_experts_know_categories_that_come_after_the_warm_up(order, chunk):
    frame, y = towns(2200, 1)
    rest, expected = towns(500, 2)
    by_text = np.argsort(frame["town"], kind="stable")
    places = {"by_text": by_text, "falling": by_text[::-1], "in_turn": np.arange(2200)}[order]
    model = ks.KernelExperts(size=30, n_warm_up=200)
    for start in range(0, 2200, chunk):
        some = places[start : start + chunk]
        model.partial_fit(rows_of(frame, some), y[some])
    error = np.mean((model.predict(rest) - expected) ** 2) / np.var(expected)
    assert error < 0.1
    # None of them is known.
    other = rest | {"town": np.array(["nowhere"] * 500)}
    assert np.isfinite(model.predict(other)).all()


def test_categories_after_the_warm_up_are_saved(tmp_path):
    frame, y = towns(900, 1)
    order = np.argsort(frame["town"], kind="stable")
    first, last = order[:700], order[700:]
    model = ks.KernelExperts(size=20, n_warm_up=100).partial_fit(rows_of(frame, first), y[first])
    model.save(tmp_path / "model")
    again = ks.load(tmp_path / "model")
    for one in (model, again):
        one.partial_fit(rows_of(frame, last), y[last])
    np.testing.assert_array_equal(model.predict(frame), again.predict(frame))


@pytest.mark.parametrize("n", [60, 120, 250, 600])
@pytest.mark.parametrize("seed", [2, 5])
def test_experts_end_anywhere_in_rows_sorted_by_the_target(n, seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n + 500, 4))
    y = np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2] + 0.2 * rng.normal(size=n + 500)
    rising = np.argsort(y[:n])

    def error(order):
        model = ks.KernelExperts().partial_fit(X[order], y[order])
        return np.sqrt(np.mean((model.predict(X[n:]) - y[n:]) ** 2))

    random = error(np.arange(n))
    assert error(rising) < 1.6 * random
    assert error(rising[::-1]) < 1.6 * random


@pytest.mark.parametrize("last", [0, 4, 9])
def test_experts_know_a_class_that_comes_last(last):
    rng = np.random.default_rng(1)
    centers, y = rng.normal(0, 2.5, (10, 4)), rng.integers(10, size=1500)
    X = centers[y] + 0.8 * rng.normal(size=(1500, 4))
    order = np.argsort(y[:500] == last, kind="stable")
    model = ks.KernelExpertsClassifier(size=60)
    model.partial_fit(X[order], y[order], classes=np.arange(10))
    assert np.mean(model.predict(X[500:]) != y[500:]) < 0.12


@pytest.mark.filterwarnings("ignore::kernelstream.exceptions.DriftWarning")
@pytest.mark.parametrize("order", ["random", "rare_first"])
@pytest.mark.parametrize("seed", [3, 6, 7])
def test_balanced_experts_do_not_take_all_rows_for_the_rare_class(order, seed):
    rng = np.random.default_rng(seed)
    y = (rng.random(6000) < 1 / 200).astype(int)
    X = rng.normal(size=(6000, 3))
    X[y == 1, :2] += [3.0, -1.5]
    places = {
        "random": np.arange(2500),
        "rare_first": np.argsort(-y[:2500], kind="stable"),
    }[order]
    model = ks.KernelExpertsClassifier(size=60, class_weight="balanced")
    model.partial_fit(X[places], y[places], classes=[0, 1])
    found, right = model.predict(X[2500:]), y[2500:]
    recall = [np.mean(found[right == label] == label) for label in (0, 1)]
    assert np.mean(recall) > 0.7
    assert recall[0] > 0.85


@pytest.mark.filterwarnings("ignore::kernelstream.exceptions.OutlierWarning")
@pytest.mark.parametrize("heavy", [[0], [3], [1000], list(range(10))])
@pytest.mark.parametrize("weight", [1e3, 1e9])
def test_enormous_weights_do_not_hide_other_rows(heavy, weight):
    X, y = table(1500)
    Z, z = table(500, seed=1)
    weights = np.ones(1500)
    weights[heavy] = weight

    def error(weights):
        model = ks.KernelExperts(size=60).partial_fit(X, y, sample_weight=weights)
        return np.mean((model.predict(Z) - z) ** 2)

    assert error(weights) < 2.0 * error(None)


@pytest.mark.filterwarnings("ignore::kernelstream.exceptions.KernelstreamWarning")
def test_a_trend_of_rows_in_the_order_of_times_is_learned_as_documented():
    t = np.arange(2000)
    noise = np.random.default_rng(0).normal(size=2000)
    y = 0.03 * t + 3.0 * (t % 7 < 5) + 0.3 * noise
    X = {"when": np.datetime64("2016-01-01") + t.astype("timedelta64[D]")}
    elapsed = {"when": {"type": "time", "parts": ["week", "year", "elapsed"]}}

    def error(model, *, prequential=False):
        said = model.partial_fit_predict(X, y) if prequential else model.predict(X)
        return np.sqrt(np.mean((said - y)[1000:] ** 2))

    plain = error(ks.KernelRegressor(), prequential=True)
    assert plain > 10.0
    assert error(ks.KernelRegressor().fit(X, y)) < 2.0
    assert error(ks.KernelRegressor(columns=elapsed), prequential=True) < 1.0
    forgetting = ks.KernelRegressor(learner=ks.Ridge(forgetting=0.99))
    assert error(forgetting, prequential=True) < 0.3 * plain


@pytest.mark.filterwarnings("ignore::kernelstream.exceptions.KernelstreamWarning")
@pytest.mark.parametrize("kind", [ks.KernelRegressor, ks.KernelClassifier])
@pytest.mark.parametrize("rows", ["shuffled", "sorted"])
@pytest.mark.parametrize("place", ["first", "last"])
def test_rows_without_weight_have_no_part_in_the_order(kind, rows, place):
    X, y = in_own_units(900, 0)
    rank = np.argsort(X[:, 0]) if rows == "sorted" else np.arange(900)
    X, y = X[rank], y[rank]
    if kind is ks.KernelClassifier:
        y = (y > np.median(y)).astype(int)
    none = np.repeat(X[:1] + 5.0 * X.std(axis=0), 900, axis=0)
    parts = ((none, X), (np.zeros_like(y), y), (np.zeros(900), np.ones(900)))
    whole, targets, weights = (
        np.concatenate(pair if place == "first" else pair[::-1]) for pair in parts
    )
    model = kind().fit(whole, targets, sample_weight=weights)
    np.testing.assert_array_equal(model.predict(X), kind().fit(X, y).predict(X))
    assert model.n_seen_ == 1800


@pytest.mark.parametrize("rows", [50, 90, 120, 150, 200])
@pytest.mark.filterwarnings("ignore::kernelstream.exceptions.KernelstreamWarning")
def test_categories_that_come_one_after_another_are_told_apart(rows):
    means = np.array([14.0, 15.0, 2.0, 5.0, 3.5, 17.0])
    targets = np.repeat(means, rows) + np.random.default_rng(0).normal(size=6 * rows)
    frame = pd.DataFrame({"town": np.repeat(list("ABCDEF"), rows)})
    model = ks.KernelExperts().partial_fit(frame, targets)
    np.testing.assert_allclose(model.predict(frame[::rows]), means, atol=1.0)
    in_steps = ks.KernelExperts()
    for first in range(0, 6 * rows, 37):
        in_steps.partial_fit(frame[first : first + 37], targets[first : first + 37])
    np.testing.assert_allclose(in_steps.predict(frame[::rows]), model.predict(frame[::rows]))


@pytest.mark.parametrize(("groups", "rows"), [(6, 150), (10, 30), (3, 300)])
@pytest.mark.filterwarnings("ignore::kernelstream.exceptions.KernelstreamWarning")
def test_categories_in_turn_beside_a_number(groups, rows):
    for seed in range(3):
        rng = np.random.default_rng(seed)
        category, x = np.repeat(np.arange(groups), rows), rng.normal(size=groups * rows)
        y = rng.normal(0, 3, groups)[category] + 2 * x + 0.3 * rng.normal(size=groups * rows)
        frame = pd.DataFrame({"group": [f"g{place}" for place in category], "x": x})
        assert ks.KernelExperts().partial_fit(frame, y).score(frame, y) > 0.94
