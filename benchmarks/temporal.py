#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Measures how maps of a stereo video flicker, as they are and filtered over time: docs/measurements/video.md.

    benchmarks/temporal.py build/developer/parallax [--frames 60] [--seeds 1 2] [--methods bp sgm census]

The videos are of `parallax synth --video`, 640×480 with 64 disparities, and have exact truth. The filters are
what people apply today: the median of the last five maps, and an exponential average that begins anew where a
map differs from it by more than a threshold, as depth cameras' programs describe theirs. Both also follow the
true motion, which no program knows: a bound.
"""

import argparse
import pathlib
import subprocess
import tempfile

import numpy as np
import parallax_stereo as px

WINDOW = 10  # frames over which a point of a surface is followed
SHARE, THRESHOLD = 0.4, 1.0  # weight of the new map in the exponential average; pixels where it begins anew


class Video:
    def __init__(self, folder):
        names = sorted(path.stem for path in (folder / "left").iterdir())
        read = lambda kind, end: [px.read(str(folder / kind / (name + end))) for name in names]
        self.left, self.right, self.truth = read("left", ".png"), read("right", ".png"), read("truth", ".pfm")
        self.seen = [mask == 255 for mask in read("mask", ".png")]
        self.moving = [mask == 255 for mask in read("moving", ".png")]
        self.before = [self.places(px.read_flow(folder / "to_previous" / (name + ".flo"))) for name in names]

    @staticmethod
    def places(vectors):
        """Rows and columns of the nearest pixels of the frame before, and whether they are inside."""
        height, width = vectors.shape[:2]
        rows, columns = np.mgrid[:height, :width]
        x, y = np.rint(columns + vectors[..., 0]).astype(int), np.rint(rows + vectors[..., 1]).astype(int)
        inside = (x >= 0) & (x < width) & (y >= 0) & (y < height)
        return np.clip(y, 0, height - 1), np.clip(x, 0, width - 1), inside


def carried(values, places):
    return np.where(places[2], values[places[0], places[1]], np.nan)


def median_of_five(video, maps, follows):
    kept, results = [], []
    for number, disparity in enumerate(maps):
        if follows:  # with the change of depth that the truth has
            kept = [carried(old - video.truth[number - 1], video.before[number]) + video.truth[number] for old in kept]
        kept = [*kept[-4:], disparity]
        results.append(np.where(np.isnan(disparity), np.nan, np.nanmedian(kept, axis=0)))
    return results


def exponential(video, maps, follows):
    state, results = None, []
    for number, disparity in enumerate(maps):
        if state is not None:
            if follows:
                state = carried(state - video.truth[number - 1], video.before[number]) + video.truth[number]
            near = np.abs(disparity - state) <= THRESHOLD
            disparity = np.where(near, state + SHARE * (disparity - state), disparity)
        state = disparity
        results.append(disparity)
    return results


def figures(video, maps):
    """Standard deviation of errors up to 3 at points at rest, and at those that are never off by more than 1; per cent of
    points that are off by more than 1 in some frames only; bad1 of seen pixels, all and at moving borders."""
    errors = [np.where(seen, d - t, np.nan) for d, t, seen in zip(maps, video.truth, video.seen)]
    variances, small, turns, wrong, at_borders = [], [], [], [], []
    for last in range(WINDOW, len(maps), 5):
        places, chain = None, [errors[last]]
        static = ~video.moving[last]
        for number in range(last, last - WINDOW, -1):
            step = video.before[number]
            if places is None:
                places = step
            else:
                places = (
                    step[0][places[0], places[1]],
                    step[1][places[0], places[1]],
                    places[2] & step[2][places[0], places[1]],
                )
            chain.append(carried(errors[number - 1], places))
            static &= ~video.moving[number - 1][places[0], places[1]]
        spread = np.var(np.clip(chain, -3, 3), axis=0)[static]
        variances.append(np.nanmean(spread))
        whole = np.isfinite(spread)
        off = (np.abs(chain) > 1)[:, static][:, whole].mean(axis=0)
        small.append(spread[whole][off == 0].mean())
        turns.append(100 * ((off > 0) & (off < 1)).mean())
    for error, seen, moving in zip(errors, video.seen, video.moving):
        bad = ~(np.abs(error) <= 1)
        wrong.append(bad[seen].mean())
        near = np.zeros_like(moving)
        for dy in range(-3, 4):
            for dx in range(-3, 4):
                near |= np.roll(moving, (dy, dx), (0, 1)) != moving
        at_borders.append(bad[seen & near].mean())
    return (
        np.sqrt(np.mean(variances)),
        np.sqrt(np.mean(small)),
        np.mean(turns),
        100 * np.mean(wrong),
        100 * np.mean(at_borders),
    )


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("--frames", type=int, default=60)
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--methods", nargs="+", default=["bp", "sgm", "census"])
    arguments = parser.parse_args()
    ways = {
        "frame by frame": lambda video, maps: maps,
        "median of five": lambda video, maps: median_of_five(video, maps, False),
        "exponential": lambda video, maps: exponential(video, maps, False),
        "median of five, true motion": lambda video, maps: median_of_five(video, maps, True),
        "exponential, true motion": lambda video, maps: exponential(video, maps, True),
    }
    found = {}
    for seed in arguments.seeds:
        with tempfile.TemporaryDirectory() as scratch:
            subprocess.run(
                [arguments.program, "synth", scratch, "--video", str(arguments.frames), "--seed", str(seed)], check=True
            )
            video = Video(pathlib.Path(scratch))
        for method in arguments.methods:
            matcher = px.Matcher(method, (640, 480), device="cpu", disparities=64)
            maps = [matcher(left, right).disparity.copy() for left, right in zip(video.left, video.right)]
            maps = [np.where(np.isfinite(disparity), disparity, np.nan) for disparity in maps]
            for way, filtered in ways.items():
                found.setdefault((method, way), []).append(figures(video, filtered(video, maps)))
    print(
        "| method | over time | deviation, px | of points never off by 1 px, px | sometimes off, % | bad1, seen "
        "| bad1 at moving borders |\n|---|---|--:|--:|--:|--:|--:|"
    )
    for (method, way), values in found.items():
        print(
            f"| {method} | {way} | {{:.3f}} | {{:.3f}} | {{:.2f}} | {{:.2f}} | {{:.1f}} |".format(
                *np.mean(values, axis=0)
            )
        )


if __name__ == "__main__":
    main()
