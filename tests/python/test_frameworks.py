# SPDX-License-Identifier: Apache-2.0
"""Arrays of frameworks that are installed here."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import parallax_stereo as px

on_gpu = pytest.mark.skipif(not any(device.name.startswith("cuda") for device in px.devices()), reason="no CUDA device")


def expected(gray: Any) -> px.Result:
    return px.match(*gray, 16, "census", confidence=False)


def test_torch_on_the_host(gray: Any) -> None:
    torch = pytest.importorskip("torch")
    result = px.match(*(torch.from_numpy(image.copy()) for image in gray), 16, "census")
    assert np.array_equal(result.disparity, expected(gray).disparity)


@on_gpu
def test_torch(gray: Any) -> None:
    torch = pytest.importorskip("torch")
    if not torch.cuda.is_available():
        pytest.skip("torch has no GPU")
    left, right = (torch.from_numpy(image.copy()).cuda() for image in gray)
    matcher = px.Matcher("census", (120, 80), device="cuda", disparities=16)
    for stream in (torch.cuda.current_stream(), torch.cuda.Stream()):
        stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(stream):
            result = matcher(left, right)
            doubled = result.disparity * 2
        stream.synchronize()
        assert isinstance(result.disparity, torch.Tensor) and result.disparity.is_cuda
        assert np.array_equal(doubled.cpu().numpy(), expected(gray).disparity * 2)
        assert np.array_equal(result.status.cpu().numpy(), expected(gray).status)
    out = torch.zeros((80, 120), device="cuda"), torch.zeros((80, 120), dtype=torch.uint8, device="cuda")
    assert matcher(left, right, out=out).disparity is out[0]
    assert np.array_equal(out[0].cpu().numpy(), expected(gray).disparity)
    assert matcher(left, right).depth(px.Calibration(1.0, 1.0)).shape == (80, 120)


@on_gpu
def test_torch_with_a_rig(gray: Any) -> None:
    torch = pytest.importorskip("torch")
    if not torch.cuda.is_available():
        pytest.skip("torch has no GPU")
    camera = px.Camera((120, 80), (100, 101), (60, 40))
    rig = px.Rig(camera, camera, np.eye(3), [-0.1, 0.004, 0.002])
    expected = px.RectifiedMatcher(rig, "census", disparities=16, device="cpu")(*gray)
    matcher = px.RectifiedMatcher(rig, "census", disparities=16, device="cuda")
    result = matcher(*(torch.from_numpy(image.copy()).cuda() for image in gray))
    assert isinstance(result.disparity, torch.Tensor) and result.disparity.is_cuda
    assert np.array_equal(result.disparity.cpu().numpy(), expected.disparity)
    assert np.array_equal(result.status.cpu().numpy(), expected.status)
    for ours, theirs in zip(result.points(matcher.calibration), expected.points(matcher.calibration)):
        assert np.array_equal(ours, theirs)


@on_gpu
def test_cupy(gray: Any) -> None:
    cupy = pytest.importorskip("cupy")
    left, right = (cupy.asarray(image) for image in gray)
    matcher = px.Matcher("census", (120, 80), device="cuda", disparities=16)
    for stream in (cupy.cuda.Stream.null, cupy.cuda.Stream(non_blocking=True)):
        cupy.cuda.Stream.null.synchronize()
        with stream:
            result = matcher(left, right)
        stream.synchronize()
        assert isinstance(result.disparity, cupy.ndarray)
        assert np.array_equal(result.disparity.get(), expected(gray).disparity)
    flipped = cupy.ascontiguousarray(left[::-1])[::-1], cupy.ascontiguousarray(right[::-1])[::-1]
    assert np.array_equal(matcher(*flipped).disparity.get(), expected(gray).disparity)


@on_gpu
def test_jax(gray: Any) -> None:
    jax = pytest.importorskip("jax")
    torch = pytest.importorskip("torch")
    if jax.default_backend() != "gpu":
        pytest.skip("jax has no GPU")
    left, right = (jax.numpy.asarray(image) for image in gray)
    out = torch.zeros((80, 120), device="cuda"), torch.zeros((80, 120), dtype=torch.uint8, device="cuda")
    px.Matcher("census", (120, 80), device="cuda", disparities=16)(left, right, out=out)
    assert np.array_equal(out[0].cpu().numpy(), expected(gray).disparity)
