"""Proper orthogonal decomposition of a stream of fields."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import _check_feature_names, check_is_fitted

from kernelstream.components.scikit import (
    BaseEstimator,
    ClassNamePrefixFeaturesOutMixin,
    TransformerMixin,
)
from kernelstream.estimators.validation import whole_number
from kernelstream.fields.snapshots import blocks_of, shape_of
from kernelstream.linalg import TruncatedSVD

__all__ = ["POD"]

FloatArray = NDArray[np.float64]


class POD(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """The leading modes of a stream of fields: one pass, memory of a few dozen fields.

    Also known as principal component analysis, empirical orthogonal functions, or the
    Karhunen-Loeve expansion. States of thousands to millions of numbers become `n_components`
    coefficients, which `Koopman` learns, and coefficients become fields again.

    A field may have any shape; ``X`` holds one in each entry of its first axis. Fields may be read
    from a file: only a block of them is in memory.

    Parameters
    ----------
    n_components : int, float or "optimal", default=20
        Number of modes, 1 or more. A number between 0 and 1: as many as this share of the variance
        takes. "optimal": those whose singular value stands out from white noise of the size of
        what the modes leave (Gavish and Donoho). The last two are limited by `max_components`.
    max_components : int, default=100
        Modes that are learned where their number is to be found, 1 or more: time and memory are
        those of as many, and more than there are hide what is left out.
    center : bool, default=True
        Subtract the mean, that of all snapshots so far.
    block_size : int, default=50
        Snapshots of a call that are decomposed together, 1 or more: larger ones are faster and
        need more memory.
    keep_coefficients : bool, default=False
        Keep the coefficients of all snapshots, `n_components` numbers each, so that one pass over
        the fields suffices for what is learned from them: see `coefficients_`.

    Attributes
    ----------
    components_ : ndarray of shape (k, n_features)
        Modes as rows, orthonormal, k up to `n_components`.
    modes_ : ndarray of shape (k, *shape_)
        Modes as fields.
    mean_ : ndarray of shape shape_
        Mean of the snapshots.
    singular_values_ : ndarray of shape (k,)
        Singular values of the snapshots about their mean.
    explained_variance_ratio_ : ndarray of shape (k,)
        Share of the variance of each mode.
    coefficients_ : ndarray of shape (n_seen_, k)
        With ``keep_coefficients``: the coefficients of all snapshots in the present modes. What a
        snapshot had outside of the modes of its time, and in those found later, is lost.
    n_seen_ : int
        Number of snapshots.
    shape_ : tuple of int
        Shape of a snapshot.
    n_features_in_ : int
        Numbers in a snapshot.
    feature_names_in_ : ndarray of str of shape (n_features_in_,)
        Names of the columns, if the first snapshots were a frame; later frames must have them in
        the same order.

    See Also
    --------
    kernelstream.linalg.TruncatedSVD : The decomposition that is updated.

    Notes
    -----
    A block of b snapshots of m numbers costs ``O(m (k + b)^2)`` with ``k = 1.5 n_components``, or
    `n_components` and 10 if that is more; memory is ``O(m (k + b))``. Up to truncation, the result
    does not depend on how the snapshots are split into calls. The mean is exact: a block whose mean
    differs from that so far adds one more row to the decomposition.

    Modes change while they are learned, so coefficients of different moments cannot be compared.
    For `Koopman`, learn the modes first and transform then, or use ``keep_coefficients``.

    References
    ----------
    M. Gavish, D. Donoho, "The optimal hard threshold for singular values is 4/sqrt(3)", 2014 (the
    number of modes). D. Ross, J. Lim, R.-S. Lin, M.-H. Yang, "Incremental learning for robust
    visual tracking", 2008 (the mean). M. Brand, "Fast low-rank modifications of the thin singular
    value decomposition", 2006.

    Examples
    --------
    >>> import numpy as np
    >>> import kernelstream as ks
    >>> x, t = np.linspace(0, 1, 50), np.arange(200)
    >>> waves = np.sin(6 * x[None, :, None] + 4 * x[None, None, :] - 0.1 * t[:, None, None])
    >>> pod = ks.POD(n_components=3).partial_fit(waves[:120]).partial_fit(waves[120:])
    >>> pod.modes_.shape, bool(pod.explained_variance_ratio_[:2].sum() > 0.999999)
    ((3, 50, 50), True)
    >>> bool(np.allclose(pod.inverse_transform(pod.transform(waves)), waves))
    True
    """

    shape_: tuple[int, ...]
    n_features_in_: int

    def __init__(
        self,
        n_components: int | float | str = 20,
        *,
        max_components: int = 100,
        center: bool = True,
        block_size: int = 50,
        keep_coefficients: bool = False,
    ) -> None:
        self.n_components = n_components
        self.max_components = max_components
        self.center = center
        self.block_size = block_size
        self.keep_coefficients = keep_coefficients

    # ------------------------------------------------------------------------------- learning

    def fit(self, X: ArrayLike, y: object = None) -> Self:
        """Reset, then learn snapshots in one pass.

        Parameters
        ----------
        X : array-like of shape (n, *shape)
            Snapshots, finite numbers, in memory or in a file.
        y : object, optional
            Not used.

        Returns
        -------
        self : POD
            This estimator.

        Raises
        ------
        ValueError, TypeError
            A snapshot is invalid (the message names it); the decomposition is unchanged.
        """
        del y
        return self._learn(X, None)

    def partial_fit(self, X: ArrayLike, y: object = None) -> Self:
        """Learn further snapshots.

        Parameters
        ----------
        X : array-like of shape (n, *shape)
            Snapshots, finite numbers, in memory or in a file.
        y : object, optional
            Not used.

        Returns
        -------
        self : POD
            This estimator.

        Raises
        ------
        ValueError, TypeError
            A snapshot is invalid (the message names it) or has another shape; the decomposition
            is unchanged.
        """
        del y
        return self._learn(X, self._learned if self.__sklearn_is_fitted__() else None)

    def _learn(self, X: Any, learned: _Learned | None) -> Self:
        count, shape = shape_of(X)
        if not count:
            raise ValueError("X contains no snapshot: at least one is needed")
        continues = learned is not None
        if continues:
            _check_feature_names(self, X, reset=False)
            self._check_shape(shape)
        rank = self._most()
        size = whole_number("block_size", self.block_size)
        for block in blocks_of(X, size):
            if learned is None:
                learned = _begun(block, rank, self.center, self.keep_coefficients)
            else:
                learned = _advanced(learned, block, self.center)
        if not continues:
            self.shape_ = shape
            _check_feature_names(self, X, reset=True)
        self._learned = cast(_Learned, learned)
        self.n_features_in_ = len(self._learned.mean)
        return self

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "_learned")

    def _check_shape(self, shape: tuple[int, ...]) -> None:
        if shape not in {self.shape_, (self.n_features_in_,)}:
            # A row of numbers is refused in scikit-learn's words.
            if len(shape) == len(self.shape_) == 1:
                raise ValueError(
                    f"X has {shape[0]} features, but POD is expecting {self.n_features_in_} "
                    "features as input"
                )
            raise ValueError(
                f"snapshots have shape {shape}, but those learned have shape {self.shape_}"
            )

    # --------------------------------------------------------------------------- coefficients

    def transform(self, X: ArrayLike) -> FloatArray:
        """Compute the coefficients of fields in the modes.

        Parameters
        ----------
        X : array-like of shape (n, *shape_) or (n, n_features)
            Fields, in memory or in a file.

        Returns
        -------
        coefficients : ndarray of shape (n, k)
            The coefficients.

        Raises
        ------
        NotFittedError
            Nothing has been learned yet.
        ValueError, TypeError
            A field is invalid (the message names it) or has another shape.
        """
        check_is_fitted(self)
        _check_feature_names(self, X, reset=False)
        count, shape = shape_of(X)
        self._check_shape(shape)
        vectors, mean = self.components_.T, self._learned.mean
        out = np.empty((count, vectors.shape[1]))
        start, size = 0, whole_number("block_size", self.block_size)
        for block in blocks_of(X, size):
            out[start : start + len(block)] = block @ vectors
            start += len(block)
        out -= mean @ vectors
        return out

    def inverse_transform(self, X: ArrayLike) -> FloatArray:
        """Compute the fields that coefficients stand for.

        Parameters
        ----------
        X : array-like of shape (n, k)
            Coefficients, such as forecasts of them.

        Returns
        -------
        fields : ndarray of shape (n, *shape_)
            The mean, and the modes times the coefficients.

        Raises
        ------
        NotFittedError
            Nothing has been learned yet.
        ValueError
            There are more or fewer coefficients than modes.
        """
        return cast(FloatArray, self.maps(X) + self.mean_)

    def maps(self, coordinates: ArrayLike) -> NDArray[Any]:
        """Compute the fields that vectors of coefficients stand for, without the mean.

        Parameters
        ----------
        coordinates : array-like of shape (n, k)
            Real or complex, such as `Koopman.modes`.

        Returns
        -------
        maps : ndarray of shape (n, *shape_)
            The modes times the coefficients, real or complex.

        Raises
        ------
        NotFittedError
            Nothing has been learned yet.
        ValueError
            There are more or fewer coefficients than modes.
        """
        check_is_fitted(self)
        given, modes = np.asarray(coordinates), self.components_
        if given.ndim != 2 or given.shape[1] != len(modes):
            raise ValueError(
                f"coordinates have shape {given.shape}, but must have shape (n, {len(modes)})"
            )
        out: NDArray[Any] = (given @ modes).reshape(len(given), *self.shape_)
        return out

    # ------------------------------------------------------------------------------ attributes

    @property
    def components_(self) -> FloatArray:
        """Modes as rows."""
        check_is_fitted(self)
        return self._learned.svd.v[:, : self._n_features_out].T

    @property
    def modes_(self) -> FloatArray:
        """Modes as fields."""
        components = self.components_
        return components.reshape(len(components), *self.shape_)

    @property
    def mean_(self) -> FloatArray:
        """Mean of the snapshots."""
        check_is_fitted(self)
        return self._learned.mean.reshape(self.shape_)

    @property
    def singular_values_(self) -> FloatArray:
        """Singular values of the snapshots about their mean."""
        check_is_fitted(self)
        return self._learned.svd.s[: self._n_features_out]

    @property
    def explained_variance_ratio_(self) -> FloatArray:
        """Share of the variance of each mode."""
        energy = self.singular_values_**2
        return energy / max(self._learned.energy, float(energy.sum()), np.finfo(float).tiny)

    @property
    def coefficients_(self) -> FloatArray:
        """Coefficients of all snapshots in the present modes."""
        check_is_fitted(self)
        if self._learned.coefficients is None:
            raise AttributeError("coefficients are kept with keep_coefficients=True only")
        return self._learned.coefficients[:, : len(self.singular_values_)].copy()

    @property
    def n_seen_(self) -> int:
        """Number of snapshots."""
        check_is_fitted(self)
        return self._learned.count

    @property
    def _n_features_out(self) -> int:
        learned, wanted = self._learned, self.n_components
        if isinstance(wanted, str):
            return _n_above_noise(learned)
        if isinstance(wanted, float):
            shares = np.cumsum(learned.svd.s**2) / max(learned.energy, np.finfo(float).tiny)
            # The last of them may be 1 only up to rounding.
            return min(int(np.searchsorted(shares, wanted - 1e-12)) + 1, len(shares))
        return len(learned.svd.s)

    def _most(self) -> int:
        """Give how many modes are learned at most."""
        wanted = self.n_components
        if not isinstance(wanted, str | float):
            return whole_number("n_components", wanted)
        if not (wanted == "optimal" or (isinstance(wanted, float) and 0.0 < wanted < 1.0)):
            raise ValueError(
                "n_components must be a whole number, a share of the variance between 0 and 1, or "
                f"'optimal', got {wanted!r}"
            )
        return whole_number("max_components", self.max_components)


@dataclass(frozen=True)
class _Learned:
    """State that snapshots change: replaced as a whole, so that errors have no effect.

    The decomposition has modes as right vectors; its left vectors, the snapshots', are dropped.
    """

    svd: TruncatedSVD
    mean: FloatArray
    count: int
    energy: float
    coefficients: FloatArray | None


def _begun(block: FloatArray, rank: int, center: bool, keep: bool) -> _Learned:
    mean = block.mean(axis=0) if center else np.zeros(block.shape[1])
    rows = block - mean if center else block
    svd = _without_history(TruncatedSVD.from_matrix(rows, rank))
    kept = rows @ _stored(svd) if keep else None
    return _Learned(svd, mean, len(block), float(np.sum(rows**2)), kept)


def _advanced(learned: _Learned, block: FloatArray, center: bool) -> _Learned:
    before, count = learned.count, len(block)
    mean, energy = learned.mean, learned.energy
    rows = block
    if center:
        own = block.mean(axis=0)
        shift = own - learned.mean
        weight = np.sqrt(before * count / (before + count))
        rows = np.vstack([block - own, weight * shift])
        mean = learned.mean + shift * (count / (before + count))
    state = learned.svd.__getstate__()
    svd = TruncatedSVD.__new__(TruncatedSVD)
    svd.__setstate__(state)
    svd = _without_history(svd.append_rows(rows))
    kept = learned.coefficients
    if kept is not None:
        old, new = _stored(learned.svd), _stored(svd)
        turned = kept @ (old.T @ new) + (learned.mean - mean) @ new
        kept = np.vstack([turned, (block - mean) @ new])
    return _Learned(svd, mean, before + count, energy + float(np.sum(rows**2)), kept)


def _n_above_noise(learned: _Learned) -> int:
    """Count the singular values above the optimal hard threshold for white noise.

    The noise is what the modes kept leave, so that noise and number are found in turn; for a known
    noise the threshold is equation (11) of Gavish and Donoho (2014). At least one is kept.
    """
    values = learned.svd.s
    rows, columns = learned.count, len(learned.mean)
    ratio = min(rows, columns) / max(rows, columns)
    root = np.sqrt(ratio**2 + 14 * ratio + 1)
    factor = np.sqrt(2 * (ratio + 1) + 8 * ratio / (ratio + 1 + root))
    energies = np.concatenate([[0.0], np.cumsum(values**2)])
    rounding = np.finfo(float).eps * max(rows, columns) * (values[0] if len(values) else 0.0)
    # Beyond half of them, little is left to know the noise by. Each turn keeps fewer, as the noise
    # is found to be larger.
    kept = min(len(values), max(min(rows, columns) // 2, 1))
    while True:
        left = max(learned.energy - energies[kept], 0.0)
        noise = np.sqrt(left / (max(rows - kept, 1) * max(columns - kept, 1)))
        threshold = max(factor * np.sqrt(max(rows, columns)) * noise, rounding)
        above = int(np.count_nonzero(values[:kept] > threshold))
        if above == kept:
            return max(kept, 1)
        kept = above


def _without_history(svd: TruncatedSVD) -> TruncatedSVD:
    """Replace the left vectors, one row for each snapshot, by the identity."""
    state = svd.__getstate__()
    state["u"] = np.eye(len(state["s"]))
    svd.__setstate__(state)
    return svd


def _stored(svd: TruncatedSVD) -> FloatArray:
    """Give all right vectors that are stored, the additional ones too."""
    return cast(FloatArray, svd.__getstate__()["v"])
