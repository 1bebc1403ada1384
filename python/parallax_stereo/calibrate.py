# SPDX-License-Identifier: Apache-2.0
"""Calibrates two cameras from pictures of a board:

    python -m parallax_stereo.calibrate 'left*.png' 'right*.png' --chessboard 9x6 --square 25mm -o rig.json

Needs OpenCV; docs/calibration.md describes the pictures, the board and the report.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, Dict, List, Optional, Sequence, Tuple

from ._library import ArgumentError, Error, FileError

if TYPE_CHECKING:
    from ._calibration_boards import Board
    from ._calibration_fit import Calibration, Shot

_UNITS = {"mm": 0.001, "cm": 0.01, "m": 1.0, "in": 0.0254}
# A larger reprojection error, as a share of a picture's width, is refused.
_WORST_ERROR = 0.004


def main(arguments: Optional[Sequence[str]] = None) -> int:
    """The command; returns its exit code: 0 done, 1 failed."""
    options = _parser().parse_args(arguments)
    try:
        _check_opencv()
        _run(options)
    except Error as error:
        print(f"calibrate: {error}", file=sys.stderr)
        return 1
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m parallax_stereo.calibrate",
        description="Calibrates two cameras from pictures of a chessboard or ChArUco board, with OpenCV.",
    )
    add = parser.add_argument
    add("left", metavar="LEFT", help="folder of pictures, or pattern in quotes")
    add("right", metavar="RIGHT", help="the same of the right camera; pairs are formed by order")
    board = parser.add_mutually_exclusive_group(required=True)
    board.add_argument("--chessboard", metavar="CxR", type=_board_size, help="columns and rows of inner corners: 9x6")
    board.add_argument("--charuco", metavar="CxR", type=_board_size, help="columns and rows of squares: 5x7")
    add("--square", type=_length, help="side of a square: 25mm. Units: mm, cm, m, in. Default: the unit is a square")
    add("--marker", type=_length, help="side of a marker of a ChArUco board")
    add("--dictionary", default="4x4_50", help="its markers; default: 4x4_50")
    lens = parser.add_mutually_exclusive_group()
    lens.add_argument("--distortion", type=int, choices=(5, 8, 12, 14), default=5, help="coefficients; default: 5")
    lens.add_argument("--fisheye", action="store_true", help="equidistant lenses, four coefficients")
    add("-o", "--output", metavar="FILE", help="the rig as JSON, for 'parallax rig'")
    add("--report", metavar="FILE", help="a page of pictures, HTML")
    add("--json", action="store_true", help="print the residuals as JSON")
    return parser


def _board_size(text: str) -> Tuple[int, int]:
    found = re.fullmatch(r"(\d{1,3})[x×](\d{1,3})", text)
    if not found:
        raise argparse.ArgumentTypeError(f"{text!r} is not columns x rows: give, for example, 9x6")
    return int(found[1]), int(found[2])


def _length(text: str) -> float:
    """A length in metres."""
    found = re.fullmatch(r"(\d+\.?\d*|\.\d+)\s*(mm|cm|m|in)", text)
    if not found or float(found[1]) == 0:
        raise argparse.ArgumentTypeError(f"{text!r} is not a length with its unit: give, for example, 25mm")
    return float(found[1]) * _UNITS[found[2]]


def _check_opencv() -> None:
    try:
        import cv2  # noqa: F401
    except ImportError as error:
        raise ArgumentError(
            f"OpenCV cannot be imported ({error}): install python3-opencv, or opencv-contrib-python with pip"
        ) from error


def _run(options: argparse.Namespace) -> None:
    # Here, because they import cv2.
    from ._calibration_fit import calibrate
    from ._calibration_report import report

    for name in [name for name in (options.output, options.report) if name]:
        folder = Path(name).absolute().parent
        if not folder.is_dir() or Path(name).is_dir():
            raise FileError(f"cannot write {name}: give the name of a file in a folder that exists")
    board = _board(options)
    shots, sizes = find_board(board, options.left, options.right)
    result = calibrate(board.corners, shots, sizes, options.distortion, options.fisheye)
    _check_error(result, board)
    outputs = {}
    if options.output:
        outputs[options.output] = result.rig.to_json()
    if options.report:
        outputs[options.report] = report(result, _length_writer(options))
    _write(outputs)
    if options.json:
        print(json.dumps(_values(result, options), indent=2))
    else:
        _print_summary(result, options)


def _board(options: argparse.Namespace) -> Board:
    from ._calibration_boards import Charuco, Chessboard

    if options.chessboard:
        if options.marker:
            raise ArgumentError("--marker is for --charuco: leave it out")
        columns, rows = options.chessboard
        return Chessboard(columns, rows, options.square or 1.0)
    if not (options.square and options.marker):
        raise ArgumentError("--charuco needs --square and --marker: give both, for example 30mm and 22mm")
    columns, rows = options.charuco
    return Charuco(columns, rows, options.square, options.marker, options.dictionary)


def find_board(board: Board, left: str, right: str) -> Tuple[List[Shot], Tuple[Tuple[int, int], Tuple[int, int]]]:
    """The pairs that show the board, and the sizes of both cameras' pictures."""
    from ._calibration_fit import MIN_PAIRS
    from ._calibration_pictures import pair_pictures, read_gray

    pairs = pair_pictures(left, right)
    first: List[Any] = []
    shots = []
    for index, names in enumerate(pairs):
        _progress(f"looking for the board: pair {index + 1} of {len(pairs)}")
        images = [read_gray(name) for name in names]
        first = first or images
        for name, reference, image, other in zip(names, first, images, pairs[0]):
            _check_size(name, image.shape, other, reference.shape)
        shot = _find_in_pair(board, names, images)
        shots += [shot] if shot else []
    _progress("")
    if len(shots) < MIN_PAIRS:
        images = [read_gray(names[0]) for names in pairs[:2]]
        raise ArgumentError(
            f"{len(shots)} of {len(pairs)} pairs show the {board} in both pictures, at least {MIN_PAIRS} are needed, "
            f"15 or more are good: {board.advice(images, False)}"
        )
    left_size, right_size = ((image.shape[1], image.shape[0]) for image in first)
    return shots, (left_size, right_size)


