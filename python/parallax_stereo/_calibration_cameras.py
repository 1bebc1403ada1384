# SPDX-License-Identifier: Apache-2.0
"""Two calibrated cameras: see parallax/rig.h."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, Dict, Tuple

import cv2
import numpy as np

from ._arrays import Array


@dataclass(frozen=True)
class Camera:
    """Lengths are in pixels."""

    size: Tuple[int, int]  #: width and height of its images
    matrix: Array  #: float64 (3, 3): focal lengths and principal point
    distortion: Array  #: float64 (n,): OpenCV's coefficients
    fisheye: bool  #: whether the coefficients are those of cv2.fisheye

    def project(self, points: Array) -> Array:
        """Pixels (n, 2) of points (n, 3) in the camera's coordinates."""
        zero = np.zeros(3)
        module = cv2.fisheye if self.fisheye else cv2
        pixels: Array = module.projectPoints(points.reshape(-1, 1, 3), zero, zero, self.matrix, self.distortion)[0]
        return pixels.reshape(-1, 2)

    def rays(self, pixels: Array) -> Array:
        """Directions (n, 3), with 1 forward, from which light reaches the pixels (n, 2)."""
        points = pixels.reshape(-1, 1, 2).astype(np.float64)
        if self.fisheye:
            flat = cv2.fisheye.undistortPoints(points, self.matrix, self.distortion)
        else:
            criteria = (cv2.TERM_CRITERIA_COUNT + cv2.TERM_CRITERIA_EPS, 100, 1e-12)
            flat = cv2.undistortPointsIter(points, self.matrix, self.distortion, None, None, criteria)
        return np.column_stack([flat.reshape(-1, 2), np.ones(len(points))])

    def rectified(self, image: Array, rotation: Array, matrix: Array, size: Tuple[int, int]) -> Array:
        """The image that a camera without distortion, turned by `rotation` and with `matrix`, would have taken."""
        make_maps = cv2.fisheye.initUndistortRectifyMap if self.fisheye else cv2.initUndistortRectifyMap
        maps = make_maps(self.matrix, self.distortion, rotation, matrix, size, cv2.CV_32FC1)
        result: Array = cv2.remap(image, *maps, cv2.INTER_LINEAR)
        return result

    def values(self) -> Dict[str, Any]:
        return {
            "size": list(self.size),
            "focal": [float(self.matrix[0, 0]), float(self.matrix[1, 1])],
            "centre": [float(self.matrix[0, 2]), float(self.matrix[1, 2])],
            "model": "equidistant" if self.fisheye else "radial-tangential",
            "distortion": [float(value) for value in self.distortion],
        }


@dataclass(frozen=True)
class Rig:
    """A point X in the left camera's coordinates is rotation · X + translation in the right one's."""

    left: Camera
    right: Camera
    rotation: Array  #: float64 (3, 3)
    translation: Array  #: float64 (3,), in the unit of the board

    @property
    def baseline(self) -> float:
        return float(np.linalg.norm(self.translation))

    @property
    def focal(self) -> float:
        """The mean of the focal lengths, which rectified pictures get."""
        return float(np.mean([[camera.matrix[0, 0], camera.matrix[1, 1]] for camera in (self.left, self.right)]))

    def to_json(self) -> str:
        values = {
            "left": self.left.values(),
            "right": self.right.values(),
            "rotation": self.rotation.tolist(),
            "translation": self.translation.tolist(),
        }
        lines = ",\n".join(f"  {json.dumps(key)}: {json.dumps(value)}" for key, value in values.items())
        return "{\n" + lines + "\n}\n"

    def rectifying_rotations(self) -> Tuple[Array, Array]:
        """Rotations of the left and right camera that make rows agree: x is along the baseline, z as near to both
        optical axes as possible."""
        x = -self.rotation.T @ self.translation / self.baseline
        forward = np.array([0.0, 0.0, 1.0])
        y = np.cross(forward + self.rotation.T @ forward, x)
        y /= np.linalg.norm(y)
        left = np.stack([x, y, np.cross(x, y)])
        return left, left @ self.rotation.T

    def rectified_points(self, left: Array, right: Array) -> Tuple[Array, Array]:
        """Pixels (n, 2) of both cameras after rectification to the mean focal length, from its principal point."""
        results = []
        for camera, rotation, pixels in zip((self.left, self.right), self.rectifying_rotations(), (left, right)):
            rays = camera.rays(pixels) @ rotation.T
            results.append(self.focal * rays[:, :2] / rays[:, 2:])
        return results[0], results[1]

    def rectify(self, left: Array, right: Array) -> Tuple[Array, Array]:
        """Rectified images of the left camera's size, zoomed so that they show all of both, up to 2 × 63 degrees."""
        rotations = self.rectifying_rotations()
        flat = []
        for camera, rotation in zip((self.left, self.right), rotations):
            rays = camera.rays(_border(camera.size)) @ rotation.T
            ahead = rays[rays[:, 2] > 1e-3]
            flat.append(np.clip(ahead[:, :2] / ahead[:, 2:], -2, 2))
        low, high = np.concatenate(flat).min(axis=0), np.concatenate(flat).max(axis=0)
        width, height = self.left.size
        focal = min(width / (high[0] - low[0]), height / (high[1] - low[1]))
        centre = (np.array([width, height]) - 1) / 2 - focal * (low + high) / 2
        matrix = np.array([[focal, 0, centre[0]], [0, focal, centre[1]], [0, 0, 1]])
        results = [
            camera.rectified(image, rotation, matrix, self.left.size)
            for camera, image, rotation in zip((self.left, self.right), (left, right), rotations)
        ]
        return results[0], results[1]


def _border(size: Tuple[int, int]) -> Array:
    """Pixels along the border of an image."""
    xs, ys = (np.linspace(0, side - 1, 20) for side in size)
    rows = [np.column_stack([xs, np.full(20, y)]) for y in (0, size[1] - 1)]
    columns = [np.column_stack([np.full(20, x), ys]) for x in (0, size[0] - 1)]
    return np.concatenate(rows + columns)
