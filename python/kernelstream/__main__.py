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
    from kernelstream.cli import app, open_standard_streams  # noqa: PLC0415  (optional packages)

    open_standard_streams()
    app()


if __name__ == "__main__":
    main()
