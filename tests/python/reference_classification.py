"""Slow, obvious versions of the learners of labels.

Nothing is shared with the library, and no coordinates either: the function learned is kept as a sum
of kernels at the stored points, f = sum_i a_i kappa(s_i, .), a row enters through its projection on
their span, and everything is solved densely and again in each round.
"""

from __future__ import annotations

import numpy as np

from reference import Dictionary

# -------------------------------------------------------------------------------------- losses

# Each gives slope and second derivative at the prediction f for the label y.


def squared_hinge(f, y):
    short = np.maximum(0.0, 1.0 - y * f)
    return -2.0 * y * short, np.where(short > 0.0, 2.0, 0.0)


def logistic(f, y):
    wrong = 1.0 / (1.0 + np.exp(y * f))
    return -y * wrong, wrong * (1.0 - wrong)


def hinge(f, y):
    return np.where(y * f < 1.0, -y, 0.0), np.zeros_like(f)


def squared(f, y):
    return 2.0 * (f - y), np.full_like(f, 2.0)


# ------------------------------------------------------------------------------------ learners


class Expansion:
    """A function f(x) = sum_i a_i kappa(s_i, x) for each output, on points kept by ALD.

    ``step`` returns the predictions of a row, then learns its signs. A row not stored counts
    as its projection sum_i b_i kappa(s_i, .) on the span of the stored points, K b = k(x).
    """

    def __init__(self, kernel, loss, *, tolerance, n_outputs=1, max_size=np.inf, loss_driven=False):
        self.dictionary = Dictionary(kernel, tolerance)
        self.loss = loss
        self.max_size = max_size
        self.loss_driven = loss_driven
        self.a = np.zeros((0, n_outputs))

    def step(self, x, y, weight=1.0):
        k, b, residual, own = self.dictionary.examine(x)
        prediction = k @ self.a
        slope, curvature = self.loss(prediction, y)
        if (
            residual > self.dictionary.tolerance * own
            and len(self.dictionary) < self.max_size
            and (np.any(slope != 0.0) or not self.loss_driven)
        ):
            self.dictionary.insert(x)
            self.a = np.vstack([self.a, np.zeros(self.a.shape[1])])
            b = np.zeros(len(self.dictionary))
            b[-1] = 1.0
        self.learn(b, weight * slope, weight * curvature, prediction, y, weight)
        return prediction


class Descent(Expansion):
    """Gradient descent in the space of functions: f <- f - step l'(f(x), y) (projection of x)."""

    def __init__(self, *arguments, step, decay=lambda _: 1.0, **options):
        super().__init__(*arguments, **options)
        self.first = step
        self.decay = decay
        self.rounds = 0

    def learn(self, b, slope, *_):
        self.rounds += 1
        self.a = self.a - self.first * self.decay(self.rounds) * np.outer(b, slope)