def _check_size(name: Path, shape: Sequence[int], first: Path, expected: Sequence[int]) -> None:
    if tuple(shape) != tuple(expected):
        raise FileError(
            f"{name} is {shape[1]}x{shape[0]}, {first} {expected[1]}x{expected[0]}: give pictures of one size for a camera"
        )


def _find_in_pair(board: Board, names: Tuple[Path, Path], images: Sequence[Any]) -> Optional[Shot]:
    from ._calibration_fit import Shot

    left, right = (board.find(image) for image in images)
    if left is None or right is None:
        without = " and ".join(str(name) for name, view in zip(names, (left, right)) if view is None)
        _note(f"{without}: no board found, so the pair is skipped")
        return None
    shot = Shot(names, left, board.matched(left, right))
    if not board.suffices(shot.common()[0]):
        _note(f"{shot}: the pictures share too few corners, so the pair is skipped")
        return None
    return shot


def _check_error(result: Calibration, board: Board) -> None:
    """Refuses what is no calibration, and says why where that can be told."""
    from ._calibration_pictures import read_gray

    limit = _WORST_ERROR * result.rig.left.size[0]
    if result.error <= limit:
        return
    worst = max(range(len(result.shots)), key=lambda index: result.residuals[index].rms)
    advice = board.advice([read_gray(shot.names[0]) for shot in result.shots[:2]], True)
    if max(result.alone) < limit / 2 and "there" not in advice:
        advice = "each camera alone fits, so check that the pictures of a pair were taken at the same moment"
    raise ArgumentError(
        f"the reprojection error is {result.error:.1f} px, above {limit:.1f} px, and greatest in "
        f"{result.shots[worst]}: {advice}"
    )


