"""The command ``dynamics``: trajectories in, one pass, an operator and its forecasts out."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from textwrap import wrap
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from rich.console import Console

from kernelstream.cli.reading.bad_cells import BadCells
from kernelstream.cli.reading.batches import Batch, batches_of
from kernelstream.cli.reading.columns import Columns, check_alike, described, listed, own_names
from kernelstream.cli.reading.reader import Reader
from kernelstream.cli.reading.sources import Extent, Source, find_sources
from kernelstream.cli.running.forecasts import MOST_COLUMNS, Judge, Outlook, steps_ahead
from kernelstream.cli.running.messages import describe_repeated, describe_sentinel, print_notes
from kernelstream.cli.running.options import RunOptions, check_coverage
from kernelstream.cli.running.report import Report, print_report
from kernelstream.cli.running.selection import chosen_lines
from kernelstream.cli.running.states import has_zone, state_columns
from kernelstream.cli.running.stopping import Stop
from kernelstream.cli.running.trajectories import Cutter, Piece, Tail, Times
from kernelstream.cli.writing.identity import check_outputs
from kernelstream.cli.writing.messages import Terminal, say
from kernelstream.cli.writing.page import check_picture, draw_page
from kernelstream.cli.writing.predictions import check_ending, column_writer
from kernelstream.columns.zones import Zoned
from kernelstream.components.parser import parse_basis, parse_kernel, parse_learner
from kernelstream.estimators.progress import ProgressBar
from kernelstream.estimators.sentinels import find_sentinel
from kernelstream.exceptions import (
    MissingPackageWarning,
    OutlierWarning,
    SentinelWarning,
    SlowWarning,
)
from kernelstream.forecasting import Forecaster
from kernelstream.forecasting.estimator import delays_of
from kernelstream.koopman import Koopman
from kernelstream.koopman.filling import MOST_FILLED

__all__ = ["Dynamics"]

_FIRST_ROWS, _MOST_ROWS, _SHARE = 256, 4096, 4  # of a batch: a share of the rows before
_TAIL = 5000  # states for the scores of the spectrum
# Several files are trajectories of one system, and each has a forecast.
_BY_FILES = (
    "write a file for each, and run the command on each file, or on all of them if they are one "
    "system"
)
_PAST = 200  # rows at the end of a file from which the forecast starts


@dataclass
class Dynamics:
    """One run of ``dynamics``."""

    files: list[str]
    columns: list[str]
    time: str | None
    lag: int
    forecast: int
    coverage: float
    period: int | None
    delays: int | None
    delay: int
    kernel: str | None
    basis: str | None
    learner: str | None
    save: Path | None
    output: Path | None
    plot: Path | None
    options: RunOptions
    console: Console

    def run(self) -> int:
        """Learn all files, and report.

        Raises
        ------
        ValueError, OSError
            Something is wrong with a table or an option.
        """
        with warnings.catch_warnings():
            # This command shows a bar of its own, and names rows by those of the table.
            for category in (MissingPackageWarning, OutlierWarning, SentinelWarning, SlowWarning):
                warnings.simplefilter("ignore", category)
            warnings.showwarning = lambda message, *_: say(self.console, f"note: {message}")
            return self._run(find_sources(self.files))

    def _run(self, sources: list[Source]) -> int:
        self._check(sources)
        self._delays = self.delays or 0
        self._span = self._delays * self.delay
        self._ends: list[tuple[Source, NDArray[np.float64], Times | None]] = []
        self._tail = Tail(_TAIL)
        self._bad_cells = BadCells(self.options.bad_cells)
        self._repeated: list[str] = []
        self._printed: list[str] = []
        self._warned_of_sentinel = False
        self._held: list[Piece] = []
        self._model: Koopman | Forecaster | None = None
        self._short: Piece | None = None
        with Stop() as stop:
            with ExitStack() as stack:
                with stop.waiting():
                    first = stack.enter_context(self._open(sources[0]))
                if self.time is not None:
                    (self.time,) = own_names(first, [self.time])
                columns = state_columns(first, self.columns, self.time)
                self.options.numerals = columns.numerals
                self._announce(first, sources, columns)
                texts = [name for name, why in columns.left_out.items() if why.startswith("text")]
                self._series = f"if {' or '.join(texts)} names series" if texts else ""
                self._names = [name for name in columns.features if name != self.time]
                self._steps = self._steps_ahead()
                coverage = self.coverage if self._steps else None
                judged = sorted({1, *self._steps[-1:]})
                self._judge = Judge(judged, len(self._names), coverage)
                self._cutter = Cutter(
                    None if self.time is None else columns.kinds[self.time], fill=MOST_FILLED
                )
                bar = stack.enter_context(ProgressBar(Extent(sources).total, console=self.console))
                try:
                    self._learn(first, sources, columns, stop, bar)
                except (ValueError, OSError):
                    self._save_what_was_learned()
                    raise
            model = self._model
            if model is None or not model.__sklearn_is_fitted__():
                trajectories, gaps = self._cutter.n_trajectories, self._cutter.n_incomplete
                one = trajectories == 1
                length = "has too few rows" if one else "have too few rows each"
                missing = f"; {gaps:,} row{'s' * (gaps > 1)} with missing values" if gaps else ""
                raise ValueError(
                    f"no two rows are {self.lag} row{'s' * (self.lag > 1)} apart: "
                    f"{trajectories:,} trajector{'y' if one else 'ies'} {length}{missing}"
                )
            stop.is_saving = True
            model._core.flush()
            self._end(model)
        return 128 + stop.number if stop.number is not None else 0

    # ------------------------------------------------------------------------------- beginning

    def _check(self, sources: list[Source]) -> None:
        if self.output is not None and not self.forecast:
            raise ValueError("--output is for forecasts: say how many, such as --forecast 24")
        check_coverage(self.coverage)
        if self.forecast and self.forecast < self.lag:
            raise ValueError(
                f"--forecast {self.forecast} is less than one step of --lag {self.lag} rows"
            )
        if self.plot is not None:
            check_picture(self.plot)
        tables = [("table", source.path) for source in sources]
        outputs = {"save": self.save, "output": self.output, "plot": self.plot}
        check_outputs(tables, outputs, ("save",))
        check_ending(self.output)

    def _open(self, source: Source) -> Reader:
        return self.options.open(source, time=self.time)

    def _announce(self, first: Reader, sources: list[Source], columns: Columns) -> None:
        self._printed = print_notes(self.console, first)
        for note in columns.notes:
            say(self.console, f"{first.name}: {note}")
        where = sources[0].name
        if len(sources) > 1:
            where = f"{len(sources)} files: {listed([source.name for source in sources])}"
        say(self.console, f"reading {where}")
        state = [name for name in columns.features if name != self.time]
        clock = "rows one step apart" if self.time is None else f"times from {self.time}"
        say(self.console, f"the state is {listed(state)}; {clock}")
        if columns.left_out:
            say(self.console, f"left out: {described(columns.left_out)}")

    def _steps_ahead(self) -> list[int]:
        steps = steps_ahead(self.forecast // self.lag, len(self._names)) if self.forecast else []
        if steps and len(steps) < steps[-1]:
            more = "; more of fewer --columns" if len(self._names) > MOST_COLUMNS else ""
            every = next(i for i, (n, after) in enumerate(pairwise(steps), 1) if after > n + 1)
            later = ", ".join(f"{n:,}" for n in steps[every : every + 2])
            count = f"{len(steps)} of {steps[-1]:,} steps are forecast"
            first = f"all up to {steps[every - 1]:,}, then {later} and so on, further and further"
            how = f"{first} apart, to {steps[-1]:,}"
            how += " (see the column step)" if self.lag == 1 else f" (in steps of {self.lag} rows)"
            if len(steps) < every + 3:
                how = f"all up to {steps[every - 1]:,}, then {later}"
            for part in wrap(f"{count}: {how}{more}", self.console.width):
                say(self.console, part)
        return steps

    def _begin(self) -> None:
        """Make the model for the rows held so far, and learn them."""
        held, self._held = self._held, []
        is_chosen = not (self.kernel or self.basis or self.learner)
        if self._steps and is_chosen and self.delays is None:
            self._delays = delays_of(len(self._names))
        operator = Koopman(
            None if self.kernel is None else parse_kernel(self.kernel),
            None if self.basis is None else parse_basis(self.basis),
            None if self.learner is None else parse_learner(self.learner),
            lag=self.lag,
            n_delays=self._delays,
            delay=self.delay,
        )
        self._span = self._back = self._delays * self.delay
        model: Koopman | Forecaster = operator
        if self._steps:
            model = Forecaster(self._steps, operator, period=self.period or None)
            mixtures = model._mixtures(len(self._names))
            self._span, self._back = mixtures.span, max(mixtures.back, _PAST)
        self._model = model
        for piece in held:
            for part in piece.split(_FIRST_ROWS):
                self._learn_piece(model, part)

    # -------------------------------------------------------------------------------- learning

    def _learn(
        self, first: Reader, sources: list[Source], columns: Columns, stop: Stop, bar: ProgressBar
    ) -> None:
        extent, rows = Extent(sources), 0

        def size() -> int:
            return min(max(rows // _SHARE, _FIRST_ROWS), _MOST_ROWS)

        for source in sources:
            with first if source is sources[0] else self._open(source) as table:
                check_alike(table, columns, first.name)
                self._are_instants = self.time is not None and has_zone(table, self.time)
                self._printed = print_notes(self.console, table, self._printed)
                for batch in batches_of(source, table, columns, 0, size, self._bad_cells):
                    if stop.wanted:
                        return
                    self._printed = print_notes(self.console, table, self._printed)
                    for piece in self._pieces(batch):
                        self._take(piece)
                    rows += len(batch)
                    model = self._model
                    stored = model.n_stored_ if model and model.__sklearn_is_fitted__() else 0
                    bar.update(extent.at(source, batch.share), rows, stored=stored)
                if table.repeated:
                    self._repeated.append(describe_repeated(table))
            if self._model is None:
                self._begin()
            if self._tail.trajectories:
                last = self._tail.trajectories[-1][-self._back - 1 :]
                if len(last) > self._span:
                    self._ends.append((source, last, self._cutter.after(self.forecast)))
                elif self.forecast:
                    say(self.console, f"{source.name}: too short to be forecast")
            self._cutter.end()

    def _pieces(self, batch: Batch) -> Iterator[Piece]:
        if batch.infinite.any():
            row = int(batch.infinite.argmax())
            if row:
                yield from self._pieces(batch.before(row))
            values = batch.features.items()
            name = next(name for name, column in values if np.isinf(column[row]))
            raise ValueError(f"{batch.where(row, name)}: the value is infinite; correct it")
        states = np.column_stack([batch.features[name] for name in self._names])
        states[batch.bad] = np.nan
        self._report_sentinel(batch, states)
        times = None if self.time is None else batch.features[self.time]
        try:
            zoned = None
            if times is not None and self._are_instants:
                zoned = Zoned(batch.kept[0], times)
            yield from self._cutter.cut(states, times, zoned)
        except ValueError as error:
            remedy = f"; {self._series}, {_BY_FILES}" if self._series else ""
            message = f"{batch.source.name}, column {self.time!r}: {error}{remedy}"
            raise ValueError(message) from None

    def _report_sentinel(self, batch: Batch, states: NDArray[np.float64]) -> None:
        """Name the first number that may stand for a missing value."""
        rows = np.flatnonzero(np.isfinite(states).all(axis=1))
        found = None if self._warned_of_sentinel else find_sentinel(states[rows])
        if found is not None:
            self._warned_of_sentinel = True
            where = batch.where(int(rows[found.row]), self._names[found.column])
            learned = "is learned as it is"
            where_far = "from the states before and after it"
            if self._steps:
                where_far = "beyond all rows before it"
            learned = f"{learned}, or left out if it is far {where_far}"
            say(self.console, describe_sentinel(where, found, learned))

    def _save_what_was_learned(self) -> None:
        """Save the model of the rows before one that cannot be learned."""
        if self._model is None and self._held:
            self._begin()
        model = self._model
        if self.save is None or model is None or not model.__sklearn_is_fitted__():
            return
        model._core.flush()
        self._save(model)
        say(self.console, f"the rows before the error are learned and saved in {self.save}")

    def _save(self, model: Koopman | Forecaster) -> None:
        """Save the model with its names, and the time between two rows."""
        step = self._cutter.step or 1.0
        if isinstance(model, Forecaster):
            model.set_params(operator__time_step=step)
        else:
            model.time_step = step
        if self.save is not None:
            model._set_feature_names(self._names, len(self._names))
            model.save(self.save)

    def _take(self, piece: Piece) -> None:
        if self._model is not None:
            self._learn_piece(self._model, piece)
            return
        self._held.append(piece)
        self._begin()

    def _learn_piece(self, model: Koopman | Forecaster, piece: Piece) -> None:
        states, continued, missing = piece.states, piece.continued, piece.missing
        fitted = model if model.__sklearn_is_fitted__() else None
        self._judge.take(fitted, self._tail.trajectories, piece)
        self._tail.add(piece)
        if continued and self._short is not None:
            states, continued = np.concatenate([self._short.states, states]), False
            missing = self._short.missing
        elif self._short is not None and missing:
            # The one before is not learned: its rows are missing too, if it is known how many.
            before = self._short.missing
            missing = before + len(self._short.states) + missing if before else 0
        self._short = None
        if continued or len(states) > self.lag + self._span:
            if isinstance(model, Forecaster):
                model._learn_next(
                    states, continued=continued, missing=missing, periods=piece.periods
                )
            else:
                model.partial_fit_trajectory(states, continued=continued)
        else:
            # No pair yet: it may continue.
            self._short = Piece(states, continued=False, missing=missing)

    # ------------------------------------------------------------------------------------- end

    def _end(self, model: Koopman | Forecaster) -> None:
        cutter, steps, outlooks = self._cutter, self._steps, list[Outlook]()
        if summary := self._bad_cells.summary():
            say(self.console, f"bad cells: {summary}")
        for repeated in self._repeated:
            say(self.console, f"headers repeated: {repeated}")
        for note in (self._describe_returns(), self._describe_setbacks()):
            if note:
                say(self.console, note)
        if isinstance(model, Forecaster):
            model.set_params(operator__time_step=cutter.step or 1.0)
            outlooks = [Outlook.of(model, last, self.coverage) for _, last, _ in self._ends]
            for line in chosen_lines(model, self._names):
                for part in wrap(line, self.console.width):
                    say(self.console, part)
            self._report_no_intervals(outlooks)
            operator = model.operator_
        else:
            model.time_step = cutter.step or 1.0
            operator = model
        findings = Report(
            operator,
            cutter,
            self._tail.trajectories,
            self._judge.skill(),
            self._judge.inside(),
            self.coverage,
        )
        spectrum = findings.spectrum()
        if self.plot is not None:
            last = outlooks[-1] if outlooks else None
            shown = None if last is None else (steps, last.states, last.intervals)
            recent = self._tail.trajectories
            draw_page(self.plot, operator, recent, shown, self._names, cutter.unit)
        self._save(model)
        writes_out = bool(steps) and (self.output is None or str(self.output) == "-")
        print_report(self.console if writes_out else Terminal(), findings, spectrum, self.save)
        if steps:
            self._write(outlooks)
        if self.plot is not None:
            say(self.console, f"picture written to {self.plot}")

    def _report_no_intervals(self, outlooks: list[Outlook]) -> None:
        """Name the steps that have no intervals in some column."""
        if not outlooks:
            return
        without = np.any([np.isnan(one.intervals).any(axis=(1, 2)) for one in outlooks], axis=0)
        found = [n * self.lag for n, none in zip(self._steps, without, strict=True) if none]
        if not found:
            return
        steps = f"steps {found[0]:,} to {found[-1]:,} have no intervals"
        if len(found) == 1:
            steps = f"step {found[0]:,} has no interval"
        for part in wrap(f"{steps}: the record is too short to judge", self.console.width):
            say(self.console, part)

    def _describe_returns(self) -> str:
        """Say that times begin again, as where series follow one another; empty if they do not."""
        if not (count := self._cutter.n_returns):
            return ""
        last = ", and only the last one is forecast" if self._steps else ""
        return (
            f"note: times begin again {count:,} time{'s' * (count > 1)}: the rows seem to be "
            f"series one after another, which are learned as trajectories of one system{last}; "
            f"{self._series or 'if they are several series'}, {_BY_FILES}"
        )

    def _describe_setbacks(self) -> str:
        """Say that times go back by less, as where rows are not sorted; empty if they do not."""
        if not (count := self._cutter.n_setbacks):
            return ""
        return (
            f"note: times go back {count:,} time{'s' * (count > 1)}, and a trajectory ends there: "
            "sort the rows, or give the times in UTC if a clock was set back"
        )

    def _write(self, outlooks: list[Outlook]) -> None:
        steps, named = self._steps, len(self._ends) > 1
        header = [*(["file"] if named else []), "step", *([self.time] if self.time else [])]
        for name in self._names:
            header += [name, f"{name}_lower", f"{name}_upper"]
        ahead = _as_short_as_all([times for _, _, times in self._ends])
        with column_writer(self.output, header) as write:
            for (source, _, _), times, outlook in zip(self._ends, ahead, outlooks, strict=True):
                columns: list[Any] = [[source.name] * len(steps)] if named else []
                at = np.array(steps) * self.lag
                columns += [at, *([] if times is None else [_taken(times, at - 1)])]
                write([*columns, *outlook.columns()])
        if self.output is not None and str(self.output) != "-":
            say(self.console, f"{len(steps) * len(outlooks):,} forecasts written to {self.output}")


def _taken(times: Times, rows: NDArray[np.int64]) -> Times:
    return times[rows] if isinstance(times, np.ndarray) else times.take(pa.array(rows))


def _as_short_as_all(ends: list[Times | None]) -> list[Times | None]:
    """Give times as dates if all are, or in seconds if none has a fraction of one."""
    zoned = [times for times in ends if isinstance(times, pa.Array)]
    if zoned:
        seconds = [times.cast(pa.timestamp("s", times.type.tz), safe=False) for times in zoned]
        pairs = zip(zoned, seconds, strict=True)
        # An offset belongs to a time of the day, also to midnight.
        is_whole = all(times.equals(short.cast(times.type)) for times, short in pairs)
        return list(seconds) if is_whole else ends
    dated = [times for times in ends if isinstance(times, np.ndarray) and times.dtype.kind == "M"]
    for unit in ("datetime64[D]", "datetime64[s]"):
        if dated and all((times == times.astype(unit)).all() for times in dated):
            return [times.astype(unit) for times in dated]
    return ends
