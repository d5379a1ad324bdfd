"""Explanations of predictions: contributions of columns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["Explanation"]


@dataclass(frozen=True, repr=False)
class Explanation:
    """Contributions of columns to predictions, with the fields of ``shap.Explanation``.

    Indexing by rows gives the explanation of these rows; `kernelstream.plots.contributions`,
    ``beeswarm`` and ``waterfall`` draw it.

    Parameters
    ----------
    values : ndarray of shape (n, n_columns), or (n, n_columns, n_outputs)
        Contribution of each column to each prediction, in units of the prediction.
    base_values : ndarray of shape (n,), or (n, n_outputs)
        The mean prediction of the background: with the values of a row it adds up to what is
        explained of that row.
    data : ndarray of shape (n, n_columns)
        The rows.
    feature_names : list of str
        Names of the columns.
    output_names : list of str or None
        Names of the outputs, if there are several.
    standard_errors : ndarray of the shape of values, or None
        Standard errors of sampled values, widened by Student's quantile where there are few
        permutations, so that two of them cover 95 % (less with fewer than about ten permutations
        of columns with few values, which may agree by chance). None: the values are exact.
    """

    values: NDArray[np.float64]
    base_values: NDArray[np.float64]
    data: NDArray[Any]
    feature_names: list[str]
    output_names: list[str] | None = None
    standard_errors: NDArray[np.float64] | None = None

    def __len__(self) -> int:
        return len(self.values)

    def __getitem__(self, rows: Any) -> Explanation:
        errors = self.standard_errors
        return Explanation(
            self.values[rows],
            self.base_values[rows],
            self.data[rows],
            self.feature_names,
            self.output_names,
            None if errors is None else errors[rows],
        )

    def __repr__(self) -> str:
        kind = "exact" if self.standard_errors is None else "sampled"
        return f"Explanation(shape={self.values.shape}, {kind})"

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of the values."""
        return self.values.shape

    @property
    def predictions(self) -> NDArray[np.float64]:
        """What is explained of each row: the base value plus all contributions."""
        total: NDArray[np.float64] = self.base_values + self.values.sum(axis=1)
        return total

    def output(self, number: int) -> Explanation:
        """Give the explanation of one output of several.

        Parameters
        ----------
        number : int
            Its place among the outputs.

        Returns
        -------
        explanation : Explanation
            With values of shape (n, n_columns).

        Raises
        ------
        ValueError
            There is one output only.
        """
        if self.values.ndim != 3:
            raise ValueError("there is one output only, which the explanation is of already")
        errors = self.standard_errors
        return Explanation(
            self.values[:, :, number],
            self.base_values[:, number],
            self.data,
            self.feature_names,
            None,
            None if errors is None else errors[:, :, number],
        )

    def to_shap(self) -> Any:
        """Give the same as a ``shap.Explanation``, for the pictures of that package.

        Returns
        -------
        explanation : shap.Explanation

        Raises
        ------
        ImportError
            If shap is missing.
        """
        try:
            import shap  # noqa: PLC0415 (optional)
        except ImportError as missing:
            raise ImportError(
                "to_shap() needs the package shap, which is not installed: pip install shap"
            ) from missing
        return shap.Explanation(
            values=self.values,
            base_values=self.base_values,
            data=self.data,
            feature_names=self.feature_names,
            output_names=self.output_names,
            error_std=self.standard_errors,
        )
