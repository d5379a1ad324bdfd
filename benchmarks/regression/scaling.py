"""Cost of a row: against the number of stored points, and against the number of previous rows.

Random rows of ten features, Gaussian kernel. Stored points are limited to m (FOGD: m / 2
frequencies; Taylor: the closest degree), and time is measured over rows after the dictionary is
full, in one call and, after "one at a time", with one row per call. Then m = 100 for all presets
that can be limited, and time is measured after 1,000, 10,000 and 100,000 rows: it is constant for
all except those that grow by design. Time is processor time of one core.

    python benchmarks regression scaling [--quick]
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable

import numpy as np
from report import Report
from streams import FloatArray

import kernelstream as ks

P = ks.presets
KERNEL = ks.Gaussian(1.5)
D = 10
DEGREES = {11: 1, 66: 2, 286: 3, 1001: 4}

Maker = Callable[[int], ks.KernelRegressor]


def taylor(m: int) -> ks.KernelRegressor:
    nearest = min(DEGREES, key=lambda count: abs(count - m))
    return P.pkawv_taylor(KERNEL, 1.0, DEGREES[nearest])


PRESETS: dict[str, Maker] = {
    "ridge on ALD (default)": lambda m: ks.KernelRegressor(KERNEL, ks.ALD(1e-3, m), scale=False),
    "aogd_ald": lambda m: P.aogd_ald(KERNEL, max_size=m),
    "nons_ald": lambda m: P.nons_ald(KERNEL, max_size=m),
    "krls_ald": lambda m: P.krls_ald(KERNEL, max_size=m),
    "kernel_ridge": lambda m: P.kernel_ridge(KERNEL, max_size=m),
    "kernel_awv": lambda m: P.kernel_awv(KERNEL, max_size=m),
    "kons": lambda m: P.kons(KERNEL, max_size=m),
    "sketched_kons": lambda m: P.sketched_kons(KERNEL, max_size=m),
    "pros_n_kons": lambda m: P.pros_n_kons(KERNEL, gamma=1e-3, max_size=m),
    "con_kons": lambda m: P.con_kons(KERNEL, gamma=1e-3, max_size=m),
    "pkawv_nystroem, reservoir": lambda m: P.pkawv_nystroem(KERNEL, mu=1e-3, max_size=m),
    "pkawv_nystroem, exact": lambda m: P.pkawv_nystroem(
        KERNEL, mu=1e-3, history="exact", max_size=m
    ),
    "pkawv_taylor": taylor,
    "fogd": lambda m: P.fogd(KERNEL, size=max(m // 2, 1)),
    "nogd": lambda m: P.nogd(KERNEL, size=m, rank=max(m // 2, 1)),
    "kogd, budget": lambda m: P.kogd(KERNEL, budget=m),
}
# What grows with the rows by design, without a limit; mu so that exact PKAWV continues storing.
GROWING: dict[str, Callable[[], ks.KernelRegressor]] = {
    "kogd": lambda: P.kogd(KERNEL, step=0.05),
    "kons": lambda: P.kons(KERNEL),
    "kernel_awv": lambda: P.kernel_awv(KERNEL),
    "pkawv_nystroem, exact": lambda: P.pkawv_nystroem(KERNEL, mu=30.0, history="exact"),
    "pkawv_nystroem, reservoir": lambda: P.pkawv_nystroem(KERNEL, mu=30.0),
}


def stream(n: int, seed: int) -> tuple[FloatArray, FloatArray]:
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1.0, 1.0, size=(n, D))
    y = np.sin(3.0 * X[:, 0]) * np.cos(2.0 * X[:, 1]) + 0.1 * rng.standard_normal(n)
    return X, y


def per_row(model: ks.KernelRegressor, X: FloatArray, y: FloatArray, repeats: int = 3) -> float:
    """Microseconds per row in one call, the median of several calls."""
    seconds = []
    for part, targets in zip(np.split(X, repeats), np.split(y, repeats), strict=True):
        began = time.process_time()
        model.partial_fit_predict(part, targets)
        seconds.append((time.process_time() - began) / len(targets))
    return 1e6 * float(np.median(seconds))


def one_by_one(model: ks.KernelRegressor, X: FloatArray, y: FloatArray) -> float:
    """Microseconds to predict and learn a single row, the median over rows."""
    seconds = []
    for x, target in zip(X, y, strict=True):
        began = time.process_time()
        model.predict_one(x)
        model.learn_one(x, target)
        seconds.append(time.process_time() - began)
    return 1e6 * float(np.median(seconds))


def size_table(report: Report, sizes: tuple[int, ...]) -> None:
    report.heading("Microseconds per row against stored points, in one call / one at a time")
    warm, X, y = 4 * max(sizes), *stream(1500, 1)
    rows = []
    for label, make in report.track(list(PRESETS.items()), "stored points"):
        cells, times = [], []
        for m in sizes:
            model = make(m)
            model.partial_fit(*stream(warm, 0))
            block = per_row(model, X, y)
            alone = one_by_one(model, X[:300], y[:300])
            cells.append(f"{block:.1f} / {alone:.1f}")
            times.append(block)
        exponent = np.log(times[-1] / times[-2]) / np.log(sizes[-1] / sizes[-2])
        rows.append([label, *cells, f"{exponent:.1f}"])
    report.table(["preset", *(f"m = {m}" for m in sizes), "last exponent"], rows)
    report.remark(
        "The exponent is that of the time in one call between the last two sizes. pkawv_taylor has "
        f"{', '.join(map(str, DEGREES))} functions, whichever is nearest to m."
    )


def horizon_table(report: Report, horizons: tuple[int, ...], m: int) -> None:
    report.heading(f"Microseconds per row after this many rows, at most {m} points")
    X, y = stream(3000, 1)
    rows = []
    for label, make in report.track(list(PRESETS.items()), "horizon"):
        model, times, so_far = make(m), [], 0
        for horizon in horizons:
            model.partial_fit(*stream(horizon - so_far, 2 + horizon))
            times.append(per_row(model, X, y))
            so_far = horizon + len(y)
        flat = times[-1] / times[0]
        rows.append([label, *(f"{each:.1f}" for each in times), f"{flat:.2f}"])
    report.table(["preset", *(f"{n:,} rows" for n in horizons), "last / first"], rows)


def growing_table(report: Report, horizons: tuple[int, ...]) -> None:
    report.heading("Presets that grow by design, without a limit: microseconds per row, and points")
    X, y = stream(150, 1)
    rows = []
    for label, make in report.track(list(GROWING.items()), "growing"):
        model, cells, so_far = make(), [], 0
        for horizon in horizons:
            model.partial_fit(*stream(horizon - so_far, 2 + horizon))
            cells.append(f"{per_row(model, X, y):.1f} ({model.n_stored_:,})")
            so_far = horizon + len(y)
        rows.append([label, *cells])
    report.table(["preset", *(f"{n:,} rows" for n in horizons)], rows)


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help="small sizes and short horizons")
    quick = parser.parse_args().quick
    report = Report("regression_scaling")
    size_table(report, (25, 50) if quick else (25, 50, 100, 200, 400))
    horizon_table(report, (1000, 5000) if quick else (1000, 10_000, 100_000), 100)
    growing_table(report, (500, 1000) if quick else (500, 1000, 2000, 4000))
    report.write()
    return 0
