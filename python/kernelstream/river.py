"""The learners as models of river: ``learn_one`` and ``predict_one`` of dicts.

They go into river's pipelines, ensembles, metrics and evaluations as its own models do (extra
``river``), and take raw features: numbers of any unit, text, booleans and times, as the estimators
of `kernelstream` take columns.

**Which features there are** is settled by the first `n_warm_up` rows. These are kept until then,
and with a feature that is new the model begins again with those so far. Later a feature that it
does not know is ignored. A number that is absent, None or NaN counts as the mean of those in the
rows before, or as 0 with ``absent="zero"``, which suits counts of words and one-hot encodings.
"""

from __future__ import annotations

import json
import math
from abc import abstractmethod
from collections import deque
from collections.abc import Hashable, Iterable, Mapping, Sequence
from math import isnan, nan
from numbers import Real
from types import MappingProxyType
from typing import Any, ClassVar, Literal, TypeAlias, cast

import numpy as np
from numpy.typing import NDArray

from kernelstream.columns.cells import kind_of
from kernelstream.components.bases import Basis
from kernelstream.components.kernels import Kernel
from kernelstream.components.learners import Learner, Ridge
from kernelstream.estimators.advice import advise
from kernelstream.estimators.uncertainty import Bounds, checked_bounds
from kernelstream.estimators.validation import whole_number
from kernelstream.supervised import classifier, experts, experts_classifier, regressor
from kernelstream.supervised.columns import columns_of
from kernelstream.supervised.texts import settled_kind

try:
    from river import anomaly, base
except ModuleNotFoundError:
    raise ModuleNotFoundError(
        'kernelstream.river needs river: pip install "kernelstream[river]"'
    ) from None

__all__ = [
    "KernelAnomaly",
    "KernelClassifier",
    "KernelExperts",
    "KernelExpertsClassifier",
    "KernelMultiTargetRegressor",
    "KernelRegressor",
]

# Rows that an anomaly detector learns before it says that any is strange.
_UNKNOWN = 100
# Rows by which features of text are judged.
_TEXTS = 50
# In either place, depending on the version.
_AnomalyDetector: Any = vars(base).get("AnomalyDetector") or vars(anomaly)["base"].AnomalyDetector

Features: TypeAlias = Mapping[Hashable, Any]
# A row, its target, and how many times it counts.
Kept: TypeAlias = tuple[Features, Any, float]


