"""The command ``learn``: tables in, one pass, a model out."""

from __future__ import annotations

import os
import re
import warnings
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rich.console import Console

from kernelstream.cli.reading.bad_cells import BadCells
from kernelstream.cli.reading.batches import Batch, RefusedRowError, batches_of
from kernelstream.cli.reading.columns import Columns, check_alike, listed, unused
from kernelstream.cli.reading.gaps import usable
from kernelstream.cli.reading.reader import Reader
from kernelstream.cli.reading.sources import Extent, Source, find_sources
from kernelstream.cli.running.checkpoints import Every
from kernelstream.cli.running.messages import (
    announce,
    explain,
    print_facts,
    remedy_for_drift,
    tell_labels,
    tell_notes,
    told_of_repeated,
    told_of_sentinel,
    told_of_skipped,
)
from kernelstream.cli.running.monitoring import Watch
from kernelstream.cli.running.options import Paths, RunOptions
from kernelstream.cli.running.session import Session, begin, go_on, recall
from kernelstream.cli.running.stopping import Stop
from kernelstream.cli.writing.failures import OutputError, while_writing
from kernelstream.cli.writing.locks import alone
from kernelstream.cli.writing.messages import Terminal, printable, say
from kernelstream.cli.writing.metrics import MetricsFile
from kernelstream.cli.writing.picture import History
from kernelstream.cli.writing.predictions import Writer, column_writer
from kernelstream.estimators.progress import ProgressBar
from kernelstream.estimators.sentinels import find_sentinel
from kernelstream.exceptions import DriftWarning, SentinelWarning, UselessPredictionsWarning

__all__ = ["Learning"]

_QUICK, _SLOW = 0.1, 0.4  # longest time of a batch in seconds, so that Ctrl-C is noticed
_FIRST_ROWS, _MOST_ROWS = 256, 8192


