"""What a run of ``learn`` reads and writes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from kernelstream.cli.replacing import check_writable, is_direct
from kernelstream.cli.sources import Source

__all__ = ["Places"]


@dataclass
class Places:
    """What a run reads and writes.

    Attributes
    ----------
    files : list of str
        The tables.
    save, checkpoint, begun_from : Path or None
        Model files: written at the end, written and gone on with, gone on with.
    every : str
        When checkpoints are written.
    predict_to, metrics, plot : Path or None
        Where predictions, figures and the picture go.
    again : bool
        Whether to learn files that were learned before.
    """

    files: list[str]
    save: Path | None = None
    checkpoint: Path | None = None
    begun_from: Path | None = None
    every: str = "60s"
    predict_to: Path | None = None
    metrics: Path | None = None
    plot: Path | None = None
    again: bool = False

    def check(self, sources: Sequence[Source]) -> None:
        """Check that everything can be written, and that nothing is written twice.

        Parameters
        ----------
        sources : sequence of Source
            What is read.

        Raises
        ------
        ValueError
            A place is no place for it.
        """
        read = {source.path.resolve(): "read" for source in sources if source.path is not None}
        used = dict(read)
        models = {"save": self.save, "checkpoint": self.checkpoint}
        others = {"predict-to": self.predict_to, "metrics": self.metrics, "plot": self.plot}
        for option, path in (models | others).items():
            if path is None or str(path) == "-":
                continue
            check_writable(path, f"--{option}")
            if option in models and is_direct(path):
                # The core would refuse it too, but only once everything is learned.
                raise ValueError(f"cannot save the model: {path} is not a regular file")
            if is_direct(path):
                continue
            place = path.resolve()
            if place in used and {option, used[place]} != {"save", "checkpoint"}:
                what = "is read" if used[place] == "read" else f"is also --{used[place]}"
                raise ValueError(f"--{option} {path}: that file {what}")
            used[place] = option
