"""The ``kernelstream`` command."""

import sys


def main() -> None:
    """Run the command line, or name the package that it needs."""
    try:
        from kernelstream.cli import app  # noqa: PLC0415  (its packages are optional)
    except ModuleNotFoundError as error:
        if error.name not in {"typer", "rich", "pyarrow"}:
            raise
        sys.exit(
            f"error: the command line needs {error.name}: pip install 'kernelstream[cli,plot]'"
        )
    app()


if __name__ == "__main__":
    main()
