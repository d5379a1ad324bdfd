"""States held by the data sets of other packages."""

from __future__ import annotations

from typing import Any

__all__ = ["states_of"]


def states_of(X: Any, X_next: Any, lag: int) -> tuple[Any, Any]:
    """Give the states of a data set; other arguments unchanged.

    Raises
    ------
    ValueError
        The data set has another lag.
    """
    if X_next is not None or hasattr(X, "__array__"):
        return X, X_next
    several, single = getattr(X, "trajectories", None), getattr(X, "trajectory", None)
    if several is None and single is None:
        pairs = getattr(X, "data", None), getattr(X, "data_lagged", None)
        return pairs if pairs[0] is not None and pairs[1] is not None else (X, X_next)
    theirs = getattr(X, "lagtime", lag)
    if theirs != lag:
        raise ValueError(
            f"the {type(X).__name__} has lagtime={theirs}, but the model has lag={lag}: pass "
            f"Koopman(lag={theirs})"
        )
    return (list(several) if several is not None else [single]), None