class _OnDicts:
    """A model of dicts, which restarts when a new feature or label needs more room.

    The class that derives from this says which estimator learns (``_estimator``).
    """

    n_warm_up: int
    absent: Literal["mean", "zero"]

    # Whether rows are kept after the warm-up: the last `n_warm_up`.
    _keeps: ClassVar[bool] = False
    # None until a row with a feature was learned.
    _model: Any = None
    # The model's features, and what it calls them.
    _features: Mapping[Hashable, str] = MappingProxyType({})
    # Those of numbers, by the model's names.
    _numbers: frozenset[str] = frozenset()
    _kept: deque[Kept]
    _n_seen: int = 0

    @abstractmethod
    def _estimator(self, **columns: Any) -> Any:
        """Give an estimator that has learned nothing, with these parameters for columns."""

    def _first_call(self) -> dict[str, Any]:
        """Give what the estimator's first call needs beside rows and targets."""
        return {}

    @property
    def _warming(self) -> bool:
        return self._n_seen < self.n_warm_up

    def _row(self, x: Features) -> dict[str, Any]:
        """Give the model's features of a row; None for one that the row lacks."""
        row = {name: x.get(own) for own, name in self._features.items()}
        if self.absent == "zero":
            row |= {name: 0.0 for name in self._numbers if _is_gap(row[name])}
        return row

    @property
    def _raw_memory_usage(self) -> int:
        """Bytes of the objects of Python, and of the numbers that the core holds."""
        held = cast(int, super()._raw_memory_usage)  # type: ignore[misc]
        return held + (0 if self._model is None else _held(self._model._core.to_bytes()))

    def _learn(self, x: Features, target: Any, w: float = 1.0, *, fits: bool = True) -> None:
        """Learn one row; unless it `fits`, the model has no room for its target."""
        if self._n_seen == 0:
            self._kept = deque(maxlen=whole_number("n_warm_up", self.n_warm_up))
        if self._warming:
            x = {name: value for name, value in x.items() if not _is_gap(value)}
            fits = fits and x.keys() <= self._features.keys() and self._reads(x)
        if not fits or self._model is None:
            self._begin([*self._kept, (x, target, w)][-self.n_warm_up :])
        elif w == 1.0:
            self._model.learn_one(self._row(x), target)
        else:
            self._model.partial_fit([self._row(x)], np.array([target]), sample_weight=[w])
        self._n_seen += 1
        if self._keeps or self._warming:
            self._kept.append((x, target, w))
            if self._n_seen == _TEXTS and self._model is not None:
                self._warn_of_texts()
        else:
            self._kept.clear()

    def _warn_of_texts(self) -> None:
        """Warn of text that holds numbers, as readers of CSV give all values."""
        remedy = "convert it in front of the model, such as by float(), or leave it out"
        for own, values in _texts_of(self._features, self._kept).items():
            kind = {"type": kind_of(values)}
            settled_kind(own, values, kind, declared=False, warn=advise, remedy=remedy)

    def _reads(self, x: Features) -> bool:
        """Tell whether the text of a row is read as the model does; looked at in the warm-up."""
        known = None if self._model is None else columns_of(self._model)
        texts = [own for own, value in x.items() if isinstance(value, str)]
        if known is None or not texts:
            return True
        names = {own: self._features[own] for own in texts}
        for own, name in names.items():
            if known.kinds[name]["type"] != "category":
                try:
                    known.row({**dict.fromkeys(known.kinds), name: x[own]})
                except ValueError:
                    return False
        if self._n_seen & (self._n_seen - 1):
            return True
        # When rows have doubled, text may have turned out to be numbers or times.
        return all(
            known.kinds[names[own]]["type"] == _settled(own, values)["type"]
            for own, values in _texts_of(names, [*self._kept, (x, None, 1.0)]).items()
        )

    def _begin(self, kept: Sequence[Kept]) -> None:
        """Begin again with some rows."""
        if self.absent not in {"mean", "zero"}:
            raise ValueError(f'absent must be "mean" or "zero", got {self.absent!r}')
        features = self._features
        kinds = {} if self._model is None else columns_of(self._model).kinds
        if self._warming:
            # In an order that does not depend on that of the first dicts.
            names = sorted(
                {name for x, _, _ in kept for name in x},
                key=lambda name: (str(type(name)), str(name)),
            )
            features = {name: str(name) for name in names}
        if not features:
            return
        columns = {
            name: self._column([x.get(own) for x, _, _ in kept]) for own, name in features.items()
        }
        if self._warming:
            texts = _texts_of(features, kept)
            kinds = dict(kinds) | {
                features[own]: _settled(own, values) for own, values in texts.items()
            }
        model = self._estimator(columns=kinds, missing="fill", n_warm_up=self.n_warm_up)
        targets = np.array([target for _, target, _ in kept])
        weights = np.array([w for _, _, w in kept], dtype=np.float64)
        self._model = model.partial_fit(
            columns,
            targets,
            sample_weight=None if (weights == 1.0).all() else weights,
            **self._first_call(),
        )
        self._features = features
        held = self._model.columns_
        self._numbers = frozenset(name for name, kind in held.items() if kind == "number")

    def _column(self, values: list[Any]) -> list[Any]:
        """Give the values of a feature, with what it counts as where it is absent."""
        known = [value for value in values if not _is_gap(value)]
        numbers = all(isinstance(value, Real) and not isinstance(value, bool) for value in known)
        fill = 0.0 if self.absent == "zero" and numbers else None
        return [fill if _is_gap(value) else value for value in values]

    def _learn_frame(self, X: Any, targets: Sequence[Any]) -> None:
        """Learn the rows of a data frame, for whose targets the model has room."""
        _check_pandas(X)
        first = min(max(self.n_warm_up - self._n_seen, 0), len(X))
        for x, target in zip(X[:first].to_dict("records"), targets[:first], strict=True):
            self._learn(x, target)
        rest, targets = X[first:], targets[first:]
        if self._model is not None and len(rest):
            self._model.partial_fit(self._frame(rest), np.array(targets))
            self._n_seen += len(rest)
            if self._keeps:
                records = rest.to_dict("records")
                self._kept.extend((x, y, 1.0) for x, y in zip(records, targets, strict=True))

    def _frame(self, X: Any) -> dict[str, Any]:
        """Give the model's features of the rows of a data frame of pandas."""
        _check_pandas(X)
        frame = X.reindex(columns=list(self._features))
        columns = {name: frame[own] for own, name in self._features.items()}
        if self.absent == "zero":
            columns |= {name: columns[name].fillna(0.0) for name in self._numbers}
        return columns

    def _predicted(self, X: Any) -> NDArray[Any] | None:
        """Predict the rows of a data frame; None before anything was learned."""
        return None if self._model is None else self._model.predict(self._frame(X))


