"""What every estimator with a core has: the model file, names of columns, and calls that begin.

What a row changes is in the core alone; attributes beside it are those that the first call fixes.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from os import PathLike, fspath
from typing import Any, ClassVar, Self, cast
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted

from kernelstream import _core
from kernelstream.components.scikit import BaseEstimator
from kernelstream.estimators.model_file import (
    ESTIMATORS,
    decode_parameters,
    encode_parameters,
    revive,
)
from kernelstream.estimators.notes import checked_note
from kernelstream.estimators.validation import rows_of

__all__ = ["StreamEstimator"]

# Beside the estimators, since no copy has the turns of the original.
_TURNS: WeakKeyDictionary[StreamEstimator, _core.Turn] = WeakKeyDictionary()


class StreamEstimator(BaseEstimator):
    """An estimator of scikit-learn whose core, in ``_core``, holds all that rows change.

    Its constructor stores what it is given, None included, and `get_params`, ``clone`` and ``repr``
    give that back. A parameter of a part that is None can be set all the same, by itself or by a
    grid search: the part is then made, with its defaults (``_default_parts``), and set.

    Two calls that learn take turns; the first one of all makes a new estimator, which takes the
    place of this one when it has learned. The class that derives from this may add to what a file
    holds (``_state``, ``_from_state``).
    """

    _core: Any

    _core_class: ClassVar[Any] = _core.Regressor

    # Note of the command line in a model file, as JSON values.
    _note: Any = None
    # The user's, see `save`.
    note_: Any = None
    _default_parts: ClassVar[Mapping[str, Callable[[], Any]]] = {}

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        ESTIMATORS.setdefault(cls.__name__, cls)

    def __sklearn_is_fitted__(self) -> bool:
        return "_core" in vars(self)

    @property
    def n_seen_(self) -> int:
        """Rows or pairs received so far."""
        check_is_fitted(self)
        return cast(int, self._core.n_seen)

    @property
    def n_stored_(self) -> int:
        """Points stored."""
        check_is_fitted(self)
        return cast(int, self._core.n_stored)

    def set_params(self, **params: Any) -> Self:
        """Set parameters, and those of parts, such as ``kernel__bandwidth``.

        Parameters
        ----------
        **params : object
            New values by name. If a part is None, naming one of its parameters builds the
            default of the part.

        Returns
        -------
        self : object
            This estimator.

        Raises
        ------
        ValueError, TypeError
            A name is unknown or a value is out of range; the estimator's own parameters are then as
            they were.
        """
        before = dict(vars(self))
        own = {name: value for name, value in params.items() if "__" not in name}
        of_parts = {name: value for name, value in params.items() if "__" in name}
        base = cast(Any, super())
        try:
            base.set_params(**own)
            for part in {name.partition("__")[0] for name in of_parts}:
                if vars(self).get(part, self) is None:
                    setattr(self, part, self._default_part(part))
            base.set_params(**of_parts)
        except Exception:
            vars(self).update(before)
            raise
        return self

    def _default_part(self, name: str) -> Any:
        """Build the default of the parameter `name` if it is None; None if it has no default."""
        make = self._default_parts.get(name)
        return None if make is None else make()

    def save(
        self,
        path: str | PathLike[str],
        *,
        note: Mapping[str, Any] | None = None,
        compact: bool = False,
    ) -> None:
        """Write the model to a file, complete or not at all.

        The file is written under a temporary name beside its place and then renamed, so a reader
        never meets half a model, and a failure leaves an older file as it was.

        Parameters
        ----------
        path : str or path-like
            Where to; an existing file is replaced.
        note : mapping of str to object, optional
            Whatever is to be found again with the model, as JSON can carry it, up to 1 MiB: the
            offsets up to which a broker's messages are learned, the epoch of a stream, the name of
            a file. It is in the file from the same instant on as the rows learned, and is
            ``note_`` of this estimator, of copies and of what is loaded. None: the one it has;
            ``{}``: none.
        compact : bool, default=False
            Write a smaller file (docs/saving.md has figures), whose predictions differ from those
            of the model by at most 1e-6 standard deviations of the targets: sums of trees, stored
            rows and inverse curvatures are rounded to single precision, and Cholesky factors are
            computed again on loading. The loaded model continues to learn, but not bit-identical.
            Files of `Koopman`, `EmbeddingValueIteration` and budgeted learners are the same.

        Raises
        ------
        NotFittedError
            Nothing has been learned yet.
        ValueError, TypeError
            The note is larger, or JSON cannot carry something in it; the message says what.
        OSError
            The file cannot be written.

        Notes
        -----
        Learning further rows does not change a note. `fit` and `freeze_dictionary`, which forget
        the rows so far, remove it.
        """
        if not self.__sklearn_is_fitted__():
            raise NotFittedError(
                f"this {type(self).__name__} has learned nothing yet: fit it before saving it"
            )
        kept = self.note_ if note is None else (checked_note(note) or None)
        self._core.save(fspath(path), json.dumps(self._extra(kept)), compact)
        if kept is not self.note_:
            self.note_ = kept

    @classmethod
    def load(cls, path: str | PathLike[str]) -> Self:
        """Read a model that ``save`` wrote.

        Parameters
        ----------
        path : str or path-like
            The file.

        Returns
        -------
        estimator : object
            An estimator equal to the saved one, ready to predict and to continue learning.

        Raises
        ------
        ModelFileError
            The file is not a model file, is damaged, is of another format version, or holds another
            kind of estimator.
        OSError
            The file cannot be read.
        """
        core, extra = cls._core_class.load(fspath(path))
        return cast(Self, revive(core, extra, cls))

    def _extra(self, note: Mapping[str, Any] | None) -> dict[str, Any]:
        """Give the content of a file beside the core, as JSON values."""
        notes = {"note": note, "progress": self._note}
        own = {name: value for name, value in notes.items() if value is not None}
        return {"estimator": type(self).__name__} | self._state() | own

    def _state(self) -> dict[str, Any]:
        return {
            "params": encode_parameters(self._params()),
            "feature_names": self._feature_names(),
        }

    def _params(self) -> dict[str, Any]:
        """Give the constructor's parameters as the model file keeps them."""
        return cast("dict[str, Any]", cast(Any, self).get_params(deep=False))

    @classmethod
    def _from_state(cls, core: Any, state: Mapping[str, Any]) -> Self:
        model: Any = cls(**decode_parameters(state["params"]))
        model._core = core
        if core.n_features is not None:
            model.n_features_in_ = core.n_features
        model._set_feature_names(state["feature_names"], core.n_features)
        return cast(Self, model)

    def _feature_names(self) -> list[str] | None:
        """Give the names of the columns as JSON values; None if rows had no names."""
        names = getattr(self, "feature_names_in_", None)
        return None if names is None else list(names)

    def _set_feature_names(self, names: Sequence[Any] | None, n_features: int | None) -> None:
        if names is None:
            return
        if len(names) != n_features:
            raise ValueError(f"{len(names)} names for {n_features} features")
        self.feature_names_in_ = np.array([str(name) for name in names], object)

    def _rows(self, X: Any, *, reset: bool) -> NDArray[np.float64]:
        rows: NDArray[np.float64] = rows_of(self, X, reset=reset)
        return rows

    def _in_turn(self) -> _core.Turn:
        """Give the lock of the calls that learn, the first of all included."""
        # The same for all threads, whichever is first.
        return _TURNS.setdefault(self, _core.Turn())

    @contextmanager
    def _learning(self, *, reset: bool = False) -> Iterator[Self]:
        """Give what learns in a call: this estimator, or where its stream begins a new one like it.

        The new one takes the place of this one when it has learned. Until then other threads have
        this one as it was, and after an error so does everybody.
        """
        with self._in_turn():
            if not reset and self.__sklearn_is_fitted__():
                yield self
                return
            new, before = object.__new__(type(self)), dict(vars(self))
            vars(new).update(before)
            vars(new).pop("_core", None)
            vars(new).pop("note_", None)
            try:
                yield new
            except Exception:
                raise
            except BaseException:
                # Rows done before Ctrl-C stay learned.
                if "_core" in vars(new) and new._core.n_seen:
                    self._become(new, before)
                raise
            self._become(new, before)

    def _become(self, new: Self, before: Mapping[str, Any]) -> None:
        """Copy the attributes in which another estimator differs from `before`."""
        changed = {
            name: value
            for name, value in vars(new).items()
            if name not in before or value is not before[name]
        }
        vars(self).update(changed)
        for name in before.keys() - vars(new).keys():
            delattr(self, name)

    def __getstate__(self) -> dict[str, Any]:
        state: dict[str, Any] = dict(super().__getstate__())
        if "_core" in state:
            state["_core"] = state["_core"].to_bytes()
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        if "_core" in state:
            core, _ = self._core_class.from_bytes(state["_core"])
            state = state | {"_core": core}
        vars(self).update(state)
