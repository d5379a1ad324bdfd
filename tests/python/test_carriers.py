"""The same table gives the same model, whatever carries it: files, frames, dicts, rows of river."""

from __future__ import annotations

import datetime as dt
import json

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.feather as pa_feather
import pyarrow.parquet as pa_parquet
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import kernelstream as ks
from test_cli import run

BERLIN = dt.timezone(dt.timedelta(hours=2))
START = dt.datetime(2024, 1, 1, 5, 30)


def _gappy(values, rng):
    return [None if rng.random() < 0.15 else value for value in values]


def _floats(n, rng):
    return (10.0 ** rng.integers(-4, 5) * rng.normal(size=n)).round(6).tolist()


def _times(n, rng):
    return [START + dt.timedelta(minutes=int(m)) for m in np.sort(rng.integers(0, 10**6, n))]


COLUMNS = {
    "float": _floats,
    "whole": lambda n, rng: rng.integers(-1000, 1000, n).tolist(),
    "large": lambda n, rng: (10**12 + rng.integers(0, 10**6, n)).tolist(),
    "boolean": lambda n, rng: (rng.random(n) < 0.4).tolist(),
    "words": lambda n, rng: rng.choice(["red", "blue", "sea green", "größe", "a,b"], n).tolist(),
    "answers": lambda n, rng: rng.choice(["yes", "no"], n).tolist(),
    "letters": lambda n, rng: rng.choice(["Y", "N", "y"], n).tolist(),
    "date": lambda n, rng: [time.date() for time in _times(n, rng)],
    "time": _times,
    "instant": lambda n, rng: [time.replace(tzinfo=dt.UTC) for time in _times(n, rng)],
    "float with gaps": lambda n, rng: _gappy(_floats(n, rng), rng),
    "whole with gaps": lambda n, rng: _gappy(rng.integers(-9, 9, n).tolist(), rng),
    "words with gaps": lambda n, rng: _gappy(rng.choice(["x", "y"], n).tolist(), rng),
    "times with gaps": lambda n, rng: _gappy(_times(n, rng), rng),
}
MODELS = {
    "regressor": (ks.KernelRegressor, []),
    "classifier": (ks.KernelClassifier, []),
    "experts": (ks.KernelExperts, ["--experts"]),
}


@st.composite
def tables(draw):
    """A table of 1 to 5 columns of any types, in an order, and what it is to be predicted by."""
    kinds = draw(st.lists(st.sampled_from(sorted(COLUMNS)), min_size=1, max_size=5))
    rng = np.random.default_rng(draw(st.integers(0, 10**6)))
    n = draw(st.sampled_from([30, 64, 90]))
    columns = {f"c{i}": COLUMNS[kind](n, rng) for i, kind in enumerate(kinds)}
    # The first row is whole, so that each carrier knows what columns hold.
    for values in columns.values():
        values[0] = next(value for value in values if value is not None)
    target = rng.normal(size=n).round(4)
    order = {"as it comes": np.arange(n), "sorted": np.argsort(target)}
    places = order[draw(st.sampled_from(sorted(order)))]
    columns = {name: [values[i] for i in places] for name, values in columns.items()}
    return columns, target[places]


def _text(value):
    return value.isoformat() if isinstance(value, dt.date) else value


def _rows(columns):
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


def _of_files(columns, target, name, options, folder):
    """Give the models that the command line learns from files."""
    whole = columns | {"y": target}
    table = pa.table(whole)
    texts = {key: [_text(value) for value in values] for key, values in whole.items()}
    pd.DataFrame(texts, dtype=object).to_csv(folder / "t.csv", index=False)
    (folder / "t.jsonl").write_text("".join(json.dumps(row) + "\n" for row in _rows(texts)))
    pa_parquet.write_table(table, folder / "t.parquet")
    pa_feather.write_feather(table, folder / "t.feather")
    for path in (folder / f"t.{end}" for end in ("csv", "jsonl", "parquet", "feather")):
        saved = folder / "model"
        result = run("learn", path, "-t", "y", "--missing", "fill", "--save", saved, *options)
        assert result.exit_code == 0, (path, result.output)
        yield path.name, ks.load(saved)


def _of_frames(columns, target, estimator):
    """Give the models that an estimator learns from frames and dicts."""
    first = {"classes": sorted(set(target))} if estimator is ks.KernelClassifier else {}
    frames = {
        "Arrow": pa.table(columns),
        "pandas": pd.DataFrame(columns),
        "pandas of Arrow": pa.table(columns).to_pandas(types_mapper=pd.ArrowDtype),
        "dict": columns,
        "dict of objects": {name: np.array(values, object) for name, values in columns.items()},
        "rows": _rows(columns),
    }
    try:
        import polars as pl
    except ImportError:
        pass
    else:
        frames["polars"] = pl.DataFrame(columns)
    for name, frame in frames.items():
        yield name, estimator(missing="fill").partial_fit(frame, target, **first)


def _check_river(columns, target, expected):
    """Check that river's verbs, row by row, give the same predictions."""
    try:
        from kernelstream import river
    except ModuleNotFoundError:
        return
    model = getattr(river, type(expected).__name__)()
    for x, y in zip(_rows(columns), target, strict=True):
        model.learn_one(x, y)
    for x in _rows(columns):
        if isinstance(expected, ks.KernelClassifier):
            shares, others = model.predict_proba_one(x), expected.predict_proba_one(x)
            assert shares == pytest.approx(others, rel=1e-12, abs=1e-12)
        else:
            other = expected.predict_one(x)
            assert model.predict_one(x) == pytest.approx(other, rel=1e-12, abs=1e-12)


@pytest.mark.parametrize("kind", MODELS)
@given(table=tables())
@settings(
    max_examples=5,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)
def test_the_container_of_a_table_does_not_matter(kind, table, tmp_path_factory):
    columns, numbers = table
    estimator, options = MODELS[kind]
    target = numbers.tolist()
    if kind == "classifier":
        target = ["high" if y > 0 else "low" for y in target]
    folder = tmp_path_factory.mktemp("carriers")
    models = dict(_of_frames(columns, target, estimator))
    expected = models.pop("dict")
    answer = _outputs(expected, columns)
    models |= dict(_of_files(columns, target, kind, options, folder))
    for name, model in models.items():
        assert model.n_stored_ == expected.n_stored_, name
        np.testing.assert_allclose(
            _outputs(model, columns), answer, rtol=1e-12, atol=1e-12, err_msg=name
        )
        if kind != "experts":
            np.testing.assert_allclose(
                model.dictionary_, expected.dictionary_, rtol=1e-12, err_msg=name
            )
    _check_river(columns, target, expected)


def _outputs(model, columns):
    ask = getattr(model, "decision_function", model.predict)
    return np.asarray(ask(columns)).reshape(-1)
