"""Kernels, bases and learners as a person writes them on a command line.

``name:value,key=value,...`` where the value after the colon is the component's leading parameter,
as in ``gaussian:8``, ``ald:1e-3,max_size=200``, ``ridge:1e-2,forgetting=0.999``. Kernels add up
with weights: ``0.4*gaussian:0.4+0.6*gaussian:0.7``. Factors of the columns stand behind an ``@``:
``gaussian:2@1:0.5:0``.
"""

from __future__ import annotations

import difflib
import json
import re
from dataclasses import fields
from functools import partial
from typing import Any, TypeVar, cast

from kernelstream.components.base import Component
from kernelstream.components.bases import Basis
from kernelstream.components.kernels import Kernel, Mapped, Sum
from kernelstream.components.learners import Learner

__all__ = ["parse", "parse_basis", "parse_kernel", "parse_learner"]

T = TypeVar("T", bound=Component)

# A plus that is not the sign of an exponent, as in 1e+3.
_PLUS = re.compile(r"(?<![0-9.][eE])\+")


def parse(base: type[T], text: str) -> T:
    """Read a kernel (or a weighted sum of them), a basis or a learner.

    Parameters
    ----------
    base : type
        `Kernel`, `Basis` or `Learner`.
    text : str
        Such as ``gaussian:8``, ``0.4*gaussian:0.4+0.6*gaussian:0.7``, ``ald:1e-3,max_size=200`` or
        ``gradient:0.1,loss=huber:1.5,schedule=power:100:0.5``.

    Returns
    -------
    component : Component
        The component.

    Raises
    ------
    ValueError
        A name is unknown or a value is invalid; the message lists the valid ones.
    """
    return cast(T, _kernel(text)) if base is Kernel else _component(base, text)


parse_kernel = partial(parse, Kernel)
parse_basis = partial(parse, Basis)
parse_learner = partial(parse, Learner)


def _kernel(text: str) -> Kernel:
    terms = [_term(term) for term in _PLUS.split(text)]
    if len(terms) == 1 and terms[0][0] is None:
        return terms[0][1]
    weights = [1.0 if weight is None else weight for weight, _ in terms]
    return Sum([kernel for _, kernel in terms], weights)


def _term(text: str) -> tuple[float | None, Kernel]:
    weight, star, rest = text.partition("*")
    if not star:
        return None, _mapped(text)
    try:
        return float(weight), _mapped(rest)
    except ValueError as error:
        if "could not convert" not in str(error):
            raise
        raise ValueError(f"{weight.strip()!r} in {text!r} is not a weight") from None


def _mapped(text: str) -> Kernel:
    kernel, at, factors = text.partition("@")
    if not at:
        return _component(Kernel, text)
    try:
        metric = [float(factor) for factor in factors.split(":")]
    except ValueError:
        raise ValueError(
            f"{factors.strip()!r} in {text!r} should be one number for each column, such as 1:0.5:0"
        ) from None
    return Mapped(_component(Kernel, kernel), metric)


def _component(base: type[T], text: str) -> T:
    name, colon, rest = text.strip().partition(":")
    name = name.strip().lower().replace("-", "_")
    # A component of components cannot be written in this form.
    known = [name for name in base.kinds() if name not in {"sum", "mapped", "staged"}]
    kind = base.kinds().get(name)
    if kind is None or kind._type not in known:
        raise ValueError(_unknown(base._part, name, known))
    names = [field.name for field in fields(kind)]
    values: dict[str, Any] = {}
    for place, item in enumerate(rest.split(",") if colon else []):
        key, equals, value = item.partition("=")
        if not equals and place == 0 and names:
            key, value = kind._leading or names[0], item
        elif not equals:
            raise ValueError(f"{item!r} in {text!r} should read name=value")
        key = key.strip()
        if key not in names:
            raise ValueError(_unknown(f"parameter of {name}", key, names))
        values[key] = _value(key, value.strip())
    try:
        return kind(**values)
    except (ValueError, TypeError) as error:
        raise ValueError(f"{text!r}: {error}") from None


def _value(key: str, text: str) -> Any:
    word, *numbers = text.split(":")
    if key in {"loss", "removal"} and numbers:
        return {word: _value("", numbers[0])}
    if key == "schedule" and len(numbers) == 2:
        half_life, exponent = numbers
        return {word: {"half_life": _value("", half_life), "exponent": _value("", exponent)}}
    if text.lower() in {"none", "null", ""}:
        return None
    if text.lower() in {"true", "false"}:
        return text.lower() == "true"
    try:
        return json.loads(text)  # an int stays an int
    except ValueError:
        pass
    try:
        return float(text)  # 1e3, .5, inf
    except ValueError:
        return text


def _unknown(what: str, name: str, known: list[str]) -> str:
    near = difflib.get_close_matches(name, known, n=1)
    guess = f" (did you mean {near[0]!r}?)" if near else ""
    return f"unknown {what} {name!r}{guess}; known: {', '.join(known) or 'none'}"
