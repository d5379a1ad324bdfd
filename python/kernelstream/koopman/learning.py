"""What an operator and a forecaster share when they learn: specification, progress, warnings."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any, Protocol

import numpy as np
from sklearn.utils import check_random_state

from kernelstream.components.admission import Admission
from kernelstream.components.base import as_component, as_json
from kernelstream.components.bases import ALD, Basis
from kernelstream.components.kernels import Gaussian, Kernel
from kernelstream.components.learners import Gradient, Learner, Ridge
from kernelstream.components.rank import Rank
from kernelstream.components.replay import Replay
from kernelstream.estimators.progress import report_to_bar
from kernelstream.estimators.validation import whole_number
from kernelstream.koopman.queries import Operator, control_width
from kernelstream.koopman.remedies import (
    Watch,
    warn_of_dictionary,
    warn_of_growth,
    warn_of_inputs,
    warn_of_rows,
)

__all__ = ["Parts", "Warned", "core_spec", "reporting", "warn_of_learned"]

Warned = set[str]

# Stored states up to which the spectrum is computed to warn of growth each time that the number of
# pairs has doubled: 10 ms at 150.
_SPECTRA = 150


class Parts(Operator, Protocol):
    """The parameters of an operator."""

    kernel: Kernel | None
    basis: Basis | Admission | None
    learner: Learner | Replay | None
    input_kernel: Kernel | None
    scale: bool | None
    n_blocks: int


def core_spec(model: Parts) -> dict[str, Any]:
    """Describe a core in the form that it reads.

    Raises
    ------
    ValueError, TypeError
        A parameter is out of range or of another type.
    """
    chooses = model.kernel is None
    scale = chooses if model.scale is None else model.scale
    learner, replay = _learner(model)
    spec: dict[str, Any] = {
        "kernel": as_component(model.kernel, Gaussian, Kernel).to_spec(),
        "dictionaries": _dictionaries(model.basis, learner),
        "learner": learner.to_spec(),
        "replay": replay,
    }
    if n_blocks := whole_number("n_blocks", model.n_blocks, 0):
        spec["n_blocks"] = n_blocks
    if isinstance(model.rank, Rank):
        spec["rank"] = model.rank.to_spec()
    if n_inputs := control_width(model):
        input_kernel = as_component(model.input_kernel, Gaussian, Kernel)
        spec["control"] = {"width": n_inputs, "kernel": input_kernel.to_spec()}
    return {
        "operator": spec,
        "standardize": as_json("scale", scale),
        "choice": {
            "bandwidth": chooses,
            "regularization": chooses and model.learner is None,
            "tolerance": chooses and model.learner is None and model.basis is None,
        },
        "delays": {
            "count": whole_number("n_delays", model.n_delays, 0),
            "step": whole_number("delay", model.delay),
        },
    }


def _learner(model: Parts) -> tuple[Learner, dict[str, Any] | None]:
    given = model.learner
    if not isinstance(given, Replay):
        return as_component(given, Ridge, Learner), None
    given._check()
    seed = given.random_state
    if seed is None:
        seed = int(check_random_state(None).randint(2**31 - 1))
    replay = {"size": int(given.size), "passes": int(given.passes), "seed": int(seed)}
    return as_component(given.learner, Ridge, Learner), replay


def _dictionaries(basis: Any, learner: Learner) -> dict[str, Any]:
    if not isinstance(basis, Admission):
        return {"shared": as_component(basis, ALD, Basis).to_spec()}
    if not isinstance(learner, Gradient):
        raise TypeError(
            f"basis={type(basis).__name__}(...) needs learner=Gradient(...); with "
            f"learner={type(learner).__name__}(...) use a basis such as ALD()"
        )
    spec = basis.to_spec()
    return {"paired" if spec.pop("paired") else "separate": spec}


@contextmanager
def reporting(
    model: Any, total: int, unit: str, *, verbose: bool
) -> Iterator[Callable[[int], None]]:
    """Give a callback that shows progress, and warns once of a long call or a large dictionary."""
    capped = getattr(getattr(model, "basis", None), "max_size", 0) is not None
    if not verbose:
        yield Watch(model._core, total, capped=capped)
        return
    with report_to_bar(model._core, total, unit=unit) as report:
        yield Watch(model._core, total, capped=capped, then=report)


def warn_of_learned(model: Any, warned: Warned, *, chosen: bool = True) -> None:
    """Issue warnings about the stored states, each time the number of pairs has doubled.

    If the operator was not `chosen`, but is one bounded forecast of several, only about the rows.
    """
    core = model._core
    looked = f"at {core.n_seen.bit_length()}"
    if looked in warned:
        return
    warned.add(looked)
    warn_of_rows(core, warned)
    if not chosen:
        return
    if control_width(model):
        warn_of_inputs(model.kernel, model.input_kernel, warned)
    elif 0 < core.n_stored <= _SPECTRA:
        with suppress(ValueError):  # raised when the spectrum is requested
            moduli, selected = np.abs(core.eigenvalues()), model.kernel is None
            warn_of_growth(moduli, core.n_seen, selected=selected, seen=warned)
    if core.n_stored:
        dictionaries = json.loads(core.operator_spec)["dictionaries"]
        basis = Basis.from_spec(dictionaries["shared"]) if "shared" in dictionaries else None
        if isinstance(basis, ALD):
            warn_of_dictionary(core, basis.tolerance, selected=model.kernel is None, seen=warned)
