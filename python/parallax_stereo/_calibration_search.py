# SPDX-License-Identifier: Apache-2.0
"""The search for a board in pairs of pictures."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import List, Optional, Sequence, Tuple

from ._arrays import Array
from ._calibration_boards import Board
from ._calibration_fit import MIN_PAIRS, Shot
from ._calibration_pictures import pair_pictures, read_gray
from ._library import ArgumentError, FileError


def find_board(board: Board, left: str, right: str) -> Tuple[List[Shot], Tuple[Tuple[int, int], Tuple[int, int]]]:
    """The pairs that show the board, and the sizes of both cameras' pictures."""
    pairs = pair_pictures(left, right)
    first: List[Array] = []
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
            f"15 or more are good: {board.advice(images, False) or board.HINT}"
        )
    left_size, right_size = ((image.shape[1], image.shape[0]) for image in first)
    return shots, (left_size, right_size)


def _check_size(name: Path, shape: Sequence[int], first: Path, expected: Sequence[int]) -> None:
    if tuple(shape) != tuple(expected):
        raise FileError(
            f"{name} is {shape[1]}x{shape[0]}, {first} {expected[1]}x{expected[0]}: "
            "give pictures of one size for a camera"
        )


def _find_in_pair(board: Board, names: Tuple[Path, Path], images: Sequence[Array]) -> Optional[Shot]:
    left, right = (board.find(image) for image in images)
    if left is None or right is None:
        without = " and ".join(str(name) for name, view in zip(names, (left, right)) if view is None)
        note(f"{without}: no board found, so the pair is skipped")
        return None
    shot = Shot(names, left, board.matched(left, right))
    if not board.suffices(shot.common()[0]):
        note(f"{shot}: the pictures share too few corners, so the pair is skipped")
        return None
    return shot


def note(text: str) -> None:
    """Prints a line for the user, beside the results."""
    _progress("")
    print(f"calibrate: {text}", file=sys.stderr)


def _progress(text: str) -> None:
    """Shows the current work on a terminal, in place."""
    if sys.stderr.isatty():
        print(f"\r\033[K{text}", end="", file=sys.stderr, flush=True)