def _held(file: bytes) -> int:
    """Bytes of the arrays in a model file, where each number has eight."""
    start = 8 + int.from_bytes(file[:8], "little")
    total = start
    for name, array in json.loads(file[8:start]).items():
        if name == "__metadata__":
            continue
        first, last = (start + offset for offset in array["data_offsets"])
        if array["dtype"] != "U8":
            total += 8 * math.prod(array["shape"])
        elif file[first + 8 : first + 9] == b"{":
            total += _held(file[first:last])
        else:
            total += last - first
    return total


def _texts_of(features: Iterable[Hashable], kept: Iterable[Kept]) -> dict[Hashable, Any]:
    """Give the values of the features that are text."""
    rows = [x for x, _, _ in kept]
    columns = {own: [x.get(own) for x in rows] for own in features}
    return {
        own: np.array(values, object)
        for own, values in columns.items()
        if any(isinstance(value, str) for value in values)
    }


def _settled(name: Hashable, values: Any) -> Mapping[str, Any]:
    """Settle what a feature of text holds; a warning comes once, after some rows."""
    kind = {"type": kind_of(values)}
    return settled_kind(name, values, kind, declared=False, warn=lambda _: None)


class _OneRegression(_OnDicts):
    """One regression of one or more targets."""

    def __init__(
        self,
        kernel: Kernel | None = None,
        basis: Basis | None = None,
        learner: Learner | None = None,
        n_warm_up: int = 500,
        absent: Literal["mean", "zero"] = "mean",
    ) -> None:
        self.kernel = kernel
        self.basis = basis
        self.learner = learner
        self.n_warm_up = n_warm_up
        self.absent = absent

    def _estimator(self, **columns: Any) -> Any:
        return regressor.KernelRegressor(self.kernel, self.basis, self.learner, **columns)


class KernelRegressor(_OneRegression, base.MiniBatchRegressor):
    """Kernel regression: `kernelstream.KernelRegressor` with the verbs of river.

    Parameters
    ----------
    kernel : Kernel, optional
        How alike two rows are. None: ``Gaussian()``, with a bandwidth for standardized features.
    basis : Basis, optional
        Which rows are stored. None: ``ALD()``.
    learner : Learner, optional
        How the weights follow the targets. None: ``Ridge()``; ``Ridge(forgetting=0.99)`` where the
        relation drifts.
    n_warm_up : int, default=500
        Rows by which features are found and standardized, 1 or more.
    absent : {"mean", "zero"}, default="mean"
        What a number counts as in rows without it.

    Examples
    --------
    >>> from river import datasets, evaluate, metrics
    >>> from kernelstream.river import KernelRegressor
    >>> rows, model = datasets.TrumpApproval(), KernelRegressor()
    >>> evaluate.progressive_val_score(rows, model, metrics.MAE()).get() < 0.4
    True
    """

    def learn_one(self, x: dict[Any, Any], y: float, w: float = 1.0) -> None:
        """Learn a row.

        Parameters
        ----------
        x : dict
            Values by the names of the features.
        y : float
            The target.
        w : float, default=1.0
            How many times the row counts, 0 or more.

        Raises
        ------
        ValueError, TypeError
            A value is not of its feature's kind or not finite, or the target is not; the model is
            as it was.
        """
        self._learn(x, float(y), float(w))

    def predict_one(self, x: dict[Any, Any]) -> float:
        """Predict the target of a row.

        Parameters
        ----------
        x : dict
            Values by the names of the features.

        Returns
        -------
        prediction : float
            The prediction; 0 before anything was learned.
        """
        return 0.0 if self._model is None else float(self._model.predict_one(self._row(x)))

    def predict_interval_one(
        self, x: dict[Any, Any], coverage: float = 0.9, bounds: Bounds | None = None
    ) -> tuple[float, float]:
        """Give an interval that holds the target of a row with this probability.

        Parameters
        ----------
        x : dict
            Values by the names of the features.
        coverage : float, default=0.9
            The share of targets that are to be inside, above 0 and below 1.
        bounds : (float or None, float or None), optional
            The range of possible targets, such as ``(0, None)``: ends beyond it are moved to it.

        Returns
        -------
        lower, upper : float
            The ends; for the first rows infinite, or the bounds.
        """
        if self._model is None:
            return checked_bounds(bounds)
        (ends,) = self._model.predict_interval([self._row(x)], coverage, bounds)
        return float(ends[0]), float(ends[1])

    def learn_many(self, X: Any, y: Any) -> None:
        """Learn the rows of a data frame, in their order.

        Parameters
        ----------
        X : pandas.DataFrame of shape (n, n_features)
            Rows.
        y : pandas.Series of length n
            Their targets.
        """
        self._learn_frame(X, [float(target) for target in y])

    def predict_many(self, X: Any) -> Any:
        """Predict the targets of the rows of a data frame.

        Parameters
        ----------
        X : pandas.DataFrame of shape (n, n_features)
            Rows.

        Returns
        -------
        predictions : pandas.Series of length n
            The predictions, by the frame's index.
        """
        predictions = self._predicted(X)
        return _pandas().Series(0.0 if predictions is None else predictions, index=X.index)


