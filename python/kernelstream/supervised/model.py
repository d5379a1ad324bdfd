"""What the supervised estimators share: rows of any columns, and a kernel, basis and learner."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any, ClassVar, Literal, Self, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted

from kernelstream.components.base import as_component
from kernelstream.components.bases import ALD, Basis
from kernelstream.components.budget import BudgetLearner
from kernelstream.components.kernels import Gaussian, Kernel
from kernelstream.components.learners import Learner, Ridge
from kernelstream.estimators.base import RowEstimator
from kernelstream.supervised.columns import Columns, Kind, columns_of, read_rows

__all__ = ["KernelModel"]


class KernelModel(RowEstimator):
    """A model of raw columns, whose core holds what the warm-up says of these beside the model.

    The class that derives from this stores the parameters ``columns``, ``scale``, ``missing``,
    ``n_warm_up`` and ``verbose``, and ``kernel``, ``basis`` and ``learner`` unless it gives
    ``to_spec`` itself.
    """

    _default_parts: ClassVar[Mapping[str, Callable[[], Any]]] = {
        "kernel": Gaussian,
        "basis": ALD,
        "learner": Ridge,
    }

    kernel: Kernel | None
    basis: Basis | None
    learner: Learner | None
    columns: Mapping[Any, Kind] | None
    scale: bool
    missing: Literal["error", "fill"]
    n_warm_up: int
    # Fixed by the first rows.
    _columns: Columns

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = self.missing == "fill"
        return tags

    def to_spec(self) -> dict[str, Any]:
        """Give the description of the model that the core understands, without columns."""
        # A budgeted learner chooses the stored points itself; the core refuses a basis beside it.
        alone = isinstance(self.learner, BudgetLearner) and self.basis is None
        return {
            "kernel": as_component(self.kernel, Gaussian, Kernel).to_spec(),
            "basis": None if alone else as_component(self.basis, ALD, Basis).to_spec(),
            "learner": self._chosen_learner().to_spec(),
        }

    @property
    def columns_(self) -> dict[str, str]:
        """What each column holds, by its name; empty for numbers without names."""
        check_is_fitted(self)
        return {name: kind["type"] for name, kind in columns_of(self).kinds.items()}

    @property
    def scales_(self) -> NDArray[np.float64] | None:
        """The mean subtracted from each column and its divisor; None if rows are not scaled."""
        check_is_fitted(self)
        scales = self._core.scales
        return None if scales is None else cast("NDArray[np.float64]", scales[0])

    @property
    def dictionary_(self) -> NDArray[np.float64]:
        """Stored points, in the order they were stored."""
        check_is_fitted(self)
        return cast("NDArray[np.float64]", self._core.dictionary())

    @property
    def condition_(self) -> float | None:
        """Condition number of the matrix whose pseudoinverse `Sketched` features are made by.

        The larger, the more rounding and chance there is in the features. None for other bases, and
        in stage one.
        """
        check_is_fitted(self)
        return cast("float | None", self._core.condition)

    @property
    def feature_importances_(self) -> NDArray[np.float64]:
        """How much each column matters, as shares of 1."""
        check_is_fitted(self)
        return cast("NDArray[np.float64]", self._core.importances())

    def _chosen_learner(self) -> Learner:
        return as_component(self.learner, Ridge, Learner)

    def _scales_numbers(self) -> bool:
        """Whether the core standardizes numbers before the model gets them."""
        return self.scale

    def _rows(self, X: Any, *, reset: bool) -> Any:
        return read_rows(self, X, reset=reset)

    def _row(self, x: Any) -> Any:
        return columns_of(self).row(x)

    def _learn_first(self, x: Any, y: Any, classes: ArrayLike | None = None) -> None:
        if isinstance(x, Mapping):
            self._learn([x], [y], None, classes=classes)
        elif self.columns:
            self._learn(np.array([x], object), [y], None, classes=classes)
        else:
            super()._learn_first(x, y, classes)

    def _model_spec(self) -> dict[str, Any]:
        """Give the description of what learns features of columns."""
        return self.to_spec()

    def _core_spec(self) -> dict[str, Any]:
        spec = self._model_spec()
        columns = columns_of(self).to_spec(self.missing, self.n_warm_up)
        if columns is None:
            return spec
        return (spec if "model" in spec else {"model": spec}) | {"columns": columns}

    @classmethod
    def _from_state(cls, core: Any, state: Mapping[str, Any]) -> Self:
        model = super()._from_state(core, state)
        columns = json.loads(core.spec).get("columns")
        model._columns = Columns.from_spec(columns, state["feature_names"])
        return model
