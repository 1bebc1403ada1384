# SPDX-License-Identifier: Apache-2.0
"""Maps of a video that do not flicker."""

from __future__ import annotations

import ctypes
from typing import Any, Optional, Tuple

import numpy as np

from ._arrays import Images, integer, output_array, view
from ._library import ArgumentError, Handle, function
from ._matcher import Result, _checked_size, _image_type, _map


class TemporalFilter:
    """Steadies the maps of one video, frame after frame, whatever matcher and device they come from: the last map, carried
    to this frame by the motion of the camera, is averaged with the new one where both agree, and where they differ, the
    pictures decide.

    size: (width, height) of the frames.
    frames: over how many frames disparities are averaged, 1 to 255.
    dtype: uint8 or uint16, the type of the frames.
    threads: number of CPU threads; 0 = one for each core.

        matcher, steady = px.Matcher("sgm", (640, 480)), px.TemporalFilter((640, 480))
        for left, right in video:
            result = steady(left, right, matcher(left, right))

    A filter is one video: another one needs a filter of its own.
    """

    def __init__(
        self, size: Tuple[int, int] = (640, 480), *, frames: int = 20, dtype: Any = np.uint8, threads: int = 0
    ) -> None:
        self._size = _checked_size(size)
        self._handle = Handle("temporal_filter")
        function("temporal_filter_create")(
            *self._size,
            _image_type(dtype),
            integer(frames, "frames", 1),
            integer(threads, "threads"),
            ctypes.byref(self._handle.pointer),
        )

    @property
    def size(self) -> Tuple[int, int]:
        """(width, height) of the frames."""
        return self._size

    @property
    def was_predicted(self) -> bool:
        """Whether the last frame was predicted from the one before it; if not, it was the first, or one after a cut."""
        predicted = ctypes.c_int32()
        function("temporal_filter_was_predicted")(self._handle.pointer, ctypes.byref(predicted))
        return predicted.value != 0

    def __call__(self, left: Any, right: Any, result: Result, *, range: Optional[Tuple[int, int]] = None) -> Result:
        """Steadies the disparities of the next frame in place, and returns the result. The arguments are those of the match:
        for frames of uint16 give a range, because each frame has values of its own otherwise."""
        images = Images(left, right, range=range)
        shape = (self._size[1], self._size[0])
        if not isinstance(result, Result):
            raise ArgumentError(f"result is {type(result).__name__}: give that of a match")
        disparity = output_array(result.disparity, "disparity", np.float32, shape)
        status = output_array(result.status, "status", np.uint8, shape)
        maps = _map((disparity, status, None, result.row_offset))
        function("temporal_filter_run")(self._handle.pointer, images.pair, maps)
        return result

    def clear(self) -> None:
        """Forgets all frames: the next one is the first."""
        function("temporal_filter_clear")(self._handle.pointer)

    def save(self) -> bytes:
        """What the filter remembers of the frames before, for restore() of a filter for the same frames, of the same
        release."""
        size = ctypes.c_size_t()
        function("temporal_filter_state_size")(self._handle.pointer, ctypes.byref(size))
        state = ctypes.create_string_buffer(size.value)
        function("temporal_filter_save")(self._handle.pointer, state, size.value)
        return state.raw

    def restore(self, state: bytes) -> None:
        """Goes on from a saved state."""
        if not isinstance(state, bytes):
            raise ArgumentError(f"state is {type(state).__name__}: give the bytes of save()")
        function("temporal_filter_restore")(self._handle.pointer, state, len(state))

    def __repr__(self) -> str:
        return f"<TemporalFilter {self._size[0]}×{self._size[1]}>"
