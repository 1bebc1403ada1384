#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Compares motion with OpenCV's DIS, Farnebäck and, if the package has it, TV-L1: the tables of docs/reference/motion.md.

    benchmarks/motion.py build/developer/parallax [--device cpu] [--threads 2] [--data DATA] [--rubberwhale FRAME1 FRAME2]

Synthetic pairs have exact motions; a scene's figures are means over its seeds. With --data, the folder that
PARALLAX_DATA names for the tests, left pictures are warped by known motions. With --rubberwhale, the error is the mean
difference in gray levels between the first frame and the second one warped back.
"""

import argparse
import json
import pathlib
import subprocess
import tempfile
import time

import cv2
import numpy as np

SIZE = (640, 480)
SEEDS = (1, 2, 3)
SCENES = {
    "translation": ["translation"],
    "rotation": ["rotation"],
    "zoom": ["zoom"],
    "layers": ["layers"],
    "layers, up to 40 pixels": ["layers", "--motion", "40"],
    "layers, noise": ["layers", "--noise", "8"],
    "layers, exposure": ["layers", "--exposure", "0.8"],
    "thin": ["thin"],
    "thin, noise": ["thin", "--noise", "8"],
    "thin, exposure": ["thin", "--exposure", "0.8"],
}
REPEATS = 5


def read_flo(path):
    data = np.fromfile(path, np.float32)
    width, height = data[1:3].view(np.int32)
    return data[3:].reshape(height, width, 2)


def best_milliseconds(call, repeats):
    times = []
    for _ in range(repeats):
        begin = time.perf_counter()
        result = call()
        times.append(1e3 * (time.perf_counter() - begin))
    return min(times), result


def opencv_methods():
    """OpenCV's methods; each takes two gray frames."""
    dis = cv2.DISOpticalFlow_create(cv2.DISOPTICAL_FLOW_PRESET_MEDIUM)
    methods = {
        "DIS": lambda a, b: dis.calc(a, b, None),
        "Farnebäck": lambda a, b: cv2.calcOpticalFlowFarneback(a, b, None, 0.5, 5, 15, 3, 5, 1.2, 0),
    }
    if hasattr(cv2, "optflow"):
        tvl1 = cv2.optflow.DualTVL1OpticalFlow_create()
        methods["TV-L1"] = lambda a, b: tvl1.calc(a, b, None)
    return methods


class Parallax:
    def __init__(self, arguments):
        self.program = arguments.program
        self.device = ["--device", arguments.device, "--threads", str(arguments.threads)]

    def run(self, *words):
        return subprocess.run([self.program, *map(str, words)], check=True, capture_output=True, text=True).stdout

    def match(self, folder, *options):
        out = folder / "out.flo"
        frames = (folder / "frame1.png", folder / "frame2.png")
        report = self.run("flow", *frames, "-o", out, "--repeat", REPEATS, "--json", *self.device, *options)
        return json.loads(report)["milliseconds"]["total"], read_flo(out)


def methods_of(parallax):
    """Name → function of a folder with two frames, which returns milliseconds and the motion."""

    def of_opencv(call, repeats):
        def match(folder):
            frames = [cv2.imread(str(folder / name), cv2.IMREAD_GRAYSCALE) for name in ("frame1.png", "frame2.png")]
            return best_milliseconds(lambda: call(*frames), repeats)

        return match

    methods = {"motion": parallax.match}
    for name, call in opencv_methods().items():
        methods[name] = of_opencv(call, 1 if name == "TV-L1" else REPEATS)  # TV-L1 takes seconds
    return methods


def end_point_error(flow, truth):
    """The end-point error; a pixel without a motion counts as one that does not move."""
    known = np.abs(flow).max(axis=2) < 1e9
    return np.linalg.norm(np.where(known[..., None], flow, 0) - truth, axis=2)


def print_table(title, methods, rows):
    print(f"\n{title}\n")
    print("| | " + " | ".join(methods) + " |")
    print("|---" * (len(methods) + 1) + "|")
    for name, cells in rows:
        best = min(cells)
        print(f"| {name} | " + " | ".join(f"**{c:.3f}**" if c == best else f"{c:.3f}" for c in cells) + " |")


def measure(pairs, methods, times):
    """Mean errors of each method over pairs of a folder and its truth."""
    errors = {name: [] for name in methods}
    for folder, truth in pairs:
        for name, match in methods.items():
            milliseconds, flow = match(folder)
            errors[name].append(end_point_error(flow, truth).mean())
            times[name].append(milliseconds)
    return [float(np.mean(errors[name])) for name in methods]


