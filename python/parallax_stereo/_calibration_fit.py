# SPDX-License-Identifier: Apache-2.0
"""Fits a rig to the corners of a board, and computes its residuals."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import List, NamedTuple, Sequence, Tuple

import cv2
import numpy as np

from ._arrays import Array
from ._calibration_boards import View
from ._calibration_cameras import Camera, Rig
from ._library import ArgumentError

MIN_PAIRS = 3
#: With fewer pairs, k3 is 0 and both focal lengths of a camera are equal; more coefficients are refused.
PAIRS_FOR_ALL = 10
# Flags of OpenCV for the number of coefficients of distortion.
_MODELS = {
    5: 0,
    8: cv2.CALIB_RATIONAL_MODEL,
    12: cv2.CALIB_RATIONAL_MODEL | cv2.CALIB_THIN_PRISM_MODEL,
    14: cv2.CALIB_RATIONAL_MODEL | cv2.CALIB_THIN_PRISM_MODEL | cv2.CALIB_TILTED_MODEL,
}
_CRITERIA = (cv2.TERM_CRITERIA_COUNT + cv2.TERM_CRITERIA_EPS, 100, 1e-7)
# A pair is an outlier beyond this many times the median error of all pairs.
_OUTLIER = 2.0


class Shot(NamedTuple):
    """The corners of the board in one pair of pictures."""

    names: Tuple[Path, Path]
    left: View
    right: View

    def __str__(self) -> str:
        left, right = self.names
        if left.name == right.name:
            return f"{left.parent.name}/{left.name} + {right.parent.name}/{right.name}"
        return f"{left.name} + {right.name}"

    def common(self) -> Tuple[Array, Array, Array]:
        """The corners that both pictures show: ids, left points, right points."""
        ids, left, right = np.intersect1d(self.left.ids, self.right.ids, return_indices=True)
        return ids, self.left.points[left], self.right.points[right]


class Residuals(NamedTuple):
    """The residuals of a rig in one pair, for the corners that both pictures show, in pixels."""

    left: Array  #: (n, 2): projected corners minus those found
    right: Array  #: (n, 2)
    rows: Array  #: (n,): left row minus right row after rectification

    @property
    def rms(self) -> float:
        return rms(np.concatenate([self.left, self.right]))


@dataclass(frozen=True)
class Calibration:
    """A rig and how well it fits."""

    rig: Rig
    shots: Sequence[Shot]
    residuals: Sequence[Residuals]  #: of each shot
    alone: Tuple[float, float]  #: error of each camera calibrated alone, in pixels

    def views(self, side: int) -> List[View]:
        """The views of the left camera, 0, or the right one, 1."""
        return [(shot.left, shot.right)[side] for shot in self.shots]

    @property
    def error(self) -> float:
        """Root mean square distance in pixels between corners found and projected, over both cameras."""
        return rms(np.concatenate([part for shot in self.residuals for part in (shot.left, shot.right)]))

    def rows_off(self, quantile: float) -> float:
        """Quantile of the distances in rows, in pixels, between left and right corners after rectification."""
        return float(np.quantile(np.abs(np.concatenate([shot.rows for shot in self.residuals])), quantile))

    def outliers(self) -> List[int]:
        """Shots whose error is far above that of most."""
        errors = [shot.rms for shot in self.residuals]
        return [index for index, error in enumerate(errors) if error > _OUTLIER * float(np.median(errors))]


def rms(errors: Array) -> float:
    """Root mean square length of vectors (n, 2)."""
    return float(np.sqrt((errors**2).sum(axis=1).mean()))


def coverage(views: Sequence[View], size: Tuple[int, int]) -> float:
    """The share of 8 × 6 equal parts of the picture that hold a corner."""
    points = np.concatenate([view.points for view in views])
    cells = np.clip((points + 0.5) / size * (8, 6), 0, (7, 5)).astype(int)
    return len(np.unique(cells, axis=0)) / 48


def calibrate(
    corners: Array,
    shots: Sequence[Shot],
    sizes: Tuple[Tuple[int, int], Tuple[int, int]],
    coefficients: int = 5,
    fisheye: bool = False,
) -> Calibration:
    """Calibrates two cameras from shots of a board with these corners (n, 3)."""
    if len(shots) < MIN_PAIRS:
        raise ArgumentError(f"{len(shots)} pairs show the board: at least {MIN_PAIRS} are needed, 15 or more are good")
    if not fisheye and coefficients != 5 and len(shots) < PAIRS_FOR_ALL:
        raise ArgumentError(
            f"{len(shots)} pairs do not determine {coefficients} coefficients of distortion: "
            f"give 5, or {PAIRS_FOR_ALL} pairs"
        )
    fit = _fit_fisheye if fisheye else _fit_pinhole
    try:
        rig, alone = fit(corners, shots, sizes, coefficients)
    except cv2.error as error:
        raise ArgumentError(
            f"OpenCV cannot calibrate from these pictures ({error.err}): add pairs with the board tilted"
        ) from error
    _check_rig(rig)
    return Calibration(rig, shots, [residuals(rig, corners, shot) for shot in shots], alone)


def _check_rig(rig: Rig) -> None:
    values = [
        rig.translation,
        *(part.ravel() for camera in (rig.left, rig.right) for part in (camera.matrix, camera.distortion)),
    ]
    if not np.isfinite(np.concatenate(values)).all():
        raise ArgumentError("the calibration did not converge: add pairs with the board tilted and near the borders")
    x, y, z = rig.translation
    if x > np.hypot(y, z):
        raise ArgumentError("the second camera is left of the first: exchange LEFT and RIGHT")


def residuals(rig: Rig, corners: Array, shot: Shot) -> Residuals:
    """The residuals with the board at the pose that fits both pictures best."""
    ids, left, right = shot.common()
    seen = np.concatenate([left, right])
    pose = _board_pose(rig, corners[ids], left, seen)
    errors = _project_both(rig, corners[ids], pose) - seen
    rows = np.subtract(*(points[:, 1] for points in rig.rectified_points(left, right)))
    return Residuals(errors[: len(ids)], errors[len(ids) :], rows)


def _fit_pinhole(
    corners: Array, shots: Sequence[Shot], sizes: Sequence[Tuple[int, int]], coefficients: int
) -> Tuple[Rig, Tuple[float, float]]:
    flags = _MODELS[coefficients]
    if len(shots) < PAIRS_FOR_ALL:
        flags |= cv2.CALIB_FIX_K3 | cv2.CALIB_FIX_ASPECT_RATIO
    errors, start = [], []
    for views, size in zip(_views(shots), sizes):
        boards = [corners[view.ids].astype(np.float32) for view in views]
        points = [view.points.astype(np.float32) for view in views]
        # If the aspect ratio of pixels is fixed, the matrix sets it to 1.
        error, matrix, distortion, _, _ = cv2.calibrateCamera(
            boards, points, size, np.eye(3), None, flags=flags, criteria=_CRITERIA
        )
        errors.append(float(error))
        start += [matrix, distortion]
    both = [shot.common() for shot in shots]
    boards = [corners[ids].astype(np.float32) for ids, _, _ in both]
    seen = [[views[side].astype(np.float32) for views in both] for side in (1, 2)]
    _, *cameras, rotation, translation, _, _ = cv2.stereoCalibrate(
        boards, *seen, *start, None, flags=flags | cv2.CALIB_USE_INTRINSIC_GUESS, criteria=_CRITERIA
    )
    left, right = (
        Camera(size, matrix, distortion.ravel()[:coefficients], False)
        for size, matrix, distortion in zip(sizes, cameras[::2], cameras[1::2])
    )
    return Rig(left, right, rotation, translation.ravel()), (errors[0], errors[1])


def _fit_fisheye(
    corners: Array, shots: Sequence[Shot], sizes: Sequence[Tuple[int, int]], _coefficients: int
) -> Tuple[Rig, Tuple[float, float]]:
    flags = cv2.fisheye.CALIB_RECOMPUTE_EXTRINSIC | cv2.fisheye.CALIB_FIX_SKEW
    errors, start = [], []
    for views, size in zip(_views(shots), sizes):
        boards = [corners[view.ids].reshape(1, -1, 3) for view in views]
        points = [view.points.reshape(1, -1, 2) for view in views]
        error, matrix, distortion, _, _ = cv2.fisheye.calibrate(
            boards, points, size, np.eye(3), np.zeros(4), flags=flags, criteria=_CRITERIA
        )
        errors.append(float(error))
        start += [matrix, distortion]
    boards, left_points, right_points = _padded(corners, [shot.common() for shot in shots])
    found = cv2.fisheye.stereoCalibrate(
        boards,
        left_points,
        right_points,
        *start,
        sizes[0],
        flags=flags | cv2.fisheye.CALIB_USE_INTRINSIC_GUESS,
        criteria=_CRITERIA,
    )
    left, right = (
        Camera(size, matrix, distortion.ravel(), True)
        for size, matrix, distortion in zip(sizes, found[1:5:2], found[2:5:2])
    )
    return Rig(left, right, found[5], found[6].ravel()), (errors[0], errors[1])


def _padded(corners: Array, both: Sequence[Tuple[Array, Array, Array]]) -> Tuple[List[Array], List[Array], List[Array]]:
    """Corners and points of all shots. cv2.fisheye.stereoCalibrate needs equal numbers, so some are repeated."""
    count = max(len(ids) for ids, _, _ in both)
    result: Tuple[List[Array], List[Array], List[Array]] = ([], [], [])
    for ids, left, right in both:
        repeated = np.resize(np.arange(len(ids)), count)
        result[0].append(corners[ids[repeated]].reshape(1, -1, 3))
        result[1].append(left[repeated].reshape(1, -1, 2))
        result[2].append(right[repeated].reshape(1, -1, 2))
    return result


def _views(shots: Sequence[Shot]) -> Tuple[List[View], List[View]]:
    return [shot.left for shot in shots], [shot.right for shot in shots]


def _project_both(rig: Rig, corners: Array, pose: Array) -> Array:
    """Left, then right pixels of a board's corners. The pose is a rotation vector and a translation."""
    in_left = corners @ cv2.Rodrigues(pose[:3])[0].T + pose[3:]
    in_right = in_left @ rig.rotation.T + rig.translation
    return np.concatenate([rig.left.project(in_left), rig.right.project(in_right)])


def _board_pose(rig: Rig, corners: Array, left: Array, seen: Array) -> Array:
    """The pose of least squared error over both pictures, by Gauss and Newton's method."""
    flat = np.ascontiguousarray(rig.left.rays(left)[:, :2])
    _, rotation, translation = cv2.solvePnP(corners, flat, np.eye(3), None)
    pose: Array = np.concatenate([rotation.ravel(), translation.ravel()])
    steps = 1e-6 * np.concatenate([np.ones(3), np.full(3, np.linalg.norm(translation))])
    for _ in range(10):
        error = _project_both(rig, corners, pose) - seen
        slopes = [
            (_project_both(rig, corners, pose + step) - _project_both(rig, corners, pose - step)).ravel()
            / (2 * step.sum())
            for step in np.diag(steps)
        ]
        change = np.linalg.lstsq(np.stack(slopes, axis=1), -error.ravel(), rcond=None)[0]
        pose = pose + change
        if (np.abs(change) < steps).all():
            break
    return pose