class KernelMultiTargetRegressor(_OneRegression, base.MultiTargetRegressor):
    """Kernel regression of several targets, which share the stored rows.

    Parameters
    ----------
    kernel : Kernel, optional
        How alike two rows are. None: ``Gaussian()``, with a bandwidth for standardized features.
    basis : Basis, optional
        Which rows are stored. None: ``ALD()``.
    learner : Learner, optional
        How the weights follow the targets. None: ``Ridge()``.
    n_warm_up : int, default=500
        Rows by which features are found and standardized, 1 or more.
    absent : {"mean", "zero"}, default="mean"
        What a number counts as in rows without it.

    Examples
    --------
    >>> from kernelstream.river import KernelMultiTargetRegressor
    >>> model = KernelMultiTargetRegressor()
    >>> for i in range(200):
    ...     model.learn_one({"t": i % 20}, {"up": i % 20, "down": -(i % 20)})
    >>> {name: round(value) for name, value in model.predict_one({"t": 5}).items()}
    {'up': 5, 'down': -5}
    """

    # Fixed by the first row.
    _targets: tuple[Hashable, ...] = ()

    def learn_one(  # type: ignore[override]  # river passes no further keywords
        self, x: dict[Any, Any], y: dict[Any, Any], w: float = 1.0
    ) -> None:
        """Learn a row.

        Parameters
        ----------
        x : dict
            Values by the names of the features.
        y : dict
            The targets by their names, all of them in the first row; one that is absent later, None
            or NaN, is missing, and the row is learned with the others.
        w : float, default=1.0
            How many times the row counts, 0 or more.

        Raises
        ------
        ValueError, TypeError
            A value is not of its feature's kind or not finite, all targets are missing, or one is
            none of the first row's; the model is as it was.
        """
        names = self._targets or tuple(y)
        if not y or set(y) - set(names):
            raise ValueError(
                f"the targets are {', '.join(map(str, y)) or 'none'}, but those of the first row "
                f"were {', '.join(map(str, self._targets)) or 'none'}: give these, or some of them"
            )
        targets = [y.get(name) for name in names]
        self._learn(x, [nan if target is None else float(target) for target in targets], float(w))
        self._targets = names

    def predict_one(self, x: dict[Any, Any]) -> dict[Any, Any]:
        """Predict the targets of a row.

        Parameters
        ----------
        x : dict
            Values by the names of the features.

        Returns
        -------
        predictions : dict
            The predictions by the names of the targets; 0 before anything was learned.
        """
        if self._model is None:
            return dict.fromkeys(self._targets, 0.0)
        made = np.atleast_1d(self._model.predict_one(self._row(x)))
        return dict(zip(self._targets, made.tolist(), strict=True))


