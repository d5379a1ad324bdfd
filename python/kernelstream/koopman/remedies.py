"""Warnings about probable mistakes in the use of an operator, each with its remedy."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kernelstream.components.kernels import Linear
from kernelstream.estimators.advice import advise, by_options
from kernelstream.exceptions import SlowWarning

__all__ = [
    "Watch",
    "warn_of_constant_inputs",
    "warn_of_degrees",
    "warn_of_dictionary",
    "warn_of_growth",
    "warn_of_inputs",
    "warn_of_leaving",
    "warn_of_other_units",
    "warn_of_rows",
]

FloatArray = NDArray[np.float64]

# Fewest stored states for a warning, and for one about their number.
_SOME, _MANY = 50, 3000
# Numbers of a state from which on fewer pairs than numbers are warned of.
_WIDE = 5
# Share of an input's size up to which differences are rounding, as in the core.
_SAME = 1e-9
# Median of the largest similarities below which states are nearly orthogonal.
_UNLIKE = 0.1
# Largest tolerance of a basis that is recommended.
_TOLERANT = 0.1
# Seconds after which a call's length is estimated, and those from which on it is long.
_PATIENCE, _LONG = 5.0, 60.0


class Watch:
    """Says once if a call is going to be long, or stores more and more."""

    def __init__(
        self, core: Any, total: int, *, capped: bool, then: Callable[[int], None] | None = None
    ) -> None:
        self._core, self._total, self._then = core, total, then
        self._begun = time.monotonic()
        self._estimates, self._counts = then is None, not capped

    def __call__(self, done: int) -> None:
        """Look at how far it has come.

        Parameters
        ----------
        done : int
            Rows done.
        """
        if self._then is not None:
            self._then(done)
        elapsed = time.monotonic() - self._begun
        if self._estimates and done and elapsed > _PATIENCE:
            self._estimates = False
            left = elapsed * (self._total - done) / done
            if left > _LONG:
                advise(
                    f"{done:,} of {self._total:,} rows took {elapsed:.0f} s, the others will take "
                    f"about {left / 60:.0f} minutes: verbose=True shows the progress, Ctrl-C keeps "
                    "what is done, and a smaller max_size of the basis makes it faster",
                    SlowWarning,
                )
        if self._counts and self._core.n_stored > _MANY:
            self._counts = False
            limit = "--basis ald:1e-3,max_size=1000" if by_options() else "ALD(max_size=1000)"
            advise(
                f"more than {_MANY:,} states are stored, and time and memory grow with the square "
                f"of their number: limit it, as by {limit}"
            )


def warn_of_dictionary(core: Any, tolerance: float, *, selected: bool, seen: set[str]) -> None:
    """Warn if stored states are nearly orthogonal, or if nearly every state is stored.

    `tolerance` is that of the basis in use, and a kernel is `selected` if none is given.
    """
    stored, pairs = core.n_stored, core.n_seen
    if stored < _SOME:
        return
    if "unlike" not in seen and np.median(core.likeness()) < _UNLIKE:
        seen.update({"unlike", "all"})
        remedy = "Leave out the kernel, and it is selected with the scale of the states, or scale "
        remedy += "the states (scale=True)"
        if by_options():
            remedy = "Leave out --kernel, and it is selected with the scale of the states"
        advise(
            "the stored states are nearly orthogonal under this kernel (median similarity below "
            "0.1), so the model cannot generalize: the bandwidth is far too small for states in "
            f"these units. {remedy}"
        )
    if "all" not in seen and stored >= 0.9 * pairs and pairs >= 2 * _SOME:
        seen.add("all")
        bandwidth = "" if selected else "a larger bandwidth of the kernel, or "
        larger = 10.0 * max(tolerance, 1e-12)
        basis = f"--basis ald:{larger:g}" if by_options() else f"ALD({larger:g})"
        fewer = f"a larger tolerance of the basis, such as {basis},"
        if larger > _TOLERANT:
            fewer = "a smaller max_size of the basis" + ("," if bandwidth else "")
        advise(
            f"{stored:,} states are stored after {pairs:,} pairs, nearly every one, so that time "
            "and memory grow with the rows up to max_size of the basis: "
            f"{bandwidth}{fewer} stores fewer, with less detail"
        )


def warn_of_rows(core: Any, seen: set[str]) -> None:
    """Warn if there are fewer pairs than numbers of a state."""
    pairs, width = core.n_seen, core.n_features
    if "rows" in seen or width is None or width < _WIDE or pairs >= width:
        return
    seen.add("rows")
    fewer = "name fewer --columns" if by_options() else "reduce the states, for example by POD"
    advise(
        f"{pairs:,} pairs were learned of states of {width:,} numbers: fewer pairs than numbers "
        f"determine no operator, and its eigenvalues and forecasts may grow. Learn more pairs, or "
        f"{fewer}"
    )


def warn_of_inputs(kernel: Any, input_kernel: Any, seen: set[str]) -> None:
    """Warn if the effects of state and input can only multiply each other."""
    if "inputs" in seen or not (isinstance(kernel, Linear) and isinstance(input_kernel, Linear)):
        return
    seen.add("inputs")
    advise(
        "kernel=Linear() times input_kernel=Linear() has products of state and input only, which "
        "excludes systems that are linear in both, x_next = A x + B u: for these take "
        "Polynomial(1, offset=1.0) for both"
    )


def warn_of_constant_inputs(core: Any, acting: FloatArray, seen: set[str]) -> None:
    """Warn once if forecasts are made under inputs that were constant while learning."""
    if "constant inputs" in seen:
        return
    for j, constant in enumerate(core.constant_inputs):
        if constant is None or np.all(np.abs(acting[..., j] - constant) <= _SAME * abs(constant)):
            continue
        seen.add("constant inputs")
        advise(
            f"input {j} is {constant:.6g} in all states stored, so that nothing is known of its "
            "effect, and forecasts do not depend on it: learn rows in which it varies"
        )
        return


def warn_of_growth(moduli: FloatArray, pairs: int, *, selected: bool, seen: set[str]) -> None:
    """Warn of eigenvalues outside the unit circle that are no errors of estimation.

    A kernel is `selected` if none is given. A stronger regularization is no remedy where a system
    grows: with Ridge(1.0), errors of forecasts of 3 steps of x' = 1.2 x are 1e-4, else 1e-12.
    """
    largest = float(moduli.max(initial=0.0))
    if "growth" in seen or largest <= 1.0 + max(0.02, 2.0 / np.sqrt(max(pairs, 1))):
        return
    seen.add("growth")
    remedies = ["learn longer records"]
    if not selected:
        kernel = "--kernel" if by_options() else "the kernel"
        remedies.append(f"leave out {kernel}, so that one is selected by its held-out error")
    if not by_options():
        remedies.append("bound forecasts by predict(clip_spectrum=True)")
    remedy = ", or ".join([", ".join(remedies[:-1]), remedies[-1]] if remedies[1:] else remedies)
    advise(
        f"the largest eigenvalue has modulus {largest:.3g}, more beyond the unit circle than an "
        "error of estimation, and forecasts grow by that factor in each step. If the system grows "
        f"like this, it is right as it is; if it stays bounded, {remedy}"
    )


def warn_of_degrees(pairs: float, degrees: float, seen: set[str]) -> None:
    """Warn once that standard errors are infinite, as the pairs are fitted exactly."""
    if "degrees" in seen:
        return
    seen.add("degrees")
    advise(
        f"{pairs:,.0f} pairs and an operator with {degrees:,.1f} degrees of freedom leave less "
        "than one for the errors, so that standard errors are infinite: learn more pairs, or "
        "choose a stronger regularization, a larger bandwidth, or a larger tolerance of the basis"
    )


def warn_of_leaving(beyond: bool, steps: int, seen: set[str]) -> None:
    """Warn once if forecasts over several steps left the states learned."""
    if not beyond or "growth" in seen:
        return
    seen.add("growth")
    other = "dynamics --forecast" if by_options() else "a Forecaster"
    advise(
        f"forecasts of up to {steps:,} steps lie further from the states learned than these lie "
        "apart, where the operator was not determined by any pair: do not rely on them. Forecast "
        f"fewer steps, or learn a longer record; {other} extrapolates trends, and has intervals"
    )


def warn_of_other_units(X: FloatArray, X_next: FloatArray) -> None:
    """Warn if next states are nowhere near the states that they are to follow."""
    if len(X) < _SOME or X.shape[1] != X_next.shape[1]:
        return
    low, middle, high = np.quantile(X, [0.1, 0.5, 0.9], axis=0)
    low_next, middle_next, high_next = np.quantile(X_next, [0.1, 0.5, 0.9], axis=0)
    spread, spread_next = high - low, high_next - low_next
    apart = np.abs(middle - middle_next) > 10.0 * (spread + spread_next)
    wider = (spread > 0) & (spread_next > 50.0 * spread)
    if np.any((apart & (spread + spread_next > 0)) | wider):
        column = int(np.argmax(apart | wider))
        advise(
            f"X_next is far outside the range of X (column {column}: medians "
            f"{middle_next[column]:.4g} and {middle[column]:.4g}): both must be in the same units. "
            "A scaler in a pipeline scales X alone; leave it out, since Koopman() scales its "
            "states itself, X_next alike (scale=True with a kernel of your own)"
        )