def _length_writer(options: argparse.Namespace) -> Any:
    if options.square:
        return lambda metres: f"{1000 * metres:.3f} mm"
    return lambda squares: f"{squares:.4f} squares"


def _print_summary(result: Calibration, options: argparse.Namespace) -> None:
    from ._calibration_fit import PAIRS_FOR_ALL

    print(f"{'pairs':<11}{len(result.shots)}")
    for side, name in enumerate(("left", "right")):
        print(f"{name:<11}{_camera_text(result, side)}")
    print(f"{'stereo':<11}error {result.error:.3f} px")
    print(f"{'rows off':<11}median {result.rows_off(0.5):.3f} px, 95 % below {result.rows_off(0.95):.3f} px")
    print(f"{'baseline':<11}{_length_writer(options)(result.rig.baseline)}")
    _print_pairs(result)
    for index in result.outliers():
        _note(f"{result.shots[index]}: the error is above twice the median: look at the pair, or leave it out")
    if len(result.shots) < PAIRS_FOR_ALL and not options.fisheye:
        _note(f"fewer than {PAIRS_FOR_ALL} pairs: k3 is 0 and pixels are taken to be square; 15 or more pairs are good")


def _camera_text(result: Calibration, side: int) -> str:
    from ._calibration_fit import coverage

    camera = (result.rig.left, result.rig.right)[side]
    k, share = camera.matrix, coverage(result.views(side), camera.size)
    return (
        f"error {result.alone[side]:.3f} px alone, focal length {k[0, 0]:.2f}, {k[1, 1]:.2f} px, "
        f"principal point {k[0, 2]:.2f}, {k[1, 2]:.2f} px, corners in {100 * share:.0f} % of the picture"
    )


def _print_pairs(result: Calibration) -> None:
    from ._calibration_fit import rms

    names = [str(shot) for shot in result.shots]
    width = max(len(name) for name in names)
    print(f"\n{'error, px':<{width}}   left  right  rows off")
    for name, residual in zip(names, result.residuals):
        rows = float(abs(residual.rows).mean())
        print(f"{name:<{width}}  {rms(residual.left):5.3f}  {rms(residual.right):5.3f}     {rows:5.3f}")


def _values(result: Calibration, options: argparse.Namespace) -> Dict[str, Any]:
    from ._calibration_fit import rms

    outliers = result.outliers()
    return {
        "error": result.error,
        "left_error_alone": result.alone[0],
        "right_error_alone": result.alone[1],
        "rows_off": {"median": result.rows_off(0.5), "p95": result.rows_off(0.95)},
        "baseline": result.rig.baseline,
        "unit": "m" if options.square else "square",
        "pairs": [
            {
                "left": str(shot.names[0]),
                "right": str(shot.names[1]),
                "corners": len(residual.rows),
                "left_error": rms(residual.left),
                "right_error": rms(residual.right),
                "outlier": index in outliers,
            }
            for index, (shot, residual) in enumerate(zip(result.shots, result.residuals))
        ],
    }


def _write(outputs: Dict[str, str]) -> None:
    """Writes all files completely or, unless renaming fails, none."""
    written: List[Tuple[str, Path]] = []
    try:
        for name, text in outputs.items():
            temporary = Path(name).with_name(f".parallax-{os.getpid()}-{len(written)}")
            written.append((name, temporary))
            temporary.write_text(text, encoding="utf-8")
        for name, temporary in written:
            temporary.replace(name)
    except OSError as error:
        for _, temporary in written:
            temporary.unlink(missing_ok=True)
        raise FileError(f"cannot write {' and '.join(outputs)}: {error.strerror}") from error


def _note(text: str) -> None:
    _progress("")
    print(f"calibrate: {text}", file=sys.stderr)


def _progress(text: str) -> None:
    """Shows what is being done on a terminal, in place."""
    if sys.stderr.isatty():
        print(f"\r\033[K{text}", end="", file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
