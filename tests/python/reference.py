"""Small, slow, obvious versions of the learners, straight from their definitions.

Nothing here is shared with the library: Gram matrices are formed again and systems solved densely,
each method in the form its own paper gives, not in the nested coordinates the library works in.
Every learner has ``step(x, y)``, which returns the prediction made before `y` was known, and `run`
feeds it a stream.
"""

from __future__ import annotations

import numpy as np

# ------------------------------------------------------------------------------------- kernels


def distances(A, B):
    """All Euclidean distances |a_i - b_j|, by the differences themselves."""
    return np.sqrt(((A[:, None, :] - B[None, :, :]) ** 2).sum(axis=2))


def gaussian(bandwidth):
    return lambda A, B: np.exp(-(distances(A, B) ** 2) / (2.0 * bandwidth**2))


def laplacian(bandwidth):
    return lambda A, B: np.exp(-distances(A, B) / bandwidth)


def manhattan_laplacian(bandwidth, exponent=1.0):
    return lambda A, B: np.exp(
        -((np.abs(A[:, None] - B[None]).sum(axis=-1) / bandwidth) ** exponent)
    )


def mapped(kernel, metric):
    return lambda A, B: kernel(A @ metric.T, B @ metric.T)


def matern32(bandwidth):
    def kernel(A, B):
        r = np.sqrt(3.0) * distances(A, B) / bandwidth
        return (1.0 + r) * np.exp(-r)

    return kernel


def matern52(bandwidth):
    def kernel(A, B):
        r = np.sqrt(5.0) * distances(A, B) / bandwidth
        return (1.0 + r + r**2 / 3.0) * np.exp(-r)

    return kernel


def polynomial(degree, scale, offset):
    return lambda A, B: (scale * (A @ B.T) + offset) ** degree


def weighted_sum(weights, kernels):
    return lambda A, B: sum(w * k(A, B) for w, k in zip(weights, kernels, strict=True))


# --------------------------------------------------------------------------------------- streams


def run(learner, X, y):
    """Feed the rows in order; the predictions, each made before its row was learned."""
    return np.array([learner.step(x, t) for x, t in zip(X, y, strict=True)])


class Dictionary:
    """Points kept by approximate linear dependence: x enters if its residual is large.

    The residual is kappa(x, x) - k^T K^-1 k; large is above tolerance * kappa(x, x).
    """

    def __init__(self, kernel, tolerance):
        self.kernel = kernel
        self.tolerance = tolerance
        self.points = None
        self.gram = None

    def __len__(self):
        return 0 if self.points is None else len(self.points)

    def similarities(self, x):
        if self.points is None:
            return np.zeros(0)
        return self.kernel(self.points, x[None, :])[:, 0]

    def examine(self, x):
        """Similarities k, coefficients K^-1 k of the projection, and the residual of x."""
        own = self.kernel(x[None, :], x[None, :])[0, 0]
        if self.points is None:
            return np.zeros(0), np.zeros(0), own, own
        k = self.similarities(x)
        beta = np.linalg.solve(self.gram, k)
        return k, beta, own - k @ beta, own

    def insert(self, x):
        self.points = x[None, :] if self.points is None else np.vstack([self.points, x])
        self.gram = self.kernel(self.points, self.points)


def nested_features(kernel, X, tolerance):
    """Nested coordinates of a stream: row t holds L^-1 k_S(x_t) for the dictionary S of its round.

    The whole Gram matrix is factored again whenever it grows. Returns (n, m) features, later
    coordinates zero, and the (n,) sizes of the dictionary, each after its row.
    """
    dictionary = Dictionary(kernel, tolerance)
    rows = []
    for x in X:
        _, _, residual, own = dictionary.examine(x)
        if residual > tolerance * own:
            dictionary.insert(x)
            factor = np.linalg.cholesky(dictionary.gram)
        rows.append(np.linalg.solve(factor, dictionary.similarities(x)))
    features = np.zeros((len(X), len(dictionary)))
    for t, row in enumerate(rows):
        features[t, : len(row)] = row
    return features, np.array([len(row) for row in rows])


# ------------------------------------------------------------------------- online Newton, by SVD


