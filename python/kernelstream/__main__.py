"""The ``kernelstream`` command."""

import sys
from importlib.util import find_spec


def main() -> None:
    """Run the command line, or name the package that it needs."""
    missing = [name for name in ("typer", "rich", "pyarrow") if find_spec(name) is None]
    if missing:
        sys.exit(
            f"error: the command line needs {missing[0]}: pip install 'kernelstream[cli,plot]'"
        )
    from kernelstream.cli import app  # noqa: PLC0415  (its packages are optional)

    app()


if __name__ == "__main__":
    main()
