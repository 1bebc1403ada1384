# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any, Tuple

import numpy as np
import pytest

import parallax_stereo as px

SIZE = (120, 80)
LENS = [-0.1, 0.02, 1e-3, -1e-3, 0.005]


@pytest.fixture(scope="module")
def rig() -> px.Rig:
    matrix = np.array([[100, 0, 60], [0, 101, 40], [0, 0, 1]], float)
    cosine, sine = np.cos(0.03), np.sin(0.03)
    rotation = [[cosine, -sine, 0], [sine, cosine, 0], [0, 0, 1]]
    return px.Rig.from_opencv(matrix, [LENS], matrix, None, rotation, [[-0.1], [0.004], [0.002]], SIZE)


def test_a_rig_of_opencv(rig: px.Rig, tmp_path: Path) -> None:
    assert rig.left == px.Camera(
        SIZE, (100, 101), (60, 40), "radial-tangential", (*LENS, 0, 0, 0)[: len(rig.left.distortion)]
    )
    assert rig.left.matrix.tolist() == [[100, 0, 60], [0, 101, 40], [0, 0, 1]] and rig.right.distortion == ()
    assert rig.rotation[1, 0] == np.sin(0.03) and rig.translation.tolist() == [-0.1, 0.004, 0.002]
    (tmp_path / "rig.json").write_text(rig.to_json())
    assert px.Rig.read(tmp_path / "rig.json") == rig == px.Rig.from_json(rig.to_json())
    assert px.Rig(rig.left, rig.right, rig.rotation, rig.translation) == rig
    assert px.Rig(rig.right, rig.left, rig.rotation, rig.translation) != rig
    fisheye = px.Rig.from_opencv(
        rig.left.matrix, np.zeros(4), rig.left.matrix, np.zeros((4, 1)), np.eye(3), [-1, 0, 0], SIZE, fisheye=True
    )
    assert fisheye.left.model == "equidistant" and "baseline 1" in repr(fisheye)


def test_rectify(rig: px.Rig) -> None:
    plain, wide = px.rectify(rig), px.rectify(rig, alpha=1, zoom=0.5, size=(60, 50), same_centres=False)
    assert plain.size == SIZE and plain.calibration().doffs == 0 and plain.centre_left_x == plain.centre_right_x
    assert plain.baseline == pytest.approx(np.linalg.norm(rig.translation))
    assert wide.size == (60, 50) and wide.focal < plain.focal
    calibration = wide.calibration()
    assert calibration.doffs == wide.centre_right_x - wide.centre_left_x != 0
    assert (calibration.focal, calibration.baseline, calibration.width) == (wide.focal, wide.baseline, 60)
    # The rotations turn the baseline onto the x axis.
    assert plain.rotation_left @ rig.rotation.T @ rig.translation == pytest.approx([-plain.baseline, 0, 0], abs=1e-9)
    assert plain.rotation_right @ rig.translation == pytest.approx([-plain.baseline, 0, 0], abs=1e-9)
    assert px.rectify(rig, interpolation="lanczos3").focal > plain.focal


@pytest.mark.parametrize("dtype", [np.uint8, np.uint16])
def test_a_rectified_matcher_is_a_rectifier_and_a_matcher(rig: px.Rig, pair: Any, dtype: Any) -> None:
    left, right = (image.astype(dtype) for image in pair[:2])
    options: Any = {"alpha": 0.7, "size": (100, 70), "interpolation": "lanczos3", "dtype": dtype}
    flat = px.Rectifier(rig, **options, device="reference")(left, right)
    assert flat[0].shape == (70, 100, 3) and flat[0].dtype == dtype and flat[2].dtype == bool
    assert not flat[2].all() and not flat[0][~flat[2]].any()
    stretched = (0, 255 if dtype == np.uint8 else 65280)
    masks = {"left_mask": flat[2], "right_mask": flat[3]}
    expected = px.match(*flat[:2], 16, "census", **masks, range=stretched, device="cpu")
    matcher = px.RectifiedMatcher(rig, "census", disparities=16, device="cpu", **options)
    result = matcher(left, right)
    assert np.array_equal(result.disparity, expected.disparity) and np.array_equal(result.status, expected.status)
    assert np.array_equal(result.status == px.STATUS.index("input_masked"), ~flat[2])
    calibration = matcher.rectification.calibration()
    assert matcher.calibration == calibration and np.array_equal(result.depth(calibration), expected.depth(calibration))
    for actual, wanted in zip(result.points(calibration), expected.points(calibration)):
        assert np.array_equal(actual, wanted)
    assert matcher.size == (100, 70) and matcher.memory > 100 * 70 and "rectify" in matcher.stages
    assert matcher.parameters["disparities"] == 16 and "census, 100×70" in repr(matcher)