class NonsAldSvd:
    """NONS-ALD with the features the paper builds from a singular value decomposition.

    phi_j(x) = Sigma_j^-1/2 U_j^T k_S(x), where K_S = U_j Sigma_j U_j^T; when the dictionary grows,
    everything is carried over by Q = phi_j phi_{j-1}^T, a product of the two feature maps:
    A <- mu I + Q (A - mu I) Q^T (Lemma 4.2) and w <- Q w (Lemma 4.3). A itself is kept, not its
    inverse. Unlike the printed Algorithm 3, every round predicts and learns.

    Li, Liao, "Nearly optimal algorithms with sublinear computational complexity for online kernel
    regression", ICML 2023.
    """

    def __init__(self, kernel, *, mu, tolerance, bound, target_bound, growth="carry"):
        self.dictionary = Dictionary(kernel, tolerance)
        self.mu = mu
        self.bound = bound
        self.eta = 1.0 / (4.0 * (bound**2 + target_bound**2))
        self.growth = growth
        self.map = np.zeros((0, 0))  # Sigma^-1/2 U^T
        self.w = np.zeros(0)
        self.A = np.zeros((0, 0))

    def grow(self, x):
        m = len(self.dictionary)
        self.dictionary.insert(x)
        gram = self.dictionary.gram
        U, sigma, _ = np.linalg.svd(gram)
        new_map = (U / np.sqrt(sigma)).T
        if self.growth == "carry":
            Q = new_map @ gram[:, :m] @ self.map.T
            self.A = self.mu * np.eye(m + 1) + Q @ (self.A - self.mu * np.eye(m)) @ Q.T
            self.w = Q @ self.w
        else:
            self.A = self.mu * np.eye(m + 1)
            self.w = np.zeros(m + 1)
        self.map = new_map

    def step(self, x, y):
        _, _, residual, own = self.dictionary.examine(x)
        if residual > self.dictionary.tolerance * own:
            self.grow(x)
        phi = self.map @ self.dictionary.similarities(x)
        prediction = self.w @ phi
        if abs(prediction) > self.bound:
            # The nearest w, in the norm of A, with |w . phi| <= bound.
            direction = np.linalg.solve(self.A, phi)
            excess = prediction - np.sign(prediction) * self.bound
            self.w = self.w - excess / (phi @ direction) * direction
            prediction = self.w @ phi
        g = 2.0 * (prediction - y)
        self.A = self.A + self.eta * g**2 * np.outer(phi, phi)
        self.w = self.w - g * np.linalg.solve(self.A, phi)
        return prediction

    def predict(self, x):
        value = self.w @ (self.map @ self.dictionary.similarities(x))
        return min(max(value, -self.bound), self.bound)


# -------------------------------------------------------------------------------- AOGD, in the dual


class AogdAldDual:
    """AOGD-ALD as a kernel expansion f = sum_i a_i kappa(s_i, .).

    Li and Liao (2023), Algorithm 1, without its bound B_0 on the size.
    """

    def __init__(self, kernel, *, tolerance, radius):
        self.dictionary = Dictionary(kernel, tolerance)
        self.radius = radius
        self.a = np.zeros(0)
        self.energy = 0.0

    def step(self, x, y):
        k, beta, residual, own = self.dictionary.examine(x)
        prediction = self.a @ k
        g = 2.0 * (prediction - y)
        if residual > self.dictionary.tolerance * own:
            self.dictionary.insert(x)
            self.a = np.append(self.a, 0.0)
            direction = np.zeros(len(self.a))
            direction[-1] = 1.0
        else:
            direction = beta
        gram = self.dictionary.gram
        self.energy += g**2 * (direction @ gram @ direction)
        self.a = self.a - self.radius / np.sqrt(1.0 + self.energy) * g * direction
        norm = np.sqrt(self.a @ gram @ self.a)
        if norm > self.radius:
            self.a = self.a * (self.radius / norm)
        return prediction

    def predict(self, x):
        return self.a @ self.dictionary.similarities(x)


# ----------------------------------------------------------------------- kernel ridge, every point


def kernel_ridge_online(kernel, X, y, regularization):
    """Forecast of every row by kernel ridge regression on all earlier rows, solved from scratch."""
    K = kernel(X, X)
    predictions = np.zeros(len(y))
    for t in range(1, len(y)):
        system = K[:t, :t] + regularization * np.eye(t)
        predictions[t] = K[t, :t] @ np.linalg.solve(system, y[:t])
    return predictions


