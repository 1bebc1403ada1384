#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Errors of planes beside bp and sgm, for docs/measurements/planes.md.

    export PYTHONPATH=python PARALLAX_LIBRARY=build/developer/shared/libparallax.so
    python3 benchmarks/planes.py errors DATA [METHOD [PARAMETER=VALUE …]]
    python3 benchmarks/planes.py middlebury2003 DATA
    python3 benchmarks/planes.py synthetic
    python3 benchmarks/planes.py normals
    python3 benchmarks/planes.py picture DATA docs/pictures/planes.png

DATA is the folder that PARALLAX_DATA names for the tests. The picture needs Pillow.
"""

import pathlib
import sys

import numpy as np

import parallax_stereo as px
from scenes import SETS, load

METHODS = ("sgm", "bp", "planes")


def percent_beyond(disparity, truth, where, limit):
    with np.errstate(invalid="ignore"):
        return 100 * np.mean(~(np.abs(disparity - truth) <= limit)[where])


def errors_of_pair(disparity, truth, seen):
    known = np.isfinite(truth)
    with np.errstate(invalid="ignore"):
        error = np.abs(disparity - truth)
        outlier = ~((error <= 3) | (error <= 0.05 * np.abs(truth)))
    return (
        [percent_beyond(disparity, truth, known & seen, limit) for limit in (1, 0.5, 0.25)]
        + [percent_beyond(disparity, truth, known, limit) for limit in (1, 0.5)]
        + [100 * outlier[known].mean()]
    )


def print_errors(data, methods, parameters):
    print("| set | method | bad1 seen | bad0.5 seen | bad0.25 seen | bad1 all | bad0.5 all | D1 all |")
    print("|---|---|--:|--:|--:|--:|--:|--:|")
    for name in SETS:
        pairs = list(load(data, name))
        for method in methods:
            rows = []
            for _, left, right, first, labels, truth, seen in pairs:
                found = px.match(left, right, labels, method, "cpu", min_disparity=first, **parameters)
                rows.append(errors_of_pair(found.disparity, truth, seen))
            figures = " | ".join(f"{value:.2f}" for value in np.mean(rows, axis=0))
            print(f"| {name} ({len(pairs)}) | {method} | {figures} |", flush=True)


def print_middlebury2003(data):
    """Per cent of wrong pixels as the second version of Middlebury's table counts them."""
    print("| pair | wrong by more than | " + " | ".join(f"{method}: nonocc / all / disc" for method in METHODS) + " |")
    print("|---|--:|" + "--:|" * len(METHODS))
    for name, left, right, _, labels, truth, seen in load(data, "middlebury2003"):
        known = np.isfinite(truth)
        jumps = px.read(str(data / "middlebury2003" / name / "disc.png")) == 255
        maps = [px.match(left, right, labels, method, "cpu").disparity for method in METHODS]
        for limit in (1, 0.5):
            cells = [
                " / ".join(f"{percent_beyond(found, truth, known & where, limit):.2f}" for where in (seen, True, jumps))
                for found in maps
            ]
            print(f"| {name} | {limit} px | " + " | ".join(cells) + " |", flush=True)


def inside_planes(truth):
    """Pixels without a jump of the truth within four pixels."""
    jumps = np.zeros(truth.shape, bool)
    for axis in (0, 1):
        second = np.abs(np.diff(truth, 2, axis)) > 0.5
        jumps |= np.pad(second, [(1, 1) if a == axis else (0, 0) for a in (0, 1)])
    near = np.pad(jumps, 4)
    height, width = truth.shape
    return ~np.any([near[y : y + height, x : x + width] for y in range(9) for x in range(9)], axis=0)


def print_synthetic():
    print("| method | mean error of pixels within 1 px | further off |")
    print("|---|--:|--:|")
    for method in METHODS:
        rows = []
        for seed in (1, 2, 3):
            left, right, truth = px.synthesize((640, 480), 64, scene="planes", seed=seed)
            error = np.abs(px.match(left, right, 64, method, "cpu").disparity - truth)[inside_planes(truth)]
            rows.append((error[error <= 1].mean(), 100 * (error > 1).mean()))
        mean, far = np.mean(rows, axis=0)
        print(f"| {method} | {mean:.3f} px | {far:.2f} % |", flush=True)


def print_normals():
    """Angles between the normals of maps and those of the truth, for a camera with an angle of view of 65°."""
    print("| method | median angle | 90 % are within |")
    print("|---|--:|--:|")
    rig = px.Calibration(focal=500, centre_x=320, centre_y=240, baseline=0.1)
    for method in METHODS:
        angles = []
        for seed in (4, 5, 6):
            left, right, truth = px.synthesize((640, 480), 64, scene="planes", seed=seed)
            expected = px.normals(truth, rig)
            found = px.match(left, right, 64, method, "cpu").normals(rig)
            cosine = np.sum(expected.astype(np.float64) * found, axis=2)[inside_planes(truth)]
            angles.append(np.degrees(np.arccos(np.clip(cosine, -1, 1))))
        angles = np.concatenate(angles)
        print(f"| {method} | {np.median(angles):.1f}° | {np.percentile(angles, 90):.1f}° |", flush=True)


def relief(disparity):
    """The surface as if lit from the upper left."""
    slope_y, slope_x = np.gradient(disparity.astype(np.float64))
    return np.clip(128 + 500 * (slope_x + slope_y), 0, 255).astype(np.uint8)


def draw(data, path):
    from PIL import Image

    rows = []
    for name in ("delivery_area_2l", "terrace_2s"):
        _, left, right, first, labels, _, _ = next(pair for pair in load(data, "eth3d") if pair[0] == name)
        maps = [px.match(left, right, labels, method, "cpu", min_disparity=first).disparity for method in METHODS]
        cells = [np.pad(relief(disparity)[:440:2, 20:660:2], 4, constant_values=255) for disparity in maps]
        rows.append(np.concatenate(cells, axis=1))
    Image.fromarray(np.concatenate(rows)).quantize(16).save(path, optimize=True)


def main(words):
    if words[:1] == ["errors"] and len(words) > 1:
        parameters = dict(word.split("=", 1) for word in words[3:])
        print_errors(pathlib.Path(words[1]), words[2:3] or METHODS, parameters)
    elif words[:1] == ["middlebury2003"] and len(words) == 2:
        print_middlebury2003(pathlib.Path(words[1]))
    elif words == ["synthetic"]:
        print_synthetic()
    elif words == ["normals"]:
        print_normals()
    elif words[:1] == ["picture"] and len(words) == 3:
        draw(pathlib.Path(words[1]), words[2])
    else:
        sys.exit(__doc__)


if __name__ == "__main__":
    main(sys.argv[1:])
