"""Estimators to and from model files, pickles and copies, all through the same bytes.

The file itself (a safetensors container) is written and read by the core. It carries one JSON text
for this layer, with the estimator's class name and whatever the class needs beside its core.
Nothing in it is ever executed or unpickled.
"""

from __future__ import annotations

import json
from abc import abstractmethod
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from os import PathLike, fspath
from typing import Any, ClassVar, Protocol, Self, cast
from weakref import WeakKeyDictionary

from numpy.typing import ArrayLike, NDArray
from sklearn.exceptions import NotFittedError

from kernelstream import _core
from kernelstream.components.base import Component, as_json
from kernelstream.estimators.foreign import state_of
from kernelstream.estimators.notes import checked_note

__all__ = [
    "ModelFileMixin",
    "decode_parameters",
    "encode_parameters",
    "estimator_class",
    "load",
]

# Beside the estimators, since no copy has the turns of the original.
_TURNS: WeakKeyDictionary[ModelFileMixin, _core.Turn] = WeakKeyDictionary()

_ESTIMATORS: dict[str, type[ModelFileMixin]] = {}

# Keys that a file written from Rust may have too: the user's note, and the command line's.
_NOTES = {"note", "progress"}

# What the core calls the kinds of models in its files.
_CORES: dict[str, Any] = {
    "stream": _core.Regressor,
    "budget": _core.Regressor,
    "experts": _core.Regressor,
    "adaptive": _core.Regressor,
    "table": _core.Regressor,
    "koopman": _core.Koopman,
    "dynamics": _core.Koopman,
    "control": _core.Controller,
}


class _LoadedModel(Protocol):
    """What an estimator of any class can do that comes from a model file."""

    @property
    def n_seen_(self) -> int:
        """Rows or pairs received so far."""

    @property
    def n_stored_(self) -> int:
        """Points stored."""

    def partial_fit(self, X: ArrayLike, y: ArrayLike, /) -> Self:
        """Go on learning; of an operator `y` are the next states."""

    def predict(self, X: ArrayLike, /) -> NDArray[Any]:
        """Predict targets, labels or next states."""

    def save(self, path: str | PathLike[str], /, *, note: Mapping[str, Any] | None = None) -> None:
        """Write the model to a file, and a note beside it."""

    note_: Any


class ModelFileMixin:
    """What estimators share that live in a model file: ``save``, ``load``, pickle and copy."""

    _core: Any
    _core_class: ClassVar[Any] = _core.Regressor
    # What the command line wants to find again beside the model, as JSON can carry it.
    _note: Any = None
    # The user's, see `save`.
    note_: Any = None

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        _ESTIMATORS.setdefault(cls.__name__, cls)

    def __sklearn_is_fitted__(self) -> bool:
        return "_core" in vars(self)

    def save(self, path: str | PathLike[str], *, note: Mapping[str, Any] | None = None) -> None:
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
        self._core.save(fspath(path), json.dumps(self._extra(kept)))
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
            An estimator equal to the saved one, ready to predict and to go on learning.

        Raises
        ------
        ModelFileError
            The file is not a model file, is damaged, is of another format version, or holds another
            kind of estimator.
        OSError
            The file cannot be read.
        """
        core, extra = cls._core_class.load(fspath(path))
        return cast(Self, _revive(core, extra, cls))

    def _extra(self, note: Mapping[str, Any] | None) -> dict[str, Any]:
        """Give what the file holds beside the core, as JSON can carry it."""
        notes = {"note": note, "progress": self._note}
        own = {name: value for name, value in notes.items() if value is not None}
        return {"estimator": type(self).__name__} | self._state() | own

    @abstractmethod
    def _state(self) -> dict[str, Any]:
        """Give what a file must hold beside the core and the class's name, as JSON can carry it."""

    @classmethod
    @abstractmethod
    def _from_state(cls, core: Any, state: Mapping[str, Any]) -> Self:
        """Make the estimator whose ``_state`` was ``state``."""

    def _in_turn(self) -> _core.Turn:
        """Give what the calls that learn take turns with, the first of all included."""
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
        """Take over in what another one differs from `before`."""
        changed = {
            name: value
            for name, value in vars(new).items()
            if name not in before or value is not before[name]
        }
        vars(self).update(changed)
        for name in before.keys() - vars(new).keys():
            delattr(self, name)

    def __getstate__(self) -> dict[str, Any]:
        state: dict[str, Any] = dict(cast("dict[str, Any]", super().__getstate__()))
        if "_core" in state:
            state["_core"] = state["_core"].to_bytes()
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        if "_core" in state:
            core, _ = self._core_class.from_bytes(state["_core"])
            state = state | {"_core": core}
        vars(self).update(state)


