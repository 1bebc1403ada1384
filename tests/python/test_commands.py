# SPDX-License-Identifier: Apache-2.0
"""What the command line tells of values that a file cannot hold, of turned pictures and of raw mosaics, and organised
clouds, with values computed here."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import Any, Tuple

import numpy as np
import pytest

import parallax_stereo as px

pillow = pytest.importorskip("PIL.Image")
COMMAND = os.environ.get("PARALLAX_COMMAND", "")
pytestmark = pytest.mark.skipif(not COMMAND, reason="PARALLAX_COMMAND is not set")
FOCAL, BASELINE, CENTRE = 500.0, 0.9, (60.0, 40.0)


def run(*arguments: Any) -> subprocess.CompletedProcess[str]:
    return subprocess.run([COMMAND, *map(str, arguments)], capture_output=True, text=True)


@pytest.fixture
def files(pair: Any, tmp_path: Path) -> Tuple[Path, Path]:
    for name, image in (("l.png", pair[0]), ("r.png", pair[1])):
        pillow.fromarray(image).save(tmp_path / name)
    x, y = CENTRE
    (tmp_path / "calib.txt").write_text(
        f"cam0=[{FOCAL} 0 {x}; 0 {FOCAL} {y}; 0 0 1]\ncam1=[{FOCAL} 0 {x}; 0 {FOCAL} {y}; 0 0 1]\n"
        f"doffs=0\nbaseline={1000 * BASELINE}\nwidth=120\nheight=80\nndisp=16\n"
    )
    return tmp_path / "l.png", tmp_path / "r.png"


def test_values_that_a_png_cannot_hold_are_counted(files: Any, tmp_path: Path) -> None:
    options = ("--disparities", 16, "--method", "census", "--min-disparity", -4, "--calib", tmp_path / "calib.txt")
    done = run("match", *files, *options, "-o", tmp_path / "d.pfm")
    assert done.returncode == 0 and "become" not in done.stderr
    disparity = px.read_disparity(tmp_path / "d.pfm")
    exists = np.isfinite(disparity)
    done = run("match", *files, *options, "-o", tmp_path / "d.png", "--depth", tmp_path / "z.png")
    assert done.returncode == 0
    lost = int((disparity[exists] * 256 < 0.5).sum())
    assert lost > 0 and f"d.png: {lost} of {exists.sum()} disparities become 1/256" in done.stderr
    depths = FOCAL * BASELINE / disparity[exists & (disparity > 0)].astype(float)
    far = int((np.floor(depths * 1000 + 0.5) > 65535).sum())
    assert far > 0 and f"z.png: {far} of {depths.size} depths are left out" in done.stderr
    for least, count in ((-20, 10), (256, 4)):
        refused = run("match", *files, "--min-disparity", least, "--disparities", count, "-o", tmp_path / "d.png")
        assert refused.returncode != 0 and ("cannot hold disparities" in refused.stderr or least == 256)


def test_organised_clouds(files: Any, tmp_path: Path) -> None:
    options = (
        "--disparities",
        16,
        "--method",
        "census",
        "--fill",
        "none",
        "--calib",
        tmp_path / "calib.txt",
        "--organised",
    )
    for name in ("c.pcd", "c.ply"):
        done = run("match", *files, *options, "-o", tmp_path / "d.pfm", "--cloud", tmp_path / name)
        assert done.returncode == 0, done.stderr
    disparity = px.read_disparity(tmp_path / "d.pfm").astype(float)
    with np.errstate(divide="ignore"):
        z = np.where(np.isfinite(disparity) & (disparity > 0), FOCAL * BASELINE * 1000 / disparity, np.nan)
    y, x = np.mgrid[0:80, 0:120]
    expected = np.dstack([(x - CENTRE[0]) * z / FOCAL, (y - CENTRE[1]) * z / FOCAL, z])
    header, data = (tmp_path / "c.pcd").read_bytes().split(b"DATA binary\n", 1)
    assert b"\nWIDTH 120\nHEIGHT 80\n" in header
    points = np.frombuffer(data, np.dtype([("p", "<f4", 3), ("c", "<u4")])).reshape(80, 120)
    assert np.isnan(expected).any() and np.allclose(points["p"], expected, rtol=1e-5, equal_nan=True)
    header, data = (tmp_path / "c.ply").read_bytes().split(b"end_header\n", 1)
    assert b"obj_info num_cols 120\nobj_info num_rows 80\nelement vertex 9600\n" in header
    vertices = np.frombuffer(data, np.dtype([("p", "<f4", 3), ("c", "u1", 3)])).reshape(80, 120)
    assert np.array_equal(vertices["p"], points["p"], equal_nan=True)
    refused = run("match", *files, *options, "-o", tmp_path / "d.pfm")
    assert refused.returncode == 2 and "--organised needs --cloud" in refused.stderr


def test_turned_pictures_are_told(pair: Any, tmp_path: Path) -> None:
    exif = pillow.Exif()
    exif[0x112] = 3
    for name, image in (("l.png", pair[0]), ("r.png", pair[1])):
        pillow.fromarray(image).save(tmp_path / name, exif=exif)
    files = (tmp_path / "l.png", tmp_path / "r.png")
    options = ("--disparities", 16, "--method", "census", "-o", tmp_path / "d.pfm")
    told = run("match", *files, *options)
    assert told.stderr.count("turned by 180°, as its EXIF data say: --ignore-orientation") == 1
    stored = run("match", *files, *options, "--ignore-orientation")
    assert "EXIF" not in stored.stderr
    assert np.array_equal(px.read_disparity(tmp_path / "d.pfm"), px.match(*pair[:2], 16, "census").disparity)


def demosaiced(mosaic: Any, channels: Any) -> Any:
    """Each pixel has its own channel, and rounded means of its nearest neighbours of the other two."""
    height, width = mosaic.shape
    colours = []
    for channel in range(3):
        known = np.pad(channels == channel, 1)
        values = np.pad(mosaic.astype(int), 1) * known
        shifts = [(j, i) for j in range(3) for i in range(3)]
        total = sum(values[j : j + height, i : i + width] for j, i in shifts)
        count = sum(known[j : j + height, i : i + width].astype(int) for j, i in shifts)
        colours.append(np.where(channels == channel, mosaic, (total + count // 2) // count))
    return np.dstack(colours).astype(mosaic.dtype)


def test_mosaics(tmp_path: Path) -> None:
    left, right, _ = px.synthesize((240, 180), 16, seed=3)
    colours = [np.clip(image.astype(int) * [1.6, 1, 0.5], 0, 255).astype(np.uint8) for image in (left, right)]
    y, x = np.mgrid[0:180, 0:240]
    # Red is in even rows and columns, blue in odd ones.
    for name, image in zip(("l.png", "r.png"), colours):
        pillow.fromarray(np.take_along_axis(image, (y % 2 + x % 2)[:, :, None], axis=2)[:, :, 0]).save(tmp_path / name)
        pillow.fromarray(image[:, :, 1]).save(tmp_path / ("green_" + name))
    files = (tmp_path / "l.png", tmp_path / "r.png")
    remark = "--bayer rggb"
    assert remark in run("check", *files).stdout
    assert remark not in run("check", *files, "--bayer", "rggb").stdout
    assert remark not in run("check", tmp_path / "green_l.png", tmp_path / "green_r.png").stdout

    done = run("match", *files, "--disparities", 16, "--method", "block", "-o", tmp_path / "d.pfm", "--bayer", "rggb")
    assert done.returncode == 0, done.stderr
    expected = px.match(*[demosaiced(px.read(file), y % 2 + x % 2) for file in files], 16, "block")
    assert np.array_equal(px.read_disparity(tmp_path / "d.pfm"), expected.disparity)
