"""Slow, obvious computations of the Koopman operator, for the fast ones to be compared with.

Everything here is written in kernel matrices and dense solves, without factors that grow: no
formula is shared with the library. Points are rows; `kernel(A, B)` is the matrix of similarities.

Notation: dictionary D (the stored x), next states E (the stored x+), operator U = sum_ij W_ij
phi(e_i) (x) phi(d_j), so that U phi(x) is the estimate of E[phi(x+) | x].
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Kernel = Callable[[Array, Array], Array]


def gaussian(bandwidth: float) -> Kernel:
    """exp(-|x - y|^2 / (2 bandwidth^2)), distance by distance."""

    def kernel(a: Array, b: Array) -> Array:
        squares = ((a[:, None, :] - b[None, :, :]) ** 2).sum(axis=-1)
        return np.exp(-squares / (2.0 * bandwidth**2))

    return kernel


def weighted_sum(weights: list[float], kernels: list[Kernel]) -> Kernel:
    def kernel(a: Array, b: Array) -> Array:
        return sum(w * k(a, b) for w, k in zip(weights, kernels, strict=True))

    return kernel


def root(gram: Array) -> Array:
    """R with R^T R = gram, also where gram is singular (repeated points)."""
    values, vectors = np.linalg.eigh(0.5 * (gram + gram.T))
    return np.sqrt(np.maximum(values, 0.0))[:, None] * vectors.T


# ------------------------------------------------------------------ sparse stochastic gradient


def exact_step(w: Array, k_stored: Array, step: float, shrink: float) -> Array:
    """One step of the basic recursion (Lemma 4.2, equation 4.8): W with one row and column more.

    Parameters: w is (n_next, n_stored); k_stored the similarities of the new x to the dictionary
    (n_stored,); shrink is lambda.
    """
    rows, columns = w.shape
    grown = np.zeros((rows + 1, columns + 1))
    grown[:rows, :columns] = (1.0 - shrink * step) * w
    grown[:rows, columns] = -step * (w @ k_stored)
    grown[rows, columns] = step
    return grown


def best_on_subset(
    grown: Array,
    gram_next: Array,
    gram_stored: Array,
    rows: list[int],
    columns: list[int],
) -> tuple[float, Array]:
    """Minimum over all Z of equation (4.11), by least squares over every entry of Z.

    The operator `grown` lives on all points of the two Gram matrices; Z on the points `rows` of
    the next states and `columns` of the states only. Returns the Hilbert-Schmidt norm (not its
    square) of what is lost, and Z.
    """
    left, right = root(gram_next), root(gram_stored)
    target = left @ grown @ right.T
    # vec(A Z B^T) = (B kron A) vec(Z), columns stacked
    design = np.kron(right[:, columns], left[:, rows])
    wanted = target.ravel(order="F")
    if design.shape[1] == 0:
        return float(np.linalg.norm(wanted)), np.zeros((len(rows), len(columns)))
    z, *_ = np.linalg.lstsq(design, wanted, rcond=1e-13)
    lost = float(np.linalg.norm(design @ z - wanted))
    return lost, z.reshape(len(rows), len(columns), order="F")


@dataclass
class SparseGradient:
    """Sparse stochastic gradient with the admission test done by brute force.

    Every candidate (store nothing, x only, x+ only, both) is projected by least squares over all
    entries of W, and the first one that loses no more than `tolerance` is taken; with `paired`
    only the first and the last are tried. For a few dozen points: each step solves a dense
    problem in n_next * n_stored unknowns.
    """

    kernel: Kernel
    step: float
    tolerance: float
    shrink: float = 0.0
    paired: bool = False
    floor: float = 1e-10
    dictionary: list[Array] = field(default_factory=list)
    dictionary_next: list[Array] = field(default_factory=list)
    w: Array = field(default_factory=lambda: np.zeros((0, 0)))
    errors: list[float] = field(default_factory=list)

    def _gap(self, points: list[Array], x: Array) -> float:
        """Relative squared distance of phi(x) to the span of the points."""
        own = float(self.kernel(x[None], x[None])[0, 0])
        if not points:
            return 1.0
        stored = np.array(points)
        row = self.kernel(stored, x[None])[:, 0]
        weights, *_ = np.linalg.lstsq(self.kernel(stored, stored), row, rcond=1e-15)
        return (own - float(row @ weights)) / own

    def learn(self, x: Array, x_next: Array) -> tuple[bool, bool]:
        """Learn a pair; tell whether x and x+ were stored."""
        n_in, n_out = len(self.dictionary), len(self.dictionary_next)
        all_states = np.array([*self.dictionary, x])
        all_next = np.array([*self.dictionary_next, x_next])
        gram_in = self.kernel(all_states, all_states)
        gram_out = self.kernel(all_next, all_next)
        grown = exact_step(self.w, gram_in[:n_in, n_in], self.step, self.shrink)
        new_x = self._gap(self.dictionary, x) > self.floor
        new_next = self._gap(self.dictionary_next, x_next) > self.floor
        choices = [(False, False), (True, False), (False, True), (True, True)]
        if self.paired:
            choices = [(False, False), (True, True)]
        for keep_x, keep_next in choices:
            rows = list(range(n_out + (keep_next and new_next)))
            columns = list(range(n_in + (keep_x and new_x)))
            lost, z = best_on_subset(grown, gram_out, gram_in, rows, columns)
            if not keep_x and not keep_next:
                self.errors.append(lost)
            if lost <= self.tolerance or (keep_x and keep_next):
                break
        keep_x, keep_next = keep_x and new_x, keep_next and new_next
        if keep_x:
            self.dictionary.append(x)
        if keep_next:
            self.dictionary_next.append(x_next)
        self.w = z
        return keep_x, keep_next

    def in_coordinates(self) -> Array:
        """C = L_out^T W L_in, what the operator is in the nested coordinates of both."""
        dictionary, dictionary_next = np.array(self.dictionary), np.array(self.dictionary_next)
        lower_in = np.linalg.cholesky(self.kernel(dictionary, dictionary))
        lower_out = np.linalg.cholesky(self.kernel(dictionary_next, dictionary_next))
        return lower_out.T @ self.w @ lower_in


def all_points(kernel: Kernel, x: Array, steps: Array, shrink: float = 0.0) -> Array:
    """W of the basic recursion with every pair stored (Lemma 4.2), no factor anywhere."""
    gram = kernel(x, x)
    w = np.zeros((0, 0))
    for t, step in enumerate(steps):
        w = exact_step(w, gram[:t, t], float(step), shrink)
    return w


# ------------------------------------------------------------------------------ least squares


@dataclass
class DenseLeastSquares:
    """What recursive least squares must equal, from the whole history at once.

    One dictionary over x and x+ (x first), admission where the relative squared distance to the
    span is above `tolerance`. A state sees only the coordinates that exist when it is looked at
    (the one it adds included); later ones, for x also that of its own x+, are zero for it.
    """

    dictionary: Array
    coordinates: Array  # (n_pairs, m) zero-padded z(x)
    targets: Array  # (n_pairs, m) zero-padded z(x+)
    operator: Array  # (m, m): E[z(x+) | x] = operator^T z(x)


def dense_least_squares(
    kernel: Kernel,
    x: Array,
    x_next: Array,
    *,
    tolerance: float,
    regularization: float,
    forgetting: float = 1.0,
) -> DenseLeastSquares:
    points: list[Array] = []
    born: list[int] = []
    sizes: list[list[int]] = []  # after x and after x+, of each round
    for t in range(len(x)):
        sizes.append([])
        for point in (x[t], x_next[t]):
            own = float(kernel(point[None], point[None])[0, 0])
            gap = own
            if points:
                stored = np.array(points)
                row = kernel(stored, point[None])[:, 0]
                gap = own - float(row @ np.linalg.solve(kernel(stored, stored), row))
            if gap > tolerance * own:
                points.append(point)
                born.append(t)
            sizes[t].append(len(points))
    dictionary = np.array(points)
    lower = np.linalg.cholesky(kernel(dictionary, dictionary))
    visible = np.arange(len(points))[None, None, :] < np.array(sizes)[:, :, None]
    z = np.linalg.solve(lower, kernel(dictionary, x)).T * visible[:, 0]
    s = np.linalg.solve(lower, kernel(dictionary, x_next)).T * visible[:, 1]
    # a round's weight, and that of a coordinate's own regularization, fade by its age
    fade = forgetting ** (len(x) - 1.0 - np.arange(len(x)))
    ridge = np.diag(regularization * fade[np.array(born)])
    operator = np.linalg.solve(z.T @ (fade[:, None] * z) + ridge, z.T @ (fade[:, None] * s))
    return DenseLeastSquares(dictionary, z, s, operator)


def batch_kernel_edmd(kernel: Kernel, x: Array, x_next: Array, regularization: float) -> Array:
    """Eigenvalues of kernel extended dynamic mode decomposition on all pairs, by modulus."""
    gram = kernel(x, x) + regularization * np.eye(len(x))
    return by_modulus(np.linalg.eigvals(np.linalg.solve(gram, kernel(x_next, x))))


# ----------------------------------------------------------------------------------- spectrum


def by_modulus(values: Array) -> Array:
    return values[np.argsort(-np.abs(values), kind="stable")]


def spectrum(
    kernel: Kernel, w: Array, dictionary: Array, dictionary_next: Array
) -> tuple[Array, Array]:
    """Eigenvalues by modulus, and v with eigenfunctions k(x, dictionary) @ v.

    The Koopman operator is the adjoint of U: on functions k(., dictionary) v it is the matrix
    W^T k(dictionary_next, dictionary).
    """
    values, vectors = np.linalg.eig(w.T @ kernel(dictionary_next, dictionary))
    order = np.argsort(-np.abs(values), kind="stable")
    return values[order], vectors[:, order]


def expectation(kernel: Kernel, w: Array, dictionary: Array, f_next: Array, x: Array) -> Array:
    """E[f(x+) | x] by the conditional mean embedding: weights W k(D, x) on f(E)."""
    return (w @ kernel(dictionary, x)).T @ f_next
