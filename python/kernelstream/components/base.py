"""The small base that kernels, bases and learners share."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import fields
from numbers import Integral, Real
from typing import Any, ClassVar, Self, cast

import numpy as np
from sklearn.base import BaseEstimator

from kernelstream import _core


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
    _known: ClassVar[dict[str, dict[str, type[Component]]]] = {}

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if "_type" in vars(cls):
            Component._known.setdefault(cls._part, {})[cls._type] = cls

    def __post_init__(self) -> None:
        self._check()

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Component) or type(other) is not type(self):
            return NotImplemented
        return self._spec() == other._spec()

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
        _core.check(self._part, json.dumps(self._spec()))

    def _spec(self) -> dict[str, Any]:
        """Give the description that the core and the model file understand."""
        spec: dict[str, Any] = {"type": self._type}
        for field in fields(self):
            name = field.name
            spec[name] = _plain(f"{type(self).__name__}: {name}", getattr(self, name))
        return spec

    @classmethod
    def _from_spec(cls, spec: Mapping[str, Any]) -> Self:
        """Make the component that ``_spec`` described; ``cls`` is the base of one part."""
        kinds = Component._known[cls._part]
        kind = spec["type"]
        if kind not in kinds:
            raise ValueError(f"unknown {cls._part} {kind!r}; known: {', '.join(kinds)}")
        values = {name: value for name, value in spec.items() if name != "type"}
        return cast(Self, kinds[kind]._from_values(values))

    @classmethod
    def _from_values(cls, values: dict[str, Any]) -> Self:
        return cls(**values)


def _plain(where: str, value: object) -> Any:
    """Turn a parameter into what JSON can carry, or say which one cannot."""
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
        return value._spec()
    if isinstance(value, Mapping):
        return {str(key): _plain(where, inner) for key, inner in value.items()}
    if isinstance(value, list | tuple | np.ndarray):
        return [_plain(where, inner) for inner in value]
    raise TypeError(f"{where} must be a number, a name or None, got {value!r}")
