"""``learn --workers``: the files of a table, divided among processes."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from contextlib import closing, redirect_stdout
from dataclasses import replace
from multiprocessing import get_context
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from rich.console import Console

from kernelstream.cli.reading.bad_cells import BadCells
from kernelstream.cli.reading.batches import Batch, batches_of
from kernelstream.cli.reading.columns import Columns, check_alike
from kernelstream.cli.reading.gaps import usable
from kernelstream.cli.reading.sources import Extent, Source, find_sources
from kernelstream.cli.running.labels import Labels
from kernelstream.cli.running.learning import Learning
from kernelstream.cli.running.merging import merge
from kernelstream.cli.running.messages import announce
from kernelstream.cli.running.options import Paths, RunOptions
from kernelstream.cli.running.progress import Progress
from kernelstream.cli.running.session import Session, begin, recall, resume
from kernelstream.cli.writing.messages import Terminal
from kernelstream.estimators.progress import ProgressBar

__all__ = ["Workers"]

_SAMPLE = 10_000  # rows of all files that make the dictionary
_BATCH = 8192


class Workers:
    """One run of ``learn`` with several processes.

    In a first round a sample of the rows of every file makes a dictionary, which is frozen. In a
    second a copy of the model learns each file, and the copies are merged.
    """

    def __init__(self, paths: Paths, options: RunOptions, n_workers: int, console: Console) -> None:
        self._paths = paths
        self._options = options
        self._n_workers = n_workers
        self._console = console

    def run(self) -> None:
        """Learn every file.

        Raises
        ------
        ValueError, OSError
            A table or an option is invalid; nothing is written.
        KeyboardInterrupt
            Ctrl-C; nothing is written.
        """
        sources = find_sources(self._paths.files)
        self._check(sources)
        with (
            TemporaryDirectory(prefix="kernelstream-") as folder,
            ProcessPoolExecutor(
                min(self._n_workers, len(sources)), get_context("spawn"), _end_quietly
            ) as pool,
        ):
            try:
                self._learn(sources, Path(folder), pool)
            except BrokenProcessPool:
                raise OSError("a process was killed, which may be for want of memory") from None
            except BaseException:
                pool.shutdown(wait=True, cancel_futures=True)
                raise

    def _check(self, sources: Sequence[Source]) -> None:
        paths = self._paths
        others = {
            "checkpoint": paths.checkpoint,
            "predict-to": paths.predict_to,
            "coverage": self._options.coverage,
            "metrics": paths.metrics,
            "plot": paths.plot,
        }
        for option, wanted in others.items():
            if wanted is not None:
                raise ValueError(
                    f"--{option} needs the rows in their order, which --workers does not keep; "
                    "leave one of them out"
                )
        if paths.save is None:
            raise ValueError("--workers needs --save: what is learned is the model")
        for source in sources:
            if not source.is_file:
                raise ValueError(f"{source.name} cannot be read twice, as --workers does")
        paths.check(sources)

    def _learn(self, sources: Sequence[Source], folder: Path, pool: ProcessPoolExecutor) -> None:
        frozen = folder / "frozen.model"
        extent = Extent(sources)
        with self._options.open(sources[0]) as first:
            session = self._begin(first, sources)
            announce(self._console, first, sources, session.columns)
        if self._paths.begun_from is None:
            each = -(-_SAMPLE // len(sources))
            jobs = [
                pool.submit(_sample, source, session.columns, self._options, each)
                for source in sources
            ]
            samples = [
                sample for _, sample in self._watched("sampling", jobs, sources, extent) if sample
            ]
            if not samples:
                raise ValueError(f"none of the {len(sources)} files has a complete row")
            _learn_sample(session, samples)
            session.model.freeze_dictionary()
        # The rows of the sample are not learned yet.
        session.progress = Progress(
            options=session.progress.options, finished=True, numerals=session.progress.numerals
        )
        session.save(frozen)
        options = replace(self._options, classes=None)
        parts = [folder / f"{i}.model" for i in range(len(sources))]
        jobs = [
            pool.submit(_learn_file, source, options, frozen, part)
            for source, part in zip(sources, parts, strict=True)
        ]
        for _ in self._watched("learning", jobs, sources, extent):
            pass
        merge(parts, Path(str(self._paths.save)), self._console)

    def _begin(self, first: Any, sources: Sequence[Source]) -> Session:
        path = self._paths.begun_from
        if path is None:
            return begin(self._options, first, sources)
        session = resume(self._options, path, recall(self._options, path), first)
        if session.n_seen:
            raise ValueError(
                f"{path} has learned {session.n_seen:,} rows: --workers continues only models "
                "without rows whose dictionary is frozen; see 'kernelstream freeze'"
            )
        return session

    def _watched(
        self, label: str, jobs: Sequence[Future[Any]], sources: Sequence[Source], extent: Extent
    ) -> Iterator[tuple[Source, Any]]:
        """Give the results of all files, in their order, once all are done."""
        order = dict(zip(jobs, sources, strict=True))
        done = 0
        with ProgressBar(extent.total, label, "bytes", console=self._console) as bar:
            for job in as_completed(jobs):
                job.result()
                done += order[job].size or 0
                bar.update(done)
        for job, source in order.items():
            yield source, job.result()


def _end_quietly() -> None:
    """Let Ctrl-C end an idle process without a traceback."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def _sample(source: Source, columns: Columns, options: RunOptions, size: int) -> Batch | None:
    """Draw complete rows of a file; None if there is none."""
    rng = np.random.default_rng(0)
    drawn: Batch | None = None
    times = np.empty(0)
    with options.open(source) as table:
        check_alike(table, columns, "the first file")
        with closing(
            batches_of(source, table, columns, 0, lambda: _BATCH, BadCells(options.bad_cells))
        ) as batches:
            for batch in batches:
                sound = usable(batch, columns, options.missing, need_target=True) & batch.judged
                more = _taken(batch, np.flatnonzero(sound))
                times = np.append(times, rng.random(len(more)))
                drawn = more if drawn is None else _joined([drawn, more])
                if len(drawn) > size:
                    rows = np.sort(np.argpartition(times, size - 1)[:size])
                    times, drawn = times[rows], _taken(drawn, rows)
    return drawn


