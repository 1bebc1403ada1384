#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Classifies the errors of a method by cause, on Middlebury's 2003 pairs and those of 2014 at quarter size.

    PYTHONPATH=python PARALLAX_LIBRARY=build/developer/shared/libparallax.so \\
        python3 benchmarks/error_causes.py DATA [METHOD [NAME=VALUE ...]]

DATA is the folder that PARALLAX_DATA names for the tests. Options are keywords of parallax_stereo.match(), such as
preset=accurate or fill=row. docs/measurements/accuracy.md explains the columns of the table that it prints.
"""

import pathlib
import re
import sys

import numpy as np

import parallax_stereo as px

SCALES = {"tsukuba": (16, 16), "venus": (8, 20), "teddy": (4, 60), "cones": (4, 60)}
COLUMNS = ["nonocc", "decided", "filled", "edge", "weak", "weak data", "slant", "data", "other", "all", "occluded"]


def pairs_of_2003(folder):
    """Name, both images, labels, truth (infinite where unknown), and the mask of the pixels that both cameras see."""
    for name, (scale, labels) in SCALES.items():
        files = ("left", "right", "groundtruth", "all", "nonocc")
        left, right, values, inside, seen = (px.read(str(folder / name / f"{file}.png")) for file in files)
        truth = np.where((values == 0) | (inside != 255), np.inf, values.astype(np.float32) / scale)
        yield name, left, right, labels, truth, seen == 255


def pairs_of_2014(folder):
    """The same."""
    for pair in sorted(folder.iterdir()):
        labels = int(re.search(r"ndisp\s*=\s*(\d+)", (pair / "calib.txt").read_text()).group(1))
        files = ("left.png", "right.png", "disp0GT.pfm", "mask0nocc.png")
        left, right, truth, seen = (px.read(str(pair / file)) for file in files)
        yield pair.name, left, right, labels, truth, seen == 255


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
    """Hamming distances at each pixel's disparity, summed over 5×5 pixels; 40 for pixels outside the right image."""
    height, width = disparity.shape
    columns = np.arange(width)[None, :] - np.rint(np.where(np.isfinite(disparity), disparity, 0)).astype(int)
    matched = right[np.arange(height)[:, None], np.clip(columns, 0, width - 1)]
    distances = np.where((columns >= 0) & (columns < width), (left != matched).sum(axis=2), 40)
    return windows(distances, 5, 5).sum(axis=(2, 3))


def near(mask, radius):
    return windows(mask, 2 * radius + 1, 2 * radius + 1).any(axis=(2, 3))


def jumps(truth):
    """Pixels where known disparities within 3×3 pixels differ by more than 2."""
    known = np.isfinite(truth)
    highest = windows(np.where(known, truth, -np.inf), 3, 3).max(axis=(2, 3))
    return highest - windows(truth, 3, 3).min(axis=(2, 3)) > 2


def causes(result, left, right, truth, seen):
    """Percentages of the pixels, in the order of COLUMNS."""
    known = np.isfinite(truth)
    seen = seen & known
    with np.errstate(invalid="ignore"):
        error = np.where(known, np.abs(result.disparity - truth), 0)
    bad = error > 1
    left, right = gray(left), gray(right)
    features = census(left), census(right)
    misled = costs(*features, result.disparity) < costs(*features, truth)
    weak = windows(left, 9, 9).std(axis=(2, 3)) < 4

    wrong = bad & seen
    filled = result.status == px.STATUS.index("filled")
    parts = []
    rest = wrong
    for cause in (near(jumps(truth) | (known & ~seen), 2), weak, error <= 2, misled, True):
        parts.append(rest & cause)
        rest = rest & ~parts[-1]
    parts.insert(2, parts[1] & misled)
    parts = [wrong, wrong & ~filled, wrong & filled, *parts]
    return [100 * part.sum() / seen.sum() for part in parts] + [
        100 * part.sum() / known.sum() for part in (bad, bad & ~seen)
    ]


def row(name, values):
    return f"| {name} | " + " | ".join(f"{value:.2f}" for value in values) + " |"


def arguments(data, method="bp", *options):
    return pathlib.Path(data), method, dict(option.split("=", 1) for option in options)


def main():
    data, method, options = arguments(*sys.argv[1:])
    print("| pair | " + " | ".join(COLUMNS) + " |\n|---" + "|--:" * len(COLUMNS) + "|")
    for pairs in (pairs_of_2014(data / "middlebury2014"), pairs_of_2003(data / "middlebury2003")):
        table = []
        for name, left, right, labels, truth, seen in pairs:
            result = px.match(left, right, labels, method, **options)
            table.append(causes(result, left, right, truth, seen))
            print(row(name, table[-1]), flush=True)
        print(row("**mean**", np.mean(table, axis=0)))


if __name__ == "__main__":
    main()
