"""The pictures of the layers in CONTRIBUTING.md are what the code does."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
# Compiled, or about the package as a whole.
EVERYWHERE = {"_core", "__version__"}
ENTRY = {"__init__", "__main__", "lib"}


def layers(folder: str) -> dict[str, int]:
    """The line on which the picture has each module."""
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    (picture,) = re.findall(rf"```layers {folder}\n(.*?)```", text, re.DOTALL)
    lines = enumerate(picture.splitlines())
    return {module: line for line, modules in lines for module in modules.split(", ")}


def rust_uses(text: str, package: str) -> set[str]:
    """Modules of the crate that a file names; unit tests may look anywhere."""
    del package
    text = text.split("#[cfg(test)]\nmod tests {", maxsplit=1)[0]
    text = re.sub(r"//.*", "", text)
    # What is exported or grouped at the root would hide the module that it is from.
    assert not re.search(r"\buse crate::[{A-Z]", text)
    return set(re.findall(r"\bcrate::([a-z_]+)\b", text))


def python_uses(text: str, package: str) -> set[str]:
    """Modules of the package that a file imports."""
    package = re.escape(package)
    uses = set(re.findall(rf"^\s*(?:from|import) {package}\.([a-z_]+)", text, re.MULTILINE))
    for names in re.findall(rf"^\s*from {package} import (.*)$", text, re.MULTILINE):
        uses.update(name.strip() for name in names.split(","))
    return uses


@pytest.mark.parametrize(
    ("folder", "ending", "find"),
    [
        ("src", "rs", rust_uses),
        ("python/kernelstream", "py", python_uses),
        ("python/kernelstream/cli", "py", python_uses),
    ],
)
def test_a_module_uses_only_modules_above_it(folder, ending, find):
    known, package = layers(folder), folder.removeprefix("python/").replace("/", ".")
    wrong, arrows = [], 0
    for path in sorted((ROOT / folder).rglob(f"*.{ending}")):
        module = path.relative_to(ROOT / folder).parts[0].removesuffix(f".{ending}")
        if module in ENTRY:
            continue
        assert module in known, f"{module} has no place in the picture"
        for other in find(path.read_text(encoding="utf-8"), package) - {module} - EVERYWHERE:
            arrows += 1
            if known.get(other, len(known)) >= known[module]:
                wrong.append(f"{path.relative_to(ROOT)} uses {other}")
    assert arrows > 15
    assert not wrong


def test_the_crate_lists_each_of_its_public_modules():
    text = (ROOT / "src" / "lib.rs").read_text(encoding="utf-8")
    declared = re.findall(r"^(?:pub )?mod (\w+);", text, re.MULTILINE)
    found = {path.stem for path in (ROOT / "src").glob("*.rs")} - {"lib"}
    found |= {path.parent.name for path in (ROOT / "src").glob("*/mod.rs")}
    assert set(declared) == found
    public = re.findall(r"^pub mod (\w+);", text, re.MULTILINE)
    listed = text.partition("//! The modules")[2].partition("//! A model")[0]
    named = re.findall(r"(?:- |, )\[`(\w+)`\]", listed.replace("\n//!  ", ""))
    assert sorted(named) == sorted(public)
