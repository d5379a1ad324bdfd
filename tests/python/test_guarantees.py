"""Every guarantee in the documentation names tests, and these exist."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "docs" / "guarantees.md").read_text(encoding="utf-8")
PYTHON = ROOT / "tests" / "python"
RUST = [*(ROOT / "src").rglob("*.rs"), *(ROOT / "tests").rglob("*.rs")]
NAMED = sorted(  # tests, and the files that they are in
    set(re.findall(r"`([\w/]+(?:\.py|\.rs)|test_\w+|\w+_\w+_\w+)`", TEXT))
)


def functions(files, begin):
    """Give the names of all functions in some files."""
    pattern = re.compile(rf"^\s*{begin} (\w+)\(", re.MULTILINE)
    return {name for path in files for name in pattern.findall(path.read_text(encoding="utf-8"))}


@pytest.mark.parametrize("name", NAMED)
def test_named_tests_exist(name):
    if name.endswith(".py") or "/" in name:
        assert (PYTHON / name).exists() or (ROOT / name).exists()
    elif name.startswith("test_"):
        assert name in functions(PYTHON.glob("test_*.py"), "def")
    else:
        assert name in functions(RUST, "fn")


def guarantees():
    """Give the lines of the lists and of the tables that say what shows a guarantee."""
    chapters = re.split(r"^## ", TEXT, flags=re.MULTILINE)[1:]
    for chapter in chapters:
        yield from re.findall(r"^- \*\*.*?(?=^- |^\n|\Z)", chapter, re.MULTILINE | re.DOTALL)
        for table in re.findall(r"\| ?shown by ?\|\n\|---\|---\|\n((?:\|.*\n)*)", chapter):
            yield from table.splitlines()


@pytest.mark.parametrize("line", list(guarantees()), ids=lambda line: line[:60])
def test_each_guarantee_names_a_test(line):
    assert re.search(r"`[\w/]+\.(py|rs)`:\s+`\w+`", line)
