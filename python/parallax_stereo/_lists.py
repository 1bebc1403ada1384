# SPDX-License-Identifier: Apache-2.0
"""The methods, their parameters, and the devices of this machine."""

from __future__ import annotations

import ctypes
from typing import Any, List, NamedTuple, Tuple

from ._library import DeviceInfo, ParameterInfo, encoded, function, text

_KINDS = ("flag", "integer", "number", "choice")


class Device(NamedTuple):
    """A device of this machine."""

    name: str  #: for `device=`: "cuda:0"
    description: str  #: its name; for a GPU, also its memory, architecture and driver


class Parameter(NamedTuple):
    """A parameter of a method."""

    name: str  #: the keyword
    kind: str  #: "flag", "integer", "number" or "choice"
    default: str  #: as text
    help: str  #: one line
    unit: str  #: "pixels", "gray levels"; empty if it has none
    allowed: str  #: "an odd number from 1 to 31"
    group: str  #: heading under which user interfaces show it
    least: float  #: lowest value of an integer or a number
    most: float  #: highest value of an integer or a number
    choices: Tuple[str, ...]  #: allowed values of a choice
    optional: bool  #: may be None
    expert: bool  #: rarely worth changing
    #: where it works: "cpu"; other devices that run the method refuse all values but 0, False and None
    devices: Tuple[str, ...]
    choice_devices: Tuple[Tuple[str, ...], ...]  #: where each of `choices` works


def _listed(name: str, item: Any, *arguments: Any) -> List[Any]:
    items, count = ctypes.POINTER(item)(), ctypes.c_size_t()
    function(name)(*arguments, ctypes.byref(items), ctypes.byref(count))
    return [items[i] for i in range(count.value)]


def methods() -> List[str]:
    """The names of all methods, such as "bp"."""
    return [text(name) for name in _listed("list_methods", ctypes.c_char_p)]


def presets(method: str) -> List[str]:
    """The names of the presets of a method, "default" first."""
    return [text(name) for name in _listed("list_presets", ctypes.c_char_p, encoded(method, "method"))]


def parameters(method: str) -> List[Parameter]:
    """The parameters of a method, which `match` and `Matcher` take as keywords."""
    found = _listed("list_parameters", ctypes.POINTER(ParameterInfo), encoded(method, "method"))
    return [_parameter(pointer.contents) for pointer in found]


def _parameter(info: ParameterInfo) -> Parameter:
    return Parameter(
        name=text(info.name),
        kind=_KINDS[info.kind],
        default=text(info.default_value),
        help=text(info.help),
        unit=text(info.unit),
        allowed=text(info.allowed),
        group=text(info.group),
        least=info.least,
        most=info.most,
        choices=tuple(text(info.choices[i]) for i in range(info.choice_count)),
        optional=bool(info.optional),
        expert=bool(info.expert),
        devices=tuple(text(info.devices[i]) for i in range(info.device_count)),
        choice_devices=tuple(tuple(text(info.choice_devices[i]).split(", ")) for i in range(info.choice_count)),
    )


def devices() -> List[Device]:
    """The devices of this machine."""
    found = _listed("list_devices", ctypes.POINTER(DeviceInfo))
    return [Device(text(pointer.contents.name), text(pointer.contents.description)) for pointer in found]
