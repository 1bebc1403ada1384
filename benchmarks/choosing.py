#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Error, time and memory of every method: the table and the plot of docs/explanation/choosing.md.

    export PYTHONPATH=python PARALLAX_LIBRARY=build/developer/shared/libparallax.so
    python3 benchmarks/choosing.py errors DATA             > results.jsonl
    python3 benchmarks/choosing.py times cpu              >> results.jsonl
    python3 benchmarks/choosing.py times cuda             >> results.jsonl
    python3 benchmarks/choosing.py times opencl           >> results.jsonl
    python3 benchmarks/choosing.py page results.jsonl docs

DATA is the folder that PARALLAX_DATA names for the tests. Times are those of calls with NumPy arrays: medians of
matches of a synthetic pair of 900×750 pixels, with 128 disparities. On a processor, opencl is PoCL.
"""

import json
import math
import pathlib
import statistics
import sys
import time

import numpy as np

import parallax_stereo as px
from error_causes import pairs_of_2003, pairs_of_2014

METHODS = [
    ("block", "default"),
    ("census", "fast"),
    ("census", "balanced"),
    ("census", "accurate"),
    ("sgm", "fast"),
    ("sgm", "default"),
    ("sgm", "mgm"),
    ("tiled-bp", "default"),
    ("bp", "default"),
    ("bp", "accurate"),
]
SIZE, LABELS = (900, 750), 128


def percent_of_errors(pairs, method, preset):
    """Means over the pairs: over the pixels that both cameras see, and over all pixels."""
    errors = []
    for _, left, right, labels, truth, seen in pairs:
        disparity = px.match(left, right, labels, method, "cpu", preset=preset).disparity
        known = np.isfinite(truth)
        with np.errstate(invalid="ignore"):
            wrong = known & ~(np.abs(disparity - truth) <= 1)
        errors.append([100 * wrong[mask].mean() for mask in (known & seen, known)])
    return np.mean(errors, axis=0).tolist()


def print_errors(data):
    years = {
        "2003": list(pairs_of_2003(data / "middlebury2003")),
        "2014": list(pairs_of_2014(data / "middlebury2014")),
    }
    for method, preset in METHODS:
        errors = {year: percent_of_errors(pairs, method, preset) for year, pairs in years.items()}
        print(json.dumps({"method": method, "preset": preset, "errors": errors}), flush=True)


def median_milliseconds(call):
    """The median time of as many calls as fit into a second, at least five, after two warm-up calls."""
    times = []
    for run in range(102):
        begin = time.perf_counter()
        call()
        if run >= 2:
            times.append(time.perf_counter() - begin)
        if len(times) >= 5 and sum(times) > 1:
            break
    return 1e3 * statistics.median(times)


def print_times(device):
    left, right, _ = px.synthesize(SIZE, LABELS)
    left, right = (np.ascontiguousarray(image[..., 0]) for image in (left, right))
    for method, preset in METHODS:
        try:
            matcher = px.Matcher(method, SIZE, device=device, disparities=LABELS, preset=preset)
        except px.Error as error:
            print(f"{method} {preset}: {error}", file=sys.stderr)
            continue
        milliseconds = median_milliseconds(lambda: matcher(left, right))
        result = {"method": method, "preset": preset, "device": device.partition(":")[0]}
        print(json.dumps({**result, "milliseconds": milliseconds, "bytes": matcher.memory}), flush=True)


def read_results(file):
    """For each method and preset: errors by year; milliseconds and bytes by device."""
    results = {of: {"errors": {}, "devices": {}} for of in METHODS}
    for line in file.read_text().splitlines():
        record = json.loads(line)
        found = results[record["method"], record["preset"]]
        if "errors" in record:
            found["errors"] = record["errors"]
        else:
            found["devices"][record["device"]] = (record["milliseconds"], record["bytes"])
    return results


def number(value):
    return f"{value:.0f}" if value >= 100 else f"{value:.1f}" if value >= 10 else f"{value:.2f}"


def table(results):
    lines = [
        "| method, preset | 2014, seen by both | 2014, all | 2003, all | cpu, ms | MB | cuda, ms | MB | opencl, ms |",
        "|---|--:|--:|--:|--:|--:|--:|--:|--:|",
    ]
    for (method, preset), found in results.items():
        cells = [f"`{method}` `{preset}`"]
        cells += [f"{error:.1f}" for error in (*found["errors"]["2014"], found["errors"]["2003"][1])]
        for device in ("cpu", "cuda", "opencl"):
            of_device = found["devices"].get(device)
            cells.append(number(of_device[0]) if of_device else "–")
            if device != "opencl":
                cells.append(f"{of_device[1] / 1e6:.0f}" if of_device else "–")
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def overlap(a, b):
    """The overlap of two boxes (left, top, right, bottom)."""
    return a[0] < b[2] and b[0] < a[2] and a[1] < b[3] and b[1] < a[3]


class Plot:
    """Error over time, as SVG: time is logarithmic."""

    WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM = 860, 460, 60, 20, 40, 60
    COLOURS = {"cpu": "#1b6ca8", "cuda": "#3a8f3a", "opencl": "#b8651b"}

    def __init__(self, results):
        self.points = [
            (f"{method} {preset}", device, milliseconds, found["errors"]["2014"][1])
            for (method, preset), found in results.items()
            for device, (milliseconds, _) in found["devices"].items()
        ]
        times = [point[2] for point in self.points]
        errors = [point[3] for point in self.points]
        self.decades = (math.floor(math.log10(min(times))), math.ceil(math.log10(max(times))))
        self.errors = (math.floor(min(errors)) - 1, math.ceil(max(errors)) + 1)

    def x(self, milliseconds):
        first, last = self.decades
        share = (math.log10(milliseconds) - first) / (last - first)
        return self.LEFT + share * (self.WIDTH - self.LEFT - self.RIGHT)

    def y(self, error):
        low, high = self.errors
        return self.TOP + (high - error) / (high - low) * (self.HEIGHT - self.TOP - self.BOTTOM)

    def axes(self):
        bottom, right = self.HEIGHT - self.BOTTOM, self.WIDTH - self.RIGHT
        for decade in range(self.decades[0], self.decades[1] + 1):
            x = self.x(10.0**decade)
            yield f'<line x1="{x:.1f}" y1="{self.TOP}" x2="{x:.1f}" y2="{bottom}" stroke="#ddd"/>'
            yield f'<text x="{x:.1f}" y="{bottom + 18}" text-anchor="middle">{10.0**decade:g}</text>'
        for error in range(self.errors[0], self.errors[1] + 1):
            if error % 2 == 0:
                y = self.y(error)
                yield f'<line x1="{self.LEFT}" y1="{y:.1f}" x2="{right}" y2="{y:.1f}" stroke="#ddd"/>'
                yield f'<text x="{self.LEFT - 8}" y="{y + 4:.1f}" text-anchor="end">{error} %</text>'
        middle = (self.LEFT + right) / 2
        yield (
            f'<text x="{middle:.0f}" y="{self.HEIGHT - 12}" text-anchor="middle">'
            f"milliseconds for {SIZE[0]}×{SIZE[1]} pixels and {LABELS} disparities</text>"
        )
        yield f'<text x="{self.LEFT}" y="22">pixels off by more than 1, Middlebury 2014, all pixels</text>'

    def labels(self):
        """Texts beside the points, where they cover neither points nor each other."""
        points = [(self.x(milliseconds), self.y(error)) for _, _, milliseconds, error in self.points]
        covered = [(x - 5, y - 5, x + 5, y + 5) for x, y in points]
        for (name, _, _, _), (x, y) in zip(self.points, points):
            width = 6.2 * len(name)
            places = [(left, y + down) for down in (4, -8, 16, -20, 28) for left in (x + 8, x - 8 - width)]
            boxes = [(left, base - 10, left + width, base + 2) for left, base in places]
            fits = [
                index
                for index, box in enumerate(boxes)
                if box[2] < self.WIDTH and not any(overlap(box, other) for other in covered)
            ]
            left, base = places[fits[0] if fits else 0]
            covered.append(boxes[fits[0] if fits else 0])
            yield f'<text x="{left:.1f}" y="{base:.1f}" font-size="11">{name}</text>'

    def legend(self):
        x = self.WIDTH - self.RIGHT - 90 * len(self.COLOURS)
        for index, (device, colour) in enumerate(self.COLOURS.items()):
            at = x + 90 * index
            yield f'<circle cx="{at}" cy="18" r="5" fill="{colour}"/><text x="{at + 10}" y="22">{device}</text>'

    def svg(self):
        points = (
            f'<circle cx="{self.x(milliseconds):.1f}" cy="{self.y(error):.1f}" r="5" '
            f'fill="{self.COLOURS[device]}"/>'
            for _, device, milliseconds, error in self.points
        )
        return "\n".join(
            [
                f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {self.WIDTH} {self.HEIGHT}" '
                'font-family="sans-serif" font-size="12" fill="#222">',
                f'<rect width="{self.WIDTH}" height="{self.HEIGHT}" fill="white"/>',
                *self.axes(),
                *self.legend(),
                *points,
                *self.labels(),
                "</svg>\n",
            ]
        )


def write_page(results, folder):
    page = folder / "explanation" / "choosing.md"
    before, after = "<!-- table of methods -->\n", "<!-- end of table -->"
    text = page.read_text()
    head, rest = text.split(before)
    tail = rest.split(after)[1]
    page.write_text(f"{head}{before}{table(results)}\n{after}{tail}")
    (folder / "pictures" / "choosing.svg").write_text(Plot(results).svg())


def main():
    commands = {
        "errors": lambda data: print_errors(pathlib.Path(data)),
        "times": print_times,
        "page": lambda results, docs: write_page(read_results(pathlib.Path(results)), pathlib.Path(docs)),
    }
    if len(sys.argv) < 3 or sys.argv[1] not in commands:
        sys.exit(__doc__)
    commands[sys.argv[1]](*sys.argv[2:])


if __name__ == "__main__":
    main()
