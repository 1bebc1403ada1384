# SPDX-License-Identifier: Apache-2.0
"""parallax_stereo.calibrate on pictures of boards that are rendered here with known cameras."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any, Dict, List, NamedTuple, Sequence, Tuple

import numpy as np
import pytest

from parallax_stereo import calibrate

try:
    import cv2
except ImportError:
    cv2 = None

needs_opencv = pytest.mark.skipif(cv2 is None, reason="no cv2: install python3-opencv")
needs_aruco = pytest.mark.skipif(not hasattr(cv2, "aruco"), reason="no cv2.aruco: install python3-opencv")

SIZE = (320, 240)
SQUARE = 0.02  # metres
FINE = 3  # samples per pixel, on both axes
ROTATION = np.array([0.012, -0.03, 0.008])
TRANSLATION = np.array([-0.06, 0.001, 0.002])


class Lenses(NamedTuple):
    """The lenses of the cameras that take the pictures."""

    focals: Tuple[float, float]  # left, right
    coefficients: List[float]
    fisheye: bool = False

    @property
    def module(self) -> Any:
        return cv2.fisheye if self.fisheye else cv2

    def matrix(self, side: int) -> Any:
        x, y = CENTRES[side]
        return matrix([self.focals[side]] * 2, (x, y))

    def rays(self, side: int) -> Any:
        """Directions (n, 3) of FINE × FINE samples in every pixel."""
        xs, ys = (((np.arange(FINE * length) + 0.5) / FINE - 0.5) for length in SIZE)
        pixels = np.stack(np.meshgrid(xs, ys), axis=-1).reshape(-1, 1, 2)
        flat = self.module.undistortPoints(pixels, self.matrix(side), np.array(self.coefficients))
        return np.column_stack([flat.reshape(-1, 2), np.ones(len(pixels))])


CENTRES = ((161, 118), (157, 121))
PINHOLE = Lenses((300, 304), [-0.2, 0.05, 0.001, -0.0005, 0.0])
FISHEYE = Lenses((140, 142), [0.05, -0.02, 0.01, -0.002], True)


def matrix(focal: Sequence[float], centre: Sequence[float]) -> Any:
    return np.array([[focal[0], 0, centre[0]], [0, focal[1], centre[1]], [0, 0, 1]], float)


def poses(count: int, nearness: float) -> List[Tuple[Any, Any]]:
    """Rotation of the board, and its centre in the left camera's coordinates."""
    random = np.random.default_rng(3)
    places = [(x, y) for y in (-0.05, 0.05) for x in (-0.03, 0.03, 0.08, 0.11)]
    found = []
    for x, y in (places * count)[:count]:
        rotation = cv2.Rodrigues(random.uniform(-0.5, 0.5, 3))[0]
        found.append((rotation, np.array([x, y, random.uniform(0.38, 0.5) / nearness])))
    return found


class Renderer:
    """Pictures of a texture whose pixels are `pitch` metres."""

    def __init__(self, texture: Any, pitch: float, lenses: Lenses = PINHOLE) -> None:
        self.texture, self.pitch = texture, pitch
        self.rays = [lenses.rays(side) for side in (0, 1)]
        self.nearness = 300 / lenses.focals[0]
        self.random = np.random.default_rng(5)

    def picture(self, side: int, rotation: Any, translation: Any) -> Any:
        if side == 1:
            turn = cv2.Rodrigues(ROTATION)[0]
            rotation, translation = turn @ rotation, turn @ translation + TRANSLATION
        # A ray meets the plane z = 0 of the board.
        directions, origin = self.rays[side] @ rotation, -rotation.T @ translation
        points = origin[:2] - directions[:, :2] * (origin[2] / directions[:, 2])[:, None]
        height, width = self.texture.shape
        places = points / self.pitch + (np.array([width, height]) - 1) / 2
        shape = (FINE * SIZE[1], FINE * SIZE[0])
        maps = [places[:, axis].reshape(shape).astype(np.float32) for axis in (0, 1)]
        fine = cv2.remap(self.texture, *maps, cv2.INTER_LINEAR, borderMode=cv2.BORDER_CONSTANT, borderValue=110)
        image = cv2.resize(fine, SIZE, interpolation=cv2.INTER_AREA).astype(float)
        return np.clip(0.8 * image + 20 + self.random.normal(0, 1.5, image.shape), 0, 255).astype(np.uint8)

    def write(self, folder: Path, count: int = 8) -> None:
        """Pairs of files left/1.png and right/1.png."""
        for name in ("left", "right"):
            (folder / name).mkdir()
        for index, pose in enumerate(poses(count, self.nearness)):
            for side, name in enumerate(("left", "right")):
                cv2.imwrite(str(folder / name / f"{index + 1}.png"), self.picture(side, *pose))


