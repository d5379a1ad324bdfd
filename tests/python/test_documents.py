"""The Python examples of README and guide run, and do what they say."""

from __future__ import annotations

import doctest
import importlib
import pkgutil
import re

import pytest

import kernelstream as ks
from realdata import ROOT

DOCUMENTS = [ROOT / "README.md"]
DOCUMENTS += sorted((ROOT / "docs").glob("*.md")) + sorted(
    (ROOT / "docs/measurements").glob("*.md")
)
BLOCK = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)


def test_there_is_something_to_run():
    assert BLOCK.search((ROOT / "README.md").read_text())


def needs(name):
    if name.endswith("river"):
        pytest.importorskip("river", reason="river is not installed (extra `river`)")


@pytest.mark.filterwarnings("ignore::kernelstream.exceptions.KernelstreamWarning")
@pytest.mark.filterwarnings("ignore:X (has|does not have).*feature names")
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


@pytest.mark.filterwarnings("ignore::kernelstream.exceptions.KernelstreamWarning")
@pytest.mark.parametrize(
    "name", [name for _, name, _ in pkgutil.walk_packages(ks.__path__, "kernelstream.")]
)
def test_examples_in_docstrings(name):
    if name.endswith(("__main__", "_core")):
        pytest.skip("no docstring examples")
    needs(name)
    assert doctest.testmod(importlib.import_module(name)).failed == 0


LINK = re.compile(r"\]\(([^)#\s]+)(?:#[^)]*)?\)")


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.name)
def test_links_to_files_lead_somewhere(path):
    links = [link for link in LINK.findall(path.read_text()) if "://" not in link]
    # The gallery is made with the site, which checks these links.
    targets = [path.parent / link for link in links if not link.startswith("gallery/")]
    assert [str(target) for target in targets if not target.exists()] == []


def test_the_site_lists_every_page():
    pages = {
        path.relative_to(ROOT / "docs").with_suffix("").as_posix() for path in DOCUMENTS[1:]
    } - {"index"}
    lists = [
        (ROOT / "docs" / f"{page}.md").read_text() for page in ("index", "guide", "measurements")
    ]
    listed = {line.strip() for text in lists for line in text.splitlines()}
    assert sorted(pages - listed) == []


def test_the_reference_has_all_public_names():
    pages = (ROOT / "docs" / "api").glob("*.md")
    listed = {line.strip() for page in pages for line in page.read_text().splitlines()}
    modules = ("control", "datasets", "koopman", "linalg", "plots", "presets")
    public = {name for name in ks.__all__ if name not in modules}
    for module in modules:
        public.update(importlib.import_module(f"kernelstream.{module}").__all__)
    public |= set(ks.datasets.adversarial.__all__)
    colours = {"CYCLE", "FAINT", "INK"}
    assert sorted(public - {"adversarial"} - colours - listed) == []


def test_every_benchmark_that_is_named_is_there():
    texts = [ROOT / "Makefile", ROOT / "CONTRIBUTING.md", ROOT / "CHANGELOG.md", *DOCUMENTS]
    texts += (ROOT / "benchmarks").rglob("*.py")
    named = set()
    for text in texts:
        words = text.read_text(encoding="utf-8")
        named |= set(re.findall(r"(?:python|\(PY\)) benchmarks ([a-z]+) ([a-z_]+)", words))
        named |= set(re.findall(r"`benchmarks/([a-z]+)/([a-z_]+)\.py", words))
    assert len(named) > 25
    for subject, name in named:
        script = ROOT / "benchmarks" / subject / f"{name}.py"
        assert "\ndef main(" in script.read_text(encoding="utf-8"), script