class KernelExperts(KernelRegressor):
    """Kernel regression with nothing to choose: `kernelstream.KernelExperts`.

    Parameters
    ----------
    experts : sequence of kernelstream.KernelRegressor, optional
        What is mixed. None: experts that choose themselves.
    mixture : {"polynomial", "fixed_share"}, default="polynomial"
        How predictions become one.
    n_warm_up : int, default=500
        Rows by which features are found and standardized, 1 or more.
    absent : {"mean", "zero"}, default="mean"
        What a number counts as in rows without it.
    size : int, default=300
        Most points that a dictionary stores, where `experts` is None.
    effort : {"high", "low"}, default="high"
        What accuracy may cost: with trees beside the kernel experts, or without.
    """

    def __init__(
        self,
        experts: Sequence[regressor.KernelRegressor] | None = None,
        mixture: Literal["polynomial", "fixed_share"] = "polynomial",
        n_warm_up: int = 500,
        absent: Literal["mean", "zero"] = "mean",
        size: int = 300,
        effort: Literal["high", "low"] = "high",
    ) -> None:
        self.experts = experts
        self.mixture = mixture
        self.n_warm_up = n_warm_up
        self.absent = absent
        self.size = size
        self.effort = effort

    def _estimator(self, **columns: Any) -> Any:
        return experts.KernelExperts(
            self.experts, self.mixture, self.size, effort=self.effort, **columns
        )


class KernelClassifier(_OnDicts, base.MiniBatchClassifier):
    """Kernel classification: `kernelstream.KernelClassifier` with the verbs of river.

    Labels need not be declared. The last `n_warm_up` rows are kept, and with a label that has not
    come before the model restarts from those.

    Parameters
    ----------
    kernel : Kernel, optional
        How alike two rows are. None: ``Gaussian()``, with a bandwidth for standardized features.
    basis : Basis, optional
        Which rows are stored. None: ``ALD()``.
    learner : Learner, optional
        How the weights follow the labels. None: ``GaussNewton(loss="logistic")``.
    loss : str or {"huber": float}, optional
        What the learner minimizes; "logistic" for probabilities. None: the learner's own.
    class_weight : mapping of label to float or "balanced", optional
        How many times the loss of a row of each class counts. None: 1.
    n_warm_up : int, default=500
        Rows by which features are found and standardized, and that are kept, 1 or more.
    absent : {"mean", "zero"}, default="mean"
        What a number counts as in rows without it.

    Examples
    --------
    >>> from river import datasets, evaluate, metrics
    >>> from kernelstream.river import KernelClassifier
    >>> rows, model = datasets.Phishing(), KernelClassifier()
    >>> evaluate.progressive_val_score(rows, model, metrics.Accuracy()).get() > 0.87
    True
    """

    _keeps: ClassVar[bool] = True
    # In the order they came; the estimator's labels are their places.
    _labels: tuple[Hashable, ...] = ()

    def __init__(
        self,
        kernel: Kernel | None = None,
        basis: Basis | None = None,
        learner: Learner | None = None,
        loss: str | Mapping[str, float] | None = None,
        class_weight: Mapping[Any, float] | Literal["balanced"] | None = None,
        n_warm_up: int = 500,
        absent: Literal["mean", "zero"] = "mean",
    ) -> None:
        self.kernel = kernel
        self.basis = basis
        self.learner = learner
        self.loss = loss
        self.class_weight = class_weight
        self.n_warm_up = n_warm_up
        self.absent = absent

    @property
    def _multiclass(self) -> bool:
        return True

    def learn_one(self, x: dict[Any, Any], y: Hashable, w: float = 1.0) -> None:
        """Learn a row.

        Parameters
        ----------
        x : dict
            Values by the names of the features.
        y : str, int or bool
            The label.
        w : float, default=1.0
            How many times the row counts, 0 or more.

        Raises
        ------
        ValueError, TypeError
            A value is not of its feature's kind or not finite, or the label is missing; the model
            is as it was.
        """
        before = self._labels
        if y not in before:
            self._labels = (*before, _label(y))
        try:
            self._learn(x, self._labels.index(y), float(w), fits=self._labels is before)
        except Exception:
            self._labels = before
            raise

    def predict_one(self, x: dict[Any, Any], **kwargs: Any) -> Any:
        """Predict the label of a row.

        Parameters
        ----------
        x : dict
            Values by the names of the features.
        **kwargs : object
            Ignored.

        Returns
        -------
        label : str, int or bool
            The label; None before anything was learned.
        """
        del kwargs
        return None if self._model is None else self._labels[self._model.predict_one(self._row(x))]

    def predict_proba_one(self, x: dict[Any, Any], **kwargs: Any) -> dict[Any, float]:
        """Predict the probability of each label.

        Parameters
        ----------
        x : dict
            Values by the names of the features.
        **kwargs : object
            Ignored.

        Returns
        -------
        probabilities : dict of label to float
            Probabilities of the labels so far.

        Raises
        ------
        NotImplementedError
            The loss does not determine probabilities.
        """
        del kwargs
        if self._model is None:
            return {}
        shares = self._probabilities("predict_proba_one")(self._row(x))
        return {self._labels[code]: share for code, share in shares.items()}

    def learn_many(self, X: Any, y: Any) -> None:
        """Learn the rows of a data frame, in their order.

        Parameters
        ----------
        X : pandas.DataFrame of shape (n, n_features)
            Rows.
        y : pandas.Series of length n
            Their labels.
        """
        _check_pandas(X)
        labels = list(y)
        if set(labels) <= set(self._labels):
            self._learn_frame(X, [self._labels.index(label) for label in labels])
        else:
            for x, label in zip(X.to_dict("records"), labels, strict=True):
                self.learn_one(x, label)

    def predict_many(self, X: Any) -> Any:
        """Predict the labels of the rows of a data frame.

        Parameters
        ----------
        X : pandas.DataFrame of shape (n, n_features)
            Rows.

        Returns
        -------
        labels : pandas.Series of length n
            The labels, by the frame's index.
        """
        codes = self._predicted(X)
        labels = [None] * len(X) if codes is None else [self._labels[code] for code in codes]
        return _pandas().Series(labels, index=X.index)

    def predict_proba_many(self, X: Any) -> Any:
        """Predict the probabilities of the labels of the rows of a data frame.

        Parameters
        ----------
        X : pandas.DataFrame of shape (n, n_features)
            Rows.

        Returns
        -------
        probabilities : pandas.DataFrame of shape (n, n_labels)
            By the frame's index, a column for each label so far.

        Raises
        ------
        NotImplementedError
            The loss does not determine probabilities.
        """
        if self._model is None:
            return _pandas().DataFrame(index=X.index)
        shares = self._probabilities("predict_proba")(self._frame(X))
        return _pandas().DataFrame(shares, columns=list(self._labels), index=X.index)

    def _probabilities(self, method: str) -> Any:
        try:
            return getattr(self._model, method)
        except AttributeError as reason:
            raise NotImplementedError(str(reason)) from None

    def _first_call(self) -> dict[str, Any]:
        return {"classes": range(len(self._labels))}

    def _class_weight(self) -> Any:
        """Give the weights of the classes by the estimator's labels."""
        if not isinstance(self.class_weight, Mapping):
            return self.class_weight
        weights = self.class_weight
        return {code: weights.get(label, 1.0) for code, label in enumerate(self._labels)}

    def _estimator(self, **columns: Any) -> Any:
        weights = self._class_weight()
        return classifier.KernelClassifier(
            self.kernel, self.basis, self.learner, self.loss, weights, **columns
        )


