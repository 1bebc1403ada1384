#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares our calibration from the thirteen chessboard pairs of OpenCV's documentation with OpenCV's own sample.

    apt-get download opencv-doc && dpkg -x opencv-doc_*.deb opencv-doc
    PYTHONPATH=python PARALLAX_LIBRARY=build/developer/shared/libparallax.so python3 benchmarks/calibration.py \\
        opencv-doc/usr/share/doc/opencv-doc/examples/data
"""

import random
import sys

import cv2
import numpy as np

from parallax_stereo._calibration_boards import Chessboard, View
from parallax_stereo._calibration_cameras import Camera, Rig
from parallax_stereo._calibration_fit import Calibration, Shot, calibrate, residuals
from parallax_stereo._calibration_pictures import pair_pictures, read_gray

BOARD = Chessboard(9, 6, 1.0)
SIZE = (640, 480)


def sample_view(image):
    """Finds corners like samples/cpp/stereo_calib.cpp."""
    flags = cv2.CALIB_CB_ADAPTIVE_THRESH | cv2.CALIB_CB_NORMALIZE_IMAGE
    _, corners = cv2.findChessboardCorners(image, BOARD.size, flags=flags)
    refined = cv2.cornerSubPix(image, corners, (11, 11), (-1, -1), (3, 30, 0.01))
    return View(np.arange(len(refined)), refined.reshape(-1, 2).astype(float))


def sample_fit(shots):
    """OpenCV's own error and the rig with the settings of the sample."""
    points = [[view.points.astype(np.float32) for view in side] for side in zip(*((s.left, s.right) for s in shots))]
    boards = [BOARD.corners.astype(np.float32)] * len(shots)
    start = [cv2.initCameraMatrix2D(boards, side, SIZE, 0) for side in points]
    flags = (
        cv2.CALIB_FIX_ASPECT_RATIO
        | cv2.CALIB_ZERO_TANGENT_DIST
        | cv2.CALIB_USE_INTRINSIC_GUESS
        | cv2.CALIB_SAME_FOCAL_LENGTH
        | cv2.CALIB_RATIONAL_MODEL
        | cv2.CALIB_FIX_K3
        | cv2.CALIB_FIX_K4
        | cv2.CALIB_FIX_K5
    )
    error, *cameras, rotation, translation, _, _ = cv2.stereoCalibrate(
        boards, *points, start[0], None, start[1], None, SIZE, flags=flags, criteria=(3, 100, 1e-5)
    )
    left, right = (Camera(SIZE, cameras[i], cameras[i + 1].ravel(), False) for i in (0, 2))
    return error, Rig(left, right, rotation, translation.ravel())


def print_row(name, error, calibration):
    rows = f"{calibration.rows_off(0.5):.3f} | {calibration.rows_off(0.95):.3f}"
    print(f"| {name} | {error:.4f} | {rows} |")


def held_out(shots, count):
    """The error in pixels of a calibration from `count` pairs on the other pairs."""
    chosen = random.sample(range(len(shots)), count)
    rig = calibrate(BOARD.corners, [shots[index] for index in chosen], (SIZE, SIZE)).rig
    rest = [residuals(rig, BOARD.corners, shot) for index, shot in enumerate(shots) if index not in chosen]
    return Calibration(rig, [], rest, (0, 0)).error


def main(folder):
    pairs = pair_pictures(f"{folder}/left??.jpg", f"{folder}/right??.jpg")
    shots = {}
    for name, find in (("sample", sample_view), ("parallax", BOARD.find)):
        shots[name] = [Shot(names, *(find(read_gray(path)) for path in names)) for names in pairs]
    print("| corners, calibration | error, px | rows off, median px | 95 % px |\n|---|--:|--:|--:|")
    for corners, found in shots.items():
        error, rig = sample_fit(found)
        rest = [residuals(rig, BOARD.corners, shot) for shot in found]
        print_row(f"{corners}, sample", error, Calibration(rig, found, rest, (0, 0)))
        ours = calibrate(BOARD.corners, found, (SIZE, SIZE))
        print_row(f"{corners}, parallax", ours.error, ours)
    print("\n| pairs | error on the other pairs, median px | largest px |\n|--:|--:|--:|")
    random.seed(1)
    for count in (3, 5, 8, 10, 12):
        errors = [held_out(shots["parallax"], count) for _ in range(12)]
        print(f"| {count} | {np.median(errors):.3f} | {max(errors):.3f} |")


if __name__ == "__main__":
    main(sys.argv[1])
