"""Parameters of parts that were left out: ``kernel__bandwidth`` of a kernel that is None."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, ClassVar, Self, cast

__all__ = ["DefaultPartsMixin"]


class DefaultPartsMixin:
    """An estimator of scikit-learn some of whose parameters are parts that None stands for.

    Its constructor stores what it is given, None included, and `get_params`, ``clone`` and ``repr``
    give that back. A parameter of such a part can be set all the same, by itself or by a grid
    search: the part is then made, with its defaults, and set.
    """

    _default_parts: ClassVar[Mapping[str, Callable[[], Any]]] = {}

    def set_params(self, **params: Any) -> Self:
        """Set parameters, and those of parts, such as ``kernel__bandwidth``.

        Parameters
        ----------
        **params : object
            New values by name. Where a part is None, naming a parameter of it makes the part that
            None stands for.

        Returns
        -------
        self : object
            This estimator.

        Raises
        ------
        ValueError, TypeError
            A name is unknown or a value is out of range; the estimator's own parameters are then as
            they were.
        """
        before = dict(vars(self))
        own = {name: value for name, value in params.items() if "__" not in name}
        of_parts = {name: value for name, value in params.items() if "__" in name}
        base = cast(Any, super())
        try:
            base.set_params(**own)
            for part in {name.partition("__")[0] for name in of_parts}:
                if vars(self).get(part, self) is None:
                    setattr(self, part, self._default_part(part))
            base.set_params(**of_parts)
        except Exception:
            vars(self).update(before)
            raise
        return self

    def _default_part(self, name: str) -> Any:
        """Make what the parameter `name` stands for where it is None; None if that is nothing."""
        make = self._default_parts.get(name)
        return None if make is None else make()
