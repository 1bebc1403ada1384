# SPDX-License-Identifier: Apache-2.0
"""Calibration boards, and their corners in pictures."""

from __future__ import annotations

from typing import Any, List, NamedTuple, Optional, Sequence, Tuple, Union

import cv2
import numpy as np

from ._arrays import Array
from ._library import ArgumentError

# A board is looked for in pictures reduced to this many pixels on the longer side.
_SEARCH_SIDE = 1280
# Half of the window in which a corner is refined, as a share of the shortest side of a square in the picture. Outer
# squares may be half as wide as the others, and their edges must stay outside.
_WINDOW_SHARE, _WINDOW_MAX = 0.3, 15
# Fewer corners do not determine the pose of a ChArUco board well.
_MIN_CORNERS = 6


class View(NamedTuple):
    """The corners of a board that a picture shows."""

    ids: Array  #: indices of the corners of the board, ascending
    points: Array  #: float64 (n, 2), in pixels


class Chessboard:
    """`columns` × `rows` inner corners, `square` apart."""

    HINT = "count the inner corners, show the whole board with its white border, sharp and evenly lit"

    def __init__(self, columns: int, rows: int, square: float) -> None:
        if min(columns, rows) < 3:
            raise ArgumentError(f"chessboard {columns}x{rows}: give inner corners, from 3x3")
        self.size = columns, rows
        self.corners = _grid(columns, rows, square)

    def __str__(self) -> str:
        return f"chessboard of {self.size[0]}x{self.size[1]} inner corners"

    def find(self, image: Array) -> Optional[View]:
        for scale in _search_scales(image):
            corners = _find_chessboard(image, self.size, scale)
            if corners is not None:
                return View(np.arange(len(self.corners)), _refined(image, corners.reshape(-1, 2), _side(corners)))
        return None

    def suffices(self, ids: Array) -> bool:
        """Whether these corners determine the pose of the board; a chessboard is found completely or not at all."""
        return len(ids) == len(self.corners)

    def matched(self, left: View, right: View) -> View:
        """The right view with its corners in the order of the left one: the detector may begin at another corner of a
        board that looks the same when it is turned."""
        columns, rows = self.size
        grid = right.points.reshape(rows, columns, 2)
        turns = (0, 1, 2, 3) if rows == columns else (0, 2)
        candidates = [np.rot90(grid, turn).reshape(-1, 2) for turn in turns]
        best = min(candidates, key=lambda points: float(np.abs(_centred(points) - _centred(left.points)).sum()))
        return View(right.ids, np.ascontiguousarray(best))

    def advice(self, images: Sequence[Array], found: bool) -> str:
        """What other board is in pictures in which this one is not found, or is found and does not fit; "" = unknown."""
        columns, rows = self.size
        steps = [(1, 1), (1, 0), (0, 1)] + ([] if found else [(0, -1), (-1, 0), (-1, -1)])
        sizes = [(columns + x, rows + y) for x, y in steps if min(columns + x, rows + y) >= 3]
        counts = {size: sum(_shows_chessboard(image, size) for image in images) for size in sizes}
        # The first of equal boards, which is the larger one: part of it can be found as a smaller one.
        best = max(counts, key=lambda size: counts[size])
        if counts[best]:
            return f"one of {best[0]}x{best[1]} inner corners is there: count those of the board"
        return ""


