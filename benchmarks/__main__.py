"""Every figure of the documents: ``python benchmarks SUBJECT NAME [options]``.

python benchmarks                      # what there is
python benchmarks koopman tables       # one of them
python benchmarks experts boosting --help
"""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path

FOLDER = Path(__file__).parent


def scripts() -> dict[str, dict[str, str]]:
    """Names of what can be run, by subject, with the first line of each."""
    found: dict[str, dict[str, str]] = {}
    for path in sorted(FOLDER.glob("*/*.py")):
        text = path.read_text(encoding="utf-8")
        if "\ndef main(" in text:
            title = text.split('"""')[1].splitlines()[0]
            found.setdefault(path.parent.name, {})[path.stem] = title
    return found


def main() -> object:
    """Run what the first two arguments name."""
    known = scripts()
    match sys.argv[1:]:
        case [subject, name, *rest] if name in known.get(subject, {}):
            sys.argv = [f"benchmarks {subject} {name}", *rest]
            return import_module(f"{subject}.{name}").main()
    for subject, names in known.items():
        print(subject)
        for name, title in names.items():
            print(f"    {name:<16} {title}")
    return 2 if len(sys.argv) > 1 else 0


if __name__ == "__main__":
    sys.exit(main())  # type: ignore[arg-type]
