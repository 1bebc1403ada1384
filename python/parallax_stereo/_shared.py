# SPDX-License-Identifier: Apache-2.0
"""Maps in shared memory, as 'parallax match --camera … --share NAME' writes them: docs/reference/shared_maps.md."""

from __future__ import annotations

import fcntl
import mmap
import struct
import time
from dataclasses import dataclass
from typing import Any, Iterator, Optional, Tuple

import numpy as np

from ._arrays import Array
from ._library import ArgumentError, FileError
from ._maps import Calibration

_HEADER = struct.Struct("=8sIIIIQQQIi5d")
_SLOT = struct.Struct("=QQqqd24x")
_KIND, _VERSION = b"PXMAPS\0\0", 1
_MAPS = 40  # where the count of maps is in the header


@dataclass(frozen=True)
class SharedMap:
    """A map that another process made, copied from its memory."""

    disparity: Array  #: float32 (height, width), in pixels; +inf = none
    status: Array  #: uint8 (height, width), indices into STATUS
    number: int  #: of the pair, from 0: pairs that were dropped leave gaps
    arrival: float  #: seconds since 1970, when the pair came from the cameras
    written: float  #: and when the map was complete
    skew: float  #: seconds by which the right picture is later than the left one


class SharedMaps:
    """The maps that 'parallax match --camera … --share NAME' writes to the memory of this machine.

        for map in px.SharedMaps("maps"):
            use(map.disparity)

    Iterating gives the newest map, waits for the next one, and ends when the other process does. Maps that come
    meanwhile are left out.
    """

    def __init__(self, name: str) -> None:
        if not isinstance(name, str) or not name or "/" in name or "\0" in name:
            raise ArgumentError(f"name is {name!r}: give that of match --share")
        self._name = name
        try:
            self._file = open(f"/dev/shm/parallax-{name}", "rb")
            self._memory = mmap.mmap(self._file.fileno(), 0, access=mmap.ACCESS_READ)
        except (OSError, ValueError) as error:
            raise FileError(
                f"cannot read the shared memory {name} ({error}): start match --share {name} first"
            ) from error
        if len(self._memory) < _HEADER.size:
            raise FileError(f"the shared memory {name} has no maps: check its name")
        kind, version, slots, width, height, first, slot, _, _, _, *geometry = _HEADER.unpack_from(self._memory)
        if kind != _KIND or version != _VERSION or slots < 1 or first + slots * slot > len(self._memory):
            raise FileError(f"the shared memory {name} is not that of this version: check its name")
        self._slots, self._first, self._slot = slots, first, slot
        #: (width, height) of the maps
        self.size: Tuple[int, int] = (width, height)
        #: for depths and points; None if it is not known
        self.calibration: Optional[Calibration] = None
        focal, baseline, centre_x, centre_y, doffs = geometry
        if focal > 0:
            self.calibration = Calibration(focal, baseline, centre_x, centre_y, doffs, width, height)

    @property
    def count(self) -> int:
        """Number of maps that were written so far."""
        return int(struct.unpack_from("=Q", self._memory, _MAPS)[0])

    @property
    def has_ended(self) -> bool:
        """Whether no more follow: the other process says so, or is gone. Ask before `count`: it may write once more."""
        if struct.unpack_from("=I", self._memory, _MAPS + 8)[0] != 0:
            return True
        try:  # the writer holds the lock of the file
            fcntl.flock(self._file, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        fcntl.flock(self._file, fcntl.LOCK_UN)
        return True

    def newest(self) -> Optional[SharedMap]:
        """The newest map; None before the first one."""
        return self._newest()[1]

    def _newest(self) -> Tuple[int, Optional[SharedMap]]:
        """The same, and how many maps there were then."""
        width, height = self.size
        while True:
            count = self.count
            if count == 0:
                return 0, None
            at = self._first + (count - 1) % self._slots * self._slot
            before, number, arrival, written, skew = _SLOT.unpack_from(self._memory, at)
            if before % 2:
                continue
            values = at + _SLOT.size
            disparity: Any = (
                np.frombuffer(self._memory, np.float32, width * height, values).reshape(height, width).copy()
            )
            status: Any = np.frombuffer(self._memory, np.uint8, width * height, values + 4 * width * height)
            status = status.reshape(height, width).copy()
            if struct.unpack_from("=Q", self._memory, at)[0] == before:
                return count, SharedMap(disparity, status, number, arrival / 1e9, written / 1e9, skew)

    def __iter__(self) -> Iterator[SharedMap]:
        seen = 0
        while True:
            has_ended = self.has_ended
            if self.count > seen:
                seen, found = self._newest()
                if found is not None:
                    yield found
            elif has_ended:
                return
            else:
                time.sleep(0.001)

    def __repr__(self) -> str:
        return f"<SharedMaps {self._name}, {self.size[0]}×{self.size[1]}>"
