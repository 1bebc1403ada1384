# SPDX-License-Identifier: Apache-2.0
"""Arrays on a GPU, real or emulated, of a small framework made here."""

from __future__ import annotations

import ctypes
from typing import Any, Optional, Tuple

import numpy as np
import pytest

import parallax_stereo as px

gpu = next((device.name for device in px.devices() if device.name.startswith("cuda")), None)
pytestmark = pytest.mark.skipif(gpu is None, reason="no CUDA device")


def driver() -> ctypes.CDLL:
    library = ctypes.CDLL("libcuda.so.1")
    context = ctypes.c_void_p()
    assert library.cuInit(0) == 0
    assert library.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0) == 0
    assert library.cuCtxPushCurrent_v2(context) == 0
    return library


class Memory:
    """An array in the memory of the GPU."""

    def __init__(self, host: Any) -> None:
        self.driver, self.host = driver(), np.ascontiguousarray(host)
        self.address = ctypes.c_uint64()
        assert self.driver.cuMemAlloc_v2(ctypes.byref(self.address), ctypes.c_size_t(self.host.nbytes)) == 0
        pointer = ctypes.c_void_p(self.host.ctypes.data)
        assert self.driver.cuMemcpyHtoDAsync_v2(self.address, pointer, ctypes.c_size_t(self.host.nbytes), None) == 0
        assert self.driver.cuStreamSynchronize(None) == 0

    def get(self) -> Any:
        result = np.empty_like(self.host)
        pointer = ctypes.c_void_p(result.ctypes.data)
        assert self.driver.cuMemcpyDtoHAsync_v2(pointer, self.address, ctypes.c_size_t(result.nbytes), None) == 0
        assert self.driver.cuStreamSynchronize(None) == 0
        return result

    @property
    def shape(self) -> Tuple[int, ...]:
        return self.host.shape  # type: ignore[no-any-return]

    @property
    def dtype(self) -> Any:
        return self.host.dtype

    def __del__(self) -> None:
        self.driver.cuMemFree_v2(self.address)


class ByInterface(Memory):
    """An array with numba's interface."""

    strides: Optional[Tuple[int, ...]] = None
    stream: Optional[int] = None
    read_only = False

    @property
    def __cuda_array_interface__(self) -> Any:
        return {
            "shape": self.shape,
            "typestr": self.dtype.str,
            "data": (self.address.value, self.read_only),
            "strides": self.strides,
            "stream": self.stream,
            "version": 3,
        }


class Tensor(ctypes.Structure):
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
        ("manager", ctypes.c_void_p),
        ("deleter", ctypes.c_void_p),
    ]


class ByDlpack(Memory):
    """An array with the interface of torch, cupy and jax."""

    asked: Any = None
    gpu = 0

    def __dlpack_device__(self) -> Tuple[int, int]:
        return 2, self.gpu

    def __dlpack__(self, stream: Any = None) -> Any:
        self.asked = stream
        shape = (ctypes.c_int64 * self.host.ndim)(*self.shape)
        code = 2 if self.dtype.kind == "f" else 1
        self.tensor = Tensor(
            self.address.value,
            2,
            self.gpu,
            self.host.ndim,
            code,
            8 * self.dtype.itemsize,
            1,
            shape,
            None,
            0,
            None,
            None,
        )
        new = ctypes.pythonapi.PyCapsule_New
        new.restype, new.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
        return new(ctypes.addressof(self.tensor), b"dltensor", None)


@pytest.mark.parametrize("kind", [ByInterface, ByDlpack])
@pytest.mark.parametrize("colour", [False, True])
def test_the_bytes_are_those_of_the_host(kind: Any, colour: bool, pair: Any, gray: Any) -> None:
    images = pair[:2] if colour else gray
    expected = px.match(*images, 16, "census", confidence=False)
    left, right = (kind(image) for image in images)
    out = kind(np.full((80, 120), -1, np.float32)), kind(np.full((80, 120), 99, np.uint8))
    result = px.match(left, right, 16, "census", out=out)
    assert result.disparity is out[0] and result.status is out[1]
    assert np.array_equal(result.disparity.get(), expected.disparity)
    assert np.array_equal(result.status.get(), expected.status)
    assert np.array_equal(result.depth(px.Calibration(1.0, 1.0)), expected.depth(px.Calibration(1.0, 1.0)))


