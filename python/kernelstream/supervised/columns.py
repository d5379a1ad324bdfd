"""Columns of the rows that an estimator learns: their names, what they hold, and their cells.

Arrays and sparse matrices have columns of numbers without names, unless `columns` of the estimator
overrides one. Frames of pandas, polars and pyarrow, dicts of columns and lists of dicts have named
columns, whose types say what they hold.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse
from sklearn.utils.validation import _check_feature_names, check_array

from kernelstream.columns.cells import (
    KINDS,
    cell_of,
    cells_of,
    kind_of,
    zone_of,
)
from kernelstream.columns.names import name_in, near_name
from kernelstream.estimators.advice import advise, by_options
from kernelstream.estimators.sentinels import find_codes
from kernelstream.estimators.validation import (
    REMEDY_OF_GAPS,
    finite_rows,
    refuse_masked,
    rows_of,
    whole_number,
)
from kernelstream.exceptions import SentinelWarning, UnknownCategoriesWarning
from kernelstream.supervised.texts import WRITTEN, is_written, read_texts, settled_kind

__all__ = [
    "Columns",
    "Kind",
    "read_rows",
    "warn_of_codes",
    "warn_of_levels",
    "warn_of_rounded",
    "warn_of_unknown",
]

Kind: TypeAlias = str | Mapping[str, Any]
_EXACT = 2**53  # the whole numbers up to it are floats of double precision, all of them
_IDENTIFIERS = "as identifiers leave them out, or declare columns={{{}: 'category'}}"
_GAPS = ("error", "fill")
_LEVELS = 128  # categories that the core keeps apart by default, `max_size`
_SHARE = 0.5  # distinct ones among the rows, above which text names rows, as in `settled_kind`
_IDENTIFIED = 10_000  # categories from which those that rarely repeat are no longer counted
# First rows in which codes for missing values are looked for, and cells of a longer call, from rows
# spread over all of it.
_FIRST, _CELLS = 1000, 20_000


@dataclass(frozen=True)
class Columns:
    """Names and kinds of columns, as the first rows fix them."""

    kinds: Mapping[str, Mapping[str, Any]]
    scale: bool

    @classmethod
    def of(
        cls, names: Sequence[Any], kinds: Iterable[Kind], given: Mapping[Any, Kind], *, scale: bool
    ) -> Self:
        """Give the columns of the first rows.

        Raises
        ------
        ValueError
            A kind is unknown, or is given for a column that does not exist.
        """
        overrides = {str(name): kind for name, kind in given.items()}
        if unknown := overrides.keys() - {str(name) for name in names}:
            raise ValueError(
                f"columns={dict(given)!r} names {', '.join(sorted(unknown))}, but the columns are "
                f"{', '.join(map(str, names))}"
            )
        found: dict[str, Mapping[str, Any]] = {}
        for name, inferred in zip(map(str, names), kinds, strict=True):
            kind = wanted = overrides.get(name, inferred)
            kind = dict(kind) if isinstance(kind, Mapping) else {"type": kind}
            if "format" in kind:
                kind = {"type": "time"} | kind
                if kind["type"] != "time" or not isinstance(kind["format"], str):
                    raise ValueError(
                        f"columns= gives {name!r} a format, which is for times, such as "
                        "{'type': 'time', 'format': '%d/%m/%Y'}"
                    )
            if kind.get("type") not in KINDS:
                raise ValueError(
                    f"columns= gives column {name!r} the kind {wanted!r}, which must be one of "
                    f"{', '.join(map(repr, KINDS))}{near_name(str(kind.get('type')), list(KINDS))}"
                )
            if name in found:
                raise ValueError(f"two columns are named {name!r}: rename one")
            found[name] = ({"scale": scale} | kind) if kind["type"] == "number" else kind
        return cls(found, scale)

    @classmethod
    def from_spec(cls, spec: Mapping[str, Any] | None, names: Sequence[str] | None) -> Self:
        """Give the columns that a core has."""
        if spec is None:
            return cls({name: {"type": "number", "scale": False} for name in names or ()}, False)
        kinds = {column["name"]: column["kind"] for column in spec["named"]}
        return cls(kinds, bool(spec["each"].get("scale", True)))

    def with_kinds(self, kinds: Mapping[str, Mapping[str, Any]]) -> Self:
        """Give the same columns with other kinds; numbers keep whether they are scaled."""
        own = {
            name: ({"scale": self.scale} | dict(kind)) if kind["type"] == "number" else kind
            for name, kind in kinds.items()
        }
        return replace(self, kinds=own)

    @property
    def written(self) -> dict[str, dict[str, Any]]:
        """How values of columns are written, as JSON can carry it, for a model's file."""
        kinds = self.kinds.items()
        return {
            name: {key: kind[key] for key in WRITTEN & kind.keys()}
            for name, kind in kinds
            if is_written(kind)
        }

    @property
    def are_numbers(self) -> bool:
        """Whether all columns are numbers, so that an array of floats is a row of cells."""
        return all(
            kind["type"] == "number" and not is_written(kind) for kind in self.kinds.values()
        )

    def to_spec(
        self, missing: str, n_warm_up: int, *, needed: bool = False
    ) -> dict[str, Any] | None:
        """Give the description of the columns that the core understands.

        None where rows are features as they are, unless it is `needed`.

        Raises
        ------
        ValueError, TypeError
            A parameter is out of range.
        """
        if missing not in _GAPS:
            raise ValueError(f'missing must be "error" or "fill", got {missing!r}')
        warm_up = whole_number("n_warm_up", n_warm_up)
        each = {"type": "number", "scale": bool(self.scale)}
        as_they_are = {"type": "number", "scale": False}
        if (
            not needed
            and missing == "error"
            and all(kind == as_they_are for kind in self.kinds.values() or [each])
        ):
            return None
        # The core takes numbers: only this class knows how they are written.
        named = [
            {"name": name, "kind": {key: kind[key] for key in kind if key not in WRITTEN}}
            for name, kind in self.kinds.items()
        ]
        return {"named": named, "each": each, "warm_up": warm_up, "gaps": missing}

    def row(self, x: Any) -> Any:
        """Give the cells of one row.

        Raises
        ------
        ValueError, TypeError
            A value is not of its column's kind, or there are more or fewer.
        """
        if isinstance(x, np.ndarray) and x.dtype == np.float64:  # the usual case, in little time
            return x
        if isinstance(x, Mapping):
            if not self.kinds:
                raise TypeError(
                    "x is a dict, but the model was fitted on rows without names of columns: pass "
                    "the values in their order"
                )
            return [self._cell(name, _value(x, name)) for name in self.kinds]
        if self.are_numbers:
            return x
        if len(x) != len(self.kinds):
            raise ValueError(f"x has {len(x)} cells, but a row has {len(self.kinds)}")
        return [self._cell(name, value) for name, value in zip(self.kinds, x, strict=True)]

    def _cell(self, name: str, value: Any) -> float:
        kind = self.kinds[name]["type"]
        try:
            if is_written(self.kinds[name]):
                column = np.empty(1, object)
                column[0] = value
                value = read_texts(name, column, self.kinds[name])[0]
            return cell_of(value, kind, self.kinds[name].get("zone", ""))
        except (ValueError, TypeError, OverflowError):
            raise ValueError(
                f"column {name!r} of x is {value!r}, which is no {kind}: correct it, leave the row "
                "out, or say what the column holds by columns="
            ) from None