class KernelExpertsClassifier(KernelClassifier):
    """Kernel classification with nothing to choose: `kernelstream.KernelExpertsClassifier`.

    Labels need not be declared. The last `n_warm_up` rows are kept, and with a label that has not
    come before the model restarts from those.

    Parameters
    ----------
    mixture : {"polynomial", "fixed_share"}, default="polynomial"
        How predictions become one.
    class_weight : mapping of label to float or "balanced", optional
        How many times the loss of a row of each class counts. None: 1.
    n_warm_up : int, default=500
        Rows by which features are found and standardized, and that are kept, 1 or more.
    absent : {"mean", "zero"}, default="mean"
        What a number counts as in rows without it.
    size : int, default=300
        Most points that a dictionary stores.
    effort : {"high", "low"}, default="high"
        What accuracy may cost: with trees beside the kernel experts, or without.

    Examples
    --------
    >>> from river import datasets, evaluate, metrics
    >>> from kernelstream.river import KernelExpertsClassifier
    >>> rows, model = datasets.Phishing(), KernelExpertsClassifier()
    >>> evaluate.progressive_val_score(rows, model, metrics.Accuracy()).get() > 0.9
    True
    """

    def __init__(
        self,
        mixture: Literal["polynomial", "fixed_share"] = "polynomial",
        class_weight: Mapping[Any, float] | Literal["balanced"] | None = None,
        n_warm_up: int = 500,
        absent: Literal["mean", "zero"] = "mean",
        size: int = 300,
        effort: Literal["high", "low"] = "high",
    ) -> None:
        self.mixture = mixture
        self.class_weight = class_weight
        self.n_warm_up = n_warm_up
        self.absent = absent
        self.size = size
        self.effort = effort

    def _estimator(self, **columns: Any) -> Any:
        weights = self._class_weight()
        return experts_classifier.KernelExpertsClassifier(
            self.mixture, self.size, weights, effort=self.effort, **columns
        )


