# SPDX-License-Identifier: Apache-2.0
"""Objects that pickle and copy as the arguments that they were made with: the copy makes its own plan."""

from __future__ import annotations

import functools
from typing import Any, Callable, Dict, Tuple, TypeVar

Init = TypeVar("Init", bound=Callable[..., None])


class Copied:
    """The base of a class whose __init__ is decorated with `remembered`."""

    _given: Tuple[Any, Tuple[Any, ...], Dict[str, Any]]
    _made: Tuple[str, ...]

    def __reduce__(self) -> Tuple[Any, ...]:
        added = {name: value for name, value in self.__dict__.items() if name not in self._made}
        return _made_again, (type(self), *self._given), added or None


def remembered(init: Init) -> Init:
    """Remembers the arguments, and which attributes they make: a class derived from this one may add others."""

    @functools.wraps(init)
    def remember(self: Any, *positional: Any, **named: Any) -> None:
        init(self, *positional, **named)
        owner = next(base for base in type(self).__mro__ if base.__dict__.get("__init__") is remember)
        self._given = (owner, positional, named)
        self._made = (*self.__dict__, "_made")

    return remember  # type: ignore[return-value]


def _made_again(kind: Any, owner: Any, positional: Tuple[Any, ...], named: Dict[str, Any]) -> Any:
    made = kind.__new__(kind)
    owner.__init__(made, *positional, **named)
    return made
