"""The command ``learn``: tables in, one pass, a model out."""

from __future__ import annotations

import os
import re
import warnings
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing
from pathlib import Path
from time import perf_counter
from typing import Any, Literal

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
    describe_repeated,
    describe_sentinel,
    describe_skipped,
    explain,
    print_facts,
    print_labels,
    print_notes,
    remedy_for_drift,
)
from kernelstream.cli.running.monitoring import Watch
from kernelstream.cli.running.options import Paths, RunOptions
from kernelstream.cli.running.session import Session, begin, recall, resume
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
# The fewest rows of a batch with a picture, and its share of the rows so far, one in this many: 100
# rows are 38 points of the curve, and 2,000 are 89.
_FEW_ROWS, _SHARE_OF_ROWS = 2, 16


class Learning:
    """One run of ``learn``."""

    _session: Session
    _bar: ProgressBar
    _printed: list[str]

    def __init__(self, paths: Paths, options: RunOptions, console: Console) -> None:
        self._paths = paths
        self._options = options
        self._console = console
        self._every = Every(paths.every)
        self._live = paths.predict_to is not None
        self._stop = Stop()
        self._most_rows = _MOST_ROWS
        if paths.checkpoint is not None and self._every.rows is not None:
            self._most_rows = min(self._every.rows, _MOST_ROWS)
        self._chunk = min(_FIRST_ROWS, self._most_rows)
        self._done_before: int | None = None
        self._bad_cells = BadCells(options.bad_cells)
        self._repeated: list[str] = []
        self._resumed: Any = None
        self._problems: list[str] = []
        self._unused: set[str] = set()
        self._checkpoint_failed = self._warned_of_sentinel = False

    def run(self) -> int:
        """Learn everything.

        Raises
        ------
        ValueError, OSError
            A table is invalid; checkpoints are kept.
        """
        sources = find_sources(self._paths.files)
        self._paths.check(sources)
        with ExitStack() as stack:
            stack.enter_context(warnings.catch_warnings())
            # The columns and the table of errors have messages in terms of options.
            for category in (DriftWarning, UselessPredictionsWarning):
                warnings.simplefilter("ignore", category)
            warnings.filterwarnings("ignore", "y contains", SentinelWarning)
            stack.enter_context(self._stop)
            if self._paths.checkpoint is not None:
                stack.enter_context(alone(self._paths.checkpoint))
            if sources[0].path is None and os.isatty(0):
                self._say("reading rows from the terminal; Ctrl-D ends them")
            try:
                if (path := self._resumed_path()) is not None:
                    self._resumed = recall(self._options, path)
                first = stack.enter_context(self._open(sources[0]))
                self._session = self._begin(first, sources)
                announce(self._console, first, sources, self._session.columns)
                self._printed = list(first.notes)
                print_labels(self._console, self._session)
                if self._options.explain:
                    explain(self._console, first, self._session.columns)
                for source in sources[1:]:
                    if source.is_file:
                        with self._open(source) as table:
                            check_alike(table, self._session.columns, first.name)
            except KeyboardInterrupt:
                self._say("stopped before anything was learned")
                return self._status()
            self._learn_all(first, sources)
            return self._end(sources)

    # ------------------------------------------------------------------------------- beginning

    def _open(self, source: Source) -> Reader:
        with self._stop.waiting():
            return self._options.open(source, live=self._live)

    def _begin(self, first: Reader, sources: Sequence[Source]) -> Session:
        path = self._resumed_path()
        if path is None:
            with self._stop.waiting():
                return begin(self._options, first, sources)
        session = resume(self._options, path, self._resumed, first)
        if self._paths.again:
            session.progress.files.clear()
        self._say(f"continuing {path}, which has learned {session.model.n_seen_:,} rows")
        return session

    def _resumed_path(self) -> Path | None:
        """Give the model file to continue; None for a new model."""
        paths = self._paths
        if paths.checkpoint is not None and paths.checkpoint.exists():
            return paths.checkpoint
        return paths.begun_from

    # -------------------------------------------------------------------------------- learning

    def _learn_all(self, first: Reader, sources: Sequence[Source]) -> None:
        """Learn every row; before an error the rows before it are checkpointed."""
        progress = self._session.progress
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
                        if not self._session.n_seen:
                            continue
                        with while_writing():
                            watch.update(done, progress.rows, progress.skipped, self._session.model)
                        if self._every.is_due(progress.rows):
                            self._save_checkpoint()
                        if self._stop.wanted:
                            break
                except KeyboardInterrupt:
                    self._stop.number = self._stop.number or 2
                self._bar.is_complete = not self._stop.wanted
                with while_writing():
                    watch.finish(progress.rows, progress.skipped, self._session.model)
                    outputs.close()
        except OutputError as failed:
            self._problems.append(str(failed))
        except (ValueError, OSError):
            self._save_checkpoint()
            self._save_what_was_learned()
            raise

    def _save_what_was_learned(self) -> None:
        """Save the model of the rows before one that cannot be learned."""
        path, rows = self._paths.save, self._session.progress.rows
        if path is None or not rows:
            return
        if failed := self._saved(path):
            self._say(f"the model could not be saved: {failed}")
            return
        learned = "row before the error is" if rows == 1 else f"{rows:,} rows before the error are"
        self._say(f"the {learned} learned and saved in {path}; --from {path} resumes there")

    def _open_predictions(self, outputs: ExitStack, first: Reader) -> Writer | None:
        output = self._paths.predict_to
        if output is None:
            return None
        names = self._session.task.predicted
        return outputs.enter_context(column_writer(output, names, json_lines=first.is_json))

    def _open_watch(self, outputs: ExitStack) -> Watch:
        paths, task = self._paths, self._session.task
        metrics = history = None
        if paths.metrics is not None:
            metrics = MetricsFile(paths.metrics, self._session.n_seen)
            outputs.callback(metrics.close)
        if paths.plot is not None:
            history = History(paths.plot, self._session.columns.targets, task.window.size)
            outputs.callback(history.draw)
        remedy = remedy_for_drift(self._options, is_label=self._session.columns.label is not None)
        return Watch(self._console, task, self._bar, remedy, metrics, history)

    def _batches(self, first: Reader, sources: Sequence[Source]) -> Iterator[Batch]:
        """Give all the rows that are not yet learned.

        A file counts as finished once the batch after its last one is asked for.
        """
        progress = self._session.progress
        for source in sources:
            size = source.size
            if not progress.is_finished(source):
                with first if source is sources[0] else self._open(source) as table:
                    yield from self._batches_of(source, table, first.name)
                progress.finish(source, size)

    def _batches_of(self, source: Source, table: Reader, first: str) -> Iterator[Batch]:
        """Give the rows of a table that are not yet learned."""
        progress, columns = self._session.progress, self._session.columns
        check_alike(table, columns, first)
        if table.name != first:
            self._printed = print_notes(self._console, table, self._printed)
        if table.name != first or self._resumed is not None:
            self._report_unused(table, columns, first)
        skip = progress.learned(source)
        if not source.is_file and progress.piped:
            if self._paths.skip_seen:
                skip = progress.piped
            else:
                self._say(
                    f"{progress.piped:,} rows of an earlier pipe are learned; if {source.name} "
                    "begins with them again, --skip-seen passes them over"
                )
        if skip:
            self._say(f"{source.name}: from row {skip + 1:,} on")
        progress.begin(source, skip)
        found = batches_of(source, table, columns, skip, self._size, self._bad_cells)
        with closing(found) as batches:
            while True:
                with self._stop.waiting():
                    batch = next(batches, None)
                if batch is None:
                    break
                self._printed = print_notes(self._console, table, self._printed)
                yield batch
        if table.repeated:
            self._repeated.append(describe_repeated(table))

    def _report_unused(self, table: Reader, columns: Columns, first: str) -> None:
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
        session = self._session
        usable_rows = usable(
            batch, session.columns, self._options.missing, need_target=write is None
        )
        learned = usable_rows & batch.judged
        if write is None:
            usable_rows = learned
        if (new := session.task.first_new(batch, learned)) is not None:
            if new:
                self._learn(batch.before(new), write)
                self._learn(batch.since(new), write)
                return
            session.model, what = session.task.begin_again(session.model, batch, learned)
            if what:
                self._say(what)
        said: list[NDArray[Any]] = []
        before, started = session.n_seen, perf_counter()
        try:
            with batch.naming(usable_rows):
                said = session.task.learn(session.model, batch, usable_rows, learned)
        except KeyboardInterrupt:
            # The second one, in the middle of a batch.
            done = np.flatnonzero(usable_rows)[: session.n_seen - before]
            self._advance(batch, learned, int(done[-1]) + 1 if len(done) else 0)
            raise
        self._report_sentinel(batch, learned)
        self._adapt(perf_counter() - started)
        self._advance(batch, learned, len(batch))
        if write is not None:
            with while_writing():
                write(said)

    def _report_sentinel(self, batch: Batch, learned: NDArray[np.bool_]) -> None:
        """Name the first target that may stand for a missing one."""
        if self._warned_of_sentinel:
            return
        which: Literal["any", "known"] = "known" if self._options.experts else "any"
        if (found := find_sentinel(batch.targets[learned], which)) is not None:
            self._warned_of_sentinel = True
            row = int(np.flatnonzero(learned)[found.row])
            name = self._session.columns.numeric_targets[found.column]
            if (found.column, found.value) in self._session.model._core.latest_limited:
                becomes = "is learned as the nearest ordinary value"
            else:
                clipped = ", or winsorized" if self._options.experts else ""
                becomes = f"is learned as it is{clipped}"
            self._say(describe_sentinel(batch.where(row, name), found, becomes))

    def _advance(self, batch: Batch, learned: NDArray[np.bool_], count: int) -> None:
        """Record that this many rows of a batch are done."""
        progress = self._session.progress
        n_learned = int(learned[:count].sum())
        progress.rows += n_learned
        progress.skipped += count - n_learned
        progress.advance(batch.source, batch.first_row + count - 1)

    def _size(self) -> int:
        """Give the most rows of the next batch: few at first where errors are drawn."""
        if self._paths.plot is None:
            return self._chunk
        progress = self._session.progress
        done = progress.rows + progress.skipped
        self._done_before = done if self._done_before is None else self._done_before
        return min(self._chunk, max((done - self._done_before) // _SHARE_OF_ROWS, _FEW_ROWS))

    def _adapt(self, seconds: float) -> None:
        """Keep batches short enough for Ctrl-C, and long enough for speed."""
        if seconds > _SLOW:
            self._chunk = max(self._chunk // 2, 1)
        elif seconds < _QUICK:
            self._chunk = min(2 * self._chunk, self._most_rows)

    # ------------------------------------------------------------------------------------- end

    def _save_checkpoint(self) -> None:
        """Save the model; if that fails, learning continues, with one warning."""
        path = self._paths.checkpoint
        if path is None or not self._session.n_seen:
            return
        failed = self._saved(path)
        if failed and not self._checkpoint_failed:
            self._say(f"no checkpoint could be written, learning continues: {failed}")
        self._checkpoint_failed = bool(failed)

    def _saved(self, path: Path) -> str:
        """Save the model; raise an error with the reason if that fails."""
        try:
            # A checkpoint is continued as if nothing had happened.
            if self._paths.compact and path != self._paths.checkpoint:
                self._session.save(path, compact=True)
            else:
                self._session.save(path)
        except OSError as error:
            return re.sub(r" \(os error.*", "", str(error))
        return ""

    def _end(self, sources: Sequence[Source]) -> int:
        """Save the model, print the summary, and give the exit status."""
        session, paths, progress = self._session, self._paths, self._session.progress
        self._stop.is_saving = True
        stopped = self._stop.wanted
        if not session.model.__sklearn_is_fitted__():
            if stopped:
                self._say("stopped before anything was learned")
                return self._status()
            what = sources[0].name if len(sources) == 1 else f"none of the {len(sources)} files"
            raise ValueError(f"{what} has no complete row{describe_skipped(session)}")
        if not progress.rows and not progress.skipped and not stopped:
            self._say("nothing new: every row was learned before; --again learns them once more")
        if stopped:
            self._say(f"stopped after {progress.rows:,} row{'s' * (progress.rows != 1)}")
        progress.finished = not stopped and not self._problems
        saved = []
        for path in (paths.save, paths.checkpoint):
            if path is not None and (failed := self._saved(path)):
                self._problems.append(f"the model could not be saved: {failed}")
            elif path is not None:
                saved.append(path)
        # The standard output may be the predictions'.
        output = self._console if str(paths.predict_to) == "-" else Terminal()
        if progress.rows:
            session.task.summarize(output)
            # A run that resumes has not all rows.
            for note in session.task.notes if self._resumed is None else []:
                self._say(f"note: {note}")
            if how := session.task.in_order:
                self._say(
                    f"{how}: rows come in an order, and these errors say little of other rows"
                )
        decided = {
            "targets missing": session.task.describe_missing,
            "bad cells": self._bad_cells.summary(),
            "headers repeated": "; ".join(self._repeated),
            **(self._paths.written if not self._problems else {}),
        }
        print_facts(output, session, self._bar, saved, decided)
        for problem in self._problems:
            self._console.print(
                f"error: {printable(problem)}", style="red", markup=False, soft_wrap=True
            )
        return 1 if self._problems and not stopped else self._status()

    def _status(self) -> int:
        return 128 + self._stop.number if self._stop.number is not None else 0

    def _say(self, text: str) -> None:
        say(self._console, text)
