"""Small, slow, obvious versions of the named regression algorithms, from their papers' definitions.

Nothing here is shared with the library, and nothing works in its nested coordinates. Nystrom
features come from a singular value decomposition of the whole Gram matrix of the stored points,
curvature and normal matrices are kept themselves and their systems are solved in every round.

What is random in an algorithm is given: which rows are stored (KORS), whose curvature is kept
(Sketched-KONS), which past rows are remembered (the reservoir), the frequencies (FOGD). So a test
compares everything but the coin, and the coin by its probabilities.

Every learner has ``step(x, y)`` which returns the prediction made before `y` was known;
``reference.run`` feeds it a stream.
"""

from __future__ import annotations

import itertools
import math

import numpy as np

# ------------------------------------------------------------------------------------------- KORS


def kors_probabilities(kernel, X, stored, *, mu, epsilon=0.5, beta=1.0):
    """Probability with which KORS stores each row, along the path on which it stored `stored`.

    tau = (1 + epsilon) / mu [k(x, x) - k~^T (K~ + mu I)^-1 k~], p = min(1, beta tau), where K~ is
    the Gram matrix of the stored points and of x, each point weighted by 1 / sqrt(p) of its own
    round and x by 1. Calandriello, Lazaric, Valko, "Efficient second-order online kernel learning
    with adaptive embedding", NeurIPS 2017; the appendix H of Jezequel, Gaillard, Rudi (2019) weighs
    by 1 / p.
    """
    chosen = set(stored)
    points, weights = [], []
    probabilities = np.zeros(len(X))
    for t, x in enumerate(X):
        around = np.array([*points, x])
        s = np.array([*weights, 1.0])
        K = s[:, None] * kernel(around, around) * s
        k = s * kernel(around, x[None, :])[:, 0]
        own = kernel(x[None, :], x[None, :])[0, 0]
        tau = (1.0 + epsilon) / mu * (own - k @ np.linalg.solve(K + mu * np.eye(len(s)), k))
        probabilities[t] = min(1.0, beta * tau)
        if t in chosen:
            points.append(x)
            weights.append(1.0 / np.sqrt(probabilities[t]))
    return probabilities


# ------------------------------------------------------- online Newton on Nystrom features, by SVD


class NystromFeatures:
    """phi(x) = Sigma^-1/2 U^T k_S(x), with K_S = U Sigma U^T the Gram matrix of S."""

    def __init__(self, kernel, n_features):
        self.kernel = kernel
        self.points = np.zeros((0, n_features))
        self.map = np.zeros((0, 0))

    def __call__(self, x):
        return self.map @ self.kernel(self.points, x[None, :])[:, 0]

    def append(self, x):
        """Store x; the matrix Q = P_new^1/2 (P_old^1/2)^T from the old features to the new ones."""
        old = len(self.points)
        self.points = np.vstack([self.points, x])
        gram = self.kernel(self.points, self.points)
        U, sigma, _ = np.linalg.svd(gram)
        new_map = (U / np.sqrt(sigma)).T
        Q = new_map @ gram[:, :old] @ self.map.T
        self.map = new_map
        return Q


