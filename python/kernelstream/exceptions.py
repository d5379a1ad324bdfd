"""Types of the errors and warnings of this package.

An error about rows or columns is a `DataError`, a `ValueError` that has the place as attributes.
Warnings derive from `KernelstreamWarning`, so that a filter selects them by type::

    warnings.simplefilter("ignore", kernelstream.exceptions.DriftWarning)
"""

from __future__ import annotations

from kernelstream._core import DataError, ModelFileError

__all__ = [
    "DataError",
    "DriftWarning",
    "KernelstreamWarning",
    "MissingPackageWarning",
    "ModelFileError",
    "MovedColumnsWarning",
    "NotAvailableError",
    "OutlierWarning",
    "RepeatedRowsWarning",
    "SentinelWarning",
    "SlowWarning",
    "UnknownCategoriesWarning",
    "UselessPredictionsWarning",
    "WeightsWarning",
]


class NotAvailableError(ValueError, AttributeError):
    """A model has no such attribute, with these parameters or of so few rows; it says which do."""


class KernelstreamWarning(UserWarning):
    """Base of all warnings of this package."""


class DriftWarning(KernelstreamWarning):
    """Recent errors are well above the earlier ones: the stream may have changed."""


class MovedColumnsWarning(KernelstreamWarning):
    """Columns left the range of the rows before, so that all were rescaled."""


class UnknownCategoriesWarning(KernelstreamWarning):
    """No category of a column of the rows to be predicted is one that was learned."""


class UselessPredictionsWarning(KernelstreamWarning):
    """Recent predictions were no better than the mean of the earlier targets."""


class OutlierWarning(KernelstreamWarning):
    """A target far beyond all errors was winsorized, or pairs of a far state left out."""


class RepeatedRowsWarning(KernelstreamWarning):
    """Many rows are copies of earlier ones, so that errors and intervals are too small."""


class SentinelWarning(KernelstreamWarning):
    """A value is so far from the others that it may stand for a missing one, such as -9999.

    A target, a state, or a value that is repeated among the first rows of a column.
    """


class WeightsWarning(KernelstreamWarning):
    """Weights of rows are so small or large that the regularization is too strong or too weak."""


class SlowWarning(KernelstreamWarning):
    """A call that shows no progress will take minutes."""


class MissingPackageWarning(KernelstreamWarning):
    """An optional package is not installed, so a part of the output is left out."""