def estimator_class(name: str, allowed: type[Any]) -> Any:
    """Give a class of estimators that live in model files.

    Parameters
    ----------
    name : str
        Its name.
    allowed : type
        What it must be or derive from.

    Returns
    -------
    estimator : type
        The class.

    Raises
    ------
    ValueError
        There is none of this name, or it is another.
    """
    found = _ESTIMATORS.get(name)
    if found is None or not issubclass(found, allowed):
        raise ValueError(f"{name!r} is not the name of a {allowed.__name__}")
    return found


def load(path: str | PathLike[str]) -> _LoadedModel:
    """Read a model file and give back the estimator it holds, of whichever class.

    To a type checker it has the methods that all classes share, and those of a class after
    ``isinstance`` or from the ``load`` of that class, such as ``Koopman.load(path)``, which raises
    an error if the file holds another. A controller's cost is not in the file: see
    `EmbeddingValueIteration.load`.

    Parameters
    ----------
    path : str or path-like
        A file that an estimator's ``save`` or ``kernelstream learn --save`` wrote.

    Returns
    -------
    estimator : object
        The estimator, ready to predict and to go on learning.

    Raises
    ------
    ModelFileError
        The file is not a model file, is damaged, or is of another format version.
    OSError
        The file cannot be read.
    """
    kind = _core.model_kind(fspath(path))
    if kind not in _CORES:
        raise _core.ModelFileError(f"the model file holds an unknown kind of model, {kind!r}")
    core, extra = _CORES[kind].load(fspath(path))
    return cast(_LoadedModel, _revive(core, extra, ModelFileMixin))


def _revive(core: Any, extra: str, expected: type[Any]) -> Any:
    try:
        state = json.loads(extra)
        if not (isinstance(state, dict) and "estimator" in state) and isinstance(
            core, _core.Regressor
        ):
            written = state if isinstance(state, dict) else {}
            state = state_of(core) | {name: written[name] for name in _NOTES & written.keys()}
        name = state["estimator"]
    except (ValueError, TypeError, KeyError):
        raise _core.ModelFileError(
            "the model file was not written by the Python package: it names no estimator"
        ) from None
    found = _ESTIMATORS.get(str(name))
    if found is None:
        raise _core.ModelFileError(f"the model file holds an unknown estimator, {name!r}")
    if not issubclass(found, expected):
        raise _core.ModelFileError(
            f"the model file holds a {name}, not a {expected.__name__}; "
            "kernelstream.load reads either"
        )
    try:
        model = found._from_state(core, state)
    except (ValueError, TypeError, KeyError, AttributeError, OverflowError) as error:
        raise _core.ModelFileError(
            f"the model file's description of its {name} is wrong: {error}"
        ) from error
    if not isinstance(state.get("note", {}), dict):
        raise _core.ModelFileError("the note in the model file is no JSON object")
    if state.get("note"):
        model.note_ = state["note"]
    if "progress" in state:
        model._note = state["progress"]
    return model


def encode_parameters(params: Mapping[str, Any]) -> dict[str, Any]:
    """Turn constructor parameters into JSON, components by their specification.

    Parameters
    ----------
    params : mapping
        What ``get_params(deep=False)`` gives.

    Returns
    -------
    encoded : dict
        The same names; each value plain, or ``{"part": ..., "spec": ...}``.
    """
    return {
        name: {"part": value._part, "spec": value.to_spec()}
        if isinstance(value, Component)
        else as_json(name, value)
        for name, value in params.items()
    }


def decode_parameters(encoded: Mapping[str, Any]) -> dict[str, Any]:
    """Undo ``encode_parameters``.

    Parameters
    ----------
    encoded : mapping
        What ``encode_parameters`` gave.

    Returns
    -------
    params : dict
        Constructor parameters.
    """
    bases = {base._part: base for base in Component.__subclasses__()}
    return {
        name: bases[value["part"]].from_spec(value["spec"])
        if isinstance(value, dict) and value.keys() == {"part", "spec"}
        else value
        for name, value in cast("dict[str, Any]", encoded).items()
    }
