"""The commands ``merge`` and ``freeze``: model files in, a model file out."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rich.console import Console

from kernelstream.cli.running.models import load_model
from kernelstream.cli.running.progress import Progress
from kernelstream.cli.writing.identity import check_outputs
from kernelstream.cli.writing.messages import say
from kernelstream.estimators.merging import MergingEstimator

__all__ = ["freeze", "merge"]


def merge(
    models: Sequence[Path], output: Path, console: Console, *, successive: bool = False
) -> None:
    """Merge models, and write the result.

    Raises
    ------
    ValueError, OSError
        The models do not add, one has learned a file that another has learned too, or a file cannot
        be read or written.
    """
    check_outputs([("model", path) for path in models], {"output": output}, ("output",))
    merged: Any = None
    progress, learned_in = Progress(finished=True), dict[str, Path]()
    for path in models:
        model = _load(path)
        note = Progress.from_note(model._note, path)
        for name in note.files:
            if name in learned_in:
                raise ValueError(
                    f"{name} was learned by {learned_in[name]} and by {path}: its rows would count "
                    "twice. Parts that begin with the same rows begin with a frozen model, which "
                    "forgets them: see 'kernelstream freeze --help'"
                )
            learned_in[name] = path
        progress.files |= note.files
        progress.options = progress.options or note.options
        progress.numerals = progress.numerals | note.numerals
        if merged is None:
            merged = model
            continue
        try:
            merged.merge(model, successive=successive)
        except (ValueError, TypeError) as error:
            raise type(error)(f"{path}: {error}") from None
    merged._note = progress.to_note(output)
    merged.save(output)
    say(
        console,
        f"{len(models)} models of {merged.n_seen_:,} rows merged, {merged.n_stored_:,} points "
        f"stored: {output}",
    )


def freeze(model: Path, output: Path, console: Console) -> None:
    """Freeze the dictionary of a model, and write it.

    Raises
    ------
    ValueError, OSError
        The model does not add, or a file cannot be read or written.
    """
    check_outputs([("model", model)], {"output": output}, ("output",))
    frozen = _load(model)
    rows = frozen.n_seen_
    frozen.freeze_dictionary()
    # Its rows are forgotten, and may be learned again.
    note = Progress.from_note(frozen._note, model)
    progress = Progress(options=note.options, finished=True, numerals=note.numerals)
    frozen._note = progress.to_note(output)
    frozen.save(output)
    say(
        console,
        f"{frozen.n_stored_:,} points stored from {rows:,} rows, which are forgotten: {output}",
    )


def _load(path: Path) -> Any:
    model = load_model(path)
    if not isinstance(model, MergingEstimator):
        raise TypeError(f"{path} contains a {type(model).__name__}, which cannot be merged")
    return model
