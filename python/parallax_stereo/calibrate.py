# SPDX-License-Identifier: Apache-2.0
"""Calibrates two cameras from pictures of a board:

    python -m parallax_stereo.calibrate 'left*.png' 'right*.png' --chessboard 9x6 --square 25mm -o rig.json

Needs OpenCV; docs/howto/calibration.md describes the pictures, the board and the report.
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
    from ._calibration_fit import Calibration

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
    # Imported here, because these modules import cv2.
    from ._calibration_fit import calibrate
    from ._calibration_report import report
    from ._calibration_search import find_board
    from ._calibration_summary import print_summary, values

    _check_outputs([name for name in (options.output, options.report) if name])
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
        print(json.dumps(values(result, "m" if options.square else "square"), indent=2))
    else:
        print_summary(result, _length_writer(options))
    _print_notes(result, options)


def _check_outputs(names: Sequence[str]) -> None:
    for name in names:
        if Path(name).is_dir() or not Path(name).absolute().parent.is_dir():
            raise FileError(f"cannot write {name}: give the name of a file in a folder that exists")
    if len(set(names)) < len(names):
        raise ArgumentError(f"{names[0]} is to be the rig and the report: give two names")


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


def _check_error(result: Calibration, board: Board) -> None:
    """Refuses a rig that is no calibration, and says why if the reason is known."""
    from ._calibration_pictures import read_gray

    limit = _WORST_ERROR * result.rig.left.size[0]
    if result.error <= limit:
        return
    worst = max(range(len(result.shots)), key=lambda index: result.residuals[index].rms)
    advice = board.advice([read_gray(shot.names[0]) for shot in result.shots[:2]], True)
    if not advice and max(result.alone) < limit / 2:
        advice = "each camera alone fits, so check that the pictures of a pair were taken at the same moment"
    raise ArgumentError(
        f"the reprojection error is {result.error:.1f} px, above {limit:.1f} px, and greatest in "
        f"{result.shots[worst]}: {advice or 'check that the board is flat, and the model of the lens'}"
    )


def _length_writer(options: argparse.Namespace) -> Any:
    if options.square:
        return lambda metres: f"{1000 * metres:.3f} mm"
    return lambda squares: f"{squares:.4f} squares"


def _print_notes(result: Calibration, options: argparse.Namespace) -> None:
    from ._calibration_fit import PAIRS_FOR_ALL
    from ._calibration_search import note

    for index in result.outliers():
        note(f"{result.shots[index]}: the error is above twice the median: look at the pair, or leave it out")
    if len(result.shots) < PAIRS_FOR_ALL and not options.fisheye:
        note(f"fewer than {PAIRS_FOR_ALL} pairs: k3 is 0 and pixels are taken to be square; 15 or more pairs are good")


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


if __name__ == "__main__":
    sys.exit(main())
