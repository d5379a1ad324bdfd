"""The command ``dynamics``: trajectories in, one pass, an operator and its forecasts out."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray
from rich.console import Console

from kernelstream.cli.reading.batches import Batch, batches_of
from kernelstream.cli.reading.columns import Columns, check_alike, described, listed
from kernelstream.cli.reading.formats import open_table
from kernelstream.cli.reading.reader import Reader
from kernelstream.cli.reading.sources import Extent, Source, find_sources
from kernelstream.cli.running.findings import Findings, print_findings
from kernelstream.cli.running.pieces import Cutter, Piece, Tail
from kernelstream.cli.running.states import state_columns
from kernelstream.cli.running.stopping import Stop
from kernelstream.cli.running.wishes import check_unread
from kernelstream.cli.writing.messages import say
from kernelstream.cli.writing.page import check_picture, draw_page
from kernelstream.cli.writing.predictions import column_writer
from kernelstream.cli.writing.replacing import check_writable, is_direct
from kernelstream.components.parser import parse_basis, parse_kernel, parse_learner
from kernelstream.estimators.progress import ProgressBar
from kernelstream.koopman import Koopman
from kernelstream.koopman.skill import SkillSums

__all__ = ["Dynamics"]

_FIRST_ROWS, _MOST_ROWS, _SHARE = 256, 4096, 4  # of a batch: a share of the rows before
_TAIL = 5000  # states by which the spectrum is judged
_JUDGED = 200  # forecasts of a batch that are judged


@dataclass
class Dynamics:
    """One run of ``dynamics``.

    Parameters
    ----------
    files : list of str
        The tables, each a trajectory or more.
    columns, time : list of str, str or None
        The components of the state, empty for every column of numbers; and the column of times.
    lag, forecast : int
        Steps from a state to the next, and how many to forecast after the last one.
    delays, delay : int
        Earlier states that belong to one, and the steps between them.
    kernel, basis, learner : str or None
        Parts of the operator.
    save, output, plot : Path or None
        Where the model, the forecasts and the pictures go.
    delimiter, encoding : str or None
        How text is written.
    console : Console
        Where messages go.
    """

    files: list[str]
    columns: list[str]
    time: str | None
    lag: int
    forecast: int
    delays: int
    delay: int
    kernel: str | None
    basis: str | None
    learner: str | None
    save: Path | None
    output: Path | None
    plot: Path | None
    delimiter: str | None
    encoding: str | None
    console: Console

    def run(self) -> int:
        """Learn everything, and say what was found.

        Returns
        -------
        status : int
            The exit status: 0, or that of a signal.

        Raises
        ------
        ValueError, OSError
            Something is wrong with a table or an option.
        """
        sources = find_sources(self.files)
        self._check(sources)
        self._model = Koopman(
            None if self.kernel is None else parse_kernel(self.kernel),
            None if self.basis is None else parse_basis(self.basis),
            None if self.learner is None else parse_learner(self.learner),
            lag=self.lag,
            n_delays=self.delays,
            delay=self.delay,
        )
        self._span = self.delays * self.delay
        self._ends: list[tuple[Source, NDArray[np.float64], NDArray[Any] | None]] = []
        self._tail = Tail(_TAIL)
        self._short: NDArray[np.float64] | None = None
        with Stop() as stop:
            with ExitStack() as stack:
                with stop.waiting():
                    first = stack.enter_context(self._open(sources[0]))
                columns = state_columns(first, self.columns, self.time)
                self._announce(first, sources, columns)
                self._names = [name for name in columns.features if name != self.time]
                horizons = sorted({1, max(self.forecast // self.lag, 1)})
                self._skill = SkillSums(horizons, len(self._names))
                self._horizons = horizons
                self._cutter = Cutter(None if self.time is None else columns.kinds[self.time])
                bar = stack.enter_context(ProgressBar(Extent(sources).total, console=self.console))
                self._learn(first, sources, columns, stop, bar)
            if not self._model.__sklearn_is_fitted__():
                raise ValueError(
                    f"no two rows are {self.lag} step{'s' * (self.lag > 1)} apart"
                    f"{', with their delays' if self.delays else ''}: "
                    f"{self._cutter.n_trajectories} trajectories, "
                    f"{self._cutter.n_incomplete} rows with missing values"
                )
            stop.is_saving = True
            self._model.flush()
            self._end()
        return 128 + stop.number if stop.number is not None else 0

    # ------------------------------------------------------------------------------- beginning

    def _check(self, sources: list[Source]) -> None:
        if self.output is not None and not self.forecast:
            raise ValueError("--output is for forecasts: say how many, such as --forecast 24")
        if self.plot is not None:
            check_picture(self.plot)
        places = {"save": self.save, "output": self.output, "plot": self.plot}
        for option, path in places.items():
            if path is None or str(path) == "-":
                continue
            check_writable(path, f"--{option}")
            check_unread(path, option, sources)
            if option == "save" and is_direct(path):
                raise ValueError(f"cannot save the model: {path} is not a regular file")

    def _open(self, source: Source) -> Reader:
        return open_table(source, self.delimiter, self.encoding)

    def _announce(self, first: Reader, sources: list[Source], columns: Columns) -> None:
        for note in first.notes:
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
                for batch in batches_of(source, table, columns, 0, size):
                    if stop.wanted:
                        return
                    for piece in self._pieces(batch):
                        self._learn_piece(piece)
                    rows += len(batch)
                    stored = self._model.n_stored_ if self._model.__sklearn_is_fitted__() else 0
                    bar.update(extent.at(source, batch.share), rows, stored=stored)
            if self._tail.trajectories:
                last = self._tail.trajectories[-1][-self._span - 1 :]
                if len(last) > self._span:
                    self._ends.append((source, last, self._cutter.after(self.forecast)))
                elif self.forecast:
                    say(self.console, f"{source.name}: too short to be forecast")
            self._cutter.end()

    def _pieces(self, batch: Batch) -> Iterator[Piece]:
        if batch.infinite.any():
            row = int(batch.infinite.argmax())
            raise ValueError(f"{batch.where(row)}: a value is infinite; correct it")
        states = np.column_stack([batch.features[name] for name in self._names])
        times = None if self.time is None else batch.features[self.time]
        try:
            yield from self._cutter.cut(states, times)
        except ValueError as error:
            raise ValueError(f"{batch.source.name}, column {self.time!r}: {error}") from None

    def _learn_piece(self, piece: Piece) -> None:
        model, states, continued = self._model, piece.states, piece.continued
        if model.__sklearn_is_fitted__():
            self._judge(states)
        self._tail.add(piece)
        if continued and self._short is not None:
            states, continued = np.concatenate([self._short, states]), False
        self._short = None
        if continued or len(states) > self.lag + self._span:
            model.partial_fit_trajectory(states, continued=continued)
        else:
            self._short = states  # no pair yet: it may go on

    def _judge(self, states: NDArray[np.float64]) -> None:
        """Judge forecasts within a piece before it is learned."""
        mean = np.concatenate(self._tail.trajectories).mean(axis=0)
        for i, n in enumerate(self._horizons):
            ahead, span = n * self.lag, self._span
            if len(states) > ahead + span:
                every = max(1, (len(states) - ahead - span) // _JUDGED)
                past = sliding_window_view(states[:-ahead], span + 1, axis=0)[::every]
                now, truth = past[..., -1], states[ahead + span :: every]
                asked = past.swapaxes(1, 2) if span else now
                self._skill.add(i, self._model.predict(asked, n), truth, now, mean)

    # ------------------------------------------------------------------------------------- end

    def _end(self) -> None:
        model, cutter = self._model, self._cutter
        model.time_step = cutter.step or 1.0
        steps = np.arange(1, self.forecast // self.lag + 1).tolist()
        forecasts = [
            model.predict(last, steps, clip_spectrum=True)[:, 0]
            for _, last, _ in (self._ends if steps else [])
        ]
        skill = self._skill.skill() if self._skill.is_complete else None
        findings = Findings(model, cutter, self._tail.trajectories, skill)
        spectrum = findings.spectrum()
        if self.plot is not None:
            shown = forecasts[-1] if forecasts else None
            draw_page(self.plot, model, self._tail.trajectories, shown, self._names, cutter.unit)
        if self.save is not None:
            model._set_feature_names(self._names, len(self._names))
            model.save(self.save)
        writes_out = bool(steps) and (self.output is None or str(self.output) == "-")
        print_findings(self.console if writes_out else Console(), findings, spectrum, self.save)
        if steps:
            self._write(steps, forecasts)

    def _write(self, steps: list[int], forecasts: list[NDArray[np.float64]]) -> None:
        named = len(self._ends) > 1
        header = [*(["file"] if named else []), "step", *([self.time] if self.time else [])]
        with column_writer(self.output, [*header, *self._names]) as write:
            for (source, _, times), forecast in zip(self._ends, forecasts, strict=True):
                columns: list[Any] = [[source.name] * len(steps)] if named else []
                at = np.array(steps) * self.lag
                columns += [at, *([] if times is None else [times[at - 1]])]
                write([*columns, *forecast.T])
        if self.output is not None and str(self.output) != "-":
            say(self.console, f"{len(steps) * len(forecasts):,} forecasts written to {self.output}")
