#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""What the errors of a method are made of, on Middlebury's 2003 pairs and those of 2014 at quarter size.

    error_causes.py DATA [METHOD [NAME=VALUE ...]]

DATA is the folder that PARALLAX_DATA names for the tests. Options are keywords of parallax_stereo.match(), such as
preset=accurate or fill=row. Prints, for each pair and in the mean, the pixels that are off by more than 1 px in per
cent: of those that both cameras see (nonocc), by cause; and of all.

A wrong pixel has the first cause that applies:
  edge      within 3 px of an occlusion or of a jump of more than 2 px in the truth
  weak      weak texture: the standard deviation of gray in 9×9 pixels is below 4; `data` is the part of it where
            the census costs around the pixel prefer the wrong disparity
  slant     off by at most 2 px
  data      the census costs prefer the wrong disparity
  other     the rest
Wrong pixels are also counted by whether the matcher decided them, or a fill.
"""

import pathlib
import re
import sys

import numpy as np
import parallax_stereo as px

SCALES = {"tsukuba": (16, 16), "venus": (8, 20), "teddy": (4, 60), "cones": (4, 60)}
COLUMNS = ["nonocc", "decided", "filled", "edge", "weak", "weak data", "slant", "data", "other", "all", "occluded"]


def pairs(data):
    """Set, name, both images, labels, truth, and what both cameras see, of every pair."""
    for name, (scale, labels) in SCALES.items():
        folder = data / "middlebury2003" / name
        read = lambda file: px.read(str(folder / file))
        truth = read("groundtruth.png").astype(np.float32) / scale
        known = (truth > 0) & (read("all.png") == 255)
        yield "2003", name, read("left.png"), read("right.png"), labels, truth, known, read("nonocc.png") == 255
    for folder in sorted((data / "middlebury2014").iterdir()):
        read = lambda file: px.read(str(folder / file))
        labels = int(re.search(r"ndisp\s*=\s*(\d+)", (folder / "calib.txt").read_text()).group(1))
        truth = read("disp0GT.pfm")
        seen = read("mask0nocc.png") == 255
        yield "2014", folder.name, read("left.png"), read("right.png"), labels, truth, np.isfinite(truth), seen


def windows(image, columns, rows):
    """The windows around all pixels; the border repeats."""
    padded = np.pad(image, ((rows // 2, rows // 2), (columns // 2, columns // 2)), mode="edge")
    return np.lib.stride_tricks.sliding_window_view(padded, (rows, columns))


def gray(image):
    if image.ndim == 2:
        return image.astype(np.float32)
    return (image[..., :3].astype(int) @ np.array([9797, 19234, 3737]) >> 15).astype(np.float32)


def census(image):
    return windows(image, 9, 7).reshape(*image.shape, 63) < image[..., None]


def costs(left, right, disparity):
    """Hamming distances at a disparity of every pixel, summed over 5×5 pixels."""
    height, width = disparity.shape
    columns = np.arange(width)[None, :] - np.rint(np.where(np.isfinite(disparity), disparity, 0)).astype(int)
    matched = right[np.arange(height)[:, None], np.clip(columns, 0, width - 1)]
    each = np.where((columns >= 0) & (columns < width), (left != matched).sum(axis=2), 40).astype(np.float32)
    return windows(each, 5, 5).sum(axis=(2, 3))


def near(mask, radius):
    return windows(mask.astype(np.uint8), 2 * radius + 1, 2 * radius + 1).max(axis=(2, 3)) > 0


def causes(result, left, right, truth, known, seen):
    """Per cent of the pixels, in the order of COLUMNS."""
    disparity = result.disparity
    with np.errstate(invalid="ignore"):
        error = np.where(known, np.abs(disparity - np.where(known, truth, 0)), 0)
    error[~np.isfinite(disparity) & known] = np.inf
    bad = (error > 1) & known
    seen = seen & known
    level = np.where(known, truth, 0).astype(np.float32)
    around = windows(level, 3, 3)
    jump = (around.max(axis=(2, 3)) - around.min(axis=(2, 3)) > 2) | (known & ~seen)
    gray_left, gray_right = gray(left), gray(right)
    weak = windows(gray_left, 9, 9).std(axis=(2, 3)) < 4
    features = census(gray_left), census(gray_right)
    misled = costs(*features, disparity) < costs(*features, level)
    wrong, total = bad & seen, seen.sum()
    left_over = wrong.copy()
    parts = []
    for cause in (near(jump, 2), weak, error <= 2, misled, np.ones_like(bad)):
        parts.append(left_over & cause)
        left_over &= ~cause
    parts.insert(2, parts[1] & misled)
    filled = result.status == 1
    counts = [wrong, wrong & ~filled, wrong & filled] + parts
    every = known.sum()
    return [100 * part.sum() / total for part in counts] + [100 * bad.sum() / every, 100 * (bad & ~seen).sum() / every]


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    method = sys.argv[2] if len(sys.argv) > 2 else "bp"
    options = dict(option.split("=", 1) for option in sys.argv[3:])
    sets = {}
    print("| pair | " + " | ".join(COLUMNS) + " |\n|---" + "|---:" * len(COLUMNS) + "|")
    for kind, name, left, right, labels, truth, known, seen in pairs(pathlib.Path(sys.argv[1])):
        result = px.match(left, right, labels, method, **options)
        row = causes(result, left, right, truth, known, seen)
        sets.setdefault(kind, []).append(row)
        print(f"| {name} | " + " | ".join(f"{value:.2f}" for value in row) + " |", flush=True)
    for kind, rows in sets.items():
        print(f"| **{kind}** | " + " | ".join(f"{value:.2f}" for value in np.mean(rows, axis=0)) + " |")


main()
