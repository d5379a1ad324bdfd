"""Decompositions of matrices that change: a streaming SVD, and sparse sketches.

`TruncatedSVD` updates the largest singular triples of a matrix under low-rank updates and appended
rows and columns, without storing the matrix. `TruncatedEigen` is its counterpart for positive
semidefinite matrices, and `sparse_sketch` reduces the rows of a tall matrix.
"""

from __future__ import annotations

from typing import Any, Self, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from kernelstream import _core
from kernelstream.estimators.validation import as_float64, whole_number

__all__ = ["TruncatedEigen", "TruncatedSVD", "sparse_sketch"]

FloatArray = NDArray[np.float64]


def _matrix(array: ArrayLike, name: str, *, vector_as: str | None = None) -> FloatArray:
    """Convert to a float64 array of two dimensions; a vector is a row or a column."""
    values = as_float64(np.asarray(array), name)
    if values.ndim == 1 and vector_as is not None:
        values = values[np.newaxis, :] if vector_as == "row" else values[:, np.newaxis]
    if values.ndim != 2:
        raise ValueError(f"{name} must have two dimensions, got an array of shape {values.shape}")
    return values


class _Truncated:
    """What both decompositions share; the core is in ``_held``."""

    _held: Any

    def __init__(self) -> None:
        name = type(self).__name__
        raise TypeError(f"{name} is made by {name}.from_matrix(A, rank=k)")

    @classmethod
    def _holding(cls, core: Any) -> Self:
        made = cls.__new__(cls)
        made._held = core
        return made

    def reconstruct(self) -> FloatArray:
        """Compute the approximated matrix.

        Returns
        -------
        A : ndarray of the shape of the matrix
            The product of the factors.
        """
        return cast(FloatArray, self._held.reconstruct())

    def orthogonality(self) -> float:
        """Compute the deviation of the vectors from orthonormality.

        Returns
        -------
        defect : float
            The Frobenius norm of ``V.T @ V - I`` for the vectors V, including the additional ones
            that are stored; for left and right singular vectors, the larger one.
        """
        return cast(float, self._held.orthogonality())

    def __reduce__(self) -> tuple[Any, ...]:
        return (type(self).__new__, (type(self),), self.__getstate__())