def chessboard(columns: int, rows: int) -> Any:
    """A texture of 20 pixels per square, with one white square around the board."""
    y, x = np.indices((20 * (rows + 3), 20 * (columns + 3))) // 20
    inside = (x > 0) & (y > 0) & (x < columns + 2) & (y < rows + 2)
    return np.where(inside & ((x + y) % 2 == 0), 0, 255).astype(np.uint8)


def charuco() -> Any:
    """5 × 7 squares of 40 pixels, and half a square of white around them."""
    words = cv2.aruco.getPredefinedDictionary(cv2.aruco.DICT_4X4_50)
    if hasattr(cv2.aruco, "CharucoDetector"):
        drawn = cv2.aruco.CharucoBoard((5, 7), 0.04, 0.03, words).generateImage((200, 280))
    else:
        drawn = cv2.aruco.CharucoBoard_create(5, 7, 0.04, 0.03, words).draw((200, 280))
    return np.pad(drawn, 20, constant_values=255)


@pytest.fixture(scope="session")
def chessboard_pictures(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("chessboard")
    Renderer(chessboard(9, 6), SQUARE / 20).write(folder)
    return folder


def run(folder: Path, *options: str, left: str = "left", right: str = "right") -> int:
    return calibrate.main([str(folder / left), str(folder / right), *options])


@pytest.fixture
def copy(chessboard_pictures: Path, tmp_path: Path) -> Path:
    """A copy of the pictures of the chessboard that may be changed."""
    return Path(shutil.copytree(chessboard_pictures, tmp_path / "copy"))


def expect_failure(capsys: Any, *reasons: str) -> None:
    error = capsys.readouterr().err
    lines = [line for line in error.splitlines() if not line.endswith("so the pair is skipped")]
    assert len(lines) == 1 and lines[0].startswith("calibrate: ")
    for reason in reasons:
        assert reason in lines[0]


def expect_truth(rig: Dict[str, Any], lenses: Lenses, rows: float) -> None:
    """Compares with the rig that took the pictures: rows of points in the room by pixels."""
    for side, name in enumerate(("left", "right")):
        assert rig[name]["size"] == list(SIZE)
        assert rig[name]["focal"] == pytest.approx([lenses.focals[side]] * 2, rel=0.01)
        assert rig[name]["centre"] == pytest.approx(CENTRES[side], abs=4)
        assert rig[name]["model"] == ("equidistant" if lenses.fisheye else "radial-tangential")
        assert len(rig[name]["distortion"]) == len(lenses.coefficients)
    assert rig["translation"] == pytest.approx(list(TRANSLATION), abs=0.001)
    turn = cv2.Rodrigues(np.array(rig["rotation"]) @ cv2.Rodrigues(ROTATION)[0].T)[0]
    assert np.degrees(np.linalg.norm(turn)) < 0.3
    assert rows_of_points(rig, lenses) < rows


def rows_of_points(rig: Dict[str, Any], lenses: Lenses) -> float:
    """The maximum distance, in pixels, from the rig's epipolar lines at which the true cameras see points."""
    random = np.random.default_rng(1)
    points = random.uniform((-0.1, -0.1, 0.4), (0.15, 0.1, 1.0), (200, 3)) / (300 / lenses.focals[0])
    flat = []
    for side, name in enumerate(("left", "right")):
        pose = (ROTATION, TRANSLATION) if side else (np.zeros(3), np.zeros(3))
        pixels = lenses.module.projectPoints(
            points[:, None], *pose, lenses.matrix(side), np.array(lenses.coefficients)
        )[0]
        found = matrix(rig[name]["focal"], rig[name]["centre"])
        undistorted = lenses.module.undistortPoints(pixels, found, np.array(rig[name]["distortion"]))
        flat.append(np.column_stack([undistorted.reshape(-1, 2), np.ones(len(points))]))
    x, y, z = rig["translation"]
    lines = flat[0] @ (np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]]) @ np.array(rig["rotation"])).T
    distances = (lines * flat[1]).sum(axis=1) / np.linalg.norm(lines[:, :2], axis=1)
    return float(lenses.focals[0] * np.abs(distances).max())


