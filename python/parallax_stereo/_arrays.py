# SPDX-License-Identifier: Apache-2.0
"""NumPy arrays as views for the C interface."""

from __future__ import annotations

import ctypes
from typing import Any, List, Optional, Tuple

import numpy as np
import numpy.typing as npt

from ._library import FLOAT32, UINT8, UINT16, ArgumentError, Image, Pair, function

Array = npt.NDArray[Any]
TYPES = {np.dtype(np.uint8): UINT8, np.dtype(np.uint16): UINT16, np.dtype(np.float32): FLOAT32}


# DLPack's numbers for the device kinds that are GPUs.
_CUDA, _CUDA_MANAGED = 2, 13


def is_on_gpu(value: Any) -> bool:
    if isinstance(value, np.ndarray):
        return False
    if hasattr(value, "__dlpack_device__"):
        return int(value.__dlpack_device__()[0]) in (_CUDA, _CUDA_MANAGED)
    # torch raises an AttributeError for a tensor that is not on a GPU.
    return hasattr(value, "__cuda_array_interface__")


def as_array(value: Any, name: str) -> Array:
    """A NumPy array that shares the memory of `value`, which may be of any type that allows this."""
    if isinstance(value, np.ndarray):
        return value
    if is_on_gpu(value):
        raise ArgumentError(f"{name} is on a GPU, and the left image is not: give all arrays on one device")
    try:
        array: Array = np.asarray(value) if hasattr(value, "__array__") else np.from_dlpack(value)
    except Exception as error:
        raise ArgumentError(f"{name} is {type(value).__name__}: give a NumPy array") from error
    return array


def integer(value: Any, name: str, least: int = -(2**31), most: int = 2**31 - 1) -> int:
    """The value as an int. It must be an integer in the range of the C interface's type."""
    if not isinstance(value, (int, np.integer)):
        raise ArgumentError(f"{name} is {value!r}: give an integer")
    if not least <= value <= most:
        raise ArgumentError(f"{name} is {value}: choose an integer from {least} to {most}")
    return int(value)


def check_dtype(array: Array, name: str, dtypes: Tuple[Any, ...]) -> None:
    if array.dtype not in dtypes:
        allowed = " or ".join(np.dtype(dtype).name for dtype in dtypes)
        raise ArgumentError(f"{name} has dtype {array.dtype}: give {allowed}")


def check_shape(array: Array, name: str, channels: Tuple[Optional[int], ...]) -> None:
    """`channels`: the allowed third dimensions; None = there is none."""
    shape = array.shape
    fits = len(shape) == 2 and None in channels or len(shape) == 3 and shape[2] in channels
    if not fits:
        forms = ["(height, width)" if count is None else f"(height, width, {count})" for count in channels]
        raise ArgumentError(f"{name} has shape {shape}: give {' or '.join(forms)}")
    if 0 in shape:
        raise ArgumentError(f"{name} has shape {shape}: give an image with at least one pixel")


def has_packed_rows(array: Array) -> bool:
    """Whether the pixels of a row, and their channels, follow each other without gaps."""
    expected = array.itemsize
    for axis in range(array.ndim - 1, 0, -1):
        if array.shape[axis] > 1 and array.strides[axis] != expected:
            return False
        expected *= array.shape[axis]
    return True


def view(array: Array) -> Image:
    """The array must outlive the view, and have packed rows."""
    height, width = array.shape[:2]
    channels = array.shape[2] if array.ndim == 3 else 1
    stride = array.strides[0] if height > 1 else array.itemsize * width * channels
    return Image(array.ctypes.data, width, height, stride, TYPES[array.dtype], channels)


def input_array(value: Any, name: str, dtypes: Tuple[Any, ...], channels: Tuple[Optional[int], ...] = (None,)) -> Array:
    """Rows may lie anywhere, even from the bottom up; an array without packed rows is copied."""
    array = as_array(value, name)
    check_dtype(array, name, dtypes)
    check_shape(array, name, channels)
    return array if has_packed_rows(array) else np.ascontiguousarray(array)


def picture(value: Any, name: str) -> Array:
    return input_array(as_array(value, name), name, (np.uint8, np.uint16), (None, 3))


