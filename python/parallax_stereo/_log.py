# SPDX-License-Identifier: Apache-2.0
"""Notices about work that takes seconds."""

from __future__ import annotations

from typing import Any, Callable, Optional

from ._library import LOG, function, text

# The callback that the library calls, kept alive.
_listener: Any = None


def set_log(listener: Optional[Callable[[str], Any]]) -> None:
    """Calls `listener` with a line of text before work that takes seconds, such as the compilation of kernels for a GPU;
    None = no notices. It applies to the whole process. `listener` may be called from any thread; exceptions
    that it raises are ignored. Do not call this while a matcher is being planned."""
    global _listener

    def report(_user: Any, message: bytes) -> None:
        try:
            if listener is not None:
                listener(text(message))
        except BaseException:  # it must not pass through C
            pass

    callback = LOG(report) if listener is not None else LOG(0)
    function("set_log")(callback, None)
    _listener = callback