@needs_opencv
def test_chessboard_gives_the_rig(chessboard_pictures: Path, tmp_path: Path, capsys: Any) -> None:
    output = tmp_path / "rig.json"
    assert run(chessboard_pictures, "--chessboard", "9x6", "--square", "20mm", "-o", str(output), "--json") == 0
    rig, residuals = json.loads(output.read_text()), json.loads(capsys.readouterr().out)
    expect_truth(rig, PINHOLE, 0.3)
    assert 0.001 < residuals["error"] < 0.1
    assert 0.001 < residuals["rows_off"]["median"] < residuals["rows_off"]["p95"] < 0.2
    assert len(residuals["pairs"]) == 8 and residuals["unit"] == "m"
    for name in ("left", "right"):  # fewer than 10 pairs
        assert rig[name]["focal"][0] == rig[name]["focal"][1] and rig[name]["distortion"][4] == 0
    assert residuals["baseline"] == pytest.approx(np.linalg.norm(rig["translation"]))


@needs_aruco
@pytest.mark.parametrize("lenses", [PINHOLE, FISHEYE])
def test_charuco_gives_the_rig(tmp_path: Path, capsys: Any, lenses: Lenses) -> None:
    Renderer(charuco(), 0.04 / 40, lenses).write(tmp_path)
    output = tmp_path / "rig.json"
    board = ["--charuco", "5x7", "--square", "4cm", "--marker", "30mm"]
    board += ["--fisheye"] if lenses.fisheye else []
    assert run(tmp_path, *board, "-o", str(output), "--json") == 0
    rig, residuals = json.loads(output.read_text()), json.loads(capsys.readouterr().out)
    # The board reaches out of some pictures.
    assert len({pair["corners"] for pair in residuals["pairs"]}) > 1
    expect_truth(rig, lenses, 0.3)


@needs_opencv
def test_fisheye_gives_the_rig(tmp_path: Path) -> None:
    Renderer(chessboard(9, 6), SQUARE / 20, FISHEYE).write(tmp_path)
    output = tmp_path / "rig.json"
    assert run(tmp_path, "--chessboard", "9x6", "--square", "20mm", "--fisheye", "-o", str(output)) == 0
    rig = json.loads(output.read_text())
    expect_truth(rig, FISHEYE, 0.3)


@needs_opencv
def test_the_error_is_that_of_opencv(chessboard_pictures: Path) -> None:
    from parallax_stereo._calibration_boards import Chessboard
    from parallax_stereo._calibration_fit import calibrate as fit
    from parallax_stereo._calibration_search import find_board

    board = Chessboard(9, 6, SQUARE)
    folders = (str(chessboard_pictures / side) for side in ("left", "right"))
    shots, sizes = find_board(board, *folders)
    result = fit(board.corners, shots, sizes)
    rig, points = result.rig, [view.points.astype(np.float32) for side in (0, 1) for view in result.views(side)]
    intrinsics = [values for camera in (rig.left, rig.right) for values in (camera.matrix, camera.distortion)]
    expected = cv2.stereoCalibrate(
        [board.corners.astype(np.float32)] * 8, points[:8], points[8:], *intrinsics, SIZE, flags=cv2.CALIB_FIX_INTRINSIC
    )[0]
    assert result.error == pytest.approx(expected, abs=1e-4)


@needs_aruco
def test_corners_are_where_the_squares_meet() -> None:
    from parallax_stereo._calibration_boards import Charuco, Chessboard

    for board, texture, first in (
        (Charuco(5, 7, 0.04, 0.03, "4x4_50"), charuco(), 59.5),
        (Chessboard(9, 6, 1), chessboard(9, 6), 39.5),
    ):
        view = board.find(texture)
        assert view is not None and len(view.ids) == len(board.corners)
        pitch = board.corners[1, 0] / (view.points[1, 0] - view.points[0, 0])
        assert np.abs(view.points - (first + board.corners[:, :2] / pitch)).max() < 0.05