class NewtonOnPoints:
    """Online Newton step on the Nystrom features of the points in `stored` (indices of rows).

    The gradient is g = 2 (f - y): A <- A + eta g^2 phi phi^T with eta = 1 / (4 (C^2 + Y^2)), then
    w <- w - g A^-1 phi. Before a prediction beyond the bound C, w moves to the nearest weights, in
    the norm of A, whose prediction is within it. When a point is stored:

    - "carry" (NONS-ALD, KONS): A <- mu I + Q (A - mu I) Q^T, w <- Q w;
    - "restart" (PROS-N-KONS): A <- mu I, w <- 0;
    - "carry_unprojected" (CON-KONS): as "carry", but in that round the prediction is clipped and w
      is not moved. As printed in Li and Liao (2023, A.1), A <- Q A Q^T, A has rank j - 1 in j
      coordinates.

    `kept`, if given, says for each row 1 / p if its curvature counts and 0 if not (Sketched-KONS of
    Calandriello, Lazaric, Valko, "Second-order kernel online convex optimization with adaptive
    sketching", ICML 2017).
    """

    def __init__(
        self, kernel, n_features, stored, *, mu, bound, target_bound, growth="carry", kept=None
    ):
        self.features = NystromFeatures(kernel, n_features)
        self.stored = set(stored)
        self.mu = mu
        self.bound = bound
        self.eta = 1.0 / (4.0 * (bound**2 + target_bound**2))
        self.growth = growth
        self.kept = kept
        self.w = np.zeros(0)
        self.A = np.zeros((0, 0))
        self.t = -1

    def grow(self, x):
        Q = self.features.append(x)
        identity = self.mu * np.eye(len(Q))
        if self.growth == "restart":
            self.A, self.w = identity, np.zeros(len(Q))
        else:
            inner = self.A - self.mu * np.eye(len(self.A))
            self.A, self.w = identity + Q @ inner @ Q.T, Q @ self.w

    def step(self, x, y):
        self.t += 1
        grows = self.t in self.stored
        if grows:
            self.grow(x)
        phi = self.features(x)
        prediction = self.w @ phi
        if abs(prediction) > self.bound:
            clipped = math.copysign(self.bound, prediction)
            if not (grows and self.growth == "carry_unprojected"):
                direction = np.linalg.solve(self.A, phi)
                self.w = self.w - (prediction - clipped) / (phi @ direction) * direction
            prediction = clipped
        g = 2.0 * (prediction - y)
        weight = 1.0 if self.kept is None else self.kept[self.t]
        self.A = self.A + weight * self.eta * g**2 * np.outer(phi, phi)
        self.w = self.w - g * np.linalg.solve(self.A, phi)
        return prediction


def kons_online(kernel, X, y, *, mu, bound, target_bound, kept=None):
    """Forecasts of KONS, in the feature space of all rows: phi(x_t) is row t of U Sigma^1/2.

    The eigenvectors of K whose eigenvalue is rounding are left out. `kept` as in `NewtonOnPoints`.
    Calandriello, Lazaric, Valko (ICML 2017), Algorithm 1.
    """
    sigma, U = np.linalg.eigh(kernel(X, X))
    real = sigma > 1e-13 * sigma[-1]
    Phi = U[:, real] * np.sqrt(sigma[real])
    eta = 1.0 / (4.0 * (bound**2 + target_bound**2))
    A = mu * np.eye(Phi.shape[1])
    w = np.zeros(Phi.shape[1])
    predictions = np.zeros(len(y))
    for t, phi in enumerate(Phi):
        prediction = w @ phi
        if abs(prediction) > bound:
            clipped = math.copysign(bound, prediction)
            direction = np.linalg.solve(A, phi)
            w = w - (prediction - clipped) / (phi @ direction) * direction
            prediction = clipped
        g = 2.0 * (prediction - y[t])
        weight = 1.0 if kept is None else kept[t]
        A = A + weight * eta * g**2 * np.outer(phi, phi)
        w = w - g * np.linalg.solve(A, phi)
        predictions[t] = prediction
    return predictions


# --------------------------------------------------------------------------------- PKAWV, and ridge


def taylor_features(X, degree, bandwidth):
    """g_k(x) = prod_i x_i^k_i / (sigma^k_i sqrt(k_i!)) exp(-|x|^2 / (2 sigma^2)), |k| <= degree.

    One column for each multiset of features, smaller ones first: their inner products are the
    Gaussian kernel with the exponential series cut after `degree` terms. Jezequel, Gaillard, Rudi
    (2019), eq. (6).
    """
    columns = []
    for size in range(degree + 1):
        for indices in itertools.combinations_with_replacement(range(X.shape[1]), size):
            column = np.exp(-(X**2).sum(axis=1) / (2.0 * bandwidth**2))
            for i in set(indices):
                times = indices.count(i)
                column *= X[:, i] ** times / (bandwidth**times * math.sqrt(math.factorial(times)))
            columns.append(column)
    return np.column_stack(columns)