def synthetic(parallax, folder, words):
    for seed in SEEDS:
        size = "x".join(map(str, SIZE))
        parallax.run("synth", folder, "--flow", "--size", size, "--seed", seed, "--scene", *words)
        yield folder, read_flo(folder / "flow.flo")


def affine_motions(size):
    """Rotation, rotation with translation, zoom, and shear about the middle: 2×3 matrices from frame 1 to frame 2."""
    middle = (size[0] / 2, size[1] / 2)
    turned = cv2.getRotationMatrix2D(middle, 2.0, 1.0)
    moved = cv2.getRotationMatrix2D(middle, -1.0, 1.0) + np.array([[0, 0, 7.3], [0, 0, -4.6]])
    zoomed = cv2.getRotationMatrix2D(middle, 0.0, 1.04)
    sheared = np.array([[1, 0.03, -0.03 * middle[1]], [0.01, 1, -0.01 * middle[0]]])
    return turned, moved, zoomed, sheared


def warped(folder, paths):
    for path in paths:
        picture = cv2.imread(str(path))
        if max(picture.shape) > 1000:
            picture = cv2.resize(picture, None, fx=0.25, fy=0.25, interpolation=cv2.INTER_AREA)
        height, width = picture.shape[:2]
        y, x = np.mgrid[0:height, 0:width].astype(np.float64)
        for matrix in affine_motions((width, height)):
            second = cv2.warpAffine(
                picture, matrix, (width, height), flags=cv2.INTER_CUBIC, borderMode=cv2.BORDER_REFLECT
            )
            cv2.imwrite(str(folder / "frame1.png"), picture)
            cv2.imwrite(str(folder / "frame2.png"), second)
            u = matrix[0, 0] * x + matrix[0, 1] * y + matrix[0, 2] - x
            v = matrix[1, 0] * x + matrix[1, 1] * y + matrix[1, 2] - y
            yield folder, np.stack([u, v], axis=2)


def warping_error(first, second, flow):
    height, width = first.shape
    y, x = np.mgrid[0:height, 0:width].astype(np.float32)
    back = cv2.remap(second, x + flow[..., 0], y + flow[..., 1], cv2.INTER_LINEAR, borderMode=cv2.BORDER_REPLICATE)
    return float(np.abs(back.astype(np.float64) - first).mean())


def print_rubberwhale(folder, frames, methods):
    pictures = [cv2.imread(frame, cv2.IMREAD_GRAYSCALE) for frame in frames]
    for name, frame in zip(("frame1.png", "frame2.png"), frames):
        cv2.imwrite(str(folder / name), cv2.imread(frame))
    errors = [warping_error(*pictures, match(folder)[1]) for match in methods.values()]
    print_table("Mean difference of the warped frame, in gray levels", methods, [("rubberwhale", errors)])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--data", type=pathlib.Path)
    parser.add_argument("--rubberwhale", nargs=2)
    arguments = parser.parse_args()
    cv2.setNumThreads(arguments.threads)
    parallax = Parallax(arguments)
    methods = methods_of(parallax)
    times = {name: [] for name in methods}
    with tempfile.TemporaryDirectory() as temporary:
        folder = pathlib.Path(temporary)
        rows = [(name, measure(synthetic(parallax, folder, words), methods, times)) for name, words in SCENES.items()]
        print_table("Mean end-point error in pixels", methods, rows)
        print_table(
            "Milliseconds, 640×480 (medians of the best)",
            methods,
            [("all scenes", [float(np.median(t)) for t in times.values()])],
        )
        if arguments.data:
            paths = sorted(arguments.data.glob("middlebury2003/*/left.png")) + sorted(
                arguments.data.glob("middlebury2014/*/left.png")
            )
            ignored = {name: [] for name in methods}
            rows = [(path.parent.name, measure(warped(folder, [path]), methods, ignored)) for path in paths]
            rows.append(("mean", [float(np.mean([cells[i] for _, cells in rows])) for i in range(len(methods))]))
            print_table("Mean end-point error in pixels, left pictures that were warped", methods, rows)
        if arguments.rubberwhale:
            print_rubberwhale(folder, arguments.rubberwhale, methods)


if __name__ == "__main__":
    main()
