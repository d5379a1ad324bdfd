"""Kernels: how alike two points are.

Each is a positive definite function of two rows of features. ``bandwidth=None`` means ``sqrt(d)``
for ``d`` features (``d`` with the Manhattan distance), which suits standardized features; it is set
when the first row is seen. Features are what an estimator compares: columns in units of their
standard deviations, or as they are with ``scale=False``. Kernels add up, take non-negative weights,
and multiply: ``0.4 * Gaussian(0.4) + 0.6 * Gaussian(0.7) * Linear()``. `Mapped` compares points
after a linear map.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from numbers import Real
from typing import Any, ClassVar, Self, overload

import numpy as np
from numpy.typing import ArrayLike

from kernelstream.components.base import Component, as_json

__all__ = [
    "Gaussian",
    "Laplacian",
    "Linear",
    "ManhattanLaplacian",
    "Mapped",
    "Matern32",
    "Matern52",
    "Polynomial",
    "Sum",
]


class Kernel(Component):
    """What all kernels share: they add up, and take weights."""

    _part: ClassVar[str] = "kernel"
    # Without this numpy scalars would try to multiply a kernel element by element.
    __array_ufunc__ = None

    def _terms(self) -> list[tuple[float, Kernel]]:
        return [(1.0, self)]

    def _lengths(self) -> Iterator[float]:
        """Give the bandwidths that were chosen, those of sums and products included."""
        if (bandwidth := getattr(self, "bandwidth", None)) is not None:
            yield bandwidth
        for part in vars(self).values():
            for kernel in part if isinstance(part, list | tuple) else (part,):
                if isinstance(kernel, Kernel):
                    yield from kernel._lengths()

    def __add__(self, other: Kernel) -> Sum:
        if not isinstance(other, Kernel):
            return NotImplemented
        terms = [*self._terms(), *other._terms()]
        return Sum([kernel for _, kernel in terms], [weight for weight, _ in terms])

    @overload
    def __mul__(self, other: Kernel) -> Product: ...

    @overload
    def __mul__(self, other: float) -> Sum: ...

    def __mul__(self, other: float | Kernel) -> Sum | Product:
        if isinstance(other, Kernel):
            return Product(self, other)
        return self.__rmul__(other)

    def __rmul__(self, weight: float) -> Sum:
        if not isinstance(weight, Real):
            return NotImplemented
        terms = [(float(weight) * inner, kernel) for inner, kernel in self._terms()]
        return Sum([kernel for _, kernel in terms], [inner for inner, _ in terms])


@dataclass(eq=False)
class Gaussian(Kernel):
    """Gaussian kernel, ``exp(-|x - y|^2 / (2 bandwidth^2))``.

    Parameters
    ----------
    bandwidth : float, optional
        Distance over which points count as alike, in units of the features, above 0.
        None: ``sqrt(d)`` for ``d`` features.
    """

    _type: ClassVar[str] = "gaussian"
    bandwidth: float | None = None


@dataclass(eq=False)
class Laplacian(Kernel):
    """Laplacian (exponential) kernel, ``exp(-|x - y| / bandwidth)`` with the Euclidean distance.

    It is the Matern kernel of smoothness 1/2. That of the Manhattan distance, which scikit-learn
    calls the Laplacian kernel, is `ManhattanLaplacian`.

    Parameters
    ----------
    bandwidth : float, optional
        Length over which similarity falls by a factor e, in units of the features, above 0.
        None: ``sqrt(d)`` for ``d`` features.
    """

    _type: ClassVar[str] = "laplacian"
    bandwidth: float | None = None


@dataclass(eq=False)
class ManhattanLaplacian(Kernel):
    """Laplacian kernel of the Manhattan distance, ``exp(-sum_j |x_j - y_j| / bandwidth)``.

    With an exponent below 1 it is ``exp(-(sum_j |x_j - y_j| / bandwidth) ** exponent)``, rougher.

    A product of kernels of one column each, so that, as in a tree, every column is seen by itself:
    often the best kernel for tables. Scikit-learn's ``laplacian_kernel`` is this one with
    ``gamma = 1 / bandwidth``. No matrix product speeds it up: it takes several times the time of
    the others.

    Parameters
    ----------
    bandwidth : float, optional
        Length over which similarity falls by a factor e, in units of the features, above 0.
        None: ``d`` for ``d`` features.
    exponent : float, default=1.0
        Power of the distance, above 0 and at most 1. The smaller, the rougher the functions and the
        less the bandwidth matters; they need many points (`NoisyPoints`).
    """

    _type: ClassVar[str] = "manhattan_laplacian"
    bandwidth: float | None = None
    exponent: float = 1.0


@dataclass(eq=False)
class Matern32(Kernel):
    """Matern kernel of smoothness 3/2.

    It is ``(1 + r) exp(-r)`` with ``r = sqrt(3) |x - y| / bandwidth``.

    Parameters
    ----------
    bandwidth : float, optional
        Length scale in units of the features, above 0. None: ``sqrt(d)`` for ``d`` features.
    """

    _type: ClassVar[str] = "matern32"
    bandwidth: float | None = None


@dataclass(eq=False)
class Matern52(Kernel):
    """Matern kernel of smoothness 5/2.

    It is ``(1 + r + r^2/3) exp(-r)`` with ``r = sqrt(5) |x - y| / bandwidth``.

    Parameters
    ----------
    bandwidth : float, optional
        Length scale in units of the features, above 0. None: ``sqrt(d)`` for ``d`` features.
    """

    _type: ClassVar[str] = "matern52"
    bandwidth: float | None = None


@dataclass(eq=False)
class Polynomial(Kernel):
    """Polynomial kernel, ``(scale * <x, y> + offset)^degree``.

    Parameters
    ----------
    degree : int, default=3
        Degree, 1 or more.
    scale : float, optional
        Factor on the inner product, above 0. None: ``1/d`` for ``d`` features.
    offset : float, default=1.0
        Constant inside the power, 0 or more.
    """

    _type: ClassVar[str] = "polynomial"
    degree: int = 3
    scale: float | None = None
    offset: float = 1.0


@dataclass(eq=False)
class Linear(Kernel):
    """Linear kernel, the inner product ``<x, y>``.

    Its functions are 0 at the origin, also where a learner is centred: `Polynomial` of degree 1 has
    an offset, which columns off the origin need.
    """

    _type: ClassVar[str] = "linear"


@dataclass(eq=False)
class Sum(Kernel):
    """Weighted sum of kernels, ``sum_i weights[i] * kernels[i](x, y)``.

    ``0.4 * Gaussian(0.4) + 0.6 * Gaussian(0.7)`` makes one.

    Parameters
    ----------
    kernels : sequence of Kernel
        The kernels, at least one.
    weights : sequence of float
        One weight for each, 0 or more, not all 0.
    """

    _type: ClassVar[str] = "sum"
    kernels: Sequence[Kernel]
    weights: Sequence[float]

    def __post_init__(self) -> None:
        for kernel in self.kernels:
            if not isinstance(kernel, Kernel):
                raise TypeError(f"Sum: kernels must be kernels, got {kernel!r}")
        super().__post_init__()

    def _terms(self) -> list[tuple[float, Kernel]]:
        return [
            (float(weight), kernel)
            for weight, kernel in zip(self.weights, self.kernels, strict=True)
        ]

    @classmethod
    def _from_values(cls, values: dict[str, Any]) -> Self:
        return cls([Kernel.from_spec(spec) for spec in values["kernels"]], values["weights"])


@dataclass(eq=False)
class Product(Kernel):
    """Product of two kernels, ``first(x, y) * second(x, y)``.

    ``Gaussian(3.0) * Linear()`` makes one. Points are alike where both factors are large, and
    functions are sums of products of functions of both: here linear ones whose slopes change
    slowly. A factor of some columns only has zeros for the others: ``Mapped(kernel, [1.0, 0.0])``.

    Parameters
    ----------
    first, second : Kernel
        The kernels; both see all columns.

    Examples
    --------
    >>> import kernelstream as ks
    >>> ks.Matern32() * ks.Polynomial(2)
    Product(first=Matern32(bandwidth=None), second=Polynomial(degree=2, scale=None, offset=1.0))
    """

    _type: ClassVar[str] = "product"
    first: Kernel
    second: Kernel

    def __post_init__(self) -> None:
        for kernel in (self.first, self.second):
            if not isinstance(kernel, Kernel):
                raise TypeError(f"Product: factors must be kernels, got {kernel!r}")
        super().__post_init__()

    @classmethod
    def _from_values(cls, values: dict[str, Any]) -> Self:
        return cls(Kernel.from_spec(values["first"]), Kernel.from_spec(values["second"]))


@dataclass(eq=False)
class Mapped(Kernel):
    """Another kernel after a linear map of the points, ``kernel(A x, A y)``.

    A diagonal map gives each column a length scale of its own (automatic relevance determination):
    a factor of 0 leaves the column out. A full one compares points along any directions.

    Parameters
    ----------
    kernel : Kernel
        What compares the mapped points. Where its bandwidth is None, ``d`` is the number of
        dimensions after the map.
    metric : array-like of shape (n_features,) or (n_dimensions, n_features)
        The factors of the columns, or the matrix ``A``; finite.

    Examples
    --------
    >>> import kernelstream as ks
    >>> ks.Mapped(ks.Gaussian(1.0), [1.0, 0.5, 0.0])
    Mapped(kernel=Gaussian(bandwidth=1.0), metric=[1.0, 0.5, 0.0])
    """

    _type: ClassVar[str] = "mapped"
    kernel: Kernel
    metric: ArrayLike

    def __post_init__(self) -> None:
        if not isinstance(self.kernel, Kernel):
            raise TypeError(f"Mapped: kernel must be a kernel, got {self.kernel!r}")
        super().__post_init__()

    def to_spec(self) -> dict[str, Any]:
        """Give the description that the core and the model file understand."""
        metric = np.asarray(self.metric)
        kind = {1: "diagonal", 2: "full"}.get(metric.ndim)
        if kind is None or metric.dtype.kind not in "fiu":
            raise ValueError(
                "Mapped: metric must be numbers of shape (n_features,) or "
                f"(n_dimensions, n_features), got {self.metric!r}"
            )
        entries = as_json("Mapped: metric", metric.astype(float))
        return {"type": self._type, "metric": {kind: entries}, "kernel": self.kernel.to_spec()}

    @classmethod
    def _from_values(cls, values: dict[str, Any]) -> Self:
        (metric,) = values["metric"].values()
        return cls(Kernel.from_spec(values["kernel"]), metric)
