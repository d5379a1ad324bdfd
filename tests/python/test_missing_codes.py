"""Codes for missing values, such as -9999, in columns of features."""

import pickle
import warnings

import numpy as np
import pandas as pd
import pytest

import kernelstream as ks
from kernelstream.estimators.sentinels import find_codes
from kernelstream.exceptions import SentinelWarning
from test_cli import run

pytestmark = [
    pytest.mark.filterwarnings("ignore::kernelstream.exceptions.MovedColumnsWarning"),
    pytest.mark.filterwarnings("ignore::kernelstream.exceptions.UselessPredictionsWarning"),
    pytest.mark.filterwarnings("ignore::kernelstream.exceptions.DriftWarning"),
]
ORDERS = ["random", "by the column"]


def table(code, order="random", share=0.04, n=1500):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 4))
    y = np.sin(X[:, 0]) + X[:, 1]
    X[rng.random(n) < share, 2] = code
    places = np.argsort(X[:, 2]) if order == "by the column" else np.arange(n)
    return X[places], y[places]


def warnings_of(learn):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        learn()
    return [str(one.message) for one in caught if one.category is SentinelWarning]


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("code", [-9999.0, -999.0, 999999.0, -99.0, -99.9, 1e20, 2147483647.0])
def test_repeated_codes_of_a_column_are_found(code, order):
    (found,) = find_codes(table(code, order)[0])
    assert (found.column, found.value) == (2, code)
    assert 0.03 < found.share < 0.05


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize(
    "model", [ks.KernelRegressor, ks.KernelClassifier, ks.KernelExperts, ks.KernelExpertsClassifier]
)
def test_a_code_gives_one_warning_with_the_column_the_share_and_the_remedy(model, order):
    X, y = table(-9999.0, order)
    targets = y if hasattr(model, "predict_interval") else np.where(y > 0, "a", "b")
    frame = pd.DataFrame(X, columns=list("uvwx"))
    (message,) = warnings_of(lambda: model().fit(frame, targets))
    assert message.startswith("column 'w' is -9999 in 3.3 % of the first 1,500 rows, and all its ")
    assert message.endswith(
        "pass NaN in its place (X.replace(-9999, np.nan) in pandas) and missing='fill'"
    )
    filled = frame.replace(-9999, np.nan)
    assert not warnings_of(lambda: model(missing="fill").fit(filled, targets))


@pytest.mark.parametrize("order", ORDERS)
def test_of_a_long_table_rows_spread_over_it_are_looked_at(order):
    X, y = table(-9999.0, order, n=30_000)
    model = ks.KernelRegressor(basis=ks.Fourier(20))
    (message,) = warnings_of(lambda: model.fit(X, y))
    share, rest = message.removeprefix("column 2 is -9999 in ").split(" % of ", 1)
    assert 3.0 < float(share) < 5.0
    assert rest.startswith("5,000 rows looked at, and all its other values are from ")


def test_rows_without_weight_are_not_looked_at():
    X, y = table(-9999.0)
    is_code = X[:, 2] == -9999.0
    model = ks.KernelRegressor()
    assert not warnings_of(lambda: model.fit(X, y, sample_weight=1.0 * ~is_code))
    weights = np.where(np.arange(len(X)) % 3, 1.0, 0.0)
    (message,) = warnings_of(lambda: ks.KernelRegressor().fit(X, y, sample_weight=weights))
    share = 100 * is_code[weights > 0].mean()
    assert message.startswith(f"column 2 is -9999 in {share:.2g} % of 1,000 rows looked at, ")
    (message,) = warnings_of(lambda: ks.KernelRegressor().fit(X, y, sample_weight=weights + 1.0))
    assert " % of the first 1,500 rows, " in message


@pytest.mark.parametrize("size", [1, 7, 64, 300, 1500])
def test_a_code_in_pieces_gives_one_warning(size):
    X, y = table(-999.0)
    model = ks.KernelRegressor(missing="fill")

    def learn():
        for start in range(0, len(X), size):
            model.partial_fit(X[start : start + size], y[start : start + size])

    (message,) = warnings_of(learn)
    assert message.startswith("column 2 is -999 in ")
    assert message.endswith("pass NaN in its place (np.where(np.isin(X, -999), np.nan, X))")
    assert model._first_rows is None
    assert "_first_rows" not in vars(pickle.loads(pickle.dumps(model)))