class Newton(Expansion):
    """Newton steps: f <- f - c l'(p) A0^-1 p with A0 = mu I + the sum of c_t p_t p_t^T so far.

    p_t is the projection of row t. A^-1 p is the function d = sum_j d_j kappa(s_j, .) for which
    <kappa(s_i, .), A d> = p(s_i) at every stored point; as <kappa(s_i, .), p_t> = v_ti = (K b_t)_i,
    that is (mu K + sum_t c_t v_t v_t^T) d = v.

    ``gauss_newton``: implicit steps, the slope being that at the proximal point of each output,
    found by bisection; c is the mean curvature of the loss from there to 6 deviations nearer to 0,
    the largest of several outputs. Otherwise c is `eta` times the sum of their squared slopes
    before the round, and A0 has it already (the online Newton step, implicit for curved losses).
    """

    def __init__(self, *arguments, regularization, gauss_newton=True, eta=0.5, **options):
        super().__init__(*arguments, **options)
        self.regularization = regularization
        self.gauss_newton = gauss_newton
        self.eta = eta
        self.b = np.zeros((0, 0))
        self.c = np.zeros(0)

    def learn(self, b, slope, _curvature, prediction, y, weight):
        m = len(b)
        old = np.zeros((len(self.b), m))
        old[:, : self.b.shape[1]] = self.b
        self.b = np.vstack([old, b])
        gram = self.dictionary.gram
        v = self.b @ gram

        def direction(c):
            A = self.regularization * gram + (c[:, None] * v).T @ v
            return np.linalg.solve(A, v[-1])

        if not self.gauss_newton:
            # `slope` has the weight already. For a curved loss a row counts 1 / p A0^-1 p at most,
            # and steps are implicit too.
            curved = self.loss is not hinge
            if curved:
                known = v[-1] @ direction(np.append(self.c, 0.0))
                slope, weight = slope / weight, min(weight, 1.0 / known)
                slope = slope * weight
            self.c = np.append(self.c, self.eta * np.sum(slope**2) / weight)
            d = direction(self.c)
            if curved:
                end = self.proximal(prediction, y, weight * v[-1] @ d)
                slope = weight * self.loss(end, y)[0]
            self.a = self.a - np.outer(d, slope)
            return
        d = direction(np.append(self.c, 0.0))
        scale = weight * v[-1] @ d
        end = self.proximal(prediction, y, scale)
        slope, curvature = self.loss(end, y)
        if self.loss is logistic:
            near = np.sign(end) * np.maximum(0.0, abs(end) - 6.0 * np.sqrt(scale))
            far = abs(end - near) > 1e-5
            secant = (slope - self.loss(near, y)[0]) / np.where(far, end - near, 1.0)
            curvature = np.where(far, secant, curvature)
        self.c = np.append(self.c, weight * curvature.max())
        self.a = self.a - weight * np.outer(d, slope)

    def proximal(self, prediction, y, scale):
        low, high = (prediction + sign * scale * (9.0 + abs(prediction)) for sign in (-1.0, 1.0))
        for _ in range(200):
            middle = 0.5 * (low + high)
            beyond = middle - prediction + scale * self.loss(middle, y)[0] > 0.0
            low, high = np.where(beyond, low, middle), np.where(beyond, middle, high)
        return middle


# -------------------------------------------------------------------------------- calibration


class Recalibration:
    """The log-odds of each output as a piecewise linear function of the scores before.

    Cox's scale and offset, and other slopes beyond log-odds of 2 and -2, by implicit online Newton
    steps on the logistic loss; rows count by their weights as multiples of the mean weight so far,
    and at first by how many came before them.
    While labels change less than a tenth as often as in a random order it stays as it was at first.
    """

    prior = 0.25 * np.diag([16.0, 64.0, 64.0, 64.0])
    memory = 0.9997

    def __init__(self, n_outputs):
        self.n_outputs = n_outputs
        self.counts, self.changes, self.latest, self.in_runs = {}, 0, None, False
        self.weights = []
        self.restart()

    def restart(self):
        self.w = [np.array([1.0, 0.0, 0.0, 0.0]) for _ in range(self.n_outputs)]
        self.bend = [self.prior.copy() for _ in range(self.n_outputs)]

    @staticmethod
    def terms(x):
        return np.array([x, 1.0, max(x - 2.0, 0.0), min(x + 2.0, 0.0)])

    def apply(self, scores):
        return np.array([w @ self.terms(x) for w, x in zip(self.w, scores, strict=True)])

    def step(self, scores, signs, weight=1.0):
        made = self.apply(scores)
        self.weights.append(weight)
        if not self.in_runs:
            for c in range(self.n_outputs):
                self.learn(c, scores[c], signs[c], weight / np.mean(self.weights))
        label = tuple(signs)
        self.changes += self.latest not in (None, label)
        self.latest = label
        self.counts[label] = self.counts.get(label, 0) + 1
        counts = np.array(list(self.counts.values()))
        expected = counts.sum() * (1.0 - np.sum((counts / counts.sum()) ** 2))
        before, self.in_runs = self.in_runs, expected > 20 and self.changes < 0.1 * expected
        if self.in_runs and not before:
            self.restart()
        return made

    def learn(self, c, x, sign, weight):
        z = self.terms(x)
        memory = min(self.memory, 1.0 - 1.0 / (len(self.weights) - 1 + 16))
        A = memory * self.bend[c] + (1.0 - memory) * self.prior
        direction = weight * np.linalg.solve(A, z)
        end = at = self.w[c] @ z
        low, high = at - direction @ z, at + direction @ z
        for _ in range(200):
            end = 0.5 * (low + high)
            if end - at + (direction @ z) * logistic(end, sign)[0] > 0.0:
                high = end
            else:
                low = end
        slope, curvature = logistic(end, sign)
        self.bend[c] = A + weight * curvature * np.outer(z, z)
        w = self.w[c] - slope * direction
        w[0] = max(w[0], 0.05)
        w[2:] = np.maximum(w[2:], 0.05 - w[0])
        self.w[c] = w