def columns_of(estimator: Any) -> Columns:
    """Give the columns that an estimator was begun with: plain numbers before its first rows."""
    known = vars(estimator).get("_columns")
    return Columns({}, estimator._scales_numbers()) if known is None else known


def read_rows(estimator: Any, X: Any, *, reset: bool) -> Any:
    """Give the cells of rows, with their columns checked or, if `reset`, found.

    Raises
    ------
    ValueError, TypeError
        They are not rows, their columns are others than those of the first rows, or a value is not
        of its column's kind.
    """
    if hasattr(type(X), "collect"):
        raise TypeError(f"X is a {type(X).__name__}, which is not computed yet: use X.collect()")
    known = None if reset else columns_of(estimator)
    X = X if known is None else _known_columns(X, known)
    names, columns = _named(X, known)
    if names is None or (known is not None and not known.kinds):
        return _array_rows(estimator, X, reset=reset)
    for name, column in zip(names, columns, strict=True):
        refuse_masked(column, f"column {name!r} of X")
    if twice := [name for name in names if names.count(name) > 1]:
        raise ValueError(f"two columns are named {twice[0]!r}: rename one")
    _check_names(estimator, X, names, reset=reset)
    if reset:
        kinds, given = [_inferred(column) for column in columns], estimator.columns or {}
        found = Columns.of(names, kinds, given, scale=estimator._scales_numbers())
        declared = {str(name) for name in given}
        known_kinds = {
            own: settled_kind(name, column, kind, declared=own in declared)
            for name, column, (own, kind) in zip(names, columns, found.kinds.items(), strict=True)
        }
        estimator._columns = known = found.with_kinds(known_kinds)
        for name, kind, column in zip(names, kinds, columns, strict=True):
            if kind == "number" and str(name) not in declared:
                warn_of_rounded(f"column {name!r}", column, _IDENTIFIERS.format(repr(name)))
    return _stacked(estimator, known, columns, reset=reset)