def _taken(batch: Batch, rows: np.ndarray[Any, Any]) -> Batch:
    features = {name: values[rows] for name, values in batch.features.items()}
    labels = None if batch.labels is None else batch.labels[rows]
    return replace(
        batch,
        kept=[],
        features=features,
        targets=batch.targets[rows],
        labels=labels,
        bad=batch.bad[rows],
    )


def _joined(batches: Sequence[Batch]) -> Batch:
    first = batches[0]
    names = first.features
    features = {name: np.concatenate([b.features[name] for b in batches]) for name in names}
    targets = np.concatenate([batch.targets for batch in batches])
    labels = [batch.labels for batch in batches if batch.labels is not None]
    return replace(
        first,
        features=features,
        targets=targets,
        bad=np.concatenate([batch.bad for batch in batches]),
        labels=np.concatenate(labels) if labels else None,
    )


def _learn_sample(session: Session, samples: Sequence[Batch]) -> None:
    """Learn rows of all files, in an order that does not sort them by file."""
    rows = _joined(samples)
    shuffled = _taken(rows, np.random.default_rng(len(rows)).permutation(len(rows)))
    if isinstance(session.task, Labels) and shuffled.labels is not None:
        # A label that no class has is refused with its row where its file is learned.
        known = set(session.task.classes.tolist())
        sound = [i for i, label in enumerate(shuffled.labels.tolist()) if label in known]
        if not sound:
            named = ",".join(map(str, session.task.classes.tolist()))
            label = str(shuffled.labels[0])
            raise ValueError(
                f"column {session.columns.label!r}: none of {len(rows):,} rows sampled has one of "
                f"--classes {named}, but labels such as {label!r}: correct them, or name them: "
                f"--classes {named},{label}"
            )
        shuffled = _taken(shuffled, np.array(sound))
    every = np.ones(len(shuffled), dtype=bool)
    session.task.learn(session.model, shuffled, every, every)


def _learn_file(source: Source, options: RunOptions, frozen: Path, part: Path) -> None:
    """Let a copy of a model learn a file."""
    paths = Paths([str(source.path)], save=part, begun_from=frozen)
    with Path(os.devnull).open("w") as nowhere, redirect_stdout(nowhere):
        Learning(paths, options, Terminal(stderr=True, quiet=True)).run()
