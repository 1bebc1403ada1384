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
import re
import statistics
import sys
import time

import numpy as np

import parallax_stereo as px
from error_causes import pairs_of_2003, pairs_of_2014

PRESETS = {
    "block": "default",
    "census": "fast balanced accurate",
    "sgm": "default mgm",
    "tiled-bp": "default",
    "bp": "default accurate",
    "planes": "default",
}
METHODS = [(method, preset) for method, presets in PRESETS.items() for preset in presets.split()]
SIZE, LABELS = (900, 750), 128


def percent_of_errors(pairs, method, preset):
    """Means over the pairs: of the pixels that both cameras see, and of all."""
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
    for record in map(json.loads, file.read_text().splitlines()):
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


def text(x, y, words, style=""):
    return f'<text x="{x:.1f}" y="{y:.1f}"{style}>{words}</text>'


def labels(points, right):
    """Texts beside the points (name, x, y), where they cover neither points nor each other."""
    covered = [(x - 5, y - 5, x + 5, y + 5) for _, x, y in points]
    for name, x, y in points:
        width = 6.2 * len(name)
        places = [(left, y + down) for down in (4, -8, 16, -20, 28) for left in (x + 8, x - 8 - width)]
        boxes = [(left, base - 10, left + width, base + 2) for left, base in places]
        fits = [i for i, box in enumerate(boxes) if box[2] < right and not any(overlap(box, c) for c in covered)]
        chosen = (fits or [0])[0]
        covered.append(boxes[chosen])
        yield text(*places[chosen], name, ' font-size="11"')


def plot(results):
    """Error over time, as SVG: time is logarithmic."""
    width, height, left, right, top, bottom = 860, 460, 60, 840, 40, 400
    colours = {"cpu": "#1b6ca8", "cuda": "#3a8f3a", "opencl": "#b8651b"}
    shown = [
        (" ".join(of), device, math.log10(milliseconds), found["errors"]["2014"][1])
        for of, found in results.items()
        for device, (milliseconds, _) in found["devices"].items()
    ]
    _, _, times, errors = zip(*shown)
    first, last = math.floor(min(times)), math.ceil(max(times))
    low, high = math.floor(min(errors)) - 1, math.ceil(max(errors)) + 1

    def x(time):
        return left + (time - first) / (last - first) * (right - left)

    def y(error):
        return top + (high - error) / (high - low) * (bottom - top)

    what = f"milliseconds for {SIZE[0]}×{SIZE[1]} pixels and {LABELS} disparities"
    lines, middle = [], ' text-anchor="middle"'
    add = lines.append
    add(f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}"')
    add(' font-family="sans-serif" font-size="12" fill="#222">')
    add(f'<rect width="{width}" height="{height}" fill="white"/>')
    add(text(left, 22, "pixels off by more than 1, Middlebury 2014, all pixels"))
    add(text((left + right) / 2, height - 12, what, middle))
    for time in range(first, last + 1):
        add(f'<path d="M{x(time):.1f} {top}V{bottom}" stroke="#ddd"/>')
        add(text(x(time), bottom + 18, f"{10.0**time:g}", middle))
    for error in range(low + low % 2, high + 1, 2):
        add(f'<path d="M{left} {y(error):.1f}H{right}" stroke="#ddd"/>')
        add(text(left - 8, y(error) + 4, f"{error} %", ' text-anchor="end"'))
    for number, (device, colour) in enumerate(colours.items()):
        add(f'<circle cx="{570 + 90 * number}" cy="18" r="5" fill="{colour}"/>')
        add(text(580 + 90 * number, 22, device))
    for _, device, time, error in shown:
        add(f'<circle cx="{x(time):.1f}" cy="{y(error):.1f}" r="5" fill="{colours[device]}"/>')
    lines += labels([(name, x(time), y(error)) for name, _, time, error in shown], width)
    return "\n".join([*lines, "</svg>\n"])


def write_page(results, folder):
    page = folder / "explanation" / "choosing.md"
    head, _, tail = re.split("(?s)(?<=<!-- table of methods -->\n)(.*)(?=<!-- end of table -->)", page.read_text())
    page.write_text(f"{head}{table(results)}\n{tail}")
    (folder / "pictures" / "choosing.svg").write_text(plot(results))


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