def kernel_awv_online(kernel, X, y, regularization):
    """Kernel-AWV: ridge regression in which the row to come takes part, with target 0."""
    K = kernel(X, X)
    predictions = np.zeros(len(y))
    for t in range(len(y)):
        system = K[: t + 1, : t + 1] + regularization * np.eye(t + 1)
        predictions[t] = K[t, : t + 1] @ np.linalg.solve(system, np.append(y[:t], 0.0))
    return predictions


def cholesky_oracle(kernel, X, y, regularization):
    """Both predictions of every row from one factorization of the whole Gram matrix.

    With K + lambda I = L L^T and r = L^-1 y, online kernel ridge leaves the residual
    y_t - f_t = L_tt r_t, and Kernel-AWV predicts lambda / L_tt^2 times f_t.
    """
    factor = np.linalg.cholesky(kernel(X, X) + regularization * np.eye(len(y)))
    diagonal = np.diag(factor)
    ridge = y - diagonal * np.linalg.solve(factor, y)
    return ridge, regularization / diagonal**2 * ridge


# ----------------------------------------------------------------------------------------- KRLS


class Krls:
    """Kernel recursive least squares as printed: alpha, P and the inverse Gram matrix.

    Engel, Mannor, Meir, "The kernel recursive least-squares algorithm", IEEE Transactions on Signal
    Processing 52 (2004), Table I.
    """

    def __init__(self, kernel, *, tolerance):
        self.kernel = kernel
        self.tolerance = tolerance
        self.points = None

    def step(self, x, y):
        own = self.kernel(x[None, :], x[None, :])[0, 0]
        if self.points is None:
            self.points = x[None, :]
            self.inverse = np.array([[1.0 / own]])
            self.alpha = np.array([y / own])
            self.P = np.eye(1)
            return 0.0
        k = self.kernel(self.points, x[None, :])[:, 0]
        prediction = k @ self.alpha
        a = self.inverse @ k
        delta = own - k @ a
        error = y - prediction
        if delta > self.tolerance * own:
            m = len(k)
            inverse = np.empty((m + 1, m + 1))
            inverse[:m, :m] = delta * self.inverse + np.outer(a, a)
            inverse[:m, m] = inverse[m, :m] = -a
            inverse[m, m] = 1.0
            self.inverse = inverse / delta
            P = np.zeros((m + 1, m + 1))
            P[:m, :m] = self.P
            P[m, m] = 1.0
            self.P = P
            self.alpha = np.append(self.alpha - a / delta * error, error / delta)
            self.points = np.vstack([self.points, x])
        else:
            Pa = self.P @ a
            q = Pa / (1.0 + a @ Pa)
            self.P = self.P - np.outer(q, Pa)
            self.alpha = self.alpha + self.inverse @ q * error
        return prediction

    def predict(self, x):
        return self.kernel(self.points, x[None, :])[:, 0] @ self.alpha


# ------------------------------------------------------------------------ linear learners, dense


