"""Columns of every kind against scikit-learn's encoders, and what cannot be one."""

from __future__ import annotations

import copy
import datetime as dt

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.preprocessing import OneHotEncoder, StandardScaler

import kernelstream as ks

N, WARM_UP = 400, 150
RNG = np.random.default_rng(0)
HOURS = np.arange(N)
FRAME = pd.DataFrame(
    {
        "price": np.where(RNG.random(N) < 0.1, np.nan, RNG.lognormal(5, 1, N)),
        "colour": pd.Series(RNG.choice(["red", "green", "blue", None], N), dtype=object),
        "open": RNG.random(N) < 0.5,
        "when": pd.Timestamp("2026-03-01") + pd.to_timedelta(HOURS, "h"),
        "count": RNG.poisson(3.0, N),
    }
)
FRAME.loc[WARM_UP + 50 :: 20, "colour"] = "violet"
FEATURES = list(FRAME)
Y = np.sin(HOURS * np.pi / 12) + FRAME["open"] + (FRAME["colour"] == "red")
LABELS = np.where(Y > 0.8, "much", "little")
KINDS = {"count": {"type": "number", "logarithm": True}}


def regressor(**options):
    options = {"missing": "fill", "n_warm_up": WARM_UP, "columns": KINDS} | options
    return ks.KernelRegressor(basis=ks.ALD(max_size=60), **options)


def by_hand(prices):
    """The features that the warm-up of `FRAME` leads to, if gaps are filled with these prices."""
    first = FRAME[:WARM_UP]
    scaler = StandardScaler().fit(first[["price"]])
    price = scaler.transform(FRAME[["price"]].fillna({"price": prices}))
    logs = np.log1p(FRAME[["count"]])
    known = first[["colour"]].dropna()
    colours = OneHotEncoder(handle_unknown="ignore", sparse_output=False).fit(known)
    hot = colours.transform(FRAME[["colour"]])
    other = FRAME["colour"].notna() & ~FRAME["colour"].isin(known["colour"])
    seconds = (FRAME["when"] - pd.Timestamp(0)).dt.total_seconds().to_numpy()
    angles = [2 * np.pi * seconds / (days * 86400) for days in (1, 7, 365.2425)]
    cycles = np.column_stack([wave(angle) for angle in angles for wave in (np.sin, np.cos)])
    counts = StandardScaler().fit(logs[:WARM_UP]).transform(logs)
    parts = [price, FRAME[["price"]].isna(), hot, other, 2.0 * FRAME[["open"]] - 1, cycles, counts]
    return np.column_stack(parts)


def test_features_are_those_of_scikit_learn():
    model = regressor().fit(FRAME, Y)
    features = model._core.features(model._rows(FRAME, reset=False))
    expected = by_hand(pd.Series(np.full(N, FRAME["price"].mean())))
    # The core has categories in an order of its own.
    places = [
        int(np.argmin(np.abs(features - column[:, None]).sum(axis=0))) for column in expected.T
    ]
    assert sorted(places) == list(range(expected.shape[1]))
    np.testing.assert_allclose(features[:, places], expected, atol=1e-9)
    # A row was learned with the mean of those before it, at least of all of the warm-up.
    means = FRAME["price"].expanding().mean().shift().ffill()
    means[:WARM_UP] = FRAME["price"][:WARM_UP].mean()
    learned = np.empty_like(features)
    learned[:, places] = by_hand(means)
    plain = ks.KernelRegressor(basis=ks.ALD(max_size=60), scale=False)
    # As features of times in order, sines are in no order of time.
    plain.fit(learned, Y, shuffle=False)
    np.testing.assert_allclose(model.predict(FRAME), plain.predict(features), atol=1e-8)
    assert model.columns_["when"] == "time"
    assert model.score(FRAME, Y) > 0.8


def records(first=0, last=None):
    return FRAME[first:last].to_dict("records")


