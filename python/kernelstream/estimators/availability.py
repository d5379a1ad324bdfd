"""Methods that only some parameters provide."""

from __future__ import annotations

from collections.abc import Callable
from functools import update_wrapper, wraps
from types import MethodType
from typing import Any, Concatenate, ParamSpec, TypeVar, cast

from kernelstream.exceptions import NotAvailableError

__all__ = ["attribute_of", "available_where"]

P = ParamSpec("P")
S = TypeVar("S")
R = TypeVar("R")


class _MissingMethodError(AttributeError):
    reason: str

    def __init__(self, owner: object, name: str, reason: AttributeError) -> None:
        # For a wrapped estimator, the inner one's reason is reported once.
        self.reason = reason.reason if isinstance(reason, _MissingMethodError) else str(reason)
        super().__init__(f"this {type(owner).__name__!r} has no attribute {name!r}: {self.reason}")


class _Available:
    def __init__(self, check: Callable[[Any], object], method: Callable[..., Any]) -> None:
        @wraps(method)
        def checked(owner: Any, *args: Any, **kwargs: Any) -> Any:
            return self.__get__(owner)(*args, **kwargs)

        self._check, self._method, self._checked = check, method, checked
        update_wrapper(cast(Any, self), method)

    def __get__(self, owner: Any, kind: type | None = None) -> Any:
        if owner is None:
            return self._checked
        try:
            self._check(owner)
        except AttributeError as reason:
            raise _MissingMethodError(owner, self._method.__name__, reason) from None
        return MethodType(self._method, owner)


def available_where(
    check: Callable[[Any], object],
) -> Callable[[Callable[Concatenate[S, P], R]], Callable[Concatenate[S, P], R]]:
    """Make a method an attribute of only those objects that pass a check.

    scikit-learn's ``available_if`` does this too, but its error does not say why the method is
    missing, and it hides the method's type.
    """
    return lambda method: cast(Any, _Available(check, method))


def attribute_of(compute: Callable[[], R]) -> R:
    """Compute an attribute; a `ValueError` means that the model has none.

    ``hasattr`` and ``dir`` accept only an `AttributeError` for that.

    Raises
    ------
    NotAvailableError
        With the message of the `ValueError`.
    """
    try:
        return compute()
    except AttributeError:
        raise
    except ValueError as error:
        raise NotAvailableError(str(error)) from None
