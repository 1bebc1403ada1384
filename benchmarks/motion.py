#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Compares motion with OpenCV's DIS, Farnebäck and, if the package has it, TV-L1: the tables of docs/measurements/motion.md.

    benchmarks/motion.py build/developer/parallax [--data DATA] [--rubberwhale FRAME1 FRAME2]

Synthetic pairs have exact motions; a scene's figures are means over its seeds. With --data, the folder that
PARALLAX_DATA names for the tests, left pictures are warped by known motions. With --rubberwhale, the error is the mean
difference in gray levels between the first frame and the second one warped back. All methods have two threads.
"""

import argparse
import json
import pathlib
import subprocess
import tempfile
import time

import cv2
import numpy as np

SEEDS = (1, 2, 3)
SCENES = {
    "translation": "translation",
    "rotation": "rotation",
    "zoom": "zoom",
    "layers": "layers",
    "layers, up to 40 pixels": "layers --motion 40",
    "layers, noise": "layers --noise 8",
    "layers, exposure": "layers --exposure 0.8",
    "thin": "thin",
    "thin, noise": "thin --noise 8",
    "thin, exposure": "thin --exposure 0.8",
}
REPEATS = 5


def run(program, *words):
    return subprocess.run([program, *map(str, words)], check=True, capture_output=True, text=True).stdout


def read_flo(path):
    data = np.fromfile(path, np.float32)
    width, height = data[1:3].view(np.int32)
    return data[3:].reshape(height, width, 2)


def methods_of(program):
    """Name → function of a folder with two frames, which returns milliseconds and the motion."""

    def frames(folder):
        return folder / "frame1.png", folder / "frame2.png"

    def motion(folder):
        out = folder / "out.flo"
        report = run(program, "flow", *frames(folder), "-o", out, "--repeat", REPEATS, "--json", "--threads", 2)
        return json.loads(report)["milliseconds"]["total"], read_flo(out)

    def of_opencv(call, repeats):
        def match(folder):
            pictures = [cv2.imread(str(frame), cv2.IMREAD_GRAYSCALE) for frame in frames(folder)]
            times = []
            for _ in range(repeats):
                begin = time.perf_counter()
                flow = call(*pictures, None)
                times.append(1e3 * (time.perf_counter() - begin))
            return min(times), flow

        return match

    def farneback(first, second, flow):
        return cv2.calcOpticalFlowFarneback(first, second, flow, 0.5, 5, 15, 3, 5, 1.2, 0)

    dis = cv2.DISOpticalFlow_create(cv2.DISOPTICAL_FLOW_PRESET_MEDIUM)
    methods = {"motion": motion, "DIS": of_opencv(dis.calc, REPEATS), "Farnebäck": of_opencv(farneback, REPEATS)}
    if hasattr(cv2, "optflow"):  # takes seconds
        methods["TV-L1"] = of_opencv(cv2.optflow.DualTVL1OpticalFlow_create().calc, 1)
    return methods


def end_point_error(flow, truth):
    """The end-point error; a pixel without a motion counts as one that does not move."""
    known = np.abs(flow).max(axis=2) < 1e9
    return np.linalg.norm(np.where(known[..., None], flow, 0) - truth, axis=2).mean()


def print_table(title, methods, rows):
    print(f"\n{title}\n")
    print("| | " + " | ".join(methods) + " |")
    print("|---" * (len(methods) + 1) + "|")
    for name, cells in rows:
        shown = (f"**{cell:.3f}**" if cell == min(cells) else f"{cell:.3f}" for cell in cells)
        print(f"| {name} | " + " | ".join(shown) + " |")


def measure(pairs, methods):
    """For each method and each pair of a folder and its truth: milliseconds and mean error."""
    figures = []
    for folder, truth in pairs:
        results = [match(folder) for match in methods.values()]
        figures.append([(milliseconds, end_point_error(flow, truth)) for milliseconds, flow in results])
    return np.transpose(figures, (1, 0, 2))


def synthetic(program, folder, scene):
    for seed in SEEDS:
        run(program, "synth", folder, "--flow", "--size", "640x480", "--seed", seed, "--scene", *scene.split())
        yield folder, read_flo(folder / "flow.flo")


def affine_motions(middle):
    """Rotation, rotation with translation, zoom, and shear about the middle: 2×3 matrices from frame 1 to frame 2."""
    return (
        cv2.getRotationMatrix2D(middle, 2.0, 1.0),
        cv2.getRotationMatrix2D(middle, -1.0, 1.0) + np.array([[0, 0, 7.3], [0, 0, -4.6]]),
        cv2.getRotationMatrix2D(middle, 0.0, 1.04),
        np.array([[1, 0.03, -0.03 * middle[1]], [0.01, 1, -0.01 * middle[0]]]),
    )


def warped(folder, path):
    picture = cv2.imread(str(path))
    if max(picture.shape) > 1000:
        picture = cv2.resize(picture, None, fx=0.25, fy=0.25, interpolation=cv2.INTER_AREA)
    height, width = picture.shape[:2]
    y, x = np.mgrid[0:height, 0:width].astype(np.float64)
    for matrix in affine_motions((width / 2, height / 2)):
        how = {"flags": cv2.INTER_CUBIC, "borderMode": cv2.BORDER_REFLECT}
        cv2.imwrite(str(folder / "frame1.png"), picture)
        cv2.imwrite(str(folder / "frame2.png"), cv2.warpAffine(picture, matrix, (width, height), **how))
        yield folder, np.stack([row[0] * x + row[1] * y + row[2] for row in matrix], axis=2) - np.stack([x, y], axis=2)


def warping_error(first, second, flow):
    height, width = first.shape
    y, x = np.mgrid[0:height, 0:width].astype(np.float32)
    back = cv2.remap(second, x + flow[..., 0], y + flow[..., 1], cv2.INTER_LINEAR, borderMode=cv2.BORDER_REPLICATE)
    return float(np.abs(back.astype(np.float64) - first).mean())


def print_rubberwhale(folder, frames, methods):
    pictures = [cv2.imread(frame, cv2.IMREAD_GRAYSCALE) for frame in frames]
    for number, frame in enumerate(frames, 1):
        cv2.imwrite(str(folder / f"frame{number}.png"), cv2.imread(frame))
    errors = [warping_error(*pictures, match(folder)[1]) for match in methods.values()]
    print_table("Mean difference of the warped frame, in gray levels", methods, [("rubberwhale", errors)])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("--data", type=pathlib.Path)
    parser.add_argument("--rubberwhale", nargs=2)
    arguments = parser.parse_args()
    cv2.setNumThreads(2)
    methods = methods_of(arguments.program)
    with tempfile.TemporaryDirectory() as temporary:
        folder = pathlib.Path(temporary)
        figures = {
            name: measure(synthetic(arguments.program, folder, scene), methods) for name, scene in SCENES.items()
        }
        rows = [(name, found[..., 1].mean(axis=1)) for name, found in figures.items()]
        print_table("Mean end-point error in pixels", methods, rows)
        times = np.median(np.concatenate([found[..., 0] for found in figures.values()], axis=1), axis=1)
        print_table("Milliseconds, 640×480 (medians of the best)", methods, [("all scenes", times)])
        if arguments.data:
            paths = [
                path for year in (2003, 2014) for path in sorted(arguments.data.glob(f"middlebury{year}/*/left.png"))
            ]
            rows = [(path.parent.name, measure(warped(folder, path), methods)[..., 1].mean(axis=1)) for path in paths]
            rows.append(("mean", np.mean([cells for _, cells in rows], axis=0)))
            print_table("Mean end-point error in pixels, left pictures that were warped", methods, rows)
        if arguments.rubberwhale:
            print_rubberwhale(folder, arguments.rubberwhale, methods)


if __name__ == "__main__":
    main()
