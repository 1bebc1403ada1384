#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Measures how maps of stereo videos flicker, alone and filtered over time: docs/measurements/video.md.

    benchmarks/temporal.py build/developer/parallax [--frames 100] [--seeds 1 2] [--methods bp bp:video sgm census]
        [--device cpu] [--textures ../shared/data/middlebury2014]

The videos have 640×480 pixels, 64 disparities and exact truth: those of `parallax synth --video`, with a cut in the
middle and every tenth frame dropped; with --textures, also planes in depth that show real pictures, some of them
moving. The filters are px.TemporalFilter, and what people apply today: the median of the last five maps, and an
exponential average that begins anew where a map differs from it by more than a threshold, as depth cameras' programs
describe theirs.
"""

import argparse
import pathlib
import subprocess
import tempfile
import time

import numpy as np
import parallax_stereo as px
import scipy.ndimage

WIDTH, HEIGHT, DISPARITIES = 640, 480, 64
WINDOW, BEGIN = 10, 10  # frames over which a point of a surface is followed, and before the first such window
SHARE, THRESHOLD = 0.4, 1.0  # weight of the new map in the exponential average; pixels where it begins anew
FILTERED = "px.TemporalFilter"


class Video:
    """Frames with their truth: `flow` leads to the place of a point in the frame before, `cut` is the first frame of
    another scene."""

    def __init__(self):
        self.left, self.right, self.truth, self.seen, self.moving, self.flow = [], [], [], [], [], []
        self.cut = 0

    def prepare(self):
        edges = [edges_of(truth) for truth in self.truth]
        self.chains = []
        for last in range(BEGIN + WINDOW, len(self.truth), 5):
            if last - WINDOW <= self.cut + BEGIN and last >= self.cut > 0:
                continue
            places, followed = self.chain(last)
            near_edge = np.any([edges[last - k][place] for k, place in enumerate(places)], axis=0)
            self.chains.append((last, places, followed & ~near_edge))
        self.borders = []
        for moving in self.moving:
            grown, shrunk = (
                f(moving, np.ones((7, 7))) for f in (scipy.ndimage.binary_dilation, scipy.ndimage.binary_erosion)
            )
            self.borders.append(grown & ~shrunk)
        return self

    def chain(self, last):
        """Pixels that show the points of a frame in the frames before, and which points are at rest and seen in all."""
        rows, columns = np.mgrid[:HEIGHT, :WIDTH]
        y, x, places = rows.astype(float), columns.astype(float), [(rows, columns)]
        followed, truth = self.seen[last] & ~self.moving[last], self.truth[last]
        for number in range(last, last - WINDOW, -1):
            step = self.flow[number][places[-1]]
            x, y = x + step[..., 0], y + step[..., 1]
            column, row = np.rint(x).astype(int), np.rint(y).astype(int)
            followed = followed & (column >= 0) & (column < WIDTH) & (row >= 0) & (row < HEIGHT)
            place = (row.clip(0, HEIGHT - 1), column.clip(0, WIDTH - 1))
            before = self.truth[number - 1][place]
            followed &= self.seen[number - 1][place] & ~self.moving[number - 1][place] & (abs(before - truth) < 0.7)
            truth = before
            places.append(place)
        return places, followed


def edges_of(truth):
    """Pixels within 2 of a step of more than 1."""
    edge = np.zeros(truth.shape, bool)
    across, down = abs(np.diff(truth, axis=1)) > 1, abs(np.diff(truth, axis=0)) > 1
    edge[:, 1:] |= across
    edge[:, :-1] |= across
    edge[1:] |= down
    edge[:-1] |= down
    return scipy.ndimage.binary_dilation(edge, np.ones((3, 3)))


def synthetic(program, frames, seed):
    """A video with a cut in the middle, of which every tenth frame is dropped."""
    video, total = Video(), frames * 10 // 9 + 1
    with tempfile.TemporaryDirectory() as folder:
        folder, cut = pathlib.Path(folder), total // 2
        subprocess.run(
            [program, "synth", folder, "--video", str(total), "--seed", str(seed), "--cut", str(cut)], check=True
        )
        to_dropped = None
        for number in range(total):
            flow = px.read_flow(folder / "to_previous" / f"{number:06}.flo")
            if number % 10 == 9 and number != cut:
                to_dropped = flow
                continue
            if to_dropped is not None and number != cut:  # on through the frame that was dropped
                rows, columns = np.mgrid[:HEIGHT, :WIDTH]
                row = np.rint(rows + flow[..., 1]).astype(int).clip(0, HEIGHT - 1)
                column = np.rint(columns + flow[..., 0]).astype(int).clip(0, WIDTH - 1)
                flow = flow + to_dropped[row, column]
            to_dropped = None
            if number == cut:
                video.cut = len(video.left)
            for kind, end in (("left", "png"), ("right", "png"), ("truth", "pfm")):
                getattr(video, kind).append(px.read(str(folder / kind / f"{number:06}.{end}")))
            video.seen.append(px.read(str(folder / "mask" / f"{number:06}.png")) == 255)
            video.moving.append(px.read(str(folder / "moving" / f"{number:06}.png")) == 255)
            video.flow.append(flow)
    return video.prepare()


class PaintedPlane:
    """A plane n·X = 1 of the first left camera, in units of the baseline, with a picture on it."""

    def __init__(self, picture, disparity, slope, window, speed):
        self.picture, self.speed, self.window = picture.astype(np.float32), speed, window
        ray = np.array([0, 0, 1.0])
        self.normal = (ray * disparity + np.array([*slope, 0])) / WIDTH  # disparity = focal · normal · ray

    def cast(self, camera, turn, right, frame):
        """Disparities and colours of the pixels of a view, and where the first view shows the points."""
        rows, columns = np.mgrid[:HEIGHT, :WIDTH]
        ray = (
            np.stack([(columns - WIDTH / 2) / WIDTH, (rows - HEIGHT / 2) / WIDTH, np.ones((HEIGHT, WIDTH))], -1) @ turn
        )
        eye = camera + (turn[0] if right else 0) - np.array(self.speed) * frame
        depth = (1 - self.normal @ eye) / (ray @ self.normal)
        point = eye + depth[..., None] * ray  # the plane's own coordinates
        x, y = WIDTH * point[..., 0] / point[..., 2] + WIDTH / 2, WIDTH * point[..., 1] / point[..., 2] + HEIGHT / 2
        disparity = WIDTH / depth
        if self.window is not None:
            left, top, width, height = self.window
            disparity = np.where((x >= left) & (x < left + width) & (y >= top) & (y < top + height), disparity, -1)
        return np.where(depth > 0, disparity, -1), x, y, point

    def colours(self, x, y):
        height, width = self.picture.shape[:2]
        place = [y % (height - 1), x % (width - 1)]
        return np.stack([scipy.ndimage.map_coordinates(self.picture[..., c], place, order=1) for c in range(3)], -1)

    def column_before(self, point, camera, turn, frame):
        seen = (point + np.array(self.speed) * frame - camera) @ turn.T
        return WIDTH * seen[..., 0] / seen[..., 2] + WIDTH / 2, WIDTH * seen[..., 1] / seen[..., 2] + HEIGHT / 2


def painted(pictures, frames, seed):
    """Planes in depth that show real pictures; the last two move by themselves, and the camera moves and turns."""
    random, video = np.random.default_rng(seed), Video()
    picture = lambda i: pictures[(seed + i) % len(pictures)]
    planes = [PaintedPlane(picture(0), 14, (3, -2), None, (0, 0, 0))]
    for i in range(6):
        window = (random.uniform(20, 450), random.uniform(20, 300), random.uniform(80, 200), random.uniform(80, 180))
        speed = (0.02 * random.uniform(-1, 1), 0.02 * random.uniform(-1, 1), 0) if i >= 4 else (0, 0, 0)
        slope = random.uniform(-8, 8, 2)
        planes.append(PaintedPlane(picture(i + 1), random.uniform(18, 45), slope, window, speed))
    sway = lambda frame, period, size: size * np.sin(2 * np.pi * frame / period)
    poses = []
    for frame in range(frames):
        angle = sway(frame, 60, 0.01)
        turn = np.array([[np.cos(angle), 0, -np.sin(angle)], [0, 1, 0], [np.sin(angle), 0, np.cos(angle)]])
        poses.append((np.array([sway(frame, 50, 0.6), sway(frame, 70, 0.2), sway(frame, 80, 1.0)]), turn))
    for frame, (camera, turn) in enumerate(poses):
        views = []
        for right in (False, True):
            hits = [plane.cast(camera, turn, right, frame) for plane in planes]
            nearest = np.argmax([hit[0] for hit in hits], axis=0)
            take = lambda k: np.choose(nearest, [hit[k] for hit in hits])
            disparity, x, y = take(0), take(1), take(2)
            image = np.zeros((HEIGHT, WIDTH, 3))
            for i, plane in enumerate(planes):
                image[nearest == i] = plane.colours(x[nearest == i], y[nearest == i])
            image = np.clip(image + random.normal(0, 2, image.shape), 0, 255).astype(np.uint8)
            views.append((image, disparity.astype(np.float32), nearest, hits))
        (left, truth, nearest, hits), (right_image, right_truth, _, _) = views
        rows, columns = np.mgrid[:HEIGHT, :WIDTH]
        at = np.rint(columns - truth).astype(int)
        seen = (at >= 0) & (abs(right_truth[rows, at.clip(0)] - truth) < 1)
        flow = np.zeros((HEIGHT, WIDTH, 2), np.float32)
        if frame > 0:
            for i, plane in enumerate(planes):
                x, y = plane.column_before(hits[i][3], *poses[frame - 1], frame - 1)
                flow[nearest == i] = np.stack([x - columns, y - rows], -1)[nearest == i]
        for kind, value in (("left", left), ("right", right_image), ("truth", truth), ("seen", seen), ("flow", flow)):
            getattr(video, kind).append(value)
        video.moving.append(nearest >= 5)
    return video.prepare()


def median_of_five(maps):
    return [np.nanmedian(maps[max(0, i - 4) : i + 1], axis=0) for i in range(len(maps))]


def exponential(maps):
    results = [maps[0]]
    for new in maps[1:]:
        near = abs(new - results[-1]) <= THRESHOLD
        results.append(np.where(near, results[-1] + SHARE * (new - results[-1]), new))
    return results


def figures(video, maps):
    """Standard deviations over time of the errors, up to 3, of points at rest away from edges: of all points together, and
    the mean of the points; bad1 of seen pixels, all and at borders of what moves by itself, and by frame."""
    errors = [np.where(seen, d - t, np.nan) for d, t, seen in zip(maps, video.truth, video.seen)]
    together, means = [], []
    for last, places, followed in video.chains:
        chain = np.clip([errors[last - k][place][followed] for k, place in enumerate(places)], -3, 3)
        deviation = chain[:, np.isfinite(chain).all(axis=0)].std(axis=0)
        together.append(np.mean(deviation**2))
        means.append(deviation.mean())
    wrong = [~(abs(error) <= 1) for error in errors]
    by_frame = np.array([100 * w[seen].mean() for w, seen in zip(wrong, video.seen)])
    borders = [100 * w[seen & near].mean() for w, seen, near in zip(wrong, video.seen, video.borders)]
    return np.array([np.sqrt(np.mean(together)), np.mean(means), by_frame.mean(), np.mean(borders)]), by_frame


def frames_after_cut(video, alone, filtered):
    """Frames from a cut until the filtered map is as good as the map alone."""
    behind = filtered[video.cut :] > alone[video.cut :] + 0.05
    return int(np.argmin(behind))


def measure(video, method, device):
    name, _, preset = method.partition(":")
    matcher = px.Matcher(name, (WIDTH, HEIGHT), device=device, preset=preset or "default", disparities=DISPARITIES)
    out = np.zeros((HEIGHT, WIDTH), np.float32), np.zeros((HEIGHT, WIDTH), np.uint8)
    steady, results, filtered = px.TemporalFilter((WIDTH, HEIGHT)), [], []
    times, predicted = [], 0
    for left, right in zip(video.left, video.right):
        begin = time.perf_counter()
        result = matcher(left, right, out=out)
        middle = time.perf_counter()
        results.append(result.disparity.copy())
        again = time.perf_counter()
        steady(left, right, result)
        times.append((middle - begin, middle - begin + time.perf_counter() - again))
        filtered.append(result.disparity.copy())
        predicted += steady.was_predicted
    ways = {
        "frame by frame": results,
        "median of five": median_of_five(results),
        "exponential": exponential(results),
        FILTERED: filtered,
    }
    found, by_frame = {}, {}
    for way, maps in ways.items():
        found[way], by_frame[way] = figures(video, maps)
    alone, both = np.median(times, axis=0)
    after = frames_after_cut(video, by_frame["frame by frame"], by_frame[FILTERED]) if video.cut else None
    return found, 1000 * alone, 1000 * both, predicted, after


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("--frames", type=int, default=100)
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2])
    parser.add_argument(
        "--methods", nargs="+", default=["bp", "bp:video", "sgm", "census"], help="methods, or method:preset"
    )
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--textures", type=pathlib.Path, help="a folder of scenes with a left picture")
    arguments = parser.parse_args()
    kinds = {"synthetic": [synthetic(arguments.program, arguments.frames, seed) for seed in arguments.seeds]}
    if arguments.textures:
        names = sorted(
            path for path in arguments.textures.glob("*/*") if path.name in ("im0.png", "left.png", "view1.png")
        )
        pictures = [px.read(str(name)) for name in names]
        kinds["painted planes"] = [painted(pictures, arguments.frames, seed) for seed in arguments.seeds]
    print(
        "| video | method | over time | deviation, px | mean of points, px | bad1, seen | bad1 at moving borders |\n"
        "|---|---|---|--:|--:|--:|--:|"
    )
    notes = []
    for kind, videos in kinds.items():
        for method in arguments.methods:
            measured = [measure(video, method, arguments.device) for video in videos]
            for way in measured[0][0]:
                row = np.mean([found[way] for found, *_ in measured], axis=0)
                print(
                    f"| {kind} | {method} | {way} | {row[0]:.3f} | {row[1]:.3f} | {row[2]:.2f} | {row[3]:.2f} |",
                    flush=True,
                )
            alone, both = np.mean([m[1:3] for m in measured], axis=0)
            notes.append(
                f"{kind}, {method}: {alone:.1f} ms a match, {both:.1f} ms with the filter; predicted "
                f"{sum(m[3] for m in measured)} of {sum(len(v.left) for v in videos)} frames; frames after a cut: "
                f"{[m[4] for m in measured]}"
            )
    print("\n" + "\n".join(notes))


if __name__ == "__main__":
    main()