def test_rows_of_every_shape_are_the_same_rows():
    model = regressor().fit(FRAME, Y)
    expected = model.predict(FRAME)
    columns = {name: FRAME[name].to_numpy() for name in FEATURES}
    given = {
        "records": records(),
        "columns": columns,
        "text": columns | {"when": FRAME["when"].dt.strftime("%Y-%m-%dT%H:%M:%S").to_numpy()},
        "datetimes": columns | {"when": FRAME["when"].dt.to_pydatetime().tolist()},
        "instants": FRAME.assign(when=FRAME["when"].dt.tz_localize("UTC")),
        "instants of a zone": FRAME.assign(
            when=FRAME["when"].dt.tz_localize("UTC").dt.tz_convert("Europe/Berlin")
        ),
        "categorical": FRAME.astype({"colour": "category"}),
        "an array": FRAME.astype(object).to_numpy(),
        "beside others": FRAME.assign(sales=Y, other="x"),
    }
    for name, rows in given.items():
        outcome = model.predict(rows)
        np.testing.assert_allclose(outcome, expected, atol=1e-9, err_msg=name)
    for i in (0, 7, 399):
        row = records(i, i + 1)[0]
        assert model.predict_one(row) == pytest.approx(expected[i], abs=1e-9)
        assert model.predict_one(list(row.values())) == pytest.approx(expected[i], abs=1e-9)
        without = {name: value for name, value in row.items() if name != "price"}
        assert model.predict_one(without) == model.predict_one(row | {"price": None})


@pytest.mark.filterwarnings("ignore::kernelstream.exceptions.UselessPredictionsWarning")
def test_one_row_at_a_time_and_copies_give_one_model():
    whole = regressor().partial_fit(FRAME, Y)
    # The first row has no colour: a row alone does not say what its gaps hold.
    undeclared = regressor()
    undeclared.learn_one(records()[0], Y[0])
    with pytest.raises(ValueError, match=r"'colour' of x is 'red', which is no number: .*columns="):
        undeclared.learn_one(records()[1] | {"colour": "red"}, Y[1])
    single = regressor(columns=KINDS | {"colour": "category"})
    for row, y in zip(records(), Y, strict=True):
        single.learn_one(row, y)
    np.testing.assert_allclose(single.predict(FRAME), whole.predict(FRAME), atol=1e-8)
    before = whole.predict(FRAME)
    other = copy.copy(whole).partial_fit(FRAME, -Y)
    assert (whole.n_seen_, other.n_seen_) == (N, 2 * N)
    np.testing.assert_array_equal(whole.predict(FRAME), before)
    again = clone(whole).fit(FRAME, Y)
    np.testing.assert_array_equal(again.predict(FRAME), before)


def test_labels_have_all_verbs(tmp_path):
    model = ks.KernelClassifier(basis=ks.ALD(max_size=60), columns=KINDS, missing="fill")
    with pytest.raises(NotFittedError):
        model.predict_one(records(0, 1)[0])
    said = model.partial_fit_predict(FRAME, LABELS, ["little", "much"])
    assert np.mean((said == LABELS)[WARM_UP:]) > 0.8
    model.learn_one(records(0, 1)[0], LABELS[0])
    assert model.n_seen_ == model.class_count_.sum() == N + 1
    assert model.score(FRAME, LABELS) > 0.9
    model.save(tmp_path / "model")
    again = ks.load(tmp_path / "model")
    shares = again.predict_proba(FRAME)
    np.testing.assert_allclose(shares.sum(axis=1), 1.0)
    one = again.predict_proba_one(records(3, 4)[0])
    assert one == pytest.approx(dict(zip(["little", "much"], shares[3], strict=True)), abs=1e-9)
    assert again.predict_one(records(3, 4)[0]) == again.predict(FRAME[3:4])[0]


