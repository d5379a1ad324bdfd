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


def names_in(prefix: str, text: str) -> set[str]:
    """The paths of a list of imports, `a, b::{c, d}`."""
    out, depth, start = set(), 0, 0
    for i, letter in enumerate(text + ","):
        depth += {"{": 1, "}": -1}.get(letter, 0)
        if letter == "," and depth == 0:
            part = text[start:i].strip()
            start = i + 1
            head, brace, inner = part.partition("::{")
            if brace:
                out |= names_in(f"{prefix}::{head}", inner.rpartition("}")[0])
            elif part:
                out.add(f"{prefix}::{part.split(' as ')[0]}")
    return out


def rust_circles() -> list[tuple[str, ...]]:
    """Files of the crate that use each other; `mod.rs` names its files anyway."""
    root = ROOT / "src"
    files = {}
    for path in root.rglob("*.rs"):
        parts = path.relative_to(root).with_suffix("").parts
        files[parts[:-1] if parts[-1] in ("mod", "lib") else parts] = path
    texts = {}
    for module, path in files.items():
        text = path.read_text(encoding="utf-8").split("#[cfg(test)]\nmod tests {", maxsplit=1)[0]
        texts[module] = re.sub(r"//.*", "", text)
    exported: dict[tuple[str, ...], dict[str, tuple[str, ...]]] = {}
    for module, text in texts.items():
        names = exported.setdefault(module, {})
        for used in re.findall(r"\buse (\w+::[^;]*);", text):
            child = (*module, used.partition("::")[0])
            if child in files:
                names |= dict.fromkeys(re.findall(r"\w+", used.partition("::")[2]), child)

    def file_of(module: tuple[str, ...], path: str) -> tuple[str, ...]:
        names = path.split("::")
        module = () if names[0] == "crate" else module
        for name in names:
            if name == "super":
                module = module[:-1]
            elif (*module, name) in files:
                module = (*module, name)
            elif name != "crate":
                return exported[module].get(name, module)
        return module

    uses = {}
    for module, text in texts.items():
        paths = set(re.findall(r"\b((?:crate|super)(?:::\w+)+)\b(?!::[{\w])", text))
        for prefix, start in re.findall(r"\b((?:crate|super)(?:::\w+)*)::\{([^;]*)\}", text):
            paths |= names_in(prefix, start)
        uses[module] = {file_of(module, path) for path in paths} - {module}
    leaves = {module for module, path in files.items() if path.stem not in ("mod", "lib", "tests")}
    graph = {"/".join(m): {"/".join(u) for u in uses[m] & leaves} for m in leaves}
    return circles(graph)


def python_circles() -> list[tuple[str, ...]]:
    """Files of the package that import each other."""
    root = ROOT / "python"
    files = {}
    for path in (root / "kernelstream").rglob("*.py"):
        parts = path.relative_to(root).with_suffix("").parts
        files[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    graph = {}
    for module, path in files.items():
        text = path.read_text(encoding="utf-8").split("\nif TYPE_CHECKING:", maxsplit=1)[0]
        uses = set(re.findall(r"^(?:from|import) (kernelstream[\w.]*)", text, re.MULTILINE))
        for base, names in re.findall(
            r"^from (kernelstream[\w.]*) import ([^(\n]+)", text, re.MULTILINE
        ):
            uses |= {f"{base}.{name.strip()}" for name in names.split(",")}
        graph[module] = (uses & set(files)) - {module}
    packages = {module for module, path in files.items() if path.stem == "__init__"}
    return circles({m: uses - packages for m, uses in graph.items() if m not in packages})


def circles(graph: dict[str, set[str]]) -> list[tuple[str, ...]]:
    """Sets of two or more that reach each other."""

    def reached(start: str) -> set[str]:
        seen, new = set(), {start}
        while new:
            new = {other for one in new for other in graph[one]} - seen
            seen |= new
        return seen

    reach = {one: reached(one) for one in graph}
    return sorted(
        {tuple(sorted(b for b in reach[a] if a in reach[b])) for a in graph if a in reach[a]}
    )


def test_no_files_use_each_other():
    assert not rust_circles()
    assert not python_circles()


def test_circles_are_found():
    assert circles({"a": {"b"}, "b": {"c"}, "c": {"b"}, "d": {"a"}}) == [("b", "c")]


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


def test_each_file_of_the_crate_is_compiled():
    declaration = re.compile(r"^\s*(?:pub(?:\(\w+\))? )?mod (\w+);", re.MULTILINE)
    for path in (ROOT / "src").rglob("*.rs"):
        module = path.parent if path.name == "mod.rs" else path.with_suffix("")
        if path.name == "lib.rs":
            continue
        root = module.parent / ("lib.rs" if module.parent == ROOT / "src" else "mod.rs")
        declared = declaration.findall(root.read_text(encoding="utf-8"))
        assert module.name in declared, f"{path.relative_to(ROOT)} is no module of {root.name}"
