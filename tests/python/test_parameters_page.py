"""The tables of parameters in the documents name the fields of the structs, with their defaults."""

from __future__ import annotations

import csv
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize(
    ("struct", "table"),
    [("AdaptiveParams", "parameters.csv"), ("DynamicsParams", "dynamics_parameters.csv")],
)
def test_tables_of_parameters_are_those_of_the_source(monkeypatch, struct, table):
    # It has modules beside it.
    monkeypatch.setattr(sys, "path", [str(ROOT / "benchmarks"), *sys.path])
    from experts.ablation import numbers

    with (ROOT / "docs" / "measurements" / table).open(encoding="utf-8") as file:
        listed = {row["number"].strip("`"): row["default"] for row in csv.DictReader(file)}
    assert listed == {number.name: str(number.default) for number in numbers(struct)}
