# SPDX-License-Identifier: Apache-2.0
"""Pairs of files for a calibration."""

from __future__ import annotations

import glob
import re
from pathlib import Path
from typing import Any, List, Optional, Sequence, Tuple

import cv2

from ._arrays import Array
from ._library import ArgumentError, FileError

EXTENSIONS = (".png", ".pbm", ".pgm", ".ppm", ".pnm", ".jpg", ".jpeg", ".tif", ".tiff", ".webp", ".bmp")


def find_pictures(place: str) -> List[Path]:
    """The pictures of a folder, or the files that match a pattern; frame2 comes before frame10."""
    if Path(place).is_dir():
        found = [path for path in Path(place).iterdir() if path.suffix.lower() in EXTENSIONS]
    else:
        found = [Path(path) for path in glob.glob(place)]
    found = [path for path in found if path.is_file() and not path.name.startswith(".")]
    if not found:
        raise FileError(f"{place}: no pictures there: give a folder, or a pattern in quotes such as 'left*.png'")
    return sorted(found, key=_natural_order)


def pair_pictures(left: str, right: str) -> List[Tuple[Path, Path]]:
    """Pairs the pictures of two folders or patterns by their order."""
    sides = find_pictures(left), find_pictures(right)
    if sides[0] == sides[1]:
        raise ArgumentError(f"{left} and {right} are the same pictures: give those of two cameras")
    counts = f"{len(sides[0])} left and {len(sides[1])} right pictures"
    lone = _find_lone(*sides)
    if lone:
        raise FileError(f"{counts}, and {lone} has no partner: add its partner or remove it")
    if len(sides[0]) != len(sides[1]):
        raise FileError(f"{counts}: give as many of each, {left} and {right}")
    return list(zip(*sides))


def read_gray(path: Path) -> Array:
    """A picture as uint8 (height, width)."""
    image: Optional[Array] = cv2.imread(str(path), cv2.IMREAD_GRAYSCALE)
    if image is None:
        raise FileError(f"{path}: OpenCV cannot read it: give a picture")
    return image


def _natural_order(path: Path) -> List[Any]:
    parts = re.split(r"(\d+)", str(path))
    return [int(part) if index % 2 else part for index, part in enumerate(parts)]


def _frame_numbers(paths: Sequence[Path]) -> List[int]:
    """The last number in each name; empty unless the numbers distinguish the pictures."""
    numbers = [re.findall(r"\d+", str(path)) for path in paths]
    last = [int(found[-1]) for found in numbers if found]
    return last if len(set(last)) == len(paths) else []


def _find_lone(left: Sequence[Path], right: Sequence[Path]) -> Optional[Path]:
    """A picture whose number the other camera lacks, if other pictures have equal numbers."""
    numbers = _frame_numbers(left), _frame_numbers(right)
    if not set(numbers[0]) & set(numbers[1]):
        return None
    for paths, own, others in ((left, *numbers), (right, *numbers[::-1])):
        for path, number in zip(paths, own):
            if number not in others:
                return path
    return None
