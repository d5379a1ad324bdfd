"""Check the types of what users write: `expressions.py`, and the Python code of README and guide.

The guide's own functions need no annotations, and a name in it may hold one thing after another.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from mypy import api

ROOT = Path(__file__).parents[2]
BLOCK = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)
LENIENT = "# mypy: allow-untyped-defs, allow-untyped-calls, disable-error-code=assignment"


def code_of(text: str) -> str:
    """Give the Python code of a document, each line where it stands there."""
    lines = [LENIENT]
    for block in BLOCK.finditer(text):
        lines += [""] * (text.count("\n", 0, block.start(1)) - len(lines))
        lines += block[1].splitlines()
    return "\n".join(lines) + "\n"


def main() -> int:
    """Run mypy, and say what it says."""
    with TemporaryDirectory() as folder:
        files = [ROOT / "tests/typing/expressions.py"]
        for document in [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]:
            files.append(Path(folder) / f"documented_{document.stem.replace('-', '_')}.py")
            files[-1].write_text(code_of(document.read_text(encoding="utf-8")), encoding="utf-8")
        config = ["--config-file", str(ROOT / "pyproject.toml")]
        said, failed, status = api.run([*config, *map(str, files)])
    sys.stdout.write(said.replace(f"{folder}/", ""))
    sys.stderr.write(failed)
    return status


if __name__ == "__main__":
    sys.exit(main())
