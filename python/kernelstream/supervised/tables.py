"""Learning the named columns of a table: numbers, categories, booleans, times, and gaps."""

from __future__ import annotations

import json
from abc import abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, ClassVar, Literal, Self, cast, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import issparse
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from kernelstream.columns.cells import KINDS, cell_of, cells_of, kind_of, zone_of
from kernelstream.columns.names import name_in
from kernelstream.components.scikit import ClassifierMixin, MultiOutputMixin, RegressorMixin
from kernelstream.estimators.base import LabelEstimator, NumberEstimator
from kernelstream.estimators.validation import refuse_masked, whole_number
from kernelstream.supervised.classifier import KernelClassifier
from kernelstream.supervised.model import KernelModel
from kernelstream.supervised.on_columns import OnColumns
from kernelstream.supervised.regressor import KernelRegressor

__all__ = ["TableClassifier", "TableRegressor"]

Kind = str | Mapping[str, Any]


class _Table(OnColumns):
    """An estimator on columns with names."""

    # What the constructor calls the other estimator, and what class it is of.
    _role: ClassVar[str]
    _kind: ClassVar[type[KernelModel]]

    features: list[str]
    scale: bool
    kinds: Mapping[str, Kind] | None
    missing: Literal["error", "fill"]
    n_warm_up: int
    _given: Any
    # What each column holds, once the first rows have come.
    _kinds: dict[str, dict[str, Any]]

    @property
    def mean_(self) -> NDArray[np.float64] | None:
        """The mean subtracted from each column; None before rows have been learned."""
        return self._scales(0)

    @property
    def deviation_(self) -> NDArray[np.float64] | None:
        """What each column is divided by; None before rows have been learned."""
        return self._scales(1)

    @property
    def kinds_(self) -> dict[str, str]:
        """What each column holds."""
        check_is_fitted(self)
        return {name: kind["type"] for name, kind in self._kinds.items()}

    def _scales(self, which: int) -> NDArray[np.float64] | None:
        if not self.__sklearn_is_fitted__():
            return None
        return cast("NDArray[np.float64]", self._core.scales[0][:, which])

    def _template(self) -> Any:
        return self._given

    def _role_now(self) -> Any:
        return self._fitted() if self.__sklearn_is_fitted__() else self._given

    def _rows(self, X: Any, *, reset: bool) -> Any:
        if issparse(X):
            return self._sparse_rows(X, reset=reset)
        columns = self._columns(X)
        for name, column in zip(self.features, columns, strict=True):
            refuse_masked(column, f"column {name!r}")
        if reset:
            self._kinds = self._find_kinds(columns)
            self.n_features_in_ = len(self.features)
        kinds = [self._kinds[str(name)] for name in self.features]
        cells = [
            cells_of(column, kind["type"], str(name), kind.get("zone", ""))
            for name, column, kind in zip(self.features, columns, kinds, strict=True)
        ]
        return np.column_stack(cells) if cells else np.empty((len(X), 0))

    def _sparse_rows(self, X: Any, *, reset: bool) -> Any:
        self._check_shape(X)
        if reset:
            self._kinds = self._find_kinds([np.empty(0, X.dtype)] * len(self.features))
            self.n_features_in_ = len(self.features)
        for name, kind in self._kinds.items():
            if kind["type"] not in {"number", "boolean"}:
                raise ValueError(
                    f"column {name!r} is a {kind['type']}, which a sparse matrix cannot hold: pass "
                    "a data frame"
                )
        return X.tocsr().astype(np.float64, copy=False)

    def _columns(self, X: Any) -> list[Any]:
        """Give the columns of the features."""
        if isinstance(X, Sequence) and X and isinstance(X[0], Mapping):
            there = dict.fromkeys(name for row in X for name in row)
            own = {name: name_in(name, there) for name in self.features}
            X = {name: [row.get(own[name]) for row in X] for name in self.features}
        names = X.column_names if hasattr(X, "column_names") else getattr(X, "columns", None)
        if names is None and isinstance(X, Mapping):
            names = X
        if names is not None:
            own = {name: name_in(name, names) for name in self.features}
            missing = [str(name) for name, found in own.items() if found is None]
            if missing:
                raise ValueError(
                    f"columns the model needs are missing: {', '.join(missing)}; it was made for "
                    f"{', '.join(map(str, self.features))}"
                )
            return [X[own[name]] for name in self.features]
        rows = X if isinstance(X, np.ndarray) else np.asarray(X)
        self._check_shape(rows)
        return list(rows.T)

    def _check_shape(self, X: Any) -> None:
        if X.ndim != 2 or X.shape[1] != len(self.features):
            raise ValueError(
                f"X must have shape (n, {len(self.features)}), one column for each feature, "
                f"got {X.shape}"
            )

    def _find_kinds(self, columns: list[Any]) -> dict[str, dict[str, Any]]:
        """Complete the kinds that were given by those that the columns seem to have."""
        given = dict(self.kinds or {})
        if unknown := given.keys() - set(self.features):
            raise ValueError(f"kinds names columns that are no features: {', '.join(unknown)}")
        found = {}
        for name, column in zip(self.features, columns, strict=True):
            kind = given.get(name) or kind_of(column)
            kind = {"type": kind} if isinstance(kind, str) else dict(kind)
            if kind.get("type") not in KINDS:
                raise ValueError(
                    f"the kind of column {name!r} must be one of {', '.join(KINDS)}, got {kind}"
                )
            if kind["type"] == "number":
                kind = {"scale": self.scale} | kind
            if kind["type"] == "time" and "zone" not in kind and (zone := zone_of(column)):
                kind["zone"] = zone
            found[str(name)] = kind
        return found

    def _row(self, x: Any) -> Any:
        """Give a row as the core takes it, from a mapping too."""
        if isinstance(x, Mapping):
            return [self._cell(name, x.get(name, x.get(own))) for name, own in self._named()]
        if isinstance(x, np.ndarray) and x.dtype == np.float64:
            return x
        if len(x) != len(self._kinds):
            raise ValueError(f"x has {len(x)} cells, but a row has {len(self._kinds)}")
        return [self._cell(name, value) for name, value in zip(self._kinds, x, strict=True)]

    def _named(self) -> Iterable[tuple[str, Any]]:
        """Give the columns' names as the core has them, and as the caller does."""
        return zip(self._kinds, self.features, strict=True)

    def _cell(self, name: str, value: Any) -> float:
        kind = self._kinds[name]["type"]
        try:
            return cell_of(value, kind, self._kinds[name].get("zone", ""))
        except (ValueError, TypeError):
            raise ValueError(f"column {name!r} is {value!r}, which is no {kind}") from None

    def _columns_spec(self) -> dict[str, Any]:
        if self.missing not in ("error", "fill"):
            raise ValueError(f'missing must be "error" or "fill", got {self.missing!r}')
        return {
            "named": [{"name": name, "kind": kind} for name, kind in self._kinds.items()],
            "warm_up": whole_number("n_warm_up", self.n_warm_up),
            "gaps": self.missing,
        }

    def _learn_first(self, x: Any, y: Any, classes: ArrayLike | None = None) -> None:
        row: Any = [x] if isinstance(x, Mapping) else np.array([x], object)
        self._learn(row, [y], None, classes=classes)

    def _state(self) -> dict[str, Any]:
        return self._inner_state(self._role) | {
            "scale": self.scale,
            "kinds_given": self.kinds is not None,
            **self._target_names(),
        }

    @abstractmethod
    def _target_names(self) -> dict[str, Any]:
        """Give the constructor's parameter that names what is predicted."""

    @classmethod
    def _from_state(cls, core: Any, state: Mapping[str, Any]) -> Self:
        inner = cls._inner_from_state(core, state["kind"], state[cls._role], cls._kind)
        columns = json.loads(core.spec)["columns"]
        kinds = {column["name"]: column["kind"] for column in columns["named"]}
        model = cast(Any, cls)(
            clone(inner),
            list(kinds),
            state["target"] if "target" in state else state["targets"],
            bool(state["scale"]),
            kinds if state.get("kinds_given") else None,
            columns["gaps"],
            columns["warm_up"],
        )
        model._kinds = kinds
        return cast(Self, model._take(core, inner))


