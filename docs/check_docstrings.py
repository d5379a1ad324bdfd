"""Checks the docstrings of what the reference names; anything else needs no more than a summary."""

from __future__ import annotations

import inspect
import sys
import tomllib
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from pydoc import locate
from re import findall, split
from typing import Any

from numpydoc.validate import validate

DOCS = Path(__file__).parent
SETTINGS = tomllib.loads((DOCS.parent / "pyproject.toml").read_text(encoding="utf-8"))
CHECKS = set(SETTINGS["tool"]["numpydoc_validation"]["checks"])


def named() -> Iterator[str]:
    """Give what the pages of the reference list, by its full name."""
    for page in sorted((DOCS / "api").glob("*.md")):
        for part in split(r"currentmodule:: ", page.read_text(encoding="utf-8"))[1:]:
            module = part.split()[0]
            import_module(module)
            for name in findall(r"(?m)^ {2,}([A-Za-z_][\w.]*)$", part):
                if locate(f"{module}.{name}") is not None:
                    yield f"{module}.{name}"


def members(name: str) -> Iterator[str]:
    """Give the name, and those of the public methods and properties of a class of ours."""
    yield name
    thing: Any = locate(name)
    for base in thing.__mro__ if inspect.isclass(thing) else []:
        if base.__module__.startswith("kernelstream") and "_core" not in base.__module__:
            own = (key for key, value in vars(base).items() if documented(key, value))
            yield from (f"{base.__module__}.{base.__qualname__}.{key}" for key in own)


def documented(key: str, value: Any) -> bool:
    """Tell whether a member of a class needs a docstring of its own."""
    kinds = (classmethod, staticmethod, property)
    return not key.startswith("_") and (inspect.isfunction(value) or isinstance(value, kinds))


def main() -> int:
    """Print what is wrong."""
    wrong = 0
    names = dict.fromkeys(each for name in named() for each in members(name))
    for name in names:
        found = validate(name)
        for code, message in found["errors"]:
            # What results are made of stands under Attributes.
            result = code == "PR01" and "\nAttributes\n" in (inspect.getdoc(locate(name)) or "")
            if code in CHECKS and not result:
                wrong += 1
                print(f"{found['file']}:{found['file_line']}: {name}: {code} {message}")
    print(f"docstrings of {len(names)} names: {wrong or 'nothing'} wrong")
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main())
