# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import parallax_stereo as px

RIG = px.Calibration(focal=500.0, baseline=0.2, centre_x=60.0, centre_y=40.0, doffs=1.5)


def test_evaluate() -> None:
    truth = np.full((10, 10), 5, np.float32)
    truth[0] = np.inf
    disparity = truth.copy()
    disparity[1, :9] = 7
    disparity[2, 0] = np.inf
    metrics = px.evaluate(disparity, truth)
    assert metrics.count == 90 and metrics.mismatches == 10
    assert metrics.bad1 == pytest.approx(10 / 90) and metrics.bad2 == pytest.approx(1 / 90)
    assert metrics.coverage == pytest.approx(89 / 90) and metrics.average == pytest.approx(18 / 89)
    mask = np.zeros((10, 10), bool)
    mask[5:] = True
    assert px.evaluate(disparity, truth, mask).bad05 == 0
    assert px.evaluate(disparity, truth, mask.astype(np.uint8) * 255).count == 50


def test_depth_and_points(pair: Any) -> None:
    left, _, truth = pair
    depths = px.depth(truth, RIG)
    assert depths == pytest.approx(500 * 0.2 / (truth.astype(float) + 1.5), rel=1e-6)
    positions, colours = px.points(truth, left, RIG)
    assert positions.shape == (80 * 120, 3) and colours.shape == (80 * 120, 3)
    at = 30 * 120 + 50
    assert positions[at] == pytest.approx(
        [(50 - 60) * depths[30, 50] / 500, (30 - 40) * depths[30, 50] / 500, depths[30, 50]], rel=1e-5
    )
    assert (colours[at] == left[30, 50]).all()


def test_normals_look_towards_the_camera(pair: Any) -> None:
    disparity = np.full((80, 120), 20, np.float32)
    disparity[5, 7] = np.inf
    normals = px.normals(disparity, RIG)
    assert normals.shape == (80, 120, 3) and not normals[5, 7].any()
    normals[5, 7] = 0, 0, -1
    assert (normals == [0, 0, -1]).all()
    left, right, truth = pair
    found = px.match(left, right, 24)
    assert np.array_equal(found.normals(RIG), px.normals(found.disparity, RIG))


def test_depths_have_an_uncertainty(pair: Any) -> None:
    truth = pair[2].copy()
    truth[3, 4] = np.inf
    depths = px.depth(truth, RIG).astype(float)
    expected = np.where(depths > 0, depths**2 * 0.5 / (500 * 0.2), np.inf)
    assert px.depth_uncertainty(truth, RIG, 0.5) == pytest.approx(expected, rel=1e-6)
    assert np.array_equal(px.depth_uncertainty(truth, RIG), px.depth_uncertainty(truth, RIG, 0.25))
    with pytest.raises(px.ArgumentError, match="disparity_uncertainty is -1"):
        px.depth_uncertainty(truth, RIG, -1)


def test_meshes(pair: Any, tmp_path: Path) -> None:
    left, _, truth = pair
    plane = np.add.outer(np.arange(80), np.zeros(120)).astype(np.float32) / 2 + 5
    positions, colours, triangles = px.mesh(plane, left, RIG)
    assert len(triangles) == 2 * 79 * 119 and np.array_equal(np.unique(triangles), np.arange(80 * 120))
    assert np.array_equal(positions, px.points(plane, left, RIG)[0])
    assert np.array_equal(colours, left.reshape(-1, 3))
    assert px.mesh(plane, left, RIG, 0.25)[2].shape == (0, 3)
    result = px.Result(truth, None, left=left)
    found = result.mesh(RIG, greatest_step=0.5)
    for array, expected in zip(found, px.mesh(truth, left, RIG, 0.5)):
        assert np.array_equal(array, expected)
    px.write_mesh(tmp_path / "mesh.ply", truth, left, RIG, 0.5)
    data = (tmp_path / "mesh.ply").read_bytes().split(b"end_header\n", 1)[1]
    faces = np.frombuffer(data[15 * len(found[0]) :], np.dtype([("corners", "u1"), ("triangle", "<i4", 3)]))
    assert (faces["corners"] == 3).all() and np.array_equal(faces["triangle"], found[2])


def test_points_are_written_as_pcd(pair: Any, tmp_path: Path) -> None:
    left, _, truth = pair
    px.Result(truth, None, left=left).save(tmp_path / "points.PCD", RIG)
    header, data = (tmp_path / "points.PCD").read_bytes().split(b"DATA binary\n", 1)
    points = np.frombuffer(data, np.dtype([("position", "<f4", 3), ("blue_green_red_0", "u1", 4)]))
    positions, colours = px.points(truth, left, RIG)
    assert f"POINTS {len(positions)}\n".encode() in header
    assert np.array_equal(points["position"], positions)
    assert np.array_equal(points["blue_green_red_0"][:, 2::-1], colours)