class TableRegressor(MultiOutputMixin, RegressorMixin, _Table, NumberEstimator):
    """A `KernelRegressor` on named columns: numbers, categories, booleans, times, and gaps.

    Kernels compare points by distance, so columns must have comparable scales. The first rows, the
    warm-up, say what the scale of each number is, which categories there are, and which numbers
    have gaps; then it stays, because a scale that changed would invalidate the stored points. While
    it lasts, rows are predicted by those before them and learned again on better scales, as
    `Scaled` does. Feeding a stream in chunks of any size gives the same model, which is what
    ``kernelstream learn --save`` writes.

    Parameters
    ----------
    regressor : KernelRegressor or KernelExperts
        What learns; it is copied and not changed.
    features : sequence of str
        Names of the columns to learn from, in order.
    targets : sequence of str
        Names of the columns to predict.
    scale : bool, default=True
        Whether numbers are standardized. False: they are taken as they are.
    kinds : mapping of str to str or dict, optional
        What columns hold: ``"number"``, ``"category"``, ``"boolean"`` or ``"time"``, or a dict with
        that as ``"type"`` and options, see the Notes. None, or for columns that are not named: what
        the type of the first rows says.
    missing : {"error", "fill"}, default="error"
        What becomes of gaps (None, NaN and the like) in features: the row is refused, or numbers
        get the mean of those in the rows before, with a feature that says so if there were gaps in
        the warm-up, and other kinds zeros.
    n_warm_up : int, default=500
        Rows of the warm-up, 1 or more.

    Attributes
    ----------
    mean_, deviation_ : ndarray of shape (n_features,)
        The mean subtracted from each number, and its divisor (1 of a column that was constant so
        far, which is scaled when it first varies); 0 and 1 for other columns.
    kinds_ : dict of str to str
        What each column holds.
    n_seen_ : int
        Rows learned so far.
    n_stored_ : int
        Points stored.
    regressor : KernelRegressor
        Once rows were learned, a copy of what learned, on the features that were made of them.

    Notes
    -----
    - ``{"type": "number", "logarithm": True}`` takes ``sign(x) log(1 + |x|)`` first, for counts and
      prices; ``"scale": False`` takes them as they are.
    - ``{"type": "category", "max_size": 32}``: each category of the warm-up is a feature of 0 or 1,
      and so is any other; if there are more than ``max_size``, they share so many, by their hash.
    - ``{"type": "time", "parts": ["day", "week", "year"]}``: the time of the day, of the week and
      of the year as sine and cosine; ``"elapsed"`` is the time itself, standardized, which is news
      for ever to a kernel of distances.
    - Booleans are -1 and 1.

    Rows are data frames with the features among their columns, arrays or sparse matrices of numbers
    with just these, or lists of dicts; one row is a dict or a sequence.

    A value of the warm-up that lies more than 10,000 times further from its column's median than
    others do is an outlier, if it is one in a hundred at most: it is learned as it is, and the
    scale says nothing of it.

    Examples
    --------
    >>> import numpy as np
    >>> import kernelstream as ks
    >>> hours = np.arange(24 * 28)
    >>> rows = {
    ...     "when": np.datetime64("2026-03-02") + hours.astype("timedelta64[h]"),
    ...     "shop": np.where(hours % 5 < 2, "north", "south"),
    ... }
    >>> sales = np.sin(hours * np.pi / 12) + (rows["shop"] == "north")
    >>> model = ks.TableRegressor(ks.KernelRegressor(), ["when", "shop"], ["sales"])
    >>> model = model.partial_fit(rows, sales)
    >>> said = model.predict_one({"when": "2026-03-30 06:00", "shop": "north"})
    >>> bool(abs(said - 2.0) < 0.1)
    True
    """

    _role: ClassVar[str] = "regressor"
    _kind: ClassVar[type[KernelModel]] = KernelRegressor

    def __init__(
        self,
        regressor: KernelRegressor,
        features: Sequence[str],
        targets: Sequence[str],
        scale: bool = True,
        kinds: Mapping[str, Kind] | None = None,
        missing: Literal["error", "fill"] = "error",
        n_warm_up: int = 500,
    ) -> None:
        self.regressor = regressor
        self.features = cast("list[str]", features)
        self.targets = cast("list[str]", targets)
        self.scale = scale
        self.kinds = kinds
        self.missing = missing
        self.n_warm_up = n_warm_up

    @property
    def regressor(self) -> KernelRegressor:
        """What learns, or a copy of what has learned."""
        return cast(KernelRegressor, self._role_now())

    @regressor.setter
    def regressor(self, regressor: KernelRegressor) -> None:  # numpydoc ignore=GL08
        self._given = regressor

    def learn_one(self, x: Any, y: float | Sequence[float]) -> None:
        """Learn one row, for live use.

        Parameters
        ----------
        x : mapping of str to object, or sequence of n_features objects
            The row, by the names of the columns or in their order.
        y : float or sequence of n_targets floats
            Its target or targets.

        Raises
        ------
        ValueError, TypeError
            The row is bad; the model is as it was.
        """
        if self.__sklearn_is_fitted__():
            self._learn_row(x, y)
        else:
            self._learn_first(x, y)

    @overload
    def predict_one(  # numpydoc ignore=GL08
        self, x: Any, return_std: Literal[False] = False
    ) -> float | NDArray[np.float64]: ...

    @overload
    def predict_one(  # numpydoc ignore=GL08
        self, x: Any, return_std: Literal[True]
    ) -> tuple[float, float] | tuple[NDArray[np.float64], NDArray[np.float64]]: ...

    def predict_one(self, x: Any, return_std: bool = False) -> Any:
        """Predict one row, for live use.

        Parameters
        ----------
        x : mapping of str to object, or sequence of n_features objects
            The row, by the names of the columns or in their order.
        return_std : bool, default=False
            Whether to give the standard deviation too, as a pair: see `predict`.

        Returns
        -------
        prediction : float, or ndarray of shape (n_targets,) if there are several
            The prediction.
        deviation : the same, if `return_std`
            Its standard deviation.

        Raises
        ------
        NotFittedError
            Nothing has been learned yet.
        ValueError, TypeError
            The row is bad, or the learner does not know deviations.
        """
        core, row = self._ready(), self._row(x)
        return core.predict_one_with_deviation(row) if return_std else core.predict_one(row)

    def _target_names(self) -> dict[str, Any]:
        return {"targets": list(self.targets)}


