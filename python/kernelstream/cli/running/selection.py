"""Lines on the parameters that a forecaster has selected."""

from __future__ import annotations

from collections import Counter

from kernelstream.forecasting import Forecaster

__all__ = ["chosen_lines"]

_SHOWN = 3  # seasons, and kinds of forecasts, that are named


def chosen_lines(model: Forecaster, names: list[str]) -> list[str]:
    """Describe season, operator and forecasts, a line each."""
    if not model._core.has_candidates:
        return []
    operator = model.operator_
    if not operator.n_seen_:
        short = "operator: none, since the record is too short for a pair of states with their "
        return [_seasons(model, names), f"{short}delays", _kinds(model)]
    n_delays = operator.chosen_["n_delays"]
    delays = f"{n_delays} {'delay' if n_delays == 1 else 'delays'}" if n_delays else "no delays"
    return [
        _seasons(model, names),
        f"operator: {operator.chosen_['kernel']}, {delays}, by forecasts of held-out rows",
        _kinds(model),
    ]


def _seasons(model: Forecaster, names: list[str]) -> str:
    if model.period is not None:
        return f"season: {model.period:,} rows, as given"
    found = Counter(tuple(periods) for periods in model.periods_)
    if not any(found):
        return f"season: none found in {model.n_states_:,} rows"
    parts = []
    for periods, count in found.most_common(_SHOWN):
        if periods:
            rows = " and ".join(f"{period:,}" for period in periods)
            of = "" if count == len(names) else f" ({count} of {len(names)} columns)"
            parts.append(f"{rows} rows{of}")
    return f"season: {', '.join(parts)}, since the means of its phases forecast later rows"


def _kinds(model: Forecaster) -> str:
    weights = {kind: float(found[-1].mean()) for kind, found in model.forecast_weights_.items()}
    best = sorted(weights, key=lambda kind: -weights[kind])[:_SHOWN]
    shares = ", ".join(f"{kind} {weights[kind]:.0%}" for kind in best if weights[kind] >= 0.01)
    last = int(model._mixtures().steps[-1])
    return f"forecast {last:,} steps ahead: {shares}, by their recent errors"