@needs_opencv
def test_rows_of_a_rectified_pair_agree(chessboard_pictures: Path) -> None:
    from parallax_stereo._calibration_boards import Chessboard
    from parallax_stereo._calibration_fit import calibrate as fit
    from parallax_stereo._calibration_search import find_board

    board = Chessboard(9, 6, SQUARE)
    shots, sizes = find_board(board, str(chessboard_pictures / "left"), str(chessboard_pictures / "right"))
    rig = fit(board.corners, shots, sizes).rig
    images = [cv2.imread(str(name), cv2.IMREAD_GRAYSCALE) for name in shots[3].names]
    for rotated, before in zip(rig.rectify(*images), images):
        assert np.abs(rotated.astype(float) - before).mean() > 5
    left, right = (board.find(image) for image in rig.rectify(*images))
    assert left is not None and right is not None
    assert np.abs(left.points[:, 1] - right.points[:, 1]).max() < 0.4
    assert (left.points[:, 0] - right.points[:, 0]).min() > 20


@needs_opencv
def test_coverage_counts_parts_of_the_picture() -> None:
    from parallax_stereo._calibration_boards import View
    from parallax_stereo._calibration_fit import coverage

    assert coverage([View(np.arange(2), np.array([[0.0, 0.0], [39.4, 0.0]]))], SIZE) == 1 / 48
    assert coverage([View(np.arange(2), np.array([[0.0, 0.0], [39.6, 0.0]]))], SIZE) == 2 / 48
    assert coverage([View(np.arange(1), np.array([[319.4, 239.4]]))] * 2, SIZE) == 1 / 48


@needs_opencv
def test_the_command_rig_reads_it(chessboard_pictures: Path, tmp_path: Path) -> None:
    command = os.environ.get("PARALLAX_COMMAND", "")
    if not Path(command).is_file():
        pytest.skip("no command parallax")
    output = tmp_path / "rig.json"
    assert run(chessboard_pictures, "--chessboard", "9x6", "--square", "2cm", "-o", str(output)) == 0
    shown = json.loads(subprocess.run([command, "rig", "show", "--json", output], check=True, stdout=-1).stdout)
    rig = json.loads(output.read_text())
    assert {key: shown[key] for key in ("rotation", "translation")} == {
        key: rig[key] for key in ("rotation", "translation")
    }
    assert shown["right"]["focal"] == rig["right"]["focal"]


@needs_opencv
def test_the_report_loads_nothing(chessboard_pictures: Path, tmp_path: Path) -> None:
    page = tmp_path / "report.html"
    assert run(chessboard_pictures, "--chessboard", "9x6", "--report", str(page)) == 0
    text = page.read_text()
    assert not re.search(r"https?:|<link|<script|url\(", text)
    assert all(source.startswith("data:image/jpeg;base64,") for source in re.findall(r'src="([^"]*)"', text))
    assert text.count("<svg") == 7 and text.count("<img") == 1
    # Every corner of every pair is a dot in each of the seven drawings.
    assert text.count("h0") >= 7 * 8 * 54
    assert [len(re.findall(f"<figcaption>{side}: ", text)) for side in ("Left", "Right")] == [3, 3]
    assert "left/8.png + right/8.png" in text and "squares" in text


@needs_opencv
def test_without_square_lengths_are_in_squares(chessboard_pictures: Path, tmp_path: Path, capsys: Any) -> None:
    output = tmp_path / "rig.json"
    assert run(chessboard_pictures, "--chessboard", "9x6", "-o", str(output)) == 0
    translation = json.loads(output.read_text())["translation"]
    assert translation[0] == pytest.approx(TRANSLATION[0] / SQUARE, rel=0.01)
    assert f"baseline   {np.linalg.norm(translation):.4f} squares" in capsys.readouterr().out


@needs_opencv
def test_a_picture_without_the_board_is_named(copy: Path, capsys: Any) -> None:
    cv2.imwrite(str(copy / "right" / "3.png"), np.full(SIZE[::-1], 128, np.uint8))
    assert run(copy, "--chessboard", "9x6", "--json") == 0
    shown = capsys.readouterr()
    assert f"{copy / 'right' / '3.png'}: no board found, so the pair is skipped" in shown.err
    assert f"{copy / 'left' / '3.png'}" not in shown.err
    assert len(json.loads(shown.out)["pairs"]) == 7