@pytest.mark.parametrize("pause", [7, 150, N])
def test_probabilities_of_rows_before_they_are_learned(pause):
    classes = ["little", "much"]

    def table():
        return ks.KernelClassifier(basis=ks.ALD(max_size=60), columns=KINDS, missing="fill")

    model = table()
    parts = [slice(s, s + pause) for s in range(0, N, pause)]
    outcome = np.vstack(
        [model.partial_fit_predict_proba(FRAME[part], LABELS[part], classes) for part in parts]
    )
    said = table().partial_fit_predict(FRAME, LABELS, classes)
    np.testing.assert_array_equal(outcome[0], 0.5)
    np.testing.assert_allclose(outcome.sum(axis=1), 1.0, atol=1e-12)
    np.testing.assert_array_equal(np.take(classes, outcome.argmax(axis=1))[1:], said[1:])


def test_many_categories_share_features():
    rows = {"user": [f"user {i % 90}" for i in range(N)]}
    kinds = {"user": {"type": "category", "max_size": 16}}
    model = ks.KernelRegressor(columns=kinds).fit(rows, np.arange(N) % 90 < 45)
    assert model._core.features(model._rows(rows, reset=False)).shape == (N, 16)
    # Whole numbers are one category, whatever their type; gaps turn them into floats.
    numbers = ks.KernelRegressor(columns={"n": "category"})
    numbers.fit({"n": HOURS % 5}, HOURS % 5)
    assert numbers.predict_one({"n": 3.0}) == numbers.predict_one({"n": "3"})


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        ({"price": "dear"}, "row 5, column 'price' is 'dear', which is no number"),
        ({"open": "perhaps"}, "row 5, column 'open' is 'perhaps'"),
        ({"when": "tomorrow"}, "row 5, column 'when' is 'tomorrow'"),
        ({"price": 1e300}, 'row 5, column "price" is too large'),
        ({"price": None}, 'row 5, column "price" is NaN'),
    ],
)
def test_what_a_column_cannot_hold_is_named_and_changes_nothing(change, complaint):
    full = FRAME.fillna({"price": 1.0, "colour": "none"})
    model = regressor(missing="error").fit(full, Y)
    before = model._core.to_bytes()
    rows = full.astype(object)
    rows.loc[5, list(change)] = list(change.values())
    with pytest.raises(ValueError, match=complaint):
        model.partial_fit(rows, Y)
    (name,) = change
    for row in (rows.loc[5].to_dict(), rows.loc[5].tolist()):
        with pytest.raises(ValueError, match=f"column ['\"]{name}['\"] (of x )?is"):
            model.learn_one(row, 1.0)
    with pytest.raises(ValueError, match="x has 2 cells, but a row has 5"):
        model.learn_one([1.0, "red"], 1.0)
    assert model._core.to_bytes() == before


def test_wrong_parameters_are_named():
    for options, complaint in (
        ({"columns": {"colours": "category"}}, "colours"),
        (
            {"columns": {"colour": "sound"}},
            "column 'colour' the kind 'sound', which must be one of",
        ),
        ({"columns": {"price": {"type": "number", "scales": True}}}, "scales"),
        ({"missing": "skip"}, "missing must be"),
        ({"n_warm_up": 0}, "n_warm_up"),
    ):
        with pytest.raises(ValueError, match=complaint):
            regressor(**options).fit(FRAME, Y)


def test_times_without_a_zone_are_those_of_utc():
    when = dt.datetime(2026, 3, 1, 11, tzinfo=dt.timezone(dt.timedelta(hours=5)))
    model = ks.KernelRegressor(columns={"when": "time"})
    model.fit({"when": FRAME["when"]}, Y)
    naive = model.predict_one({"when": "2026-03-01 06:00"})
    assert naive == model.predict_one({"when": when})
    assert naive == model.predict_one({"when": np.datetime64("2026-03-01T06")})
    assert naive == model.predict_one({"when": 1772344800.0})