class Learning:
    """One run of ``learn``."""

    _begun: Session
    _bar: ProgressBar
    _told: list[str]

    def __init__(self, places: Paths, wishes: RunOptions, console: Console) -> None:
        self._places = places
        self._wishes = wishes
        self._console = console
        self._every = Every(places.every)
        self._live = places.predict_to is not None
        self._stop = Stop()
        self._most_rows = _MOST_ROWS
        if places.checkpoint is not None and self._every.rows is not None:
            self._most_rows = min(self._every.rows, _MOST_ROWS)
        self._chunk = min(_FIRST_ROWS, self._most_rows)
        self._bad_cells = BadCells(wishes.bad_cells)
        self._repeated: list[str] = []
        self._resumed: Any = None
        self._problems: list[str] = []
        self._unused: set[str] = set()
        self._checkpoint_failed = self._told_of_sentinel = False

    def run(self) -> int:
        """Learn everything.

        Raises
        ------
        ValueError, OSError
            A table is invalid; checkpoints are kept.
        """
        sources = find_sources(self._places.files)
        self._places.check(sources)
        with ExitStack() as stack:
            stack.enter_context(warnings.catch_warnings())
            # The columns and the table of errors have messages in terms of options.
            for category in (DriftWarning, SentinelWarning, UselessPredictionsWarning):
                warnings.simplefilter("ignore", category)
            stack.enter_context(self._stop)
            if self._places.checkpoint is not None:
                stack.enter_context(alone(self._places.checkpoint))
            if sources[0].path is None and os.isatty(0):
                self._say("reading rows from the terminal; Ctrl-D ends them")
            try:
                if (path := self._resumed_path()) is not None:
                    self._resumed = recall(self._wishes, path)
                first = stack.enter_context(self._open(sources[0]))
                self._begun = self._begin(first, sources)
                announce(self._console, first, sources, self._begun.columns)
                self._told = list(first.notes)
                tell_labels(self._console, self._begun)
                if self._wishes.explain:
                    explain(self._console, first, self._begun.columns)
                for source in sources[1:]:
                    if source.is_file:
                        with self._open(source) as table:
                            check_alike(table, self._begun.columns, first.name)
            except KeyboardInterrupt:
                self._say("stopped before anything was learned")
                return self._status()
            self._learn_all(first, sources)
            return self._end(sources)

    # ------------------------------------------------------------------------------- beginning

    def _open(self, source: Source) -> Reader:
        with self._stop.waiting():
            return self._wishes.open(source, live=self._live)

    def _begin(self, first: Reader, sources: Sequence[Source]) -> Session:
        path = self._resumed_path()
        if path is None:
            with self._stop.waiting():
                return begin(self._wishes, first, sources)
        begun = go_on(self._wishes, path, self._resumed, first)
        if self._places.again:
            begun.progress.files.clear()
        self._say(f"continuing {path}, which has learned {begun.model.n_seen_:,} rows")
        return begun

    def _resumed_path(self) -> Path | None:
        """Give the model file to continue; None for a new model."""
        places = self._places
        if places.checkpoint is not None and places.checkpoint.exists():
            return places.checkpoint
        return places.begun_from

    # -------------------------------------------------------------------------------- learning

    def _learn_all(self, first: Reader, sources: Sequence[Source]) -> None:
        """Learn every row; before an error the rows before it are checkpointed."""
        progress = self._begun.progress
        extent = Extent(sources)
        try:
            with ExitStack() as outputs:
                write = self._open_predictions(outputs, first)
                self._bar = ProgressBar(extent.total, console=self._console)
                self._bar.begin_at(0, progress.rows)
                watch = self._open_watch(outputs)
                outputs.enter_context(self._bar)
                try:
                    for number, batch in enumerate(self._batches(first, sources)):
                        done = extent.at(batch.source, batch.share)
                        if not number:
                            # Rows of earlier runs do not determine the time left.
                            self._bar.begin_at(done, progress.rows)
                        self._learn(batch, write)
                        if not self._begun.n_seen:
                            continue
                        with while_writing():
                            watch.update(done, progress.rows, progress.skipped, self._begun.model)
                        if self._every.is_due(progress.rows):
                            self._save_checkpoint()
                        if self._stop.wanted:
                            break
                except KeyboardInterrupt:
                    self._stop.number = self._stop.number or 2
                self._bar.is_complete = not self._stop.wanted
                with while_writing():
                    watch.finish(progress.rows, progress.skipped, self._begun.model)
                    outputs.close()
        except OutputError as failed:
            self._problems.append(str(failed))
        except (ValueError, OSError):
            self._save_checkpoint()
            self._save_what_was_learned()
            raise

    def _save_what_was_learned(self) -> None:
        """Save the model of the rows before one that cannot be learned."""
        path, rows = self._places.save, self._begun.progress.rows
        if path is None or not rows:
            return
        if failed := self._saved(path):
            self._say(f"the model could not be saved: {failed}")
            return
        learned = "row before the error is" if rows == 1 else f"{rows:,} rows before the error are"
        self._say(f"the {learned} learned and saved in {path}; --from {path} resumes there")

    def _open_predictions(self, outputs: ExitStack, first: Reader) -> Writer | None:
        output = self._places.predict_to
        if output is None:
            return None
        names = self._begun.task.predicted
        return outputs.enter_context(column_writer(output, names, json_lines=first.is_json))

    def _open_watch(self, outputs: ExitStack) -> Watch:
        places, task = self._places, self._begun.task
        metrics = history = None
        if places.metrics is not None:
            metrics = MetricsFile(places.metrics, self._begun.n_seen)
            outputs.callback(metrics.close)
        if places.plot is not None:
            history = History(places.plot, self._begun.columns.targets, task.window.size)
            outputs.callback(history.draw)
        remedy = remedy_for_drift(self._wishes, is_label=self._begun.columns.label is not None)
        return Watch(self._console, task, self._bar, remedy, metrics, history)

    def _batches(self, first: Reader, sources: Sequence[Source]) -> Iterator[Batch]:
        """Give all the rows that are not yet learned.

        A file counts as finished once the batch after its last one is asked for.
        """
        progress = self._begun.progress
        for source in sources:
            size = source.size
            if not progress.is_finished(source):
                with first if source is sources[0] else self._open(source) as table:
                    yield from self._batches_of(source, table, first.name)
                progress.finish(source, size)

    def _batches_of(self, source: Source, table: Reader, first: str) -> Iterator[Batch]:
        """Give the rows of a table that are not yet learned."""
        progress, columns = self._begun.progress, self._begun.columns
        check_alike(table, columns, first)
        if table.name != first:
            self._told = tell_notes(self._console, table, self._told)
        if table.name != first or self._resumed is not None:
            self._tell_of_unused(table, columns, first)
        skip = progress.learned(source)
        if not source.is_file and progress.piped:
            if self._places.skip_seen:
                skip = progress.piped
            else:
                self._say(
                    f"{progress.piped:,} rows of an earlier pipe are learned; if {source.name} "
                    "begins with them again, --skip-seen passes them over"
                )
        if skip:
            self._say(f"{source.name}: from row {skip + 1:,} on")
        progress.begin(source, skip)
        found = batches_of(source, table, columns, skip, lambda: self._chunk, self._bad_cells)
        with closing(found) as batches:
            while True:
                with self._stop.waiting():
                    batch = next(batches, None)
                if batch is None:
                    break
                yield batch
        if table.repeated:
            self._repeated.append(told_of_repeated(table))

    def _tell_of_unused(self, table: Reader, columns: Columns, first: str) -> None:
        names = [name for name in unused(table, columns) if name not in self._unused]
        if names:
            self._unused.update(names)
            self._say(f"{table.name} has columns that {first} has not, left out: {listed(names)}")

    def _learn(self, batch: Batch, write: Writer | None) -> None:
        """Learn a batch, up to the first row that is refused."""
        try:
            self._learn_whole(batch, write)
        except RefusedRowError as refused:
            if refused.row:
                self._learn(batch.before(refused.row), write)
            raise

    def _learn_whole(self, batch: Batch, write: Writer | None) -> None:
        """Learn a batch, and record the progress."""
        begun = self._begun
        told = usable(batch, begun.columns, self._wishes.missing, need_target=write is None)
        learned = told & batch.judged
        if write is None:
            told = learned
        if (new := begun.task.first_new(batch, learned)) is not None:
            if new:
                self._learn(batch.before(new), write)
                self._learn(batch.since(new), write)
                return
            begun.model, what = begun.task.begin_again(begun.model, batch, learned)
            if what:
                self._say(what)
        said: list[NDArray[Any]] = []
        before, started = begun.n_seen, perf_counter()
        try:
            with batch.naming(told):
                said = begun.task.learn(begun.model, batch, told, learned)
        except KeyboardInterrupt:
            # The second one, in the middle of a batch.
            done = np.flatnonzero(told)[: begun.n_seen - before]
            self._advance(batch, learned, int(done[-1]) + 1 if len(done) else 0)
            raise
        self._tell_of_sentinel(batch, learned)
        self._adapt(perf_counter() - started)
        self._advance(batch, learned, len(batch))
        if write is not None:
            with while_writing():
                write(said)

    def _tell_of_sentinel(self, batch: Batch, learned: NDArray[np.bool_]) -> None:
        """Name the first target that may stand for a missing one; experts winsorize it."""
        if self._told_of_sentinel or self._wishes.experts:
            return
        if (found := find_sentinel(batch.targets[learned])) is not None:
            self._told_of_sentinel = True
            row = int(np.flatnonzero(learned)[found.row])
            name = self._begun.columns.numeric_targets[found.column]
            self._say(told_of_sentinel(batch.where(row, name), found))

    def _advance(self, batch: Batch, learned: NDArray[np.bool_], count: int) -> None:
        """Record that this many rows of a batch are done."""
        progress = self._begun.progress
        n_learned = int(learned[:count].sum())
        progress.rows += n_learned
        progress.skipped += count - n_learned
        progress.advance(batch.source, batch.first_row + count - 1)

    def _adapt(self, seconds: float) -> None:
        """Keep batches short enough for Ctrl-C, and long enough for speed."""
        if seconds > _SLOW:
            self._chunk = max(self._chunk // 2, 1)
        elif seconds < _QUICK:
            self._chunk = min(2 * self._chunk, self._most_rows)

    # ------------------------------------------------------------------------------------- end

    def _save_checkpoint(self) -> None:
        """Save the model; if that fails, learning continues, with one warning."""
        path = self._places.checkpoint
        if path is None or not self._begun.n_seen:
            return
        failed = self._saved(path)
        if failed and not self._checkpoint_failed:
            self._say(f"no checkpoint could be written, learning continues: {failed}")
        self._checkpoint_failed = bool(failed)

    def _saved(self, path: Path) -> str:
        """Save the model; raise an error with the reason if that fails."""
        try:
            self._begun.save(path)
        except OSError as error:
            return re.sub(r" \(os error.*", "", str(error))
        return ""

    def _end(self, sources: Sequence[Source]) -> int:
        """Save the model, print the summary, and give the exit status."""
        begun, places, progress = self._begun, self._places, self._begun.progress
        self._stop.is_saving = True
        stopped = self._stop.wanted
        if not begun.model.__sklearn_is_fitted__():
            if stopped:
                self._say("stopped before anything was learned")
                return self._status()
            what = sources[0].name if len(sources) == 1 else f"none of the {len(sources)} files"
            raise ValueError(f"{what} has no complete row{told_of_skipped(begun)}")
        if not progress.rows and not progress.skipped and not stopped:
            self._say("nothing new: every row was learned before; --again learns them once more")
        if stopped:
            self._say(f"stopped after {progress.rows:,} row{'s' * (progress.rows != 1)}")
        progress.finished = not stopped and not self._problems
        saved = []
        for path in (places.save, places.checkpoint):
            if path is not None and (failed := self._saved(path)):
                self._problems.append(f"the model could not be saved: {failed}")
            elif path is not None:
                saved.append(path)
        # The standard output may be the predictions'.
        output = self._console if str(places.predict_to) == "-" else Terminal()
        if progress.rows:
            begun.task.summarize(output)
        decided = {
            "targets missing": begun.task.told_of_missing,
            "bad cells": self._bad_cells.summary(),
            "headers repeated": "; ".join(self._repeated),
        }
        print_facts(output, begun, self._bar, saved, decided)
        for problem in self._problems:
            self._console.print(
                f"error: {printable(problem)}", style="red", markup=False, soft_wrap=True
            )
        return 1 if self._problems and not stopped else self._status()

    def _status(self) -> int:
        return 128 + self._stop.number if self._stop.number is not None else 0

    def _say(self, text: str) -> None:
        say(self._console, text)