def taylor_features_as_printed(x, degree, bandwidth):
    """All ordered products, as the flattened outer products of the paper's appendix H.2."""
    result, products = np.array([1.0]), np.array([1.0])
    for k in range(1, degree + 1):
        products = np.outer(products, x).flatten()
        result = np.concatenate([result, products / (bandwidth**k * math.sqrt(math.factorial(k)))])
    return result * np.exp(-(x @ x) / (2.0 * bandwidth**2))


def pkawv_nystrom_exact(kernel, X, y, stored, *, regularization, prediction="awv"):
    """Forecast of every row by least squares in the span of the stored points, solved from scratch.

    min_f sum_{s < t} (y_s - f(x_s))^2 + lambda |f|^2 + f(x_t)^2 over f = sum_i alpha_i k(s_i, .):
    all rows count with their true values in the present span. The last term is left out with
    ``prediction="ridge"``. Jezequel, Gaillard, Rudi (2019), eq. (4).
    """
    awv = prediction == "awv"
    predictions = np.zeros(len(y))
    for t, x in enumerate(X):
        points = X[[i for i in stored if i <= t]]
        if len(points) == 0:
            continue
        rows = kernel(X[:t], points)
        k = kernel(points, x[None, :])[:, 0]
        system = rows.T @ rows + regularization * kernel(points, points) + awv * np.outer(k, k)
        predictions[t] = k @ np.linalg.lstsq(system, rows.T @ y[:t], rcond=1e-15)[0]
    return predictions


def pkawv_nystrom_forgetful(kernel, X, y, stored, *, regularization, prediction="awv"):
    """The same without going back: a row counts by its projection on the span of its round.

    With beta_s = K_S^-1 k_S(x_s) for the points S of round s (zero for later ones), row s takes
    part as the function sum_i beta_si k(s_i, .), whose inner product with f is beta_s^T K alpha.
    """
    awv = prediction == "awv"
    predictions = np.zeros(len(y))
    betas = np.zeros((len(y), len(stored)))
    for t, x in enumerate(X):
        points = X[[i for i in stored if i <= t]]
        m = len(points)
        if m == 0:
            continue
        K = kernel(points, points)
        k = kernel(points, x[None, :])[:, 0]
        betas[t, :m] = np.linalg.solve(K, k)
        rows = betas[:t, :m] @ K
        system = rows.T @ rows + regularization * K + awv * np.outer(k, k)
        predictions[t] = k @ np.linalg.solve(system, rows.T @ y[:t])
    return predictions


def pkawv_nystrom_reservoir(kernel, X, y, stored, slots, *, regularization, size, prediction="awv"):
    """The same with a memory of `size` rows: row t goes to ``slots[t]``, or is forgotten (-1).

    Remembered rows take part with their true values. When a point is stored, features become
    phi' = Q phi + v psi, with v the unit vector orthogonal to the columns of Q; psi is regressed on
    phi over the remembered rows, psi ~ b phi with ridge `regularization`, and the forgotten rows
    take part as if that were true: their sums of phi phi^T and y phi go through Q + v b^T.
    """
    awv = prediction == "awv"
    features = NystromFeatures(kernel, X.shape[1])
    memory = [None] * size
    D, d = np.zeros((0, 0)), np.zeros(0)
    predictions = np.zeros(len(y))
    for t, x in enumerate(X):
        remembered = [s for s in memory if s is not None]
        old = np.array([features(X[s]) for s in remembered]).reshape(len(remembered), len(d))
        if t in stored:
            Q = features.append(x)
            v = np.linalg.svd(Q, full_matrices=True)[0][:, -1] if len(d) else np.ones(1)
            new = np.array([features(X[s]) for s in remembered]).reshape(len(old), len(v))
            system = old.T @ old + regularization * np.eye(len(d))
            b = np.linalg.solve(system, old.T @ (new @ v))
            move = Q + np.outer(v, b)
            D, d = move @ D @ move.T, move @ d
            old = new
        phi = features(x)
        A = regularization * np.eye(len(d)) + D + old.T @ old + awv * np.outer(phi, phi)
        predictions[t] = phi @ np.linalg.solve(A, d + old.T @ y[remembered]) if len(d) else 0.0
        leaving = t if slots[t] < 0 else memory[slots[t]]
        if leaving is not None:
            gone = features(X[leaving])
            D, d = D + np.outer(gone, gone), d + y[leaving] * gone
        if slots[t] >= 0:
            memory[slots[t]] = t
    return predictions