class KernelAnomaly(_OnDicts, _AnomalyDetector):
    """Anomaly scores: the share of a row that the rows so far do not explain.

    This is ridge regression of the constant 1 on the coordinates that the stored rows give. Where
    k of the n latest rows were alike it predicts about ``k / (k + regularization)``, where there
    was none 0; the score is what is missing to ``n / (n + regularization)``, as a share of it. It
    needs no density, and an outlier does not become normal by being stored.

    Parameters
    ----------
    kernel : Kernel, optional
        How alike two rows are. None: ``Gaussian()``, with a bandwidth for standardized features. It
        should fall to 0 with the distance.
    basis : Basis, optional
        Which rows are stored. None: ``ALD()``.
    regularization : float, default=100.0
        How many rows alike it takes to be normal, above 0.
    forgetting : float, default=0.999
        Factor in (0, 1] on the weight of all past rows at each new one, so that what counts as
        normal follows a drift.
    n_warm_up : int, default=500
        Rows by which features are found and standardized, 1 or more.
    absent : {"mean", "zero"}, default="mean"
        What a number counts as in rows without it.
    """

    def __init__(
        self,
        kernel: Kernel | None = None,
        basis: Basis | None = None,
        regularization: float = 100.0,
        forgetting: float = 0.999,
        n_warm_up: int = 500,
        absent: Literal["mean", "zero"] = "mean",
    ) -> None:
        self.kernel = kernel
        self.basis = basis
        self.regularization = regularization
        self.forgetting = forgetting
        self.n_warm_up = n_warm_up
        self.absent = absent

    def learn_one(self, x: dict[Any, Any]) -> None:
        """Learn a row.

        Parameters
        ----------
        x : dict
            Values by the names of the features.

        Raises
        ------
        ValueError, TypeError
            A value is not of its feature's kind or not finite; the model is as it was.
        """
        self._learn(x, 1.0)

    def score_one(self, x: dict[Any, Any]) -> float:
        """Give the score of a row.

        Parameters
        ----------
        x : dict
            Values by the names of the features.

        Returns
        -------
        score : float
            In [0, 1], the more the stranger; 0 for the first rows, 100 or `n_warm_up`, for want of
            anything to compare them with.
        """
        if self._model is None or self._n_seen < min(_UNKNOWN, self.n_warm_up):
            return 0.0
        remembered = 1.0 / max(1.0 - self.forgetting, 1.0 / self._n_seen)
        most = remembered / (remembered + self.regularization)
        explained = float(self._model.predict_one(self._row(x))) / most
        return 1.0 - min(max(explained, 0.0), 1.0)

    def _estimator(self, **columns: Any) -> Any:
        learner = Ridge(self.regularization, self.forgetting, center=False, clip=False)
        return regressor.KernelRegressor(self.kernel, self.basis, learner, **columns)


def _is_gap(value: Any) -> bool:
    return value is None or (isinstance(value, Real) and value != value)  # noqa: PLR0124


def _label(given: Any) -> Any:
    """Give a label as Python's own type."""
    label = given.item() if isinstance(given, np.generic) else given
    if label is None or (isinstance(label, float) and isnan(label)):
        raise ValueError(f"the label is {label}: leave the row out, or give it a label")
    return label


def _check_pandas(X: Any) -> None:
    if not hasattr(X, "reindex"):
        raise TypeError(
            f"X must be a data frame of pandas, got {type(X).__name__}: learn its rows one by one, "
            "as river.stream gives them"
        )


def _pandas() -> Any:
    import pandas as pd  # noqa: PLC0415 - river needs it for whole frames only

    return pd