@needs_opencv
def test_an_outlier_is_named(copy: Path, capsys: Any) -> None:
    path = str(copy / "right" / "5.png")
    image = cv2.imread(path, cv2.IMREAD_GRAYSCALE)
    cv2.imwrite(path, np.roll(image, 1, axis=0))
    assert run(copy, "--chessboard", "9x6") == 0
    error = capsys.readouterr().err
    assert "left/5.png + right/5.png: the error is above twice the median" in error
    assert error.count("twice the median") == 1


@needs_opencv
def test_a_turned_board_keeps_its_corners() -> None:
    from parallax_stereo._calibration_boards import Chessboard, View

    for columns, rows in ((9, 6), (7, 5), (6, 6)):
        board = Chessboard(columns, rows, 10)
        left = View(np.arange(columns * rows), board.corners[:, :2] + 50)
        grid = (left.points + (8, -1)).reshape(rows, columns, 2)
        turns = (0, 1, 2, 3) if rows == columns else (0, 2)
        for turn in turns:
            right = board.matched(left, View(left.ids, np.rot90(grid, turn).reshape(-1, 2)))
            assert np.array_equal(right.points, left.points + (8, -1))


@needs_opencv
def test_names_the_size_of_another_board(copy: Path, capsys: Any) -> None:
    from parallax_stereo._calibration_boards import Chessboard

    for path in copy.glob("*/[2-8].png"):
        path.unlink()
    assert run(copy, "--chessboard", "10x7") == 1
    expect_failure(capsys, "0 of 1 pairs", "one of 9x6 inner corners is there")
    # Part of a board that was found as a smaller one.
    picture = cv2.imread(str(copy / "left" / "1.png"), cv2.IMREAD_GRAYSCALE)
    assert "one of 9x6 inner corners is there" in Chessboard(8, 6, SQUARE).advice([picture], True)


@needs_aruco
def test_names_the_dictionary_of_another_board(tmp_path: Path, capsys: Any) -> None:
    Renderer(charuco(), 0.04 / 40).write(tmp_path, 3)
    board = ["--charuco", "5x7", "--square", "4cm", "--marker", "3cm", "--dictionary", "6x6_250"]
    assert run(tmp_path, *board) == 1
    expect_failure(capsys, "0 of 3 pairs", "markers of 4x4_", "--dictionary")


@needs_aruco
def test_pairs_that_share_few_corners_are_named(tmp_path: Path, capsys: Any) -> None:
    for side, hidden in (("left", np.s_[140:]), ("right", np.s_[:140])):
        (tmp_path / side).mkdir()
        image = charuco()
        image[hidden] = 255
        cv2.imwrite(str(tmp_path / side / "1.png"), image)
    assert run(tmp_path, "--charuco", "5x7", "--square", "4cm", "--marker", "3cm") == 1
    error = capsys.readouterr().err
    assert "left/1.png + right/1.png: the pictures share too few corners, so the pair is skipped" in error
    assert "0 of 1 pairs" in error


@needs_opencv
def test_says_what_to_check_without_a_board(tmp_path: Path, capsys: Any) -> None:
    for side in ("left", "right"):
        (tmp_path / side).mkdir()
        cv2.imwrite(str(tmp_path / side / "1.png"), np.full(SIZE[::-1], 128, np.uint8))
    assert run(tmp_path, "--chessboard", "9x6") == 1
    expect_failure(capsys, "0 of 1 pairs", "at least 3", "15 or more", "count the inner corners")


@needs_opencv
def test_says_that_the_cameras_are_exchanged(chessboard_pictures: Path, tmp_path: Path, capsys: Any) -> None:
    output = tmp_path / "rig.json"
    assert run(chessboard_pictures, "--chessboard", "9x6", "-o", str(output), left="right", right="left") == 1
    expect_failure(capsys, "exchange LEFT and RIGHT")
    assert not output.exists()


@needs_opencv
def test_says_that_pictures_are_of_other_moments(copy: Path, capsys: Any) -> None:
    names = [copy / "right" / f"{number}.png" for number in range(1, 9)]
    names[0].rename(copy / "right" / "9.png")
    for before, after in zip(names[1:], names):
        before.rename(after)
    (copy / "right" / "9.png").rename(names[-1])
    assert run(copy, "--chessboard", "9x6") == 1
    expect_failure(capsys, "reprojection error", "same moment")


