# SPDX-License-Identifier: Apache-2.0
"""Errors of Middlebury's pairs of 2014 whose values have other ranges: 8, 10, 12, 14 and 16 bits, and counts of a
thermal camera. Prints a table; docs/measurements/field.md has it.

    python3 benchmarks/value_ranges.py build/parallax ../shared/data/middlebury2014
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any, Callable, Dict, List

import numpy as np
from PIL import Image

METHODS = ("block", "census", "sgm", "bp", "tiled-bp")
RANGES: Dict[str, Callable[[Any], Any]] = {
    "8 bits": lambda v: v,
    "10 bits": lambda v: v.astype(np.uint16) * 4,
    "12 bits": lambda v: v.astype(np.uint16) * 16,
    "14 bits": lambda v: v.astype(np.uint16) * 64,
    "16 bits": lambda v: v.astype(np.uint16) * 257,
    "7600 + v": lambda v: v.astype(np.uint16) + 7600,
    "7600…7780": lambda v: (7600 + np.rint(v * (180 / 255))).astype(np.uint16),
    # What is lost by 181 levels.
    "181 levels": lambda v: np.rint(np.rint(v * (180 / 255)) * (255 / 180)).astype(np.uint8),
}


def bad2(command: str, method: str, files: List[str], pair: Path, map_file: str) -> float:
    options = ["--method", method, "--calib", str(pair / "calib.txt"), "-o", map_file]
    subprocess.run([command, "match", *files, *options], check=True, capture_output=True)
    evaluate = [command, "eval", map_file, str(pair / "disp0GT.pfm"), "--mask", str(pair / "mask0nocc.png"), "--json"]
    return 100 * float(json.loads(subprocess.run(evaluate, check=True, capture_output=True).stdout)["bad2"])


def main() -> None:
    command, folder = sys.argv[1], Path(sys.argv[2])
    pairs = sorted(path for path in folder.iterdir() if (path / "disp0GT.pfm").exists())
    errors: Dict[str, Dict[str, List[float]]] = {method: {name: [] for name in RANGES} for method in METHODS}
    with tempfile.TemporaryDirectory() as scratch:
        for pair in pairs:
            gray = [np.asarray(Image.open(pair / f"{side}.png").convert("L")) for side in ("left", "right")]
            for name, change in RANGES.items():
                files = [f"{scratch}/{side}.png" for side in ("left", "right")]
                for file, image in zip(files, gray):
                    Image.fromarray(change(image)).save(file)
                for method in METHODS:
                    errors[method][name].append(bad2(command, method, files, pair, f"{scratch}/d.pfm"))
    print("| method | " + " | ".join(RANGES) + " |\n|---|" + "--:|" * len(RANGES))
    for method, by_range in errors.items():
        print(f"| {method} | " + " | ".join(f"{np.mean(by_range[name]):.2f}" for name in RANGES) + " |")


if __name__ == "__main__":
    main()
