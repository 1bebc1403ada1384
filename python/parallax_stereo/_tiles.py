# SPDX-License-Identifier: Apache-2.0
"""Tiles and strips of a pair, for those who distribute them: parallax_stereo.dask does."""

from __future__ import annotations

import ctypes
from dataclasses import dataclass
from typing import Any, Callable, List, Optional, Tuple

import numpy as np

from ._arrays import Array, integer, picture, view
from ._copies import remembered
from ._library import MarginValues, function
from ._matcher import Matcher, _checked_size, _image_type, _map, _Settings


@dataclass(frozen=True)
class TileMargins:
    """How much of the image around tiles and strips their match needs, in pixels; it ends where the image ends."""

    left: int  #: columns to the left of a tile, in both images
    right: int  #: columns to its right
    top: int  #: rows above it
    bottom: int  #: rows below it
    alignment: int  #: a tile with its margins begins at multiples of this many columns and rows
    exact: bool  #: whether tiles equal the untiled map, byte for byte: block and census, except with row_prior across rows
    halo: int  #: rows above and below a strip of full rows that the steps after the left-right check read
    halo_alignment: int  #: a strip with its halo begins at a multiple of this many rows


def margins(
    method: str = "bp",
    size: Tuple[int, int] = (640, 480),
    *,
    dtype: Any = np.uint8,
    preset: str = "default",
    padding: int = 0,
    **parameters: Any,
) -> TileMargins:
    """The margins that a method declares for images of this size and type. `padding` is for methods that are not exact,
    as in match(). Other keywords are the parameters of the method."""
    return margins_of(_Settings(method, preset, "auto", 0, 0, {}, parameters), size, dtype, padding)


def margins_of(settings: _Settings, size: Tuple[int, int], dtype: Any, padding: int) -> TileMargins:
    values = MarginValues()
    width, height = _checked_size(size)
    function("matcher_margins")(settings.handle, width, height, _image_type(dtype), integer(padding, "padding"), values)
    found = {name: getattr(values, name) for name in TileMargins.__dataclass_fields__}
    return TileMargins(**{**found, "exact": bool(values.exact)})


def for_tiles(settings: _Settings) -> _Settings:
    """Makes all later plans and estimates of these settings plans and estimates for tiles."""
    settings.use_for_tiles()
    return settings


class PlannedMatcher(Matcher):
    """A matcher with these settings, which may be for tiles."""

    @remembered
    def __init__(self, settings: _Settings, size: Tuple[int, int], dtype: Any) -> None:
        self._plan(settings, size, dtype)


def refine_strip(settings: _Settings, left: Any, disparity: Array, status: Array) -> None:
    """Runs the steps after the left-right check over a strip with its halo, in place."""
    image = picture(left, "left")
    function("matcher_refine_strip")(settings.handle, view(image), _map([disparity, status]))


def strip_memory(settings: _Settings, width: int, rows: int) -> int:
    """Bytes that refine_strip() allocates for a strip with its halo."""
    needed = ctypes.c_uint64()
    function("matcher_estimate_strip_memory")(settings.handle, width, rows, ctypes.byref(needed))
    return needed.value


@dataclass(frozen=True)
class Cut:
    """How columns or rows are cut into chunks that, with their overlap, are all of one length: one matcher serves them
    all. The overlap is cut off at the border of the image."""

    chunks: Tuple[int, ...]
    before: int = 0
    after: int = 0

    @property
    def length(self) -> int:
        """The length of every chunk with its overlap."""
        return self.chunks[0] + self.after

    @property
    def work(self) -> int:
        """The total number of columns or rows, including overlaps."""
        return self.length * len(self.chunks)

    def around(self, index: int) -> slice:
        """A chunk with its overlap."""
        begin = sum(self.chunks[:index]) - (self.before if index > 0 else 0)
        return slice(begin, begin + self.length)

    def inside(self, index: int) -> slice:
        """The range of a chunk within its range with overlap."""
        begin = self.before if index > 0 else 0
        return slice(begin, begin + self.chunks[index])

    def place(self, index: int) -> Tuple[int, int]:
        """The first and the last column or row of a chunk."""
        first = sum(self.chunks[:index])
        return first, first + self.chunks[index] - 1


def cuts(extent: int, before: int, after: int, alignment: int) -> List[Cut]:
    """All cuts of an axis with at least this overlap, the longest chunks first. Each chunk with its overlap begins at a
    multiple of `alignment`, and is at least as long as the overlap, which then needs only its neighbours."""
    possible = [Cut((extent,))]
    before = -(-before // alignment) * alignment
    for count in range(2, extent // 16 + 1):
        step = (extent - before - after) // count // alignment * alignment
        if step < max(before, after, 16):
            break
        behind = extent - count * step - before
        if behind <= step and step + before + behind < possible[-1].length:
            possible.append(Cut((step + before, *[step] * (count - 2), step + behind), before, behind))
    return possible


def best_cuts(columns: List[Cut], rows: List[Cut], fits: Callable[[int, int], bool]) -> Optional[Tuple[Cut, Cut]]:
    """The cuts of columns and rows that fit and need the least work; None if not even the smallest fit."""
    best: Optional[Tuple[Cut, Cut]] = None
    row = len(rows)
    for column in columns:
        # Narrower tiles may be at least as high.
        while row > 0 and fits(column.length, rows[row - 1].length):
            row -= 1
        if row < len(rows):
            if best is None or column.work * rows[row].work < best[0].work * best[1].work:
                best = column, rows[row]
    return best
