"""Forecasts of records of two to four seasons, beside the last season and a regression on phases.

Generated records with a week of days, quarters, years of months, days of hours, and days and weeks
of hours, each with noise and some with a trend; and a week and a year of days, whose dates
the first method is given. Mean absolute errors over three horizons, of
`Forecaster` with nothing chosen and with the season given, of the values one season before, and of
least squares on a line and one indicator for each phase, which is given the season; and the share
of records whose season is found.

    python benchmarks forecasting few_seasons [--records 20]
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from report import Report
from streams import FloatArray

import kernelstream as ks

WEEK = np.array([0.0, 5.0, 8.0, 10.0, 20.0, 40.0, -30.0])
QUARTERS = np.array([0.0, 10.0, 30.0, -20.0])


def _wave(t: FloatArray, period: float) -> FloatArray:
    return np.asarray(np.sin(2 * np.pi * t / period))


def _hours(t: FloatArray) -> FloatArray:
    weekday = (t // 24) % 7 < 5
    return np.asarray(100 + 20 * _wave(t, 24) * np.where(weekday, 1.0, 0.4) + 10.0 * weekday)


def _days(t: FloatArray) -> FloatArray:
    year = 20 * _wave(t + 60, 365.25) + 4 * _wave(t, 122)
    return np.asarray(100 + WEEK[t.astype(int) % 7] / 5 + year)


@dataclass(frozen=True)
class Kind:
    """Values without noise by the numbers of rows, the noise, the season and the horizons."""

    clean: Callable[[FloatArray], FloatArray]
    noise: float
    season: int
    rows: tuple[int, ...]
    horizons: tuple[int, ...]
    has_dates: bool = False

    def table(self, values: FloatArray) -> Any:
        """Give the values as a column, with their dates if they have some."""
        if not self.has_dates:
            return values[:, None]
        return pd.Series(values, pd.date_range("2019-03-01", periods=len(values), freq="D"))


KINDS = {
    "week of days": Kind(
        lambda t: 200 + WEEK[t.astype(int) % 7], 5, 7, (14, 17, 20, 28), (1, 4, 7)
    ),
    "quarters, trend": Kind(
        lambda t: 100 + t + QUARTERS[t.astype(int) % 4], 2, 4, (10, 12, 14, 20), (1, 2, 4)
    ),
    "months, trend": Kind(
        lambda t: 100 + t + 15 * _wave(t, 12), 3, 12, (24, 28, 36, 48), (1, 6, 12)
    ),
    "day of hours": Kind(lambda t: 50 + 20 * _wave(t, 24), 2, 24, (48, 60, 96), (1, 12, 24)),
    "week of hours": Kind(_hours, 2, 168, (336, 384, 504), (1, 24, 48)),
    "week and year of days": Kind(
        _days,
        4,
        365,
        (730, 1095, 1460),
        (1, 30, 90),
        has_dates=True,
    ),
}


def by_phases(y: FloatArray, season: int, ahead: FloatArray) -> FloatArray:
    """Forecast by least squares on a line and the phases."""

    def regressors(t: FloatArray) -> FloatArray:
        return np.column_stack([t, *(t % season == phase for phase in range(season))])

    solution = np.linalg.lstsq(regressors(np.arange(len(y))), y, rcond=None)[0]
    return np.asarray(regressors(len(y) - 1 + ahead) @ solution)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--records", type=int, default=20, help="records of each kind (20)")
    records = parser.parse_args().records
    warnings.simplefilter("ignore", ks.exceptions.KernelstreamWarning)
    lines = []
    for name, kind in KINDS.items():
        ahead = np.array(kind.horizons)
        for rows in kind.rows:
            errors, found = [], 0
            for seed in range(records):
                t = np.arange(rows + ahead[-1], dtype=float)
                y = kind.clean(t) + kind.noise * np.random.default_rng(seed).normal(size=len(t))
                known, truth = y[:rows], y[rows - 1 + ahead]
                chosen = ks.Forecaster(ahead.tolist()).fit(kind.table(known))
                given = ks.Forecaster(ahead.tolist(), period=kind.season).fit(known[:, None])
                back = kind.season * -(-ahead // kind.season)
                before = known[rows - 1 + ahead - back]
                others = [before, by_phases(known, kind.season, ahead)]
                ours = [model.forecast().ravel() for model in (chosen, given)]
                errors.append([np.abs(made - truth).mean() for made in (*ours, *others)])
                found += kind.season in chosen.periods_[0]
            of_all = np.mean(errors, axis=0)
            lines.append(
                [name, str(rows), *(f"{error:.1f}" for error in of_all), f"{found / records:.0%}"]
            )
    report = Report("forecasting_few_seasons")
    columns = [
        "record",
        "rows",
        "Forecaster",
        "season given",
        "last season",
        "line and phases",
        "found",
    ]
    report.table(columns, lines)
    report.write()


if __name__ == "__main__":
    main()