@pytest.mark.parametrize("kind", [ByInterface, ByDlpack])
@pytest.mark.parametrize("colour", [False, True])
def test_a_rectified_matcher_takes_the_arrays_of_its_cameras(kind: Any, colour: bool, pair: Any, gray: Any) -> None:
    left, right = pair[:2] if colour else gray
    right = np.ascontiguousarray(right[:75])
    cosine, sine = np.cos(0.03), np.sin(0.03)
    rotation = [[cosine, -sine, 0], [sine, cosine, 0], [0, 0, 1]]
    cameras = px.Camera((120, 80), (100, 101), (60, 40)), px.Camera((120, 75), (99, 99), (58, 38))
    rig = px.Rig(*cameras, rotation, [-0.1, 0.004, 0.002])
    options: Any = {"disparities": 16, "alpha": 0.7, "size": (100, 70)}
    expected = px.RectifiedMatcher(rig, "census", device="cpu", **options)(left, right)
    assert len(np.unique(expected.status)) > 2
    assert px.STATUS.index("input_masked") in expected.status

    matcher = px.RectifiedMatcher(rig, "census", device=gpu, **options)
    out = kind(np.full((70, 100), -1, np.float32)), kind(np.full((70, 100), 99, np.uint8))
    result = matcher(kind(left), kind(right), out=out)
    assert result.disparity is out[0] and result.status is out[1]
    assert np.array_equal(out[0].get(), expected.disparity)
    assert np.array_equal(out[1].get(), expected.status)
    for ours, theirs in zip(result.points(matcher.calibration), expected.points(matcher.calibration)):
        assert np.array_equal(ours, theirs)

    stream = ctypes.c_void_p()
    assert driver().cuStreamCreate(ctypes.byref(stream), 1) == 0
    images = ByDlpack(left), ByDlpack(right)
    again = ByDlpack(np.zeros((70, 100), np.float32)), ByDlpack(np.zeros((70, 100), np.uint8))
    matcher(*images, out=again, stream=stream.value)
    assert [image.asked for image in (*images, *again)] == [stream.value] * 4
    assert driver().cuStreamSynchronize(stream) == 0
    assert np.array_equal(again[0].get(), expected.disparity)
    for wrong, message in (
        (lambda: matcher(kind(left), kind(right)), "out=\\(disparity, status\\)"),
        (lambda: matcher(kind(left), right, out=out), "right is not on the GPU"),
        (lambda: matcher(kind(left), kind(left), out=out), "right image is 120×80"),
        (lambda: matcher(kind(left), kind(right), out=(out[0], kind(left))), "status map"),
    ):
        with pytest.raises(px.Error, match=message):
            wrong()


def test_work_is_enqueued_on_the_stream_of_the_arrays(gray: Any) -> None:
    stream = ctypes.c_void_p()
    assert driver().cuStreamCreate(ctypes.byref(stream), 1) == 0
    left, right = (ByDlpack(image) for image in gray)
    out = ByDlpack(np.zeros((80, 120), np.float32)), ByDlpack(np.zeros((80, 120), np.uint8))
    matcher = px.Matcher("census", (120, 80), device=gpu, disparities=16)
    matcher(left, right, out=out, stream=stream.value)
    assert left.asked == stream.value and out[0].asked == stream.value
    assert driver().cuStreamSynchronize(stream) == 0
    assert np.array_equal(out[0].get(), px.match(*gray, 16, "census").disparity)
    matcher(left, right, out=out)
    assert left.asked == 1, "the default stream, as DLPack spells it"

    described = ByInterface(gray[0])
    described.stream = stream.value
    matcher(described, right, out=out)
    assert right.asked == stream.value


def test_what_cannot_be_used_is_named(gray: Any) -> None:
    left, right = (ByInterface(image) for image in gray)
    out = ByInterface(np.zeros((80, 120), np.float32)), ByInterface(np.zeros((80, 120), np.uint8))
    gaps = ByInterface(gray[0])
    gaps.strides = (240, 2)
    read_only = ByInterface(np.zeros((80, 120), np.float32))
    read_only.read_only = True
    on_stream = ByInterface(gray[1])
    on_stream.stream = 5
    elsewhere = ByDlpack(gray[0])
    elsewhere.gpu = 1
    matcher = px.Matcher("census", (120, 80), device=gpu, disparities=16)
    for wrong, message in (
        (lambda: matcher(left, right), "out=\\(disparity, status\\)"),
        (lambda: matcher(left, gray[1], out=out), "right is not on the GPU"),
        (lambda: matcher(gray[0], right), "right is on a GPU"),
        (lambda: matcher(left, right, out=(np.zeros((80, 120), np.float32), out[1])), r"out\[0\] is not on the GPU"),
        (lambda: matcher(left, elsewhere, out=out), "right is on GPU 1, the matcher on GPU 0"),
        (lambda: matcher(gaps, right, out=out), "left has gaps"),
        (lambda: matcher(ByInterface(gray[0].astype(float)), right, out=out), "left has dtype float64"),
        (lambda: matcher(left, right, out=(out[1], out[1])), "disparity map type is 8"),
        (lambda: matcher(left, right, out=out, stream="a"), "stream is str"),
        (lambda: matcher(left, right, out=out, stream=-1), "stream is -1"),
        (lambda: matcher(left, on_stream, out=out), "right is in use on stream 5"),
        (lambda: matcher(left, right, out=(read_only, out[1])), r"out\[0\] is read-only"),
        (lambda: matcher(left, right, out=out, confidence=True), "no array for the confidence"),
        (lambda: px.Matcher("census", (120, 80), device="cpu")(left, right, out=out), "planned for a GPU"),
    ):
        with pytest.raises(px.Error, match=message):
            wrong()


def test_workers_of_dask_match_tiles_on_the_gpu(pair: Any) -> None:
    dask = pytest.importorskip("dask")
    import parallax_stereo.dask as px_dask

    maps = px_dask.match_tiles(*pair[:2], 16, "block", gpu, tile_size=(80, 60), padding=5)
    with dask.config.set(scheduler="threads"):
        disparity, status = dask.compute(*maps)
    expected = px.match(*pair[:2], 16, "block", "cpu")
    assert disparity.tobytes() == expected.disparity.tobytes() and status.tobytes() == expected.status.tobytes()
    with pytest.raises(px.ArgumentError, match="left is on a GPU: give arrays of NumPy"):
        dask.compute(*px_dask.match_pairs([(ByInterface(pair[0]), pair[1])], 16, "block", gpu))