class Charuco:
    """`columns` × `rows` squares with markers in the white ones. Lengths are in any unit."""

    HINT = "check the numbers of squares and the dictionary, and that the board is sharp and evenly lit"

    def __init__(self, columns: int, rows: int, square: float, marker: float, dictionary: str) -> None:
        if min(columns, rows) < 3:
            raise ArgumentError(f"charuco {columns}x{rows}: give squares, from 3x3")
        if not marker < square:
            raise ArgumentError("marker is not smaller than square: give the sides of a marker and of a square")
        self.size = columns, rows
        self.corners = _grid(columns - 1, rows - 1, square)
        self._dictionary = dictionary
        # Between a corner and the next markers, as a share of a square's side.
        self._margin = min(_WINDOW_SHARE, (1 - marker / square) / 2)
        words = _dictionary(dictionary)
        needed, available = columns * rows // 2, len(words.bytesList)
        if needed > available:
            raise ArgumentError(f"charuco {columns}x{rows} has {needed} markers, dictionary {dictionary} {available}")
        self._find = _charuco_finder((columns, rows), square, marker, words)

    def __str__(self) -> str:
        return f"ChArUco board of {self.size[0]}x{self.size[1]} squares with markers of {self._dictionary}"

    def find(self, image: Array) -> Optional[View]:
        corners, ids = self._find(image)
        if ids is None:
            return None
        order = np.argsort(ids.ravel())
        found = ids.ravel()[order]
        if not self.suffices(found):
            return None
        # OpenCV 4.6 gives corners that are off by (0.5, 0.5), so they are refined once more.
        points = corners.reshape(-1, 2)[order]
        columns, rows = self.size
        grid = np.full(((rows - 1) * (columns - 1), 2), np.nan)
        grid[found] = points
        return View(found, _refined(image, points, _side(grid.reshape(rows - 1, columns - 1, 2)), self._margin))

    def suffices(self, ids: Array) -> bool:
        """Whether these corners determine the pose of the board: enough, and not on one line of it."""
        columns = self.size[0] - 1
        return len(ids) >= _MIN_CORNERS and all(len(set(line)) >= 2 for line in (ids % columns, ids // columns))

    def matched(self, left: View, right: View) -> View:
        return right

    def advice(self, images: Sequence[Array], found: bool) -> str:
        """What other board is in pictures in which this one is not found, or is found and does not fit; "" = unknown."""
        for image in images:
            counts = {name: _count_markers(image, name) for name in dictionaries()}
            best = max(counts, key=lambda name: counts[name])
            # The first words of a large dictionary equal those of the smaller dictionaries of its kind.
            if counts[best] > max(3, 2 * counts[self._dictionary.lower()]):
                return f"markers of {best} are there: check --dictionary"
        return ""


Board = Union[Chessboard, Charuco]


def dictionaries() -> List[str]:
    """The names of OpenCV's dictionaries of markers, such as "4x4_50"."""
    names = [name[len("DICT_") :] for name in dir(getattr(cv2, "aruco", None)) if name.startswith("DICT_")]
    return sorted((name.lower() for name in names), key=lambda name: (len(name), name))


def _grid(columns: int, rows: int, square: float) -> Array:
    """Corners in the plane of the board, row by row: float64 (n, 3)."""
    y, x = np.mgrid[:rows, :columns]
    corners: Array = np.stack([x, y, np.zeros_like(x)], axis=-1).reshape(-1, 3) * float(square)
    return corners


def _centred(points: Array) -> Array:
    centred: Array = points - points.mean(axis=0)
    return centred


def _search_scales(image: Array) -> Tuple[float, ...]:
    """A large picture is reduced, to save time; small squares are found in an enlarged one."""
    side = max(image.shape)
    return (1.0, 2.0) if 2 * side <= _SEARCH_SIDE else (min(1.0, _SEARCH_SIDE / side),)


def _find_chessboard(image: Array, size: Tuple[int, int], scale: float) -> Optional[Array]:
    """Corners to about a pixel, (rows, columns, 2) in pixels of the unscaled picture."""
    method = cv2.INTER_AREA if scale < 1 else cv2.INTER_LINEAR
    scaled = image if scale == 1 else cv2.resize(image, None, fx=scale, fy=scale, interpolation=method)
    flags = cv2.CALIB_CB_ADAPTIVE_THRESH | cv2.CALIB_CB_NORMALIZE_IMAGE | cv2.CALIB_CB_FAST_CHECK
    found, corners = cv2.findChessboardCorners(scaled, size, flags=flags)
    if not found:
        return None
    # Pixel centres are at integers, before and after scaling.
    unscaled: Array = ((corners.reshape(size[1], size[0], 2) + 0.5) / scale - 0.5).astype(np.float32)
    return unscaled


def _shows_chessboard(image: Array, size: Tuple[int, int]) -> bool:
    return _find_chessboard(image, size, _search_scales(image)[0]) is not None


def _side(grid: Array) -> float:
    """The shortest distance between neighbours in a grid of corners, (rows, columns, 2); NaN = not seen."""
    distances = [np.linalg.norm(np.diff(grid, axis=axis), axis=-1).ravel() for axis in (0, 1)]
    known = np.concatenate(distances)
    return float(np.nanmin(known)) if np.isfinite(known).any() else 0.0


def _refined(image: Array, corners: Array, side: float, share: float = _WINDOW_SHARE) -> Array:
    """Corners (n, 2) to a fraction of a pixel, in windows that reach as far as this share of a square's side."""
    half = int(np.clip(share * side, 2, _WINDOW_MAX))
    criteria = (cv2.TERM_CRITERIA_COUNT + cv2.TERM_CRITERIA_EPS, 50, 0.001)
    points = corners.astype(np.float32).reshape(-1, 1, 2)
    refined: Array = cv2.cornerSubPix(image, points, (half, half), (-1, -1), criteria).reshape(-1, 2)
    return refined.astype(np.float64)


def _dictionary(name: str) -> Any:
    if not hasattr(cv2, "aruco"):
        raise ArgumentError("this OpenCV has no module aruco: install opencv-contrib-python, or give --chessboard")
    if name.lower() not in dictionaries():
        raise ArgumentError(f"dictionary {name} is unknown: give one of {', '.join(dictionaries())}")
    constant = next(value for value in dir(cv2.aruco) if value.lower() == f"dict_{name}".lower())
    return cv2.aruco.getPredefinedDictionary(getattr(cv2.aruco, constant))


def _charuco_finder(size: Tuple[int, int], square: float, marker: float, words: Any) -> Any:
    """A function that returns the corners and their ids, or None for both. OpenCV 4.7 changed the interface."""
    if hasattr(cv2.aruco, "CharucoDetector"):
        detector = cv2.aruco.CharucoDetector(cv2.aruco.CharucoBoard(size, square, marker, words))
        return lambda image: detector.detectBoard(image)[:2]
    board = cv2.aruco.CharucoBoard_create(*size, square, marker, words)

    def find(image: Array) -> Tuple[Any, Any]:
        markers, ids, _ = cv2.aruco.detectMarkers(image, words)
        if ids is None:
            return None, None
        found: Tuple[Any, Any] = cv2.aruco.interpolateCornersCharuco(markers, ids, image, board)[1:3]
        return found

    return find


def _count_markers(image: Array, dictionary: str) -> int:
    words = _dictionary(dictionary)
    if hasattr(cv2.aruco, "ArucoDetector"):
        return len(cv2.aruco.ArucoDetector(words).detectMarkers(image)[0])
    return len(cv2.aruco.detectMarkers(image, words)[0])
