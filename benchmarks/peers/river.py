"""Progressive validation beside the models of river, on data sets that it contains: docs/river.md.

Every model has its defaults and is evaluated by river's own ``progressive_val_score``: each row is
predicted, then learned. Times are processor times of the whole, per row, on one thread. The
ten models of river with the smallest error are shown.

    python benchmarks peers river [--quick]
"""

from __future__ import annotations

import argparse
import itertools
import time
import warnings
from collections.abc import Callable, Iterable
from typing import Any

import river
from report import Report
from river import (
    anomaly,
    datasets,
    ensemble,
    evaluate,
    forest,
    linear_model,
    metrics,
    multiclass,
    naive_bayes,
    neighbors,
    preprocessing,
    rules,
    tree,
)
from sklearn.metrics import roc_auc_score

from kernelstream import river as ours

Make = Callable[[], Any]
MOST, ANOMALY_ROWS = 10, 20_000


def standardized(model: Any) -> Any:
    return preprocessing.StandardScaler() | model


REGRESSORS: dict[str, Make] = {
    "LinearRegression": lambda: standardized(linear_model.LinearRegression()),
    "PARegressor": lambda: standardized(linear_model.PARegressor()),
    "BayesianLinearRegression": lambda: standardized(linear_model.BayesianLinearRegression()),
    "KNNRegressor": lambda: standardized(neighbors.KNNRegressor()),
    # Their leaves and rules are linear models.
    "HoeffdingTreeRegressor": lambda: standardized(tree.HoeffdingTreeRegressor()),
    "HoeffdingAdaptiveTreeRegressor": lambda: standardized(
        tree.HoeffdingAdaptiveTreeRegressor(seed=1)
    ),
    "AMRules": lambda: standardized(rules.AMRules()),
    "ARFRegressor": lambda: standardized(forest.ARFRegressor(seed=1)),
    "OXTRegressor": lambda: standardized(forest.OXTRegressor(seed=1)),
    "SRPRegressor": lambda: standardized(ensemble.SRPRegressor(seed=1)),
    "BaggingRegressor of trees": lambda: standardized(
        ensemble.BaggingRegressor(tree.HoeffdingTreeRegressor(), seed=1)
    ),
    "AMFRegressor": lambda: forest.AMFRegressor(seed=1),
    "SGTRegressor": tree.SGTRegressor,
}
CLASSIFIERS: dict[str, Make] = {
    "LogisticRegression": lambda: standardized(linear_model.LogisticRegression()),
    "SoftmaxRegression": lambda: standardized(linear_model.SoftmaxRegression()),
    "PAClassifier": lambda: standardized(linear_model.PAClassifier()),
    "ALMAClassifier": lambda: standardized(linear_model.ALMAClassifier()),
    "KNNClassifier": lambda: standardized(neighbors.KNNClassifier()),
    "GaussianNB": naive_bayes.GaussianNB,
    "HoeffdingTreeClassifier": tree.HoeffdingTreeClassifier,
    "HoeffdingAdaptiveTreeClassifier": lambda: tree.HoeffdingAdaptiveTreeClassifier(seed=1),
    "ExtremelyFastDecisionTreeClassifier": tree.ExtremelyFastDecisionTreeClassifier,
    "SGTClassifier": tree.SGTClassifier,
    "ARFClassifier": lambda: forest.ARFClassifier(seed=1),
    "AMFClassifier": lambda: forest.AMFClassifier(seed=1),
    "SRPClassifier": lambda: ensemble.SRPClassifier(seed=1),
    "LeveragingBaggingClassifier of trees": lambda: ensemble.LeveragingBaggingClassifier(
        tree.HoeffdingTreeClassifier(), seed=1
    ),
    "ADWINBaggingClassifier of trees": lambda: ensemble.ADWINBaggingClassifier(
        tree.HoeffdingTreeClassifier(), seed=1
    ),
}
DETECTORS: dict[str, Make] = {
    "HalfSpaceTrees": lambda: preprocessing.MinMaxScaler() | anomaly.HalfSpaceTrees(seed=1),
    "OneClassSVM": lambda: standardized(anomaly.OneClassSVM()),
    "LODA": lambda: anomaly.LODA(seed=1),
}
OUR_REGRESSORS: dict[str, Make] = {
    "kernelstream KernelRegressor": ours.KernelRegressor,
    "kernelstream KernelExperts": ours.KernelExperts,
}
OUR_CLASSIFIERS: dict[str, Make] = {
    "kernelstream KernelClassifier": ours.KernelClassifier,
    "kernelstream KernelExpertsClassifier": ours.KernelExpertsClassifier,
}
OUR_DETECTORS: dict[str, Make] = {"kernelstream KernelAnomaly": ours.KernelAnomaly}


