"""Model files that the user names."""

from __future__ import annotations

import errno
import os
from pathlib import Path
from typing import Any

from kernelstream._core import ModelFileError
from kernelstream.estimators.model_file import load

__all__ = ["load_model"]


def load_model(path: Path) -> Any:
    """Read a model file; errors name it.

    Raises
    ------
    OSError
        The file cannot be read.
    ModelFileError
        It is no model file.
    """
    if not path.exists():
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), str(path))
    try:
        return load(path)
    except ModelFileError as error:
        raise ModelFileError(f"{path}: {error}") from None