class TableClassifier(ClassifierMixin, _Table, LabelEstimator):
    """A `KernelClassifier` on named columns: numbers, categories, booleans, times, and gaps.

    It takes columns as `TableRegressor` does. It is what ``kernelstream learn --save`` writes when
    the target is a class.

    Parameters
    ----------
    classifier : KernelClassifier
        What learns; it is copied and not changed.
    features : sequence of str
        Names of the columns to learn from, in order.
    target : str
        Name of the column of labels.
    scale, kinds, missing, n_warm_up : object
        As of `TableRegressor`.

    Attributes
    ----------
    mean_, deviation_ : ndarray of shape (n_features,)
        As of `TableRegressor`.
    kinds_ : dict of str to str
        What each column holds.
    classes_ : ndarray of shape (n_classes,)
        The labels, sorted.
    class_count_ : ndarray of int of shape (n_classes,)
        Rows of each class learned so far.
    n_seen_ : int
        Rows learned so far.
    n_stored_ : int
        Points stored.
    classifier : KernelClassifier
        Once rows were learned, a copy of what learned, on the features that were made of them.
    """

    _role: ClassVar[str] = "classifier"
    _kind: ClassVar[type[KernelModel]] = KernelClassifier

    def __init__(
        self,
        classifier: KernelClassifier,
        features: Sequence[str],
        target: str,
        scale: bool = True,
        kinds: Mapping[str, Kind] | None = None,
        missing: Literal["error", "fill"] = "error",
        n_warm_up: int = 500,
    ) -> None:
        self.classifier = classifier
        self.features = cast("list[str]", features)
        self.target = target
        self.scale = scale
        self.kinds = kinds
        self.missing = missing
        self.n_warm_up = n_warm_up

    @property
    def classifier(self) -> KernelClassifier:
        """What learns, or a copy of what has learned."""
        return cast(KernelClassifier, self._role_now())

    @classifier.setter
    def classifier(self, classifier: KernelClassifier) -> None:  # numpydoc ignore=GL08
        self._given = classifier

    @property
    def targets(self) -> list[str]:
        """The name of the column of labels, as a list."""
        return [self.target]

    def _target_names(self) -> dict[str, Any]:
        return {"target": self.target}