class TruncatedSVD(_Truncated):
    """The largest singular triples of a matrix that changes, ``A ~ u @ diag(s) @ v.T``.

    Make one with `from_matrix`. Each update costs time proportional to ``m + n`` and stores only
    the triples, so ``A`` itself need not fit in memory. An update is exact for the stored triples,
    which are then truncated; the vectors stay orthonormal to rounding over any number of updates.

    More triples are stored than are returned (`n_oversamples`), because a truncated component is
    not available when later updates add to it.

    Attributes
    ----------
    u : ndarray of shape (m, k)
        Left singular vectors. ``k`` is `rank`, or fewer while the matrix has fewer rows or columns.
    s : ndarray of shape (k,)
        Singular values, largest first.
    v : ndarray of shape (n, k)
        Right singular vectors, as columns (numpy's ``svd`` gives their transpose).
    shape : tuple of int
        Shape (m, n) of the matrix.
    rank : int
        Maximal number of triples returned.
    n_oversamples : int
        Maximal number of additional triples stored.
    error_bound : float
        Upper bound of the Frobenius norm of ``A - u @ diag(s) @ v.T``: the sum of the truncation
        errors of all updates. After many updates the actual error is far smaller.

    See Also
    --------
    TruncatedEigen : The same for a symmetric, positive semidefinite matrix.

    Notes
    -----
    An update of rank r takes ``O((m + n) (k + r)^2 + (k + r)^3)``. The algorithm is TISVD
    (Algorithm 2 of the reference) with corrections: new directions are projected onto the
    complement of the existing ones until orthogonal to rounding, vanishing directions are omitted,
    vectors are reorthogonalized every 64 updates, and more triples are stored than returned. In its
    published form TISVD loses orthogonality within tens of updates of a nearly singular matrix.

    A call that raises an error changes nothing. Objects may be shared between threads.

    References
    ----------
    D. Wen, X. Zhang, Z. Wei, C. Hou, S. Li, W. Zhang, "Fast second-order online kernel learning
    through incremental matrix sketching and decomposition", 2024. M. Brand, "Fast low-rank
    modifications of the thin singular value decomposition", 2006.

    Examples
    --------
    >>> import numpy as np
    >>> from kernelstream.linalg import TruncatedSVD
    >>> rng = np.random.default_rng(0)
    >>> A = rng.normal(size=(50, 4)) @ rng.normal(size=(4, 30))
    >>> svd = TruncatedSVD.from_matrix(A, rank=5)
    >>> U, V = rng.normal(size=(50, 1)), rng.normal(size=(30, 1))
    >>> svd.update(U, V)
    TruncatedSVD(50 x 30, rank 5)
    >>> bool(np.allclose(svd.reconstruct(), A + U @ V.T))
    True
    """

    _held: _core.TruncatedSVD

    @classmethod
    def from_matrix(cls, A: ArrayLike, rank: int, *, n_oversamples: int | None = None) -> Self:
        """Decompose a first matrix.

        Parameters
        ----------
        A : array-like of shape (m, n)
            The matrix, or its first rows or columns if the others are to be appended.
        rank : int
            Maximal number of triples to return, 1 or more. It may exceed m and n.
        n_oversamples : int, optional
            Number of additional triples to store. None: half of `rank`, at least 10. With 0 an
            update is faster, and the error after many updates larger: with Gaussian updates, the
            worst case, 1.27 instead of 1.16 times that of the best approximation (rank 30 of a
            100 x 100 matrix).

        Returns
        -------
        svd : TruncatedSVD
            The best approximation of A, from one full singular value decomposition.

        Raises
        ------
        ValueError
            A is empty or not finite, or `rank` is not positive.
        """
        extra = None if n_oversamples is None else whole_number("n_oversamples", n_oversamples, 0)
        return cls._holding(_core.TruncatedSVD(_matrix(A, "A"), whole_number("rank", rank), extra))

    def update(self, U: ArrayLike, V: ArrayLike, *, forgetting: float = 1.0) -> Self:
        """Add a low-rank matrix: ``A`` becomes ``forgetting * A + U @ V.T``.

        Parameters
        ----------
        U : array-like of shape (m, r) or (m,)
            Left factor.
        V : array-like of shape (n, r) or (n,)
            Right factor.
        forgetting : float, default=1.0
            Factor on the existing matrix, above 0, at most 1.

        Returns
        -------
        self : TruncatedSVD
            The same object.

        Raises
        ------
        ValueError
            A factor has the wrong shape or is not finite; nothing was changed.
        """
        left, right = _matrix(U, "U", vector_as="column"), _matrix(V, "V", vector_as="column")
        self._held.update(left, right, forgetting)
        return self

    def append_rows(self, rows: ArrayLike, *, forgetting: float = 1.0) -> Self:
        """Append rows below the matrix, such as further samples.

        Parameters
        ----------
        rows : array-like of shape (p, n) or (n,)
            The new rows.
        forgetting : float, default=1.0
            Factor on the existing rows, above 0, at most 1.

        Returns
        -------
        self : TruncatedSVD
            The same object; `u` has p more rows.

        Raises
        ------
        ValueError
            The rows have the wrong width or is not finite; nothing was changed.
        """
        self._held.append_rows(_matrix(rows, "rows", vector_as="row"), forgetting)
        return self

    def append_columns(self, columns: ArrayLike, *, forgetting: float = 1.0) -> Self:
        """Append columns to the right of the matrix, such as further snapshots of a large state.

        Parameters
        ----------
        columns : array-like of shape (m, p) or (m,)
            The new columns.
        forgetting : float, default=1.0
            Factor on the existing columns, above 0, at most 1.

        Returns
        -------
        self : TruncatedSVD
            The same object; `v` has p more rows.

        Raises
        ------
        ValueError
            The columns have the wrong length or is not finite; nothing was changed.
        """
        self._held.append_columns(_matrix(columns, "columns", vector_as="column"), forgetting)
        return self

    @property
    def u(self) -> FloatArray:
        """Left singular vectors (m, k)."""
        return self._held.u

    @property
    def s(self) -> FloatArray:
        """Singular values (k,), largest first."""
        return self._held.s

    @property
    def v(self) -> FloatArray:
        """Right singular vectors (n, k)."""
        return self._held.v

    @property
    def shape(self) -> tuple[int, int]:
        """Shape (m, n) of the matrix."""
        return self._held.shape

    @property
    def rank(self) -> int:
        """Maximal number of triples returned."""
        return self._held.parts()[3][0]

    @property
    def n_oversamples(self) -> int:
        """Maximal number of additional triples stored."""
        return self._held.parts()[3][1]

    @property
    def error_bound(self) -> float:
        """Upper bound of the Frobenius norm of the error."""
        return self._held.error_bound

    def __repr__(self) -> str:
        m, n = self.shape
        return f"TruncatedSVD({m} x {n}, rank {self.rank})"

    def __getstate__(self) -> dict[str, Any]:
        u, s, v, counts = self._held.parts()
        return {"u": u, "s": s, "v": v, "counts": counts}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self._held = _core.TruncatedSVD.from_parts(**state)