@needs_opencv
def test_refuses_pictures_of_two_sizes(copy: Path, capsys: Any) -> None:
    cv2.imwrite(str(copy / "left" / "4.png"), np.full((200, 300), 128, np.uint8))
    assert run(copy, "--chessboard", "9x6") == 1
    expect_failure(capsys, "left/4.png is 300x200", "left/1.png 320x240")


@needs_opencv
def test_refuses_files_by_name(copy: Path, capsys: Any) -> None:
    assert run(copy, "--chessboard", "9x6", left="nowhere") == 1
    expect_failure(capsys, "nowhere", "no pictures")
    assert run(copy, "--chessboard", "9x6", right="left") == 1
    expect_failure(capsys, "the same pictures")
    (copy / "right" / "2.png").unlink()
    assert run(copy, "--chessboard", "9x6") == 1
    expect_failure(capsys, "8 left and 7 right pictures", "left/2.png has no partner")
    (copy / "left" / "2.png").unlink()
    (copy / "left" / "1.png").write_bytes(b"none")
    assert run(copy, "--chessboard", "9x6") == 1
    expect_failure(capsys, "left/1.png", "cannot read")


@needs_opencv
def test_pairs_by_order_where_numbers_do_not_tell(tmp_path: Path) -> None:
    from parallax_stereo import Error
    from parallax_stereo._calibration_pictures import pair_pictures

    for name in ("a2.png", "a10.png", "a3.png", "b5.png", "b6.png", "b12.png"):
        (tmp_path / name).touch()
    found = [(left.name, right.name) for left, right in pair_pictures(f"{tmp_path}/a*", f"{tmp_path}/b*")]
    assert found == [("a2.png", "b5.png"), ("a3.png", "b6.png"), ("a10.png", "b12.png")]
    (tmp_path / "a4.png").touch()
    with pytest.raises(Error, match="4 left and 3 right pictures"):
        pair_pictures(f"{tmp_path}/a*", f"{tmp_path}/b*")


@needs_opencv
@pytest.mark.parametrize(
    "options, reason",
    [
        (["--chessboard", "2x6"], "inner corners"),
        (["--chessboard", "9x6", "--marker", "3mm"], "--marker"),
        (["--chessboard", "9x6", "--distortion", "14"], "14 coefficients"),
        (["--chessboard", "9x6", "-o", "/nowhere/rig.json"], "cannot write /nowhere/rig.json"),
        (["--chessboard", "9x6", "--report", "/"], "cannot write /"),
        (["--chessboard", "9x6", "--report", "x", "-o", "x"], "give two names"),
    ],
)
def test_refuses_options_by_name(chessboard_pictures: Path, capsys: Any, options: List[str], reason: str) -> None:
    assert run(chessboard_pictures, *options) == 1
    error = capsys.readouterr().err.splitlines()[-1]
    assert error.startswith("calibrate: ") and reason in error


@needs_aruco
@pytest.mark.parametrize(
    "options, reason",
    [
        (["--charuco", "5x7"], "--square and --marker"),
        (["--charuco", "5x7", "--square", "3cm", "--marker", "3cm"], "marker is not smaller"),
        (["--charuco", "5x7", "--square", "3cm", "--marker", "2cm", "--dictionary", "9x9"], "4x4_50"),
        (["--charuco", "50x70", "--square", "3cm", "--marker", "2cm"], "1750 markers"),
    ],
)
def test_refuses_charuco_boards_by_name(tmp_path: Path, capsys: Any, options: List[str], reason: str) -> None:
    assert run(tmp_path, *options) == 1
    expect_failure(capsys, reason)


@pytest.mark.parametrize(
    "options", [["--square", "25"], ["--square", "0mm"], ["--chessboard", "9"], ["--fisheye", "--distortion", "8"]]
)
def test_usage_is_refused(capsys: Any, options: List[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        calibrate.main(["left", "right", "--chessboard", "9x6", *options])
    assert ended.value.code == 2
    assert options[0] in capsys.readouterr().err


def test_says_what_to_install() -> None:
    code = "import sys; sys.modules['cv2'] = None; from parallax_stereo import calibrate; sys.exit(calibrate.main())"
    ended = subprocess.run([sys.executable, "-c", code, "a", "b", "--chessboard", "9x6"], stderr=-1, text=True)
    assert ended.returncode == 1
    assert re.fullmatch(r"calibrate: OpenCV cannot be imported .*: install python3-opencv.*\n", ended.stderr)
