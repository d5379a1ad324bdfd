"""Names of columns: which of a table's names is meant, and near ones for messages."""

from __future__ import annotations

import unicodedata
from collections.abc import Hashable, Iterable
from difflib import get_close_matches
from typing import Any

__all__ = ["name_in", "near_name", "normalized"]


def normalized(name: Any) -> str:
    """Give a name as text in the composed form of Unicode (NFC), in which names are compared.

    Parameters
    ----------
    name : object
        The name; a data frame may have numbers.
    """
    return unicodedata.normalize("NFC", str(name))


def name_in(name: Any, names: Iterable[Hashable]) -> Any:
    """Find a name among those of a table.

    Parameters
    ----------
    name : object
        The name that is looked for.
    names : iterable of hashable
        Names of a table's columns.

    Returns
    -------
    found : object
        The table's own name: the same one, or one that is equal in the composed form of Unicode or
        as text; None if there is none.
    """
    own = list(names)
    if name in own:
        return name
    wanted = normalized(name)
    return next((other for other in own if normalized(other) == wanted), None)


def near_name(name: Any, names: Iterable[Hashable]) -> str:
    """Suggest a name that differs little.

    Parameters
    ----------
    name : object
        The name that is looked for.
    names : iterable of hashable
        Names that there are.

    Returns
    -------
    suggestion : str
        Such as ``; did you mean 'price'?``; empty if there is none.
    """
    by_lower = {normalized(other).lower(): str(other) for other in names}
    near = get_close_matches(normalized(name).lower(), by_lower, n=1, cutoff=0.7)
    return f"; did you mean {by_lower[near[0]]!r}?" if near else ""
