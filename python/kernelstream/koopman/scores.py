"""Scores of an operator on pairs or trajectories that it has not learned."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from kernelstream.estimators.advice import advise
from kernelstream.estimators.validation import whole_number
from kernelstream.koopman import vamp
from kernelstream.koopman.forecasts import predict_rows
from kernelstream.koopman.inputs import joined, rows_of_inputs
from kernelstream.koopman.queries import (
    FloatArray,
    Operator,
    constants_of,
    control_width,
    count_of,
    embedded,
    queried,
    span_of,
    states_of,
)
from kernelstream.koopman.spectrum import unsplit
from kernelstream.koopman.trajectories import as_trajectories, describe_longest, paired

__all__ = ["explained_variance", "risk", "score", "vamp_score", "warn_of_lag"]

_NAMED = 5  # trajectories that a warning names


class _HeldOut(NamedTuple):
    """Pairs, with the control inputs as `predict` takes them."""

    before: FloatArray
    after: FloatArray
    inputs: Any


def score(
    model: Operator,
    X: ArrayLike | Sequence[ArrayLike],
    X_next: ArrayLike | None = None,
    *,
    inputs: Any = None,
    n_steps: int = 1,
) -> float:
    """Compute the coefficient of determination R squared of forecasts.

    What scikit-learn's model selection maximizes by default; below 1 for noisy systems. Of
    models with different `lag`, compare forecasts over the same time: pass ``n_steps``
    such that ``lag * n_steps`` is the same.

    Parameters
    ----------
    model : fitted Koopman
        The operator.
    X : array-like of shape (n, n_features), or trajectories
        Held-out states; without `X_next` one or several trajectories as in
        `partial_fit_trajectory`, whose states `lag` steps apart are compared; those too short
        for that are left out, with a warning that names them.
    X_next : array-like of shape (n, n_features), optional
        The next state of each. `lag` does not matter then.
    inputs : array-like of shape (n, n_inputs), or several, optional
        Control input at each state of X; required with ``n_inputs``.
    n_steps : int, default=1
        Number of steps (of `lag` states each) ahead, of trajectories.

    Returns
    -------
    score : float
        1 for exact forecasts, 0 for the mean; averaged over the features.

    Raises
    ------
    NotFittedError
        Nothing has been learned yet.
    ValueError, TypeError
        A row is invalid (the message names it), or there is no pair of states.
    """
    from sklearn.metrics import r2_score  # noqa: PLC0415  (slow to load, seldom needed)

    steps = whole_number("n_steps", n_steps)
    before, after, acting = _held_out(model, X, X_next, inputs, steps)
    ahead = predict_rows(model, before, steps, acting)
    return float(r2_score(after[:, : ahead.shape[1]], ahead))


def risk(
    model: Operator,
    X: ArrayLike | Sequence[ArrayLike],
    X_next: ArrayLike | None = None,
    *,
    inputs: Any = None,
) -> float:
    """Compute the risk of the operator: the mean squared error of the predicted features.

    Smaller is better. The features are those of the kernel, ``phi(x)`` with
    ``phi(x) @ phi(y) = k(x, y)``, of which the operator predicts those of the next state. Models
    with other kernels cannot be compared by it.

    Parameters
    ----------
    model : fitted Koopman
        The operator.
    X : array-like of shape (n, n_features), or trajectories
        States; without `X_next` one or several trajectories.
    X_next : array-like of shape (n, n_features), optional
        The next state of each.
    inputs : array-like of shape (n, n_inputs), or several, optional
        Control input at each state of X; required with ``n_inputs``.

    Returns
    -------
    risk : float
        The mean of ``|phi(x_next) - E[phi(x_next) | x]|^2``: at least 0, and 1 for a prediction of
        0 where ``k(x, x) = 1``. For noisy systems far above 0, as the features themselves vary.

    Raises
    ------
    NotFittedError
        Nothing has been learned yet.
    ValueError, TypeError
        A row is invalid (the message names it), or there is no pair of states.

    References
    ----------
    V. Kostic et al., "Learning dynamical systems via Koopman operator regression in reproducing
    kernel Hilbert spaces", 2022, equation (6).
    """
    before, after, acting = _held_out(model, X, X_next, inputs, 1)
    if control_width(model) and acting is not None:
        acting = np.asarray(acting)
        acting = acting[:, 0] if acting.ndim == 3 else acting
    rows = joined(before, acting, control_width(model))
    return float(model._core.risk(rows, after))


def vamp_score(
    model: Operator,
    X: ArrayLike | Sequence[ArrayLike] | None = None,
    X_next: ArrayLike | None = None,
    method: vamp.Method = "VAMP2",
    k: int | None = 5,
) -> float:
    """Compute the variational score of the leading eigenfunctions.

    Larger is better. It judges whether the slow processes were found, whatever their share of
    the state: with ``scoring=lambda model, T, _=None: model.vamp_score(T)`` scikit-learn's
    searches maximize it. Models with different `lag` cannot be compared by it: every score
    falls with the lag.

    On held-out data, or, with ``n_blocks``, on the pairs learned: at any moment of a stream and
    without further pairs, but in sample, so that a model with more stored states scores higher
    whether or not it is better. Compare models of different sizes on held-out data.

    Parameters
    ----------
    model : fitted Koopman
        The operator.
    X : array-like of shape (n, n_features), or trajectories, optional
        Held-out states, n several times `k`; without `X_next` one or several trajectories.
        None: the pairs learned.
    X_next : array-like of shape (n, n_features), optional
        The next state of each.
    method : {"VAMP1", "VAMP2", "VAMPE"}, default="VAMP2"
        The sum of the canonical correlations between the eigenfunctions at the two times, or
        of their squares: what the eigenfunctions *could* predict. "VAMPE": what the operator
        *does* predict by its eigenvalues, at most the VAMP-2 score.
    k : int, optional
        Number of eigenfunctions, the constant one included; the same in models that are
        compared. None: as many as `eigenvalues_`.

    Returns
    -------
    score : float
        At most `k`.

    Raises
    ------
    NotFittedError
        Nothing has been learned yet.
    ValueError, TypeError
        A row is invalid (the message names it), there is no pair of states, or the operator
        has inputs and thus no eigenfunctions.

    References
    ----------
    H. Wu, F. Noe, "Variational approach for learning Markov processes from time series data",
    Journal of Nonlinear Science, 2020.
    """
    if method not in {"VAMP1", "VAMP2", "VAMPE"}:
        raise ValueError(f'method must be "VAMP1", "VAMP2" or "VAMPE", got {method!r}')
    if X is None:
        return _learned_score(model, method, k)
    before, after, _ = _held_out(model, X, X_next, None, 1)
    count = count_of(model, k)
    values = model.eigenvalues_[:count]
    now, matrix, _ = vamp.real_functions(values, model._core.eigenfunctions(before, count))
    later, _, _ = vamp.real_functions(values, model._core.eigenfunctions(after, count))
    if method == "VAMPE":
        return vamp.operator_score(now, later, matrix)
    return vamp.vamp_score(now, later, method, count)


def _learned_score(model: Operator, method: vamp.Method, k: int | None) -> float:
    check_is_fitted(model)
    count = count_of(model, k)
    whole = unsplit(model.eigenvalues_, count)
    if whole == 0:
        return 0.0
    means, products = model._core.moments(whole)
    return vamp.score_of_moments(means, products, model.eigenvalues_[:whole], method, count)


def explained_variance(
    model: Operator,
    X: ArrayLike | Sequence[ArrayLike],
    k: int | None = 5,
    *,
    multioutput: Literal["uniform_average", "variance_weighted"] = "uniform_average",
) -> FloatArray:
    """Compute the share of the states' variance that each eigenfunction adds.

    The states are regressed on the eigenfunctions in the order of the eigenvalues; a share is
    the variance explained beyond the earlier ones. The constant function has none.

    Parameters
    ----------
    model : fitted Koopman
        The operator.
    X : array-like of shape (n, n_features), or trajectories
        States, n several times `k`.
    k : int, optional
        Number of eigenfunctions. None: as many as `eigenvalues_`.
    multioutput : {"uniform_average", "variance_weighted"}, default="uniform_average"
        How the components of the state count: equally, or by their variance, which suits
        components of one unit, such as coefficients of a field.

    Returns
    -------
    shares : ndarray of shape (k,)
        At least 0, their sum at most 1. Each of a conjugate pair has half of the pair's.

    Raises
    ------
    NotFittedError
        Nothing has been learned yet.
    ValueError, TypeError
        A row is invalid; the message names it.
    """
    if multioutput not in {"uniform_average", "variance_weighted"}:
        raise ValueError(
            f'multioutput must be "uniform_average" or "variance_weighted", got {multioutput!r}'
        )
    given = [states_of(model, piece) for piece in as_trajectories(X)]
    asked = np.concatenate([embedded(model, T) for T in given if len(T) > span_of(model)])
    states = asked[:, : model.n_features_in_]
    values = model.eigenvalues_
    count = count_of(model, k)
    values = values[: unsplit(values, count)]
    functions, _, owners = vamp.real_functions(
        values, model._core.eigenfunctions(asked, len(values))
    )
    varying = ~np.isin(owners, constants_of(model))
    spread = states.std(axis=0)
    shares = np.zeros(len(values))
    if not varying.any() or not spread.any():
        return shares[:count]
    table = functions[:, varying] - functions[:, varying].mean(axis=0)
    table = table / np.maximum(np.linalg.norm(table, axis=0), np.finfo(float).tiny)
    basis, sizes = np.linalg.qr(table)
    basis = basis[:, : len(sizes)] * (np.abs(np.diag(sizes)) > 1e-7)
    units = spread if multioutput == "uniform_average" else np.full(len(spread), 1.0)
    scaled = (states - states.mean(axis=0)) / np.where(spread > 0.0, units, 1.0)
    added = np.sum((basis.T @ scaled) ** 2, axis=1) / np.sum(scaled**2)
    np.add.at(shares, owners[varying], added)
    pair = np.flatnonzero(values.imag > 0.0)
    shares[pair] /= 2.0
    shares[pair + 1] = shares[pair]
    return shares[:count]


def _held_out(
    model: Operator, X: Any, X_next: ArrayLike | None, inputs: Any, n_steps: int
) -> _HeldOut:
    """Check pairs, or form those of trajectories; the inputs are checked by `predict`."""
    lag = whole_number("lag", model.lag)
    if X_next is not None:
        if n_steps > 1:
            raise ValueError(
                f"n_steps={n_steps} needs trajectories: the states of pairs are one step apart"
            )
        before, after = queried(model, X), queried(model, X_next)
        if len(before) != len(after):
            raise ValueError(f"X has {len(before)} rows but X_next has {len(after)}")
        warn_of_lag(before, after, lag)
        return _HeldOut(before, after, inputs)
    given = [states_of(model, piece) for piece in as_trajectories(X)]
    each = None
    if inputs is not None and control_width(model):
        each = as_trajectories(inputs)
        if len(each) != len(given):
            raise ValueError(f"{len(given)} trajectories, but inputs for {len(each)}")
    span = span_of(model)
    used = _long_enough(given, lag * n_steps, span)
    pieces = [embedded(model, given[i]) for i in used]
    before, after = paired(pieces, lag * n_steps, may_be_empty=False)
    if each is not None:
        acting = [each[i] for i in used]
        inputs = _sequences(acting, pieces, control_width(model), n_steps, span)
    return _HeldOut(before, after, inputs)


def _long_enough(pieces: list[FloatArray], ahead: int, span: int) -> list[int]:
    """Give the trajectories with a pair of states, and warn of the others; there must be one."""
    needed = ahead + span + 1
    short = [i for i, piece in enumerate(pieces) if len(piece) < needed]
    if len(short) == len(pieces):
        delays = f" after delays over {span} steps" if span else ""
        raise ValueError(
            f"no pair: {describe_longest(pieces)}, and forecasts {ahead} states ahead{delays} "
            f"need at least {needed}"
        )
    if short:
        named = ", ".join(f"{i} ({len(pieces[i])} states)" for i in short[:_NAMED])
        more = f" and {len(short) - _NAMED} more" if len(short) > _NAMED else ""
        advise(f"left out, since a pair takes {needed} states: trajectories {named}{more}")
    return [i for i, piece in enumerate(pieces) if len(piece) >= needed]


def _sequences(
    each: list[Any], pieces: list[FloatArray], width: int, n_steps: int, span: int
) -> FloatArray:
    """Give the inputs that act from each state of trajectories to the one n steps later."""
    windows = []
    for given, piece in zip(each, pieces, strict=True):
        acting = rows_of_inputs(given, len(piece) + span, width)[span:-1]
        if len(acting) >= n_steps:
            view = np.lib.stride_tricks.sliding_window_view(acting, n_steps, axis=0)
            windows.append(view.swapaxes(1, 2))
    return np.concatenate(windows)


def warn_of_lag(X: FloatArray, X_next: FloatArray, lag: int) -> None:
    """Warn where a lag is set, but the pairs are successive states, one step apart."""
    if lag > 1 and len(X) > 1 and np.array_equal(X[1:], X_next[:-1]):
        advise(
            f"the pairs are successive states, one step apart, but lag={lag}: lag only applies to "
            "trajectories. Pass the trajectory itself, without X_next"
        )
