# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from pathlib import Path
from typing import Any, Tuple

import numpy as np
import pytest

import parallax_stereo as px


def frames(u: int, v: int, size: Tuple[int, int] = (64, 48)) -> Tuple[Any, Any]:
    """Smooth noise, and the same moved by u columns and v rows."""
    width, height = size
    noise = np.random.default_rng(1).normal(size=(height + 20, width + 20))
    for axis in (0, 1):
        noise = sum(np.roll(noise, shift, axis) for shift in (-1, 0, 1))
    scene = np.clip(128 + 15 * noise, 0, 255).astype(np.uint8)
    views = [scene[10 - y : 10 - y + height, 10 - x : 10 - x + width] for x, y in ((0, 0), (u, v))]
    return views[0], views[1]


@pytest.mark.parametrize("u, v", [(3, 0), (-2, 4), (0, -3)])
def test_motions_are_to_the_right_and_downwards(u: int, v: int) -> None:
    motion, status = px.flow(*frames(u, v), range=(13, 13), threads=2)
    assert motion.dtype == np.float32 and motion.shape == (48, 64, 2) and status.shape == (48, 64)
    inside = motion[8:-8, 8:-8]
    assert np.isfinite(inside).all()
    assert np.abs(inside - (u, v)).mean() < 0.1


def test_the_range_is_that_of_the_command() -> None:
    first, second = frames(5, -3)
    for extent, least in (((3, 3), (4, -4)), ((6, 1), (1, -3)), ((11, 7), None)):
        motion, _ = px.flow(first, second, extent, least, threads=2)
        assert motion[24, 32] == pytest.approx((5, -3), abs=0.1)


def test_masked_pixels_have_no_motion() -> None:
    first, second = frames(1, 1)
    mask = np.ones(first.shape, bool)
    mask[:, :20] = False
    motion, status = px.flow(first, second, (5, 5), first_mask=mask, threads=2)
    assert np.isnan(motion[24, 5]).all() and np.isfinite(motion[24, 40]).all()
    assert status[24, 5] != status[24, 40]


def test_files_keep_motions(tmp_path: Path) -> None:
    vectors = np.arange(24, dtype=np.float32).reshape(3, 4, 2) - 7
    vectors[1, 2] = np.nan
    for name in ("m.flo", "m.npy"):
        px.write_flow(tmp_path / name, vectors)
        assert np.array_equal(px.read_flow(tmp_path / name), vectors, equal_nan=True)
    data = (tmp_path / "m.flo").read_bytes()
    assert data[:4] == b"PIEH" and np.frombuffer(data, "<f4")[0] == 202021.25
    assert np.frombuffer(data, "<f4", offset=12).reshape(3, 4, 2)[1, 2] == pytest.approx((1e10, 1e10))
    # Rows from the bottom up, and every second column.
    px.write_flow(tmp_path / "turned.flo", vectors[::-1, ::2])
    assert np.array_equal(px.read_flow(tmp_path / "turned.flo"), vectors[::-1, ::2], equal_nan=True)


def test_what_cannot_be_used_is_named(tmp_path: Path) -> None:
    first, second = frames(1, 1)
    vectors = np.zeros((3, 4, 2), np.float32)
    for message, call in {
        "min is given": lambda: px.flow(first, second, min=(1, 1)),
        "range is 5: give two": lambda: px.flow(first, second, 5),
        "range is 0: choose": lambda: px.flow(first, second, (0, 5)),
        "min is 0.5: give an integer": lambda: px.flow(first, second, (5, 5), (0.5, 0)),
        "disparities is given: give range": lambda: px.flow(first, second, disparities=5),
        "levels": lambda: px.flow(first, second, levels=99),
        "suffix .flo or .npy": lambda: px.write_flow(tmp_path / "m.png", vectors),
        r"shape \(3, 4\)": lambda: px.write_flow(tmp_path / "m.flo", vectors[:, :, 0]),
        "dtype float64": lambda: px.write_flow(tmp_path / "m.flo", vectors.astype(float)),
    }.items():
        with pytest.raises(px.ArgumentError, match=message):
            call()
    (tmp_path / "text.flo").write_text("no motions")
    np.save(tmp_path / "flat.npy", vectors[:, :, 0])
    for name, message in (("text.flo", "not a .flo file"), ("flat.npy", "holds no motions"), ("none.flo", "none.flo")):
        with pytest.raises(px.FileError, match=message):
            px.read_flow(tmp_path / name)
