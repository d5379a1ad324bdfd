"""Estimators to and from model files, pickles and copies, all through the same bytes.

The file itself (a safetensors container) is written and read by the core. It carries one JSON text
for this layer, with the estimator's class name and whatever the class needs beside its core.
Nothing in it is ever executed or unpickled.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from os import PathLike, fspath
from typing import Any, Protocol, Self, cast

from numpy.typing import ArrayLike, NDArray

from kernelstream import _core
from kernelstream.components.base import Component, as_json
from kernelstream.estimators.foreign import state_of

__all__ = [
    "ESTIMATORS",
    "decode_parameters",
    "encode_parameters",
    "load",
    "revive",
]

# Estimators by the name that a file has of them.
ESTIMATORS: dict[str, type[Any]] = {}

# Keys that a file written from Rust may have too: the user's note, and the command line's.
_NOTES = {"note", "progress"}

# What the core calls the kinds of models in its files.
_CORES: dict[str, Any] = {
    "stream": _core.Regressor,
    "budget": _core.Regressor,
    "experts": _core.Regressor,
    "adaptive": _core.Regressor,
    "table": _core.Regressor,
    "targets": _core.Regressor,
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

    def save(
        self,
        path: str | PathLike[str],
        /,
        *,
        note: Mapping[str, Any] | None = None,
        compact: bool = False,
    ) -> None:
        """Write the model to a file, and a note beside it."""

    note_: Any


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
        The estimator, ready to predict and to continue learning.

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
    return cast(_LoadedModel, revive(core, extra, object))


def revive(core: Any, extra: str, expected: type[Any]) -> Any:
    """Make the estimator that a file holds.

    Raises
    ------
    ModelFileError
        It is of another class, or the content beside the core is invalid.
    """
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
    found = ESTIMATORS.get(str(name))
    if found is None:
        raise _core.ModelFileError(f"the model file holds an unknown estimator, {name!r}")
    if not issubclass(found, expected):
        raise _core.ModelFileError(
            f"the model file holds a {name}, not a {expected.__name__}; "
            "kernelstream.load reads either"
        )
    try:
        model = found._from_state(core, state)
        if hasattr(model, "_new_core"):
            # Its parameters are valid for some model, so later checks may rely on them.
            model._new_core()
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
    """Turn constructor parameters into JSON, components by their specification."""
    return {
        name: {"part": value._part, "spec": value.to_spec()}
        if isinstance(value, Component)
        else as_json(name, value)
        for name, value in params.items()
    }


def decode_parameters(encoded: Mapping[str, Any]) -> dict[str, Any]:
    """Undo ``encode_parameters``."""
    bases = {base._part: base for base in Component.__subclasses__()}
    return {
        name: bases[value["part"]].from_spec(value["spec"])
        if isinstance(value, dict) and value.keys() == {"part", "spec"}
        else value
        for name, value in cast("dict[str, Any]", encoded).items()
    }