class Mistakes(metrics.Accuracy):
    """The share of wrong labels."""

    def get(self) -> float:
        return 1.0 - super().get()


def for_labels(model: Any, n_classes: int) -> Any:
    """The same model, or one for each class where it knows two only."""
    return model if model._multiclass or n_classes == 2 else multiclass.OneVsRestClassifier(model)


def validated(rows: Iterable[Any], model: Any, metric: Any) -> tuple[float, float]:
    """The error, and seconds per row."""
    rows = list(rows)
    began = time.process_time()
    evaluate.progressive_val_score(rows, model, metric)
    return float(metric.get()), (time.process_time() - began) / len(rows)


def compare(
    report: Report, title: str, models: dict[str, Make], run: Callable[[Any], tuple[float, float]]
) -> None:
    """A table of our models and the best of river's."""
    results: dict[str, tuple[float, float]] = {}
    for name in report.track(list(models), title):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            results[name] = run(models[name]())
    best = sorted(results, key=lambda name: results[name])
    theirs = [name for name in best if not name.startswith("kernelstream")][:MOST]
    report.heading(title)
    report.table(
        ["model", "error", "µs per row"],
        [
            [name, f"{results[name][0]:.4f}", f"{results[name][1] * 1e6:.0f}"]
            for name in best
            if name in theirs or name.startswith("kernelstream")
        ],
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="300 rows of each")
    most = 300 if parser.parse_args().quick else None
    report = Report("river_peers")
    report.remark(f"river {river.__version__}")

    for data in (datasets.TrumpApproval(), datasets.ChickWeights()):
        compare(
            report,
            f"{type(data).__name__}: {data.n_samples:,} rows, {data.n_features} features, "
            "mean absolute error",
            OUR_REGRESSORS | REGRESSORS,
            lambda model, rows=data: validated(itertools.islice(rows, most), model, metrics.MAE()),
        )
    for data, n_classes in (
        (datasets.Bananas(), 2),
        (datasets.Phishing(), 2),
        (datasets.ImageSegments(), 7),
    ):
        compare(
            report,
            f"{type(data).__name__}: {data.n_samples:,} rows, {data.n_features} features, "
            f"{n_classes} classes, share of mistakes",
            OUR_CLASSIFIERS | CLASSIFIERS,
            lambda model, rows=data, n=n_classes: validated(
                itertools.islice(rows, most), for_labels(model, n), Mistakes()
            ),
        )

    def detect(model: Any) -> tuple[float, float]:
        rows = list(datasets.Shuttle().take(most or ANOMALY_ROWS))
        began, scores = time.process_time(), []
        for x, _ in rows:
            scores.append(model.score_one(x))
            model.learn_one(x)
        took = time.process_time() - began
        return 1.0 - roc_auc_score([anomalous for _, anomalous in rows], scores), took / len(rows)

    compare(
        report,
        f"Shuttle, anomalies: {ANOMALY_ROWS:,} rows, 9 features, 1 - area under the ROC curve",
        OUR_DETECTORS | DETECTORS,
        detect,
    )
    report.write()
