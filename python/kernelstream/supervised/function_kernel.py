"""Kernels given as Python functions, of objects of any kind."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.linalg import solve_triangular
from sklearn.utils.validation import check_is_fitted

from kernelstream.components.scikit import (
    BaseEstimator,
    ClassNamePrefixFeaturesOutMixin,
    TransformerMixin,
)
from kernelstream.estimators.advice import advise
from kernelstream.estimators.validation import located_error, whole_number
from kernelstream.exceptions import KernelstreamWarning

__all__ = ["FunctionKernel"]

Floats = NDArray[np.float64]

# Below this share of a similarity, the unexplained part of an object is rounding.
_ROUNDING = 1e-10
# Calls of the function in one call of a method, beyond which a warning is issued.
_MANY_CALLS = 5_000_000


class FunctionKernel(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """A kernel that is a Python function, of strings, graphs or anything else, as a transformer.

    Objects become the coordinates that `ALD` gives to rows: some are stored, and the others are
    known by their similarities to these. Coordinates are only ever appended to, so that what was
    learned in them stays valid while objects are added; there are always `max_size` columns, zeros
    for those to come. Learn in them with ``Linear()`` and ``scale=False``.

    This is the slow path: the function is called by Python for each object and stored object, a
    thousand times slower than a kernel of this package.

    Parameters
    ----------
    function : callable of (object, object)
        Gives the similarity of two objects, a finite float; symmetric and positive definite.
    tolerance : float, default=1e-3
        An object is stored if the stored ones leave more than this share of it open, at least 0 and
        below 1. 0: all objects that are not explained to rounding.
    max_size : int, default=200
        Objects stored at most, 1 or more, and columns of what `transform` gives.

    Attributes
    ----------
    objects_ : list
        The stored objects.
    n_seen_ : int
        Objects met so far.

    Notes
    -----
    Similarities that are known beforehand are a function of the numbers of the objects: ``lambda i,
    j: K[i, j]`` with the numbers as rows. A pickle holds the function if it is importable by its
    name, as all pickles do.

    Examples
    --------
    Words by the pairs of letters that they share:

    >>> import kernelstream as ks
    >>> from sklearn.pipeline import make_pipeline
    >>> def pairs(word):
    ...     return {word[i : i + 2] for i in range(len(word) - 1)}
    >>> def shared(a, b):
    ...     return float(len(pairs(a) & pairs(b)))
    >>> words = ["reading", "writing", "walking", "readable", "writable", "walkable"]
    >>> classifier = ks.KernelClassifier(ks.Linear(), scale=False)
    >>> model = make_pipeline(ks.FunctionKernel(shared, max_size=6), classifier)
    >>> model = model.fit(words, ["verb"] * 3 + ["adjective"] * 3)
    >>> model.predict(["talking", "drinkable"]).tolist()
    ['verb', 'adjective']
    """

    objects_: list[Any]
    n_seen_: int
    _instead = (
        "FunctionKernel comes before a model, not in it: make_pipeline(FunctionKernel(f), "
        "KernelRegressor(Linear(), scale=False))"
    )

    def __init__(
        self,
        function: Callable[[Any, Any], float],
        *,
        tolerance: float = 1e-3,
        max_size: int = 200,
    ) -> None:
        self.function = function
        self.tolerance = tolerance
        self.max_size = max_size

    def fit(self, X: Iterable[Any], y: ArrayLike | None = None) -> Self:
        """Forget all objects, and store some of these.

        Parameters
        ----------
        X : iterable of object
            The objects, in their order.
        y : object, optional
            Not used.

        Returns
        -------
        self : FunctionKernel
            This transformer.

        Raises
        ------
        ValueError, TypeError
            A similarity is no finite number, or not one of a kernel; the message names the object.
        """
        del y
        return self._store(X, [], np.zeros((0, 0)), 0)

    def partial_fit(self, X: Iterable[Any], y: ArrayLike | None = None) -> Self:
        """Store some more objects.

        Parameters
        ----------
        X : iterable of object
            The objects, in their order.
        y : object, optional
            Not used.

        Returns
        -------
        self : FunctionKernel
            This transformer.

        Raises
        ------
        ValueError, TypeError
            A similarity is no finite number, or not one of a kernel (the message names the object);
            the stored objects are as before.
        """
        del y
        if not self.__sklearn_is_fitted__():
            return self.fit(X)
        return self._store(X, list(self.objects_), self._factor, self.n_seen_)

    def transform(self, X: Iterable[Any]) -> Floats:
        """Give the coordinates of objects.

        Parameters
        ----------
        X : iterable of object
            The objects.

        Returns
        -------
        coordinates : ndarray of shape (n, max_size)
            Their inner products are the kernel, except for the part that is not explained.

        Raises
        ------
        NotFittedError
            No object has been stored yet.
        ValueError, TypeError
            A similarity is no finite number.
        """
        check_is_fitted(self)
        given = _listed(X)
        _warn_of_time(len(given) * len(self.objects_))
        similarities = np.empty((len(self.objects_), len(given)))
        for j, x in enumerate(given):
            similarities[:, j] = self._similarities(x, self.objects_, j)
        out = np.zeros((len(given), self._size()))
        out[:, : len(self.objects_)] = solve_triangular(self._factor, similarities, lower=True).T
        return out

    def _store(self, X: Iterable[Any], objects: list[Any], factor: Floats, seen: int) -> Self:
        size, tolerance = self._size(), self._checked_tolerance()
        given = _listed(X)
        _warn_of_time(len(given) * min(size, len(objects) + len(given)))
        grown = np.zeros((size, size))
        grown[: len(objects), : len(objects)] = factor
        for row, x in enumerate(given):
            m = len(objects)
            if m == size:
                break
            own = self._similarities(x, [x], row)[0]
            z = np.zeros(0)
            if m:
                similarities = self._similarities(x, objects, row)
                z = solve_triangular(grown[:m, :m], similarities, lower=True)
            left = own - z @ z
            if own < 0.0 or left < -1e-6 * max(own, z @ z):
                raise located_error(
                    f"the similarities of object {row} are not those of a kernel: it is {own:.6g} "
                    f"to itself, but what the stored objects say of it is {z @ z:.6g}; a kernel is "
                    "symmetric and positive definite",
                    "X",
                    row,
                )
            if left > max(tolerance, _ROUNDING) * own:
                grown[m, :m], grown[m, m] = z, np.sqrt(left)
                objects.append(x)
        self._factor = grown[: len(objects), : len(objects)].copy()
        self.objects_, self.n_seen_ = objects, seen + len(given)
        return self

    def _similarities(self, x: Any, objects: Sequence[Any], row: int) -> Floats:
        values = np.array([float(self.function(known, x)) for known in objects], dtype=np.float64)
        if not np.isfinite(values).all():
            raise located_error(
                f"the similarity of object {row} to a stored one is not a finite number: correct "
                "the function, or leave the object out",
                "X",
                row,
            )
        return values

    def _size(self) -> int:
        return whole_number("max_size", self.max_size)

    def _checked_tolerance(self) -> float:
        if not 0.0 <= self.tolerance < 1.0:
            raise ValueError(f"tolerance must be from 0 to below 1, got {self.tolerance}")
        return float(self.tolerance)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "_factor")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = False
        tags.input_tags.string = True
        tags.no_validation = True
        return tags

    @property
    def _n_features_out(self) -> int:
        return self._size()


def _listed(X: Iterable[Any]) -> list[Any]:
    if isinstance(X, str | bytes):
        raise TypeError("X is one text: pass a list of objects")
    return list(X)


def _warn_of_time(calls: int) -> None:
    if calls > _MANY_CALLS:
        advise(
            f"FunctionKernel calls its function {calls:,} times, which may take minutes: a smaller "
            "max_size, or a kernel of this package on features, is faster",
            KernelstreamWarning,
        )