def _unsigned(left: Array, right: Array) -> List[Array]:
    """Pictures of int16 as uint16; if there are negative values, all are counted from -32768."""
    images = [left, right]
    if any(image.dtype != np.int16 for image in images) or 0 in left.shape or 0 in right.shape:
        return images
    if min(left.min(), right.min()) >= 0:
        return [image.astype(np.uint16) for image in images]
    return [(image.astype(np.int32) + 32768).astype(np.uint16) for image in images]


def mask(value: Any, name: str) -> Array:
    array = as_array(value, name)
    if array.dtype == np.bool_:
        array = array.view(np.uint8)
    return input_array(array, name, (np.uint8,))


def output_array(value: Any, name: str, dtype: Any, shape: Tuple[int, ...]) -> Array:
    """The caller's array to write into."""
    if not isinstance(value, np.ndarray):
        raise ArgumentError(f"{name} is {type(value).__name__}: give a NumPy array")
    check_dtype(value, name, (dtype,))
    if value.shape != shape:
        raise ArgumentError(f"{name} has shape {value.shape}: give {shape}")
    if not value.flags.writeable:
        raise ArgumentError(f"{name} is read-only: give an array that may be written")
    if not has_packed_rows(value):
        raise ArgumentError(f"{name} has gaps between the pixels of a row: give an array without")
    return value


def _mask_of(image: Any, given: Any, name: str) -> Optional[Array]:
    """The mask that the caller gives, without the pixels that a masked array masks in any channel."""
    chosen = None if given is None else mask(given, name)
    if not isinstance(image, np.ma.MaskedArray) or image.mask is np.ma.nomask:
        return chosen
    valid: Array = ~(image.mask.any(axis=2) if image.ndim == 3 else image.mask)
    both: Array = (valid if chosen is None else valid & (chosen > 0)).astype(np.uint8)
    return both


def stretched(image: Array, values: Tuple[int, int]) -> Array:
    """The image with the values that matchers expect: the least of `values` becomes 0, the greatest 255 or 65280."""
    low, high = values
    if image.dtype == np.uint8 and (low, high) == (0, 255):
        return image
    result = np.empty(image.shape, image.dtype)
    function("stretch")(view(image), low, high, view(result))
    return result


def _value_range(given: Any, pair: Pair) -> Tuple[int, int]:
    if given is None:
        low, high = ctypes.c_int32(), ctypes.c_int32()
        function("find_value_range")(pair, ctypes.byref(low), ctypes.byref(high))
        return low.value, high.value
    try:
        low, high = given
    except (TypeError, ValueError) as error:
        raise ArgumentError(f"range is {given!r}: give the values of black and of white") from error
    return integer(low, "range"), integer(high, "range")


class Images:
    """A pair of NumPy arrays, and their views.

    range: the values that stand for black and for white; None = all of uint8, those of both images of uint16.
    """

    def __init__(
        self,
        left: Any,
        right: Any,
        left_mask: Any = None,
        right_mask: Any = None,
        costs: Any = None,
        *,
        range: Any = None,
    ) -> None:
        pictures = _unsigned(as_array(left, "left"), as_array(right, "right"))
        images = [picture(image, name) for image, name in zip(pictures, ("left", "right"))]
        masks = [_mask_of(left, left_mask, "left_mask"), _mask_of(right, right_mask, "right_mask")]
        self._arrays: List[Optional[Array]] = [*images, *masks, None if costs is None else _volume(costs)]
        if range is not None or all(image.dtype == np.uint16 for image in images):
            values = _value_range(range, self._views())
            self._arrays[:2] = [stretched(image, values) for image in images]
        self.left, self.right = (array for array in self._arrays[:2] if array is not None)
        self.shape = self.left.shape[:2]
        self.pair = self._views()

    def _views(self) -> Pair:
        return pair_of([None if array is None else view(array) for array in self._arrays])


def _volume(costs: Any) -> Array:
    array = as_array(costs, "costs")
    labels = array.shape[2] if array.ndim == 3 else None
    return input_array(array, "costs", (np.float32,), (labels,))


def pair_of(views: List[Optional[Image]]) -> Pair:
    return Pair(*(None if image is None else ctypes.pointer(image) for image in views))
