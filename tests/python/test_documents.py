"""The Python examples of README and guide run, and do what they say."""

from __future__ import annotations

import doctest
import importlib
import pkgutil
import re

import pytest

import kernelstream as ks
from realdata import ROOT

DOCUMENTS = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
BLOCK = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)


def test_there_is_something_to_run():
    assert BLOCK.search((ROOT / "README.md").read_text())


def needs(name):
    if name.endswith("river"):
        pytest.importorskip("river", reason="river is not installed (extra `river`)")


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.name)
def test_examples_run_in_order(path, tmp_path, monkeypatch):
    needs(path.stem)
    monkeypatch.chdir(tmp_path)
    text = path.read_text()
    names: dict[str, object] = {}
    for block in BLOCK.finditer(text):
        # Blank lines before it, so that a traceback names the line of the document.
        blank = "\n" * text.count("\n", 0, block.start(1))
        exec(compile(blank + block[1], str(path), "exec"), names)


@pytest.mark.parametrize(
    "name", [name for _, name, _ in pkgutil.walk_packages(ks.__path__, "kernelstream.")]
)
def test_examples_in_docstrings(name):
    if name.endswith(("__main__", "_core")):
        pytest.skip("no docstring examples")
    needs(name)
    assert doctest.testmod(importlib.import_module(name)).failed == 0
