"""Cells, each a record and a horizon: errors beside those of the best other method in hindsight."""

from __future__ import annotations

import json
from argparse import ArgumentParser
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import numpy as np

__all__ = ["Cells", "origins", "parser_of"]

# Forecasts compared, from the rows after this share of a record on.
ORIGINS, FIRST = 30, 0.55

# Errors below this share of the deviation count as this.
EXACT = 1e-4

Errors = Mapping[str, Sequence[float]]


def origins(n: int, horizons: Sequence[int], count: int = ORIGINS) -> np.ndarray:
    """Give the numbers of rows known at each origin in a record of n rows."""
    return np.unique(np.linspace(max(FIRST * n, 12), n - max(horizons), count).astype(int))


def parser_of(title: str) -> ArgumentParser:
    """Give a parser of the names of records, and of the file of other methods."""
    parser = ArgumentParser(description=title)
    parser.add_argument("names", nargs="*", help="records; all if none is named")
    parser.add_argument(
        "--peers", type=Path, help="file that keeps the errors of the other methods"
    )
    return parser


class Cells:
    """The cells so far; `peers` is a file that keeps the errors of the other methods."""

    def __init__(self, peers: Path | None) -> None:
        self._peers = peers
        self._kept: dict[str, Errors] = {}
        if peers and peers.exists():
            self._kept = json.loads(peers.read_text())
        self.ratios: list[float] = []
        self._covered: list[float] = []
        self._costs: list[float] = []

    def others(self, name: str, compute: Callable[[], Errors]) -> Errors:
        """Give the errors of the other methods on a record, which are computed once."""
        if name not in self._kept:
            self._kept[name] = compute()
            if self._peers:
                self._peers.write_text(json.dumps(self._kept))
        return self._kept[name]

    def add(
        self, own: Sequence[float], its: Errors, inside: Sequence[float], cost: float
    ) -> tuple[list[str], list[float]]:
        """Add a record; gives the best other methods, and the errors in units of theirs."""
        names = [min(its, key=lambda name: _or_inf(its[name][j])) for j in range(len(own))]
        best = [its[name][j] for j, name in enumerate(names)]
        ratio = [max(e, EXACT) / max(one, EXACT) for e, one in zip(own, best, strict=True)]
        self.ratios += ratio
        self._covered += inside
        self._costs.append(cost)
        return names, ratio

    def print_figures(self) -> None:
        """Print the figures of all cells."""
        r, c = np.array(self.ratios), np.array(self._covered)
        by_horizon = np.exp(np.log(r.reshape(-1, 3)).mean(axis=0)).round(2)
        print(
            f"{len(r)} cells: over 1.05 in {np.sum(r > 1.05)}, over 1.3 in {np.sum(r > 1.3)}, "
            f"geometric mean {np.exp(np.log(r).mean()):.3f}, by horizon {by_horizon}"
        )
        print(
            f"coverage within .85 to .95 in {np.mean((c >= 0.85) & (c <= 0.95)):.0%}, "
            f"least {c.min():.2f}; median cost {np.median(self._costs):.0f} us a number"
        )


def _or_inf(error: float) -> float:
    return error if np.isfinite(error) else np.inf