def named_columns(estimator: Any, X: Any) -> tuple[list[Any] | None, list[Any]]:
    """Give the columns of rows that a fitted estimator has learned, as they are."""
    known = columns_of(estimator)
    return _named(_known_columns(X, known), known if known.kinds else None)


def _inferred(column: Any) -> Kind:
    """Give what a column seems to hold, and the time zone of times."""
    kind, zone = kind_of(column), zone_of(column)
    return {"type": kind, "zone": zone} if kind == "time" and zone else kind


def warn_of_rounded(what: str, values: Any, remedy: str) -> None:
    """Warn of whole numbers that double precision cannot represent exactly."""
    numbers = np.asarray(values)
    if numbers.dtype.kind not in "iu" or numbers.dtype.itemsize < 8 or not numbers.size:
        return
    if numbers.max() > _EXACT or numbers.min() < -_EXACT:
        advise(f"{what} holds whole numbers beyond 2**53, which are rounded: {remedy}")


def warn_of_unknown(estimator: Any, X: Any, rows: Any) -> None:
    """Warn, once, of a column none of whose categories was learned, in rows to be predicted."""
    kinds = columns_of(estimator).kinds
    of_text = any(kind["type"] == "category" for kind in kinds.values())
    if estimator._warned_of_unknown or not of_text or issparse(rows):
        return
    for place in estimator._core.unknown_categories(rows)[:1]:
        columns = named_columns(estimator, X)[1] or np.asarray(X, object).T
        row = int(np.argmin(np.isnan(rows[:, place])))
        name, value = list(kinds)[place], np.asarray(columns[place], object)[row]
        estimator._warned_of_unknown = True
        advise(
            f"none of the categories of column {name!r} was learned, such as {value!r} in row "
            f"{row}: they are predicted as one that is not known, unless they are written as in "
            "the rows that were learned",
            UnknownCategoriesWarning,
        )


