# SPDX-License-Identifier: Apache-2.0
"""Arrays in the memory of a GPU: anything with __dlpack__ or __cuda_array_interface__, such as arrays of
torch, cupy, jax or numba."""

from __future__ import annotations

import ctypes
import sys
from dataclasses import dataclass
from typing import Any, Optional, Tuple

import numpy as np

from ._arrays import TYPES, integer, is_on_gpu
from ._library import ArgumentError, Image


class _Tensor(ctypes.Structure):
    """DLTensor of dlpack.h, which is also the beginning of DLManagedTensor."""

    _fields_ = [
        ("data", ctypes.c_void_p),
        ("device_type", ctypes.c_int32),
        ("device_id", ctypes.c_int32),
        ("ndim", ctypes.c_int32),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    ]


_capsule_pointer = ctypes.pythonapi.PyCapsule_GetPointer
_capsule_pointer.restype = ctypes.c_void_p
_capsule_pointer.argtypes = [ctypes.py_object, ctypes.c_char_p]

# DLPack's numbers for the kinds of values. A boolean is a byte.
_CODES = {0: "i", 1: "u", 2: "f", 6: "u"}


@dataclass
class GpuArray:
    """An address on a GPU. `owner` keeps the memory alive."""

    address: int
    dtype: Any
    shape: Tuple[int, ...]
    strides: Tuple[int, ...]  # in bytes
    gpu: Optional[int]
    owner: Any
    read_only: bool = False


def current_stream(value: Any) -> int:
    """The current stream of the framework of this array; 0 = the default stream."""
    module = type(value).__module__.split(".")[0]
    framework = sys.modules.get(module)
    if module == "torch" and framework is not None:
        return int(framework.cuda.current_stream(value.device).cuda_stream)
    if module == "cupy" and framework is not None:
        return int(framework.cuda.get_current_stream().ptr)
    if not hasattr(value, "__dlpack__"):
        return int(value.__cuda_array_interface__.get("stream") or 0)
    return 0


def stream_number(stream: Any) -> int:
    """The address of a stream of any framework."""
    if isinstance(stream, int):
        return integer(stream, "stream", 0, 2**64 - 1)
    for attribute in ("cuda_stream", "ptr", "handle"):
        number = getattr(stream, attribute, None)
        if number is not None:
            return int(getattr(number, "value", number) or 0)
    raise ArgumentError(f"stream is {type(stream).__name__}: give its address, or a stream of torch, cupy or numba")


def _from_dlpack(value: Any, stream: int, name: str) -> GpuArray:
    # The producer makes this stream wait until the data is ready. DLPack calls the default stream 1.
    try:
        capsule = value.__dlpack__(stream=stream or 1)
    except Exception as error:
        raise ArgumentError(f"{name} cannot be shared ({error}): give another array") from error
    tensor = _Tensor.from_address(_capsule_pointer(capsule, b"dltensor"))
    if tensor.lanes != 1 or tensor.code not in _CODES or tensor.bits % 8 != 0:
        raise ArgumentError(f"{name} has values of {tensor.bits} bits and kind {tensor.code}: give integers or floats")
    shape = tuple(tensor.shape[axis] for axis in range(tensor.ndim))
    dtype = np.dtype(f"{_CODES[tensor.code]}{tensor.bits // 8}")
    if tensor.strides:
        strides = tuple(tensor.strides[axis] * dtype.itemsize for axis in range(tensor.ndim))
    else:
        strides = _packed_strides(shape, dtype.itemsize)
    address = (tensor.data or 0) + tensor.byte_offset
    return GpuArray(address, dtype, shape, strides, tensor.device_id, (value, capsule))


def _packed_strides(shape: Tuple[int, ...], itemsize: int) -> Tuple[int, ...]:
    strides = []
    for extent in reversed(shape):
        strides.append(itemsize)
        itemsize *= extent
    return tuple(reversed(strides))


def _from_interface(value: Any, stream: int, name: str) -> GpuArray:
    described = value.__cuda_array_interface__
    used = described.get("stream")
    if used is not None and used != (stream or 1):
        raise ArgumentError(f"{name} is in use on stream {used}, the match on {stream or 1}: give all on one stream")
    dtype, shape = np.dtype(described["typestr"]), tuple(described["shape"])
    strides = described.get("strides") or _packed_strides(shape, dtype.itemsize)
    if dtype == np.bool_:
        dtype = np.dtype(np.uint8)
    address, read_only = described["data"]
    return GpuArray(address, dtype, shape, tuple(strides), None, value, bool(read_only))


def gpu_array(value: Any, stream: int, name: str) -> GpuArray:
    if not is_on_gpu(value):
        raise ArgumentError(f"{name} is not on the GPU, and the left image is: give all arrays on one device")
    if hasattr(value, "__dlpack__"):
        return _from_dlpack(value, stream, name)
    return _from_interface(value, stream, name)


def gpu_view(array: GpuArray, name: str) -> Image:
    """A view of an array, whose rows must be packed."""
    if len(array.shape) not in (2, 3) or 0 in array.shape:
        raise ArgumentError(f"{name} has shape {array.shape}: give (height, width) or (height, width, 3)")
    if array.dtype not in TYPES:
        raise ArgumentError(f"{name} has dtype {array.dtype}: give uint8, uint16 or float32")
    height, width = array.shape[:2]
    channels = array.shape[2] if len(array.shape) == 3 else 1
    packed = _packed_strides(array.shape, array.dtype.itemsize)
    for axis in range(1, len(array.shape)):
        if array.shape[axis] > 1 and array.strides[axis] != packed[axis]:
            raise ArgumentError(f"{name} has gaps between the pixels of a row: give an array without")
    stride = array.strides[0] if height > 1 else packed[0]
    return Image(array.address, width, height, stride, TYPES[array.dtype], channels)


def empty_like(value: Any, shape: Tuple[int, int], dtype: str) -> Any:
    """A new array in the framework of `value`, on the same GPU."""
    module = type(value).__module__.split(".")[0]
    framework: Any = sys.modules.get(module)
    if module == "torch":
        return framework.empty(shape, dtype=getattr(framework, dtype), device=value.device)
    if module == "cupy":
        return framework.empty(shape, dtype=dtype)
    if module == "numba":
        return sys.modules["numba.cuda"].device_array(shape, dtype=dtype)
    raise ArgumentError(f"cannot create arrays of {module}: give the results' arrays as out=(disparity, status)")