# ------------------------------------------------------------- gradient descent: KOGD, NOGD, FOGD


class Fogd:
    """Gradient descent on the squared loss, w <- w - step 2 (f - y) phi, on Fourier features.

    phi(x) = [sin(omega_1 x), cos(omega_1 x), sin(omega_2 x), ...] / sqrt(D) for the D rows of
    `omegas`; published code leaves out the division, which multiplies the step by D. Lu, Hoi, Wang,
    Zhao, Liu, "Large scale online kernel learning", JMLR 2016, Algorithm 2.
    """

    def __init__(self, omegas, *, step, normalized=True):
        self.omegas = omegas
        self.scale = 1.0 / np.sqrt(len(omegas)) if normalized else 1.0
        self.step_size = step
        self.w = np.zeros(2 * len(omegas))

    def features(self, x):
        angles = self.omegas @ x
        return self.scale * np.column_stack([np.sin(angles), np.cos(angles)]).ravel()

    def step(self, x, y):
        phi = self.features(x)
        prediction = self.w @ phi
        self.w = self.w - self.step_size * 2.0 * (prediction - y) * phi
        return prediction


class Nogd:
    """Gradient descent in two stages: on the first points, then on their rank-k Nystrom features.

    Stage one is kernel gradient descent, f <- f - step 2 (f(x) - y) k(x, .), and stores the first
    `size` rows with a nonzero gradient. Then K = V D V^T, phi(x) = D_k^-1/2 V_k^T k(x) with the k
    largest eigenvalues, and w = D_k^1/2 V_k^T a is f's projection on these features.

    Lu, Hoi, Wang, Zhao, Liu (2016), Algorithm 3.
    """

    def __init__(self, kernel, n_features, *, size, rank, step):
        self.kernel = kernel
        self.size = size
        self.rank = rank
        self.step_size = step
        self.points = np.zeros((0, n_features))
        self.a = np.zeros(0)
        self.map = None

    def step(self, x, y):
        k = self.kernel(self.points, x[None, :])[:, 0]
        if self.map is not None:
            phi = self.map @ k
            prediction = self.w @ phi
            self.w = self.w - self.step_size * 2.0 * (prediction - y) * phi
            return prediction
        prediction = self.a @ k
        if prediction != y:
            self.points = np.vstack([self.points, x])
            self.a = np.append(self.a, -self.step_size * 2.0 * (prediction - y))
        if len(self.points) == self.size:
            eigenvalues, vectors = np.linalg.eigh(self.kernel(self.points, self.points))
            D, V = eigenvalues[::-1][: self.rank], vectors[:, ::-1][:, : self.rank]
            self.map = (V / np.sqrt(D)).T
            self.w = (V * np.sqrt(D)).T @ self.a
        return prediction

    def predict(self, x):
        k = self.kernel(self.points, x[None, :])[:, 0]
        return self.a @ k if self.map is None else self.w @ (self.map @ k)