def warn_of_codes(estimator: Any, rows: Any, weights: NDArray[np.float64] | None = None) -> None:
    """Warn, once, of numbers among the first rows that may stand for missing values, as -9999.

    Rows are looked at whenever their number has doubled, and those of a long call in part; rows of
    weight 0 are not.
    """
    first: list[NDArray[np.float64]] | None = vars(estimator).get("_first_rows")
    if first is None:
        return
    if issparse(rows):
        estimator._first_rows = None
        return
    if weights is not None:
        rows = rows[weights[:, 0] > 0.0]
    n_before, n_rows = sum(map(len, first)), rows.shape[0]
    most = max(_FIRST, _CELLS // max(rows.shape[1], 1))
    # In a table sorted by the column, codes are the first or the last.
    some, n_now = rows[:: max(-(-n_rows // most), 1)], n_before + n_rows
    if n_now >= _FIRST:
        first, estimator._first_rows = [*first, some], None
    else:
        first.append(some.copy())
        if n_now < estimator._look_at:
            return
    estimator._look_at = 2 * n_now
    kinds = list(columns_of(estimator).kinds.items())
    seen = first[0] if len(first) == 1 else np.concatenate(first)
    found = [
        code for code in find_codes(seen) if not kinds or kinds[code.column][1]["type"] == "number"
    ]
    if not found:
        return
    estimator._first_rows = None
    named = [repr(kinds[code.column][0]) if kinds else str(code.column) for code in found]
    one, others = found[0], ", ".join(named[1:4]) + (", ..." if len(named) > 4 else "")
    low, high = one.others
    codes = sorted({code.value for code in found})
    all_seen = len(seen) == estimator.n_seen_
    of_rows = f"the first {len(seen):,} rows" if all_seen else f"{len(seen):,} rows looked at"
    advise(
        f"column {named[0]} is {one.value:.12g} in {100 * one.share:.2g} % of {of_rows}, "
        f"and all its other values are from {low:.6g} to {high:.6g}"
        + (f" (such a value is also in column {others})" if others else "")
        + ": it is learned as a number, which may spoil the predictions; if it stands for a "
        f"missing value, {_remedy_of_codes(estimator, codes, named=bool(kinds))}",
        SentinelWarning,
    )


def _remedy_of_codes(estimator: Any, codes: list[float], *, named: bool) -> str:
    """Name what makes gaps of codes, and fills these."""
    written = [f"{code:.12g}" for code in codes]
    fills = estimator.missing == "fill"
    if by_options():
        return f"give --missing-values={','.join(written)}" + ("" if fills else " --missing fill")
    which = written[0] if len(written) == 1 else f"[{', '.join(written)}]"
    replaced = f"np.where(np.isin(X, {which}), np.nan, X)"
    if named:
        replaced = f"X.replace({which}, np.nan) in pandas"
    return f"pass NaN in its place ({replaced})" + ("" if fills else " and missing='fill'")


def warn_of_levels(estimator: Any, rows: Any) -> None:
    """Warn, once, of a column with more categories so far than are kept apart by default.

    Identifiers are reported by `settled_kind` instead; a column with its own `max_size` is not.
    """
    if estimator._warned_of_levels or issparse(rows):
        return
    declared = {str(name) for name in estimator.columns or {}}
    levels: dict[str, set[float] | None] = vars(estimator).setdefault("_levels", {})
    # After loading a model its former rows are not counted.
    n_counted = estimator._n_counted = vars(estimator).get("_n_counted", 0) + rows.shape[0]
    for place, (name, kind) in enumerate(columns_of(estimator).kinds.items()):
        known = levels.setdefault(name, set())
        if kind["type"] != "category" or "max_size" in kind or known is None:
            continue
        cells = rows[:, place]
        known.update(np.unique(cells[~np.isnan(cells)]).tolist())
        names_rows = name not in declared and len(known) > _SHARE * n_counted
        if names_rows and len(known) > _IDENTIFIED:
            levels[name] = None
        if len(known) <= _LEVELS or names_rows:
            continue
        levels.clear()
        estimator._warned_of_levels = True
        apart = ""
        if by_options():
            apart = f"leave the column out by --exclude {name}, "
        elif hasattr(estimator, "learner"):
            # To experts, features of many categories are no better than shared ones.
            larger = {"type": "category", "max_size": 2 ** (len(known) - 1).bit_length()}
            apart = f"columns={{{name!r}: {larger}}} keeps more apart; else "
        advise(
            f"column {name!r} has {len(known):,} categories so far, more than the {_LEVELS} that "
            f"are kept apart: further ones share features, which may multiply errors: {apart}"
            "combine rare categories, or replace each by a number, such as the mean of its "
            "targets in earlier rows"
        )
        return


def _known_columns(X: Any, known: Columns) -> Any:
    """Give a frame without columns that the model did not learn from, such as targets."""
    arrow = isinstance(getattr(X, "column_names", None), list)
    if not arrow and not (hasattr(X, "columns") and hasattr(X, "dtypes")):
        return X
    names = list(X.column_names if arrow else X.columns)
    others = {
        name: own
        for name in names
        if str(name) not in known.kinds
        and (own := name_in(name, known.kinds)) not in {None, *names}
    }
    if others:  # names in another form of Unicode
        names = [others.get(name, name) for name in names]
        if arrow:
            X = X.rename_columns(names)
        else:
            X = X.rename(columns=others) if hasattr(X, "iloc") else X.rename(others)
    found = [name for name in names if str(name) in known.kinds]
    if len(found) < max(len(known.kinds), 1) or len(found) == len(names):
        return X
    return X.select(found) if arrow else X[found]


def _named(X: Any, known: Columns | None) -> tuple[list[Any] | None, list[Any]]:
    """Give names and columns of rows whose columns are named; of others None."""
    if issparse(X):  # some sparse matrices are dicts
        return None, []
    if isinstance(X, np.ndarray) and X.dtype.names and X.ndim == 1:
        X = {name: X[name] for name in X.dtype.names}
    by_name = isinstance(X, Mapping) or (
        isinstance(X, list | tuple) and len(X) > 0 and isinstance(X[0], Mapping)
    )
    if by_name and known is not None and not known.kinds:
        raise TypeError(
            "X has names of columns, but the model was fitted on rows without: pass an array"
        )
    if by_name and not isinstance(X, Mapping):
        there = dict.fromkeys(name for row in X for name in row)
        names = list(known.kinds if known else there)
        own = [name_in(name, there) for name in names]
        return names, [_values([row.get(name) for row in X]) for name in own]
    if isinstance(X, Mapping):
        names = list(known.kinds if known else X)
        own = [name_in(name, X) for name in names]
        if missing := [str(name) for name, found in zip(names, own, strict=True) if found is None]:
            raise ValueError(f"columns that the model needs are missing: {', '.join(missing)}")
        return names, [_values(X[name]) for name in own]
    if isinstance(arrow := getattr(X, "column_names", None), list):
        return arrow, [X.column(i) for i in range(len(arrow))]
    if hasattr(X, "columns") and hasattr(X, "dtypes"):
        names = list(X.columns)
        # By position where names need not be unique.
        if hasattr(X, "iloc"):
            return names, [X.iloc[:, i] for i in range(len(names))]
        return names, [X[name] for name in names]
    return None, []


def _values(column: Any) -> Any:
    """Give a column; a list as objects, since numpy would make a missing value the text "nan"."""
    return np.asarray(column, object) if isinstance(column, list | tuple) else column


def _value(x: Mapping[Any, Any], name: str) -> Any:
    """Give a row's value by name, which may be an integer or in another form of Unicode there."""
    if name in x or (name.isascii() and not name.isdigit()):
        return x.get(name)
    return x.get(name_in(name, x))


def _check_names(estimator: Any, X: Any, names: list[Any], *, reset: bool) -> None:
    """Check names as scikit-learn does: the same, and of frames in the same order."""
    if not isinstance(X, Mapping | list | tuple):
        _check_feature_names(estimator, X, reset=reset)
    elif reset and names and all(isinstance(name, str) for name in names):
        estimator.feature_names_in_ = np.array(names, object)


def _array_rows(estimator: Any, X: Any, *, reset: bool) -> Any:
    if not reset and not columns_of(estimator).are_numbers:
        return _typed_array(estimator, X, reset=False)
    if reset and estimator.columns:
        return _typed_array(estimator, X, reset=True)
    rows = rows_of(estimator, X, reset=reset, sparse=True)
    if reset:
        estimator._columns = Columns({}, estimator._scales_numbers())
        if isinstance(X, np.ndarray):
            warn_of_rounded("X", X, _IDENTIFIERS.format("place"))
    return rows


def _typed_array(estimator: Any, X: Any, *, reset: bool) -> Any:
    """Give the cells of an array some of whose columns are not numbers."""
    refuse_masked(X, "X")
    rows = X if issparse(X) or isinstance(X, np.ndarray) else np.asarray(X, object)
    if rows.ndim != 2 or not (reset or rows.shape[1] == len(columns_of(estimator).kinds)):
        width = "n_features" if reset else len(columns_of(estimator).kinds)
        raise ValueError(f"X must have shape (n, {width}), got {rows.shape}")
    if reset:
        names = range(rows.shape[1])
        estimator._columns = Columns.of(
            names, ["number"] * len(names), estimator.columns, scale=estimator._scales_numbers()
        )
    columns = columns_of(estimator)
    if not issparse(rows):
        return _stacked(estimator, columns, list(rows.T), reset=reset)
    for name, kind in columns.kinds.items():
        if kind["type"] not in {"number", "boolean"}:
            raise ValueError(
                f"column {name!r} is a {kind['type']}, which a sparse matrix cannot hold: pass a "
                "data frame"
            )
    return rows_of(estimator, rows, reset=reset, sparse=True)


def _stacked(
    estimator: Any, columns: Columns | None, values: list[Any], *, reset: bool
) -> NDArray[np.float64]:
    """Give the cells of all columns side by side."""
    kinds = columns.kinds if columns else {}
    if len(values) != len(kinds):
        raise ValueError(
            f"X has {len(values)} features, but {type(estimator).__name__} is expecting "
            f"{len(kinds)} features as input"
        )
    values = [
        read_texts(name, column, kind) if is_written(kind) else column
        for column, (name, kind) in zip(values, kinds.items(), strict=True)
    ]
    cells = [
        cells_of(column, kind["type"], name, kind.get("zone", ""))
        for column, (name, kind) in zip(values, kinds.items(), strict=True)
    ]
    if lengths := {len(column) for column in cells} - {len(cells[0])} if cells else None:
        raise ValueError(f"the columns of X have {len(cells[0])} and {max(lengths)} rows")
    if reset:
        estimator.n_features_in_ = len(kinds)
    rows: NDArray[np.float64] = check_array(
        np.column_stack(cells) if cells else np.empty((0, 0)),
        ensure_all_finite=False,
        input_name="X",
        estimator=estimator,
    )
    if estimator.missing != "error":
        return rows
    return finite_rows(rows, "X", list(kinds), REMEDY_OF_GAPS)
