# SPDX-License-Identifier: Apache-2.0
"""Pictures, read by the code that the command line reads them with: libparallax_pictures. It is loaded when the first
picture is read."""

from __future__ import annotations

import ctypes
import functools
import os
from pathlib import Path
from typing import Any, Union

import numpy as np

from ._arrays import Array
from ._library import FileError, encoded

_NAME = "libparallax_pictures.so.0.2"
_DTYPES = {8: np.uint8, 16: np.uint16, -16: np.int16, 32: np.float32}


class _Picture(ctypes.Structure):
    _fields_ = [
        ("pixels", ctypes.c_void_p),
        ("mask", ctypes.c_void_p),
        ("width", ctypes.c_int32),
        ("height", ctypes.c_int32),
        ("channels", ctypes.c_int32),
        ("type", ctypes.c_int32),
    ]


@functools.lru_cache(maxsize=None)
def _library() -> ctypes.CDLL:
    """The file beside that of PARALLAX_LIBRARY, else that in this package, else the system's."""
    chosen = os.environ.get("PARALLAX_LIBRARY")
    near = Path(chosen).with_name(_NAME) if chosen else Path(__file__).with_name(_NAME)
    try:
        library = ctypes.CDLL(str(near) if near.exists() else _NAME)
    except OSError as error:
        raise FileError(
            f"cannot read pictures ({error}): install the package parallax, or, before 'pip install', libspng-dev, "
            "libjpeg-dev, libtiff-dev and libwebp-dev"
        ) from error
    library.parallax_pictures_read.argtypes = [ctypes.c_char_p, ctypes.c_int, ctypes.POINTER(_Picture)]
    library.parallax_pictures_error.restype = ctypes.c_char_p
    library.parallax_pictures_free.argtypes = [ctypes.c_void_p]
    library.parallax_pictures_free.restype = None
    return library


def read_picture(path: Union[str, Path], ignore_orientation: bool) -> Array:
    library = _library()
    picture = _Picture()
    if library.parallax_pictures_read(encoded(path, "path"), ignore_orientation, ctypes.byref(picture)) != 0:
        raise FileError(library.parallax_pictures_error().decode("utf-8", "replace"))
    try:
        size = (picture.height, picture.width)
        shape = size if picture.channels == 1 else (*size, picture.channels)
        pixels = _copy(picture.pixels, shape, _DTYPES[picture.type])
        if picture.mask is None:
            return pixels
        masked = _copy(picture.mask, size, np.uint8) == 0
        if pixels.ndim == 3:
            masked = np.broadcast_to(masked[:, :, None], shape)
        return np.ma.MaskedArray(pixels, masked)  # type: ignore[no-untyped-call]
    finally:
        library.parallax_pictures_free(picture.pixels)
        library.parallax_pictures_free(picture.mask)


def _copy(memory: Any, shape: Any, dtype: Any) -> Array:
    count = int(np.prod(shape)) * np.dtype(dtype).itemsize
    values: Array = np.frombuffer(ctypes.string_at(memory, count), dtype).reshape(shape).copy()
    return values