class TruncatedEigen(_Truncated):
    """The largest eigenpairs of a positive semidefinite matrix that changes.

    ``A ~ vectors @ diag(values) @ vectors.T``. Make one with `from_matrix`. Negative
    eigenvalues, caused by rounding and truncation, are set to zero, so that
    ``vectors * sqrt(values)`` are always features.

    Attributes
    ----------
    values : ndarray of shape (rank,)
        Eigenvalues, largest first, none below 0.
    vectors : ndarray of shape (n, rank)
        Eigenvectors, as columns.
    rank : int
        Number of eigenpairs returned; additional ones are stored, as in `TruncatedSVD`.

    See Also
    --------
    TruncatedSVD : The same for any matrix.

    References
    ----------
    D. Wen, X. Zhang, Z. Wei, C. Hou, S. Li, W. Zhang, "Fast second-order online kernel learning
    through incremental matrix sketching and decomposition", 2024, Algorithm 2, with a
    symmetric update; see `TruncatedSVD` for the other changes.

    Examples
    --------
    >>> import numpy as np
    >>> from kernelstream.linalg import TruncatedEigen
    >>> eigen = TruncatedEigen.from_matrix(np.diag([3.0, 2.0, 1.0]), rank=2)
    >>> direction = np.array([[0.0], [0.0], [2.0]])
    >>> eigen.update(direction).values.round(12)
    array([5., 3.])
    """

    _held: _core.TruncatedEigen

    @classmethod
    def from_matrix(cls, A: ArrayLike, rank: int, *, n_oversamples: int | None = None) -> Self:
        """Decompose a first matrix.

        Parameters
        ----------
        A : array-like of shape (n, n)
            The matrix, symmetric.
        rank : int
            Number of eigenpairs to return, 1 to n.
        n_oversamples : int, optional
            Number of additional eigenpairs to store, at most n in total. None: half of `rank`, at
            least 10.

        Returns
        -------
        eigen : TruncatedEigen
            The best positive semidefinite approximation of that rank.

        Raises
        ------
        ValueError
            A is not square, not symmetric, not finite, or smaller than `rank`.
        """
        extra = None if n_oversamples is None else whole_number("n_oversamples", n_oversamples, 0)
        return cls._holding(
            _core.TruncatedEigen(_matrix(A, "A"), whole_number("rank", rank), extra)
        )

    def update(self, D: ArrayLike, M: ArrayLike | None = None) -> Self:
        """Add a symmetric low-rank matrix: ``A`` becomes ``A + D @ M @ D.T``.

        Parameters
        ----------
        D : array-like of shape (n, r) or (n,)
            Directions.
        M : array-like of shape (r, r), optional
            Matrix between them, of which the symmetric part is used. None: the identity. A border
            ``s u' + u s' + kappa s s'`` is ``D = [s, u]``, ``M = [[kappa, 1], [1, 0]]``.

        Returns
        -------
        self : TruncatedEigen
            The same object.

        Raises
        ------
        ValueError
            An array has the wrong shape or is not finite; nothing was changed.
        """
        directions = _matrix(D, "D", vector_as="column")
        middle = np.eye(directions.shape[1]) if M is None else _matrix(M, "M")
        self._held.update(directions, middle)
        return self

    @property
    def values(self) -> FloatArray:
        """Eigenvalues (rank,), largest first."""
        return self._held.values

    @property
    def vectors(self) -> FloatArray:
        """Eigenvectors (n, rank)."""
        return self._held.vectors

    @property
    def rank(self) -> int:
        """Number of eigenpairs."""
        return len(self.values)

    def __repr__(self) -> str:
        return f"TruncatedEigen({len(self.vectors)} x {len(self.vectors)}, rank {self.rank})"

    def __getstate__(self) -> dict[str, Any]:
        vectors, values, counts = self._held.parts()
        return {"vectors": vectors, "values": values, "counts": counts}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self._held = _core.TruncatedEigen.from_parts(**state)


def sparse_sketch(
    A: ArrayLike, width: int, *, blocks: int = 1, random_state: int = 0, start: int = 0
) -> FloatArray:
    """Reduce the rows of a tall matrix by a sparse Johnson-Lindenstrauss transform.

    Inner products of columns are preserved in expectation. The transform of a row depends on its
    index and the seed alone, so the sketch of a stream is the sum of the sketches of its chunks.

    Parameters
    ----------
    A : array-like of shape (n, d)
        The matrix.
    width : int
        Number of rows of the sketch.
    blocks : int, default=1
        Each row of A is added to this many rows of the sketch, one in each of `blocks` equal parts;
        it must divide `width`. More blocks are more accurate and slower.
    random_state : int, default=0
        Seed of the hashes, 0 or more.
    start : int, default=0
        Index of the first row in the stream.

    Returns
    -------
    sketch : ndarray of shape (width, d)
        ``S.T @ A``, in ``O(n d blocks)``.

    Raises
    ------
    ValueError
        `blocks` does not divide `width`.

    References
    ----------
    D. Kane, J. Nelson, "Sparser Johnson-Lindenstrauss transforms", 2014.

    Examples
    --------
    >>> import numpy as np
    >>> from kernelstream.linalg import sparse_sketch
    >>> A = np.arange(12.0).reshape(6, 2)
    >>> parts = sparse_sketch(A[:4], 3) + sparse_sketch(A[4:], 3, start=4)
    >>> bool(np.allclose(parts, sparse_sketch(A, 3)))
    True
    """
    return _core.sparse_sketch(
        _matrix(A, "A"),
        whole_number("width", width),
        whole_number("blocks", blocks),
        whole_number("random_state", random_state, 0),
        whole_number("start", start, 0),
    )
