"""The small base that kernels, bases and learners share."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from dataclasses import fields
from numbers import Integral, Real
from typing import Any, ClassVar, Self, TypeVar, cast

import numpy as np

from kernelstream import _core
from kernelstream.components.scikit import BaseEstimator

__all__ = ["Component", "as_component", "as_json"]

C = TypeVar("C", bound="Component")

_LARGEST_COUNT = 2**63 - 1
# The core's words for a name that it does not know, and the names that it does.
_UNKNOWN = re.compile(r"unknown variant `(.*?)`, expected (.*)", re.DOTALL)
_QUOTED = re.compile(r"`(.*?)`")


def _check_count(name: str, value: Any) -> None:
    if isinstance(value, bool) or not isinstance(value, Integral):
        raise TypeError(f"{name} must be a whole number, got {value!r}")
    if not 0 <= int(value) <= _LARGEST_COUNT:
        raise ValueError(f"{name} must be from 0 to 2**63 - 1, got {value}")


class Component(BaseEstimator):
    """A named part with plain parameters, checked when it is made and compared by value.

    A subclass is a dataclass (``eq=False``) that sets ``_type``, the name by which model files and
    the command line know it; defining it registers it. Deriving from scikit-learn's base lets
    ``clone``, ``set_params(kernel__bandwidth=...)`` and grid searches reach the parameters.
    """

    _part: ClassVar[str]
    _type: ClassVar[str]
    # The parameter that a person writes first; None: the first field.
    _leading: ClassVar[str | None] = None
    # Set by `dataclass`, which every subclass with a name is decorated with.
    __dataclass_fields__: ClassVar[dict[str, Any]]
    _known: ClassVar[dict[str, dict[str, type[Component]]]] = {}

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if "_type" in vars(cls):
            Component._known.setdefault(cls._part, {})[cls._type] = cls

    @classmethod
    def kinds(cls) -> dict[str, type[Self]]:
        """Give the components of this part of a model by their names.

        Returns
        -------
        kinds : dict of str to type
            In the order in which they were defined.
        """
        return dict(cast("dict[str, type[Self]]", Component._known[cls._part]))

    def __post_init__(self) -> None:
        self._check()

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Component) or type(other) is not type(self):
            return NotImplemented
        return self.to_spec() == other.to_spec()

    # Parameters may change (``set_params``), so equality by value rules out a hash.
    __hash__ = None  # type: ignore[assignment]

    def set_params(self, **params: Any) -> Self:
        """Set parameters, checking them as the constructor does.

        Parameters
        ----------
        **params : object
            New values by name.

        Returns
        -------
        self : object
            This object.

        Raises
        ------
        ValueError
            A name is unknown or a value is out of range; nothing is changed then.
        """
        before = dict(vars(self))
        try:
            super().set_params(**params)
            self._check()
        except Exception:
            self.__dict__.update(before)
            raise
        return self

    def _check(self) -> None:
        for field in fields(self):
            # Where a whole number belongs, the core could not say which parameter is none.
            value, kinds = getattr(self, field.name), str(field.type).split(" | ")
            if kinds[0] == "int" and not (value is None and "None" in kinds):
                _check_count(field.name, value)
        try:
            _core.check(self._part, json.dumps(self.to_spec()))
        except ValueError as error:
            raise self._explained(error) from None

    def _explained(self, error: ValueError) -> ValueError:
        """Give an error of the core in terms of the parameter whose value has no such name."""
        if (found := _UNKNOWN.search(str(error))) is None:
            return error
        for field in fields(self):
            value = getattr(self, field.name)
            if value == found[1] or (isinstance(value, Mapping) and found[1] in value):
                known = ", ".join(map(repr, _QUOTED.findall(found[2])))
                return ValueError(f"{field.name} must be one of {known}, got {value!r}")
        return error

    def to_spec(self) -> dict[str, Any]:
        """Give the description that the core and the model file understand."""
        spec: dict[str, Any] = {"type": self._type}
        for field in fields(self):
            name = field.name
            spec[name] = as_json(f"{type(self).__name__}: {name}", getattr(self, name))
        return spec

    @classmethod
    def from_spec(cls, spec: Mapping[str, Any]) -> Self:
        """Make the component that ``to_spec`` described; ``cls`` is the base of one part.

        Parameters
        ----------
        spec : mapping
            The description.

        Returns
        -------
        component : Component
            The component.

        Raises
        ------
        ValueError, TypeError, KeyError
            It describes no such component.
        """
        found = cls.kinds().get(spec["type"])
        if found is None:
            raise ValueError(
                f"unknown {cls._part} {spec['type']!r}; known: {', '.join(cls.kinds())}"
            )
        values = {name: value for name, value in spec.items() if name != "type"}
        return found._from_values(values)

    @classmethod
    def _from_values(cls, values: dict[str, Any]) -> Self:
        return cls(**values)


def as_component(value: Any, default: type[C], base: type[C]) -> C:
    """Give the component `value`, or the default one for None.

    Parameters
    ----------
    value : object
        What the user gave.
    default : type
        Made without parameters where `value` is None.
    base : type
        What the component must be an instance of.

    Returns
    -------
    component : Component
        The component.

    Raises
    ------
    TypeError
        It is no such component.
    """
    chosen = default() if value is None else value
    if not isinstance(chosen, base):
        if remedy := getattr(chosen, "_instead", None):
            raise TypeError(remedy)
        raise TypeError(
            f"{base._part} must be one of kernelstream's, like {default.__name__}(), got {chosen!r}"
        )
    return chosen


def as_json(where: str, value: object) -> Any:
    """Turn a parameter into what JSON can carry.

    Parameters
    ----------
    where : str
        What errors call it.
    value : object
        A number, a text, None, a component, or a mapping or sequence of such.

    Returns
    -------
    plain : object
        The same in plain Python types.

    Raises
    ------
    ValueError, TypeError
        A number is not finite, or it is something else.
    """
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, bool | np.bool_):
        return bool(value)
    if isinstance(value, Integral):
        return int(value)
    if isinstance(value, Real):
        number = float(value)
        if not math.isfinite(number):
            raise ValueError(f"{where} must be finite, got {number}")
        return number
    if isinstance(value, Component):
        return value.to_spec()
    if isinstance(value, Mapping):
        return {str(key): as_json(where, inner) for key, inner in value.items()}
    if isinstance(value, list | tuple | np.ndarray):
        return [as_json(where, inner) for inner in value]
    raise TypeError(f"{where} must be a number, a name or None, got {value!r}")