def test_other_columns_and_codes_are_in_the_same_warning():
    X, y = table(-9999.0)
    X[::30, 3] = 99999.0
    (message,) = warnings_of(lambda: ks.KernelRegressor().fit(X, y))
    assert "(such a value is also in column 3)" in message
    assert "np.isin(X, [-9999, 99999])" in message


def test_declared_categories_are_not_numbers():
    X, y = table(-9999.0)
    frame = pd.DataFrame(X, columns=list("uvwx")).round(0)
    assert not warnings_of(lambda: ks.KernelRegressor(columns={"w": "category"}).fit(frame, y))


def ordinary_columns(seed, n=2000):
    rng = np.random.default_rng(seed)
    prices = np.exp(rng.normal(4.0, 0.8, n))
    houses = np.exp(rng.normal(12.0, 0.6, n)).round(-2)
    return {
        "counts with zeros": np.where(rng.random(n) < 0.8, 0, rng.poisson(3, n)),
        "gains, mostly 0": np.where(
            rng.random(n) < 0.03, 99999, rng.poisson(2000, n) * (rng.random(n) < 0.08)
        ),
        "prices": (prices - prices % 10) + 9.0,
        "prices, some of them 999": np.where(rng.random(n) < 0.02, 999.0, prices.round(2)),
        "plans": rng.choice([199.0, 299.0, 399.0, 999.0], n, p=[0.4, 0.3, 0.2, 0.1]),
        "capped": np.where(houses > 500000, 500001, houses),
        "capped at nines": np.minimum(prices, 99.0),
        "zeros and rare ones": (rng.random(n) < 0.02).astype(float),
        "constant": np.full(n, -9999.0),
        "-1 for none": np.where(rng.random(n) < 0.05, -1, rng.integers(0, 900, n)),
        "a number once": np.where(np.arange(n) == 7, -9999.0, rng.normal(size=n)),
        "mostly a code": np.where(rng.random(n) < 0.9, 999.0, rng.integers(0, 28, n)),
        "inside the range": np.where(rng.random(n) < 0.05, -999.0, 3000 * rng.normal(size=n)),
        "heavy tails": rng.standard_cauchy(n).round(1),
        "a gap everywhere": np.full(n, np.nan),
    }


@pytest.mark.parametrize("seed", range(10))
def test_ordinary_columns_are_not_warned_of(seed):
    columns = ordinary_columns(seed)
    found = find_codes(np.column_stack([np.asarray(each, float) for each in columns.values()]))
    assert [list(columns)[one.column] for one in found] == []
    some = {name: np.sort(values)[::7] for name, values in columns.items()}
    assert not find_codes(np.column_stack([np.asarray(each, float) for each in some.values()]))


def test_gaps_beside_codes_do_not_hide_them():
    X, _ = table(-9999.0)
    X[::3, 2] = np.nan
    (found,) = find_codes(X)
    assert found.share == np.mean(X[~np.isnan(X[:, 2]), 2] == -9999.0)


@pytest.mark.filterwarnings("default::kernelstream.exceptions.SentinelWarning")
@pytest.mark.parametrize("kind", ["--plain", "--experts"])
@pytest.mark.parametrize("label", [[], ["--classify"]])
def test_the_command_names_its_option(label, kind, tmp_path):
    X, y = table(-9999.0)
    frame = pd.DataFrame(X, columns=list("uvwx")).assign(y=(y > 0).astype(int) if label else y)
    frame.to_csv(tmp_path / "t.csv", index=False)
    learn = ["learn", tmp_path / "t.csv", "-t", "y", kind, *label]
    result = run(*learn)
    assert result.stderr.count("note: column 'w' is -9999 in ") == 1
    remedy = ["--missing-values=-9999", "--missing", "fill"]
    assert f"if it stands for a missing value, give {' '.join(remedy)}\n" in result.stderr
    assert "-9999" not in run(*learn, *remedy).stderr