def test_results_convert_themselves(pair: Any, tmp_path: Path) -> None:
    left, right, _ = pair
    result = px.match(left, right, 16, "census")
    assert np.array_equal(result.depth(RIG), px.depth(result.disparity, RIG))
    assert len(result.points(RIG)[0]) == int((result.depth(RIG) > 0).sum())
    result.save(tmp_path / "map.ply", RIG)
    assert (tmp_path / "map.ply").read_bytes().startswith(b"ply\nformat binary_little_endian")
    with pytest.raises(px.ArgumentError, match="calibration="):
        result.save(tmp_path / "other.ply")
    assert not (tmp_path / "other.ply").exists()


@pytest.mark.parametrize("name", ["map.pfm", "map.npy", "map.PFM", "map.NPY"])
def test_maps_are_read_back(name: str, pair: Any, tmp_path: Path) -> None:
    truth = pair[2].copy()
    truth[3, 4] = np.inf
    px.write(tmp_path / name, truth)
    assert np.array_equal(px.read_disparity(str(tmp_path / name)), truth)


def test_kitti(pair: Any, tmp_path: Path) -> None:
    pytest.importorskip("PIL")
    disparity = pair[2].copy()
    disparity[0, :3] = [np.inf, 0.0, 300.0]
    path = tmp_path / "map.png"
    px.match(pair[0], pair[1], 16, "census").save(path)
    px.write(path, disparity)
    back = px.read_disparity(path)
    assert back[0, 0] == np.inf and back[0, 1] == 1 / 256 and back[0, 2] == 65535 / 256
    assert np.abs(back[1:] - disparity[1:]).max() <= 1 / 512
    assert px.read(path).dtype == np.uint16


def test_pictures_are_read(pair: Any, tmp_path: Path) -> None:
    pillow = pytest.importorskip("PIL.Image")
    pillow.fromarray(pair[0]).save(tmp_path / "left.png")
    assert np.array_equal(px.read(tmp_path / "left.png"), pair[0])
    pillow.fromarray(pair[0][:, :, 0]).save(tmp_path / "gray.png")
    assert np.array_equal(px.read(tmp_path / "gray.png"), pair[0][:, :, 0])
    (tmp_path / "bad.png").write_bytes(b"no picture")
    (tmp_path / "empty.npy").touch()
    for wrong in ("bad.png", "missing.png", "missing.npy", "empty.npy"):
        with pytest.raises(px.FileError, match=wrong):
            px.read(tmp_path / wrong)
    with pytest.raises(px.FileError, match="not a disparity map"):
        px.read_disparity(tmp_path / "left.png")


def test_files_that_cannot_be_written(pair: Any) -> None:
    for name in ("map.pfm", "map.png", "map.npy"):
        with pytest.raises(px.FileError, match="nowhere"):
            px.write(f"/nowhere/{name}", pair[2])


def test_colours_and_pngs(pair: Any) -> None:
    result = px.match(pair[0], pair[1], 16, "census")
    result.disparity[0, 0] = np.inf
    colours = result.colour()
    assert colours.shape == (80, 120, 3) and not colours[0, 0].any()
    nearest = np.unravel_index(np.where(result.valid, result.disparity, 0).argmax(), result.disparity.shape)
    assert colours[nearest][0] > colours[nearest][2], "near is red"
    assert not px.colour(np.full((2, 2), -np.inf, np.float32)).any()
    assert px.colour(np.zeros((1, 1), np.float32), 0, 1e-37).any(), "a range too narrow for floats"
    png = result._repr_png_()
    assert png.startswith(b"\x89PNG")
    pillow = pytest.importorskip("PIL.Image")
    import io

    assert np.array_equal(np.asarray(pillow.open(io.BytesIO(png))), colours)


def test_calibrations_are_read(tmp_path: Path) -> None:
    path = tmp_path / "calib.txt"
    path.write_text("cam0=[500 0 60; 0 500 40; 0 0 1]\ncam1=[500 0 61.5; 0 500 40; 0 0 1]\nbaseline=0.2\nndisp=64\n")
    read = px.Calibration.read(path)
    assert (read.focal, read.doffs, read.baseline, read.disparities) == (500.0, 1.5, 0.2, 64)
    assert read.metres_per_unit == 0.001
    metres = read.in_metres()
    assert (metres.focal, metres.doffs, metres.metres_per_unit) == (500.0, 1.5, 1.0)
    assert metres.baseline == pytest.approx(0.0002)
    assert RIG.in_metres().baseline == 0.2, "an unknown unit is taken as metres"


def test_plot(pair: Any) -> None:
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    axes = px.match(pair[0], pair[1], 16, "census").plot()
    assert len(axes.images) == 1


def test_synthesize() -> None:
    left, right, truth = px.synthesize((50, 30), 8, "planes", seed=3)
    again = px.synthesize((50, 30), 8, "planes", seed=3)
    assert left.shape == (30, 50, 3) and truth.shape == (30, 50)
    assert np.array_equal(left, again[0]) and 0 <= truth.min() and truth.max() <= 7
    for wrong in (dict(scene="magic"), dict(disparities=0), dict(size=(0, 3))):
        with pytest.raises(px.ArgumentError):
            px.synthesize(**wrong)  # type: ignore[arg-type]