def test_both_maps(rig: px.Rig, pair: Any) -> None:
    left, right, _ = pair
    flat = px.Rectifier(rig, alpha=0.7)(left, right)
    masks = {"left_mask": flat[2], "right_mask": flat[3]}
    expected = px.match(*flat[:2], 16, "census", **masks, device="cpu", both_maps=True).right
    result = px.RectifiedMatcher(rig, "census", alpha=0.7, disparities=16, device="cpu", both_maps=True)(left, right)
    assert expected is not None and result.right is not None
    assert np.array_equal(result.right.disparity, expected.disparity)
    assert np.array_equal(result.right.status, expected.status)
    calibration = px.rectify(rig, alpha=0.7).calibration()
    for actual, wanted in zip(result.right.points(calibration), expected.points(calibration)):
        assert np.array_equal(actual, wanted)


def test_confidence_and_outputs(rig: px.Rig, gray: Tuple[Any, Any]) -> None:
    matcher = px.RectifiedMatcher(rig, "bp", disparities=16, threads=1)
    assert matcher.has_confidence
    expected = matcher(*gray, confidence=True)
    out = (np.empty((80, 120), np.float32), np.empty((80, 120), np.uint8))
    assert matcher(*gray, out=out).disparity is out[0]
    assert np.array_equal(out[0], expected.disparity) and expected.confidence.shape == (80, 120)


def test_the_map_is_that_of_the_command(rig: px.Rig, gray: Tuple[Any, Any], tmp_path: Path) -> None:
    command = os.environ.get("PARALLAX_COMMAND")
    pillow = pytest.importorskip("PIL.Image")
    if not command:
        pytest.skip("PARALLAX_COMMAND does not name the command parallax")
    for name, image in zip(("left.png", "right.png"), gray):
        pillow.fromarray(image).save(tmp_path / name)
    (tmp_path / "rig.json").write_text(rig.to_json())
    arguments = ["match", "left.png", "right.png", "--rig", "rig.json", "--method", "census", "--disparities", "16"]
    subprocess.run([command, *arguments, "--alpha", "0.5", "-o", "map.pfm"], cwd=tmp_path, check=True)
    result = px.RectifiedMatcher(rig, "census", disparities=16, alpha=0.5)(*gray)
    assert np.array_equal(px.read_disparity(tmp_path / "map.pfm"), result.disparity)


def test_errors_name_their_cause(rig: px.Rig, gray: Tuple[Any, Any], tmp_path: Path) -> None:
    matrix = rig.left.matrix
    values = json.loads(rig.to_json())
    del values["right"]["focal"]
    (tmp_path / "bad.json").write_text(json.dumps(values))
    with pytest.raises(px.FileError, match=r"bad\.json: right\.focal is missing"):
        px.Rig.read(tmp_path / "bad.json")
    with pytest.raises(px.FileError, match="cannot read .*none.json"):
        px.Rig.read(tmp_path / "none.json")
    cases = [
        (lambda: px.Rig.from_opencv(matrix, [1], matrix, None, np.eye(3), [-1, 0, 0], SIZE), "left.distortion"),
        (
            lambda: px.Rig.from_opencv(matrix, None, matrix[:2], None, np.eye(3), [-1, 0, 0], SIZE),
            "right camera has shape",
        ),
        (lambda: px.Rig.from_opencv(matrix, None, matrix, None, np.eye(3), [1, 0, 0], SIZE), "exchange"),
        (lambda: px.Rig.from_opencv(matrix, None, matrix, None, np.eye(3), [np.nan, 0, 0], SIZE), "nan|JSON"),
        (lambda: px.Rig.from_opencv([[1, 2, 3]] * 3, None, matrix, None, np.eye(3), [-1, 0, 0], SIZE), "skew"),
        (lambda: px.rectify(rig, alpha=2), "alpha is 2"),
        (lambda: px.rectify(rig, zoom=0), "zoom is 0"),
        (lambda: px.rectify(rig, interpolation="cubic"), "interpolation is 'cubic'"),
        (lambda: px.rectify(rig.to_json()), "rig is str"),  # type: ignore[arg-type]
        (lambda: px.Rectifier(rig)(gray[0][:50], gray[1]), "left image is 120×50"),
        (lambda: px.RectifiedMatcher(rig)(gray[0], gray[1][:50]), "right image is 120×50"),
        (lambda: px.RectifiedMatcher(rig)(*gray, stream=3), "stream is given"),
        (lambda: px.RectifiedMatcher(rig, "census", disparities=0), "disparities is 0"),
        (lambda: px.RectifiedMatcher(rig, dtype=np.float32), "float32"),
        (lambda: px.RectifiedMatcher(rig, "bp", cost="volume"), "data costs"),
    ]
    for run, message in cases:
        with pytest.raises(px.ArgumentError, match=message):
            run()
    with pytest.raises(px.OutOfMemoryError):
        px.RectifiedMatcher(rig, max_memory=1000)