class DenseRidge:
    """Least squares on given features, solved from scratch at each row.

    A starts at lambda I and gains phi phi^T. With forgetting g < 1 the past decays, and so would
    the regularization; what it loses in a round, (1 - g) lambda on each of m coordinates, is given
    back to the next k of them, k = ceil((1 - g) m), so that each gets its share in time:

        A <- g A + phi phi^T + (1 - g) lambda m / k sum_i e_i e_i^T,   i mod m from k * rows on,
        b <- g b + y phi.

    Centring adds the constant c with which, together with the weights, the weighted sum of squares
    is least: prediction = c + phi . (w_y - c w_1), where w_1 is what a target of constant 1 would
    have given. The "awv" prediction takes the coming row into A with target c.
    """

    def __init__(
        self, regularization, *, forgetting=1.0, center=True, clip=True, prediction="ridge"
    ):
        self.regularization = regularization
        self.forgetting = forgetting
        self.center = center
        self.clip = clip
        self.awv = prediction == "awv"
        self.A = np.zeros((0, 0))
        self.b_y = np.zeros(0)
        self.b_one = np.zeros(0)
        self.total = 0.0
        self.weight = 0.0
        self.rows = 0
        self.low, self.high = np.inf, -np.inf

    def step(self, phi, y, weight=1.0):
        """One row that counts `weight` times; coordinates of `phi` that are new enter A."""
        old, m = len(self.b_y), len(phi)
        A = self.regularization * np.eye(m)
        A[:old, :old] = self.A
        self.b_y = np.append(self.b_y, np.zeros(m - old))
        self.b_one = np.append(self.b_one, np.zeros(m - old))
        self.A = A
        prediction = self.predict(phi)

        g = self.forgetting
        self.A = g * A + weight * np.outer(phi, phi)
        k = max(1, int(np.ceil((1.0 - g) * m)))
        for turn in range(k):
            i = ((((self.rows * 0x9E3779B97F4A7C15) % 2**64 * m) >> 64) + turn) % m
            self.A[i, i] += (1.0 - g) * self.regularization * m / k
        self.b_y = g * self.b_y + weight * y * phi
        self.b_one = g * self.b_one + weight * phi
        self.total = g * self.total + weight * y
        self.weight = g * self.weight + weight
        self.rows += 1
        self.low, self.high = min(self.low, y), max(self.high, y)
        return prediction

    def predict(self, phi):
        if self.rows == 0:
            return 0.0
        constant = 0.0
        if self.center:
            w_one = np.linalg.solve(self.A, self.b_one)
            constant = (self.total - self.b_y @ w_one) / (self.weight - self.b_one @ w_one)
        system = self.A + np.outer(phi, phi) if self.awv else self.A
        prediction = constant + phi @ np.linalg.solve(system, self.b_y - constant * self.b_one)
        return min(max(prediction, self.low), self.high) if self.clip else prediction


class DenseGradient:
    """Online gradient descent on given features, each round as its definition reads."""

    def __init__(
        self,
        *,
        loss="squared",
        step=0.1,
        schedule="constant",
        radius=None,
        regularization=0.0,
        averaging=False,
    ):
        self.loss = loss
        self.step_size = step
        self.schedule = schedule
        self.radius = radius
        self.regularization = regularization
        self.averaging = averaging
        self.w = np.zeros(0)
        self.sum_of_w = np.zeros(0)
        self.energy = 0.0
        self.rows = 0

    def slope(self, prediction, y):
        difference = prediction - y
        if self.loss == "squared":
            return 2.0 * difference
        if self.loss == "absolute":
            return np.sign(difference)
        limit = self.loss["huber"]
        return 2.0 * min(max(difference, -limit), limit)

    def eta(self, t):
        """Step of round t = 1, 2, ..."""
        if self.schedule == "constant":
            return self.step_size
        if self.schedule == "inverse_sqrt":
            return self.step_size / np.sqrt(t)
        if self.schedule == "adaptive":
            return self.radius / np.sqrt(1.0 + self.energy)
        power = self.schedule["power"]
        return self.step_size / (1.0 + (t - 1) / power["half_life"]) ** power["exponent"]

    def step(self, phi, y, weight=1.0):
        """One row that counts `weight` times; `phi` may be longer than those before."""
        more = np.zeros(len(phi) - len(self.w))
        self.w = np.append(self.w, more)
        self.sum_of_w = np.append(self.sum_of_w, more)
        prediction = self.predict(phi)
        self.rows += 1
        slope = weight * self.slope(self.w @ phi, y)
        self.energy += slope**2 * (phi @ phi)
        eta = self.eta(self.rows)
        self.w = (1.0 - eta * self.regularization) * self.w - eta * slope * phi
        norm = np.linalg.norm(self.w)
        if self.radius is not None and norm > self.radius:
            self.w = self.w * (self.radius / norm)
        self.sum_of_w = self.sum_of_w + self.w
        return prediction

    def predict(self, phi):
        if self.averaging and self.rows:
            return self.sum_of_w @ phi / self.rows
        return self.w @ phi


def run_on_features(learner, features, sizes, y):
    """Feed features row by row, each only as long as the dictionary was then."""
    return np.array(
        [learner.step(phi[:m], t) for phi, m, t in zip(features, sizes, y, strict=True)]
    )
