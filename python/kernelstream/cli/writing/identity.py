"""Guard against writing a file that the same command reads or writes otherwise."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterable, Mapping
from pathlib import Path

from kernelstream.cli.writing.replacing import check_writable, is_direct, resolve

__all__ = ["check_outputs"]

MODELS = frozenset({"save", "checkpoint", "from"})


def check_outputs(
    inputs: Iterable[tuple[str, Path | None]],
    outputs: Mapping[str, Path | None],
    models: Iterable[str] = (),
) -> None:
    """Check that every output can be written and is no other file of the same command.

    Files are compared by identity: symbolic links and hard links to one file are that file.
    ``learn`` resumes a model in place, so its ``--from``, ``--save`` and ``--checkpoint`` may be
    one file.

    Raises
    ------
    ValueError
        An output cannot be written, is read by this command, or is given twice.
    """
    used = {
        _identity(path): role
        for role, path in inputs
        if path is not None and str(path) != "-" and path.exists() and not is_direct(path)
    }
    models = frozenset(models)
    for option, path in outputs.items():
        if path is None or str(path) == "-":
            continue
        check_writable(path, f"--{option}")
        if is_direct(path):
            if option in models:
                raise ValueError(f"cannot save the model: {path} is not a regular file")
            continue
        other = used.setdefault(_identity(path), option)
        if other != option and not {option, other} <= MODELS:
            if other in outputs:
                raise ValueError(
                    f"--{option} {path}: that file is also --{other}; choose another name"
                )
            what = "model" if other == "from" else other
            raise ValueError(
                f"--{option} {path}: that file is read (as the {what}) and would be overwritten; "
                "choose another name"
            )


def _identity(path: Path) -> tuple[int, int] | Path:
    """Device and inode of a file; the resolved path of one that does not exist yet."""
    try:
        status = path.stat()
    except OSError as error:
        if error.errno not in {errno.ENOENT, errno.ENOTDIR}:
            raise
        return resolve(path)
    # Some file systems have no inodes.
    return (
        (status.st_dev, status.st_ino) if status.st_ino else Path(os.path.normcase(resolve(path)))
    )
