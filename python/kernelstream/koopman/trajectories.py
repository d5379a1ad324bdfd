"""Trajectories, and pairs of their states."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from numbers import Real
from typing import Any, NamedTuple, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from kernelstream.estimators.advice import advise
from kernelstream.estimators.sentinels import find_sentinel
from kernelstream.estimators.validation import as_float64, rows_of
from kernelstream.exceptions import DataError, OutlierWarning, SentinelWarning
from kernelstream.koopman.times import Reading, read_times

__all__ = [
    "LearnedStates",
    "as_trajectories",
    "check_lengths",
    "check_states",
    "describe_longest",
    "naming_states",
    "paired",
    "rows_of_states",
    "series_as_columns",
    "trajectories_as_given",
    "warn_of_codes",
    "warn_of_outlier",
    "weights_of_pairs",
]

FloatArray = NDArray[np.float64]


def as_trajectories(given: Any) -> list[Any]:
    """Split an argument into single trajectories, also at every gap of their times.

    Raises
    ------
    ValueError
        The argument contains no trajectory, looks like one of fields or like a pair of states, or
        its times do not increase.
    """
    return [piece for one in trajectories_as_given(given) for piece in read_times(one)]


def trajectories_as_given(given: Any) -> list[Any]:
    """Split an argument into single trajectories.

    Raises
    ------
    ValueError
        The argument contains no trajectory, or looks like one of fields or like a pair of states.
    """
    if isinstance(given, np.ndarray):
        if given.ndim == 3:
            _refuse_field(given.shape)
        trajectories = list(given) if given.ndim == 3 else [given]
    elif isinstance(given, list | tuple) and (not given or np.ndim(given[0]) == 2):
        _refuse_pairs(given)
        trajectories = list(given)
    elif isinstance(given, list | tuple) and _are_signals(given):
        trajectories = [np.asanyarray(signal)[:, None] for signal in given]
    else:
        trajectories = [given]
    if not trajectories:
        raise ValueError("the list of trajectories is empty: at least one is needed")
    return trajectories


def series_as_columns(given: Any, n_components: int = 1) -> Any:
    """Give a series of pandas or polars, or each of several, as a frame of one column.

    It keeps its index, and the column has its name. A sequence of numbers is a series, too, where
    states have one component; otherwise it may be meant as one state.
    """
    if n_components == 1 and _are_numbers(given):
        return np.asarray(given)[:, None]
    if isinstance(given, list | tuple):
        return [series_as_columns(one) for one in given] if any(map(_is_series, given)) else given
    return given.to_frame() if _is_series(given) else given


def _are_numbers(given: Any) -> bool:
    if isinstance(given, np.ndarray):
        return given.ndim == 1 and given.dtype.kind in "biuf"
    is_list = isinstance(given, list | tuple) and len(given) > 0
    return is_list and all(isinstance(one, Real) for one in given)


def _is_series(given: Any) -> bool:
    return all(hasattr(given, name) for name in ("to_frame", "dtype", "name"))


def rows_of_states(estimator: Any, states: Any, *, reset: bool, named: bool = True) -> FloatArray:
    """Give the states of one trajectory as rows, with their width and names of columns checked.

    Raises
    ------
    ValueError, TypeError
        They are not rows of real numbers, or have another width or other names.
    """
    ndim = getattr(states, "ndim", len(getattr(states, "shape", ())))
    if isinstance(states, list | tuple) and len(states) and np.ndim(states[0]) == 0:
        ndim = 1
    if ndim == 1:
        name = getattr(states, "name", None)
        column = f'frame[["{name if isinstance(name, str) else "a"}"]]'
        given = "np.array(X)" if isinstance(states, list | tuple) else "X"
        raise ValueError(
            f"states must have shape (n, n_components), got ({len(states)},). Reshape your data: "
            f"pass one column as {given}[:, None] or {column}, and a single state as {given}[None]"
        )
    return cast(FloatArray, rows_of(estimator, states, reset=reset, named=named, indexed=True))


def _are_signals(given: Sequence[Any]) -> bool:
    """Tell whether arrays are signals of one number, not the rows of one trajectory.

    They are if their lengths differ, or if there are several and they are longer than there are
    of them. A single array in a list is a single state, as streams give them.
    """
    if not all(isinstance(one, np.ndarray) and one.ndim == 1 for one in given):
        # Lists that are as long as each other are the rows of one trajectory.
        are_lists = all(isinstance(one, list | tuple) and np.ndim(one) == 1 for one in given)
        return are_lists and len({len(one) for one in given}) > 1
    lengths = {len(one) for one in given}
    return len(lengths) > 1 or 1 < len(given) < lengths.pop()


def _refuse_pairs(given: Sequence[Any]) -> None:
    """Refuse a tuple of states and next states, which are probably not two trajectories."""
    if isinstance(given, tuple) and len(given) == 2 and np.shape(given[0]) == np.shape(given[1]):
        raise ValueError(
            "a tuple of two arrays of one shape looks like states and those that follow: pass "
            "them by partial_fit(X, X_next), or two trajectories as a list, [T, U]"
        )


def _refuse_field(shape: tuple[int, ...]) -> None:
    """Refuse an array of many short trajectories of wide states: it is probably a field."""
    first, second, third = shape
    if third >= 8 and third >= second / 4 and first >= 2 * second:
        raise ValueError(
            f"an array of shape {shape} would be {first} trajectories of {second} states with "
            f"{third} numbers each. If these are {first} states of a field of {second} by {third} "
            "numbers, pass T.reshape(len(T), -1); if they are many short trajectories, pass a "
            "list: list(T)"
        )


def check_states(
    pieces: list[FloatArray], names: Sequence[Any] | None = None, *, timed: str = ""
) -> None:
    """Refuse states that are not finite.

    If a frame's index of times shows where rows are missing, `timed` is what becomes of gaps of
    more than two rows.

    Raises
    ------
    ValueError
        One is not; the message names it.
    """
    for i, piece in enumerate(pieces):
        bad = np.argwhere(~np.isfinite(piece))
        if len(bad):
            row, column = bad[0]
            where = f"trajectory {i}" if len(pieces) > 1 else "the trajectory"
            remedy = _remedy_for(~np.all(np.isfinite(piece), axis=1), int(row))
            if timed and np.isnan(piece[row, column]):
                remedy = (
                    ", remove such rows, T.dropna() (gaps of one or two rows are filled from the "
                    f"index of times, {timed}){remedy}"
                )
            raise ValueError(
                f"{where} contains {piece[row, column]} at row {row}, "
                f"{_named(column, names, piece.shape[1])}: impute the value{remedy}"
            )


def _remedy_for(bad: Any, row: int) -> str:
    """Name the parts before and after the first row that is bad, as far as they have states."""
    after = row + int(np.argmin(bad[row:])) if not bad[row:].all() else len(bad)
    if after == len(bad):
        return f", or pass the rows before it, T[:{row}]" if row else ""
    if not row:
        return f", or pass the rows after it, T[{after}:]"
    return (
        ", or pass the parts before and after it as a list of trajectories, "
        f"[T[:{row}], T[{after}:]]"
    )


def check_lengths(pieces: list[FloatArray], lag: int, *, continued: bool, span: int = 0) -> None:
    """Refuse trajectories that are all too short for a pair.

    Raises
    ------
    ValueError
        There is no pair, although one is required.
    """
    if max(map(len, pieces), default=0) <= lag + span and not continued:
        delays = f" with delays over {span} steps" if span else ""
        raise ValueError(
            f"no pair: {describe_longest(pieces)}, and lag={lag}{delays} needs at least "
            f"{lag + span + 1}"
        )


def describe_longest(pieces: Sequence[Any]) -> str:
    """Describe the length of the longest trajectory."""
    longest = max(map(len, pieces), default=0)
    states = f"{longest:,} state{'s' * (longest != 1)}"
    if len(pieces) == 1:
        return f"the trajectory has {states}"
    return f"the longest of {len(pieces)} trajectories has {states}"


def warn_of_codes(
    pieces: list[FloatArray],
    names: Sequence[Any] | None = None,
    n_inputs: int = 0,
    besides: tuple[int, float] | None = None,
    learned: str = "is learned as it is",
) -> None:
    """Warn of a value that may be a code for a missing one, such as -9999.

    The last columns are inputs. `besides` is the column and value of an outlier that was left out,
    and `learned` says what becomes of another value.
    """
    for i, piece in enumerate(pieces):
        if (found := find_sentinel(_without(piece, besides))) is not None:
            where = f"trajectory {i}" if len(pieces) > 1 else "the trajectory"
            width = piece.shape[1] - n_inputs
            place = f"row {found.row}, {_named(found.column, names, width)}"
            advise(
                f"{where} contains {found.describe(place, learned)}: if it stands for a missing "
                "value, split the trajectory there",
                SentinelWarning,
            )
            return


def _without(piece: FloatArray, outlier: tuple[int, float] | None) -> FloatArray:
    """Replace a value of a column by the median, in a copy."""
    if outlier is None:
        return piece
    column, value = outlier
    tame = piece.copy()
    tame[piece[:, column] == value, column] = np.median(piece[:, column])
    return tame


class LearnedStates(NamedTuple):
    """States that a call has learned, as they were passed.

    Attributes
    ----------
    arrays : dict
        By its name in messages, each array of states, which may be followed by inputs.
    names : sequence, optional
        Names of the columns.
    n_inputs : int
        Number of inputs.
    are_pairs : bool
        Whether they are states and next states, and no trajectories.
    """

    arrays: dict[str, FloatArray]
    names: Sequence[Any] | None
    n_inputs: int
    are_pairs: bool = False

    @classmethod
    def of_trajectories(
        cls, pieces: list[FloatArray], names: Sequence[Any] | None, n_inputs: int
    ) -> LearnedStates:
        """Name each trajectory."""
        several = len(pieces) > 1
        arrays = {f" of trajectory {i}" if several else "": one for i, one in enumerate(pieces)}
        return cls(arrays, names, n_inputs)

    def place_of(self, column: int, value: float) -> str:
        """Describe where this value of a component of a state is."""
        name = _named(column, self.names, column + 1)
        for array, rows in self.arrays.items():
            found = np.flatnonzero(rows[:, column] == value)
            if len(found):
                return f"row {found[0]}{array}, {name}"
        return f"an earlier row, {name}"


def warn_of_outlier(
    outlier: tuple[int, float],
    learned: LearnedStates,
    warned: set[str],
    *,
    is_replaced: bool = False,
) -> None:
    """Warn once of a state whose pairs were left out, or of which a value was replaced."""
    if "outliers" in warned:
        return
    warned.add("outliers")
    column, value = outlier
    if is_replaced:
        advise(
            f"the state with {value:.12g} at {learned.place_of(column, value)} is an outlier, far "
            "beyond all states before it, so this value is left out, and the one before it is "
            "learned instead (n_left_out_ counts such states): if it is an error, correct it or "
            "split the trajectory there; four such states in a row are a new level, and are "
            "learned",
            OutlierWarning,
        )
        return
    advise(
        f"the state with {value:.12g} at {learned.place_of(column, value)} is an outlier, far from "
        "all others and from the states before and after it, so the pairs that contain it are left "
        "out, as at a gap (n_left_out_ counts such pairs): if it is an error, remove it or split "
        "the trajectory there; if such states are real, pass a kernel and scale=False, which "
        "learns all pairs",
        OutlierWarning,
    )


@contextmanager
def naming_states(
    pieces: list[FloatArray], names: Sequence[Any] | None = None, n_inputs: int = 0
) -> Iterator[None]:
    """Name a state that is too large by its own row, not by that of the pair which it is in.

    The last columns are inputs.
    """
    try:
        yield
    except DataError as error:
        found = [
            (i, one)
            for i, piece in enumerate(pieces)
            if (one := find_sentinel(piece, "far")) is not None
        ]
        if "too large" not in str(error) or not found:
            raise
        i, far = found[0]
        of, width = f"trajectory {i}" if len(pieces) > 1 else "X", pieces[i].shape[1] - n_inputs
        where = f"row {far.row}, {_named(far.column, names, width)}"
        message = f"{of} is too large at {where} ({far.value:.3e}): correct it, or split there"
        located = DataError(message)
        located.array, located.row, located.reason = "X", far.row, None
        if far.column >= width:
            located.array, located.column = "inputs", far.column - width
        else:
            located.column = far.column if names is None else str(names[far.column])
        raise located from None


def _named(column: int, names: Sequence[Any] | None, width: int) -> str:
    if column >= width:
        return f"input {column - width}"
    return f"column {column}" if names is None else f'column "{names[column]}"'


def paired(
    pieces: list[FloatArray], lag: int, *, may_be_empty: bool
) -> tuple[FloatArray, FloatArray]:
    """Pair states `lag` steps apart, never across two trajectories.

    Raises
    ------
    ValueError
        There is no pair, although one is required.
    """
    used = [piece for piece in pieces if len(piece) > lag]
    if not used and not may_be_empty:
        raise ValueError(
            f"no pair: {describe_longest(pieces)}, and lag={lag} needs at least {lag + 1}"
        )
    if not used:
        return pieces[0][:0], pieces[0][:0]
    if len(used) == 1:
        return used[0][:-lag], used[0][lag:]
    return (
        np.concatenate([piece[:-lag] for piece in used]),
        np.concatenate([piece[lag:] for piece in used]),
    )


def flat_weights(weights: ArrayLike | Sequence[ArrayLike]) -> FloatArray:
    """Give weights of one or several trajectories one after another.

    Raises
    ------
    ValueError, TypeError
        They are not numbers.
    """
    nested = isinstance(weights, list | tuple) and len(weights) > 0 and np.ndim(weights[0]) > 0
    each = cast("Sequence[ArrayLike]", weights) if nested else [cast(ArrayLike, weights)]
    return np.concatenate([as_float64(np.ravel(one), "sample_weight") for one in each])


def weights_of_pairs(
    reading: Reading, weights: ArrayLike | Sequence[ArrayLike], lag: int
) -> FloatArray:
    """Give the weight of the first state of each pair.

    Raises
    ------
    ValueError, TypeError
        There are not as many weights as states.
    """
    flat = flat_weights(weights)
    lengths = [len(one.rows) for one in reading.given]
    if len(flat) != sum(lengths):
        raise ValueError(
            f"{sum(lengths)} states, but {len(flat)} weights: one is needed for each state"
        )
    parts = reading.fill(np.split(flat[:, None], np.cumsum(lengths)[:-1]))
    return np.concatenate([part[:-lag, 0] for part in parts if len(part) > lag])
