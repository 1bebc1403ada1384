# SPDX-License-Identifier: Apache-2.0
"""The errors and confidences of the defaults on scenes of all kinds: docs/measurements/scenes.md has them, and here is slack."""

from __future__ import annotations

import os
import pathlib
import sys
from typing import Any, Tuple

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).parents[2] / "benchmarks"))

# Per cent: seen pixels off by more than 1, and all pixels, off by more than 1 on Middlebury, and by KITTI's rule elsewhere.
MOST = {
    "bp": {
        "middlebury2014": (7.6, 11.8),
        "middlebury2003": (3.2, 6.0),
        "eth3d": (7.6, 2.0),
        "kitti": (18.7, 3.5),
        "flyingthings": (8.8, 5.0),
        "lightfield": (1.3, 0.5),
    },
    "sgm": {
        "middlebury2014": (7.9, 12.6),
        "middlebury2003": (3.1, 6.3),
        "eth3d": (5.5, 1.4),
        "kitti": (17.0, 3.7),
        "flyingthings": (7.4, 4.4),
        "lightfield": (1.0, 0.5),
    },
}

# How much larger the area of sparsification is than the least that any confidence could have.
WORST_CONFIDENCE = {
    "bp": dict(middlebury2014=4.2, middlebury2003=4.0, eth3d=6.2, kitti=6.5, flyingthings=5.4, lightfield=12.0),
    "sgm": dict(middlebury2014=3.8, middlebury2003=4.3, eth3d=5.2, kitti=7.5, flyingthings=4.8, lightfield=23.0),
}


def scenes_and_data() -> Tuple[Any, pathlib.Path]:
    folder = pathlib.Path(os.environ.get("PARALLAX_DATA", pathlib.Path(__file__).parents[3] / "shared" / "data"))
    if not (folder / "field").is_dir():
        pytest.skip(f"{folder / 'field'} is missing: set PARALLAX_DATA")
    return pytest.importorskip("scenes"), folder


@pytest.mark.parametrize("method", MOST)
def test_errors_and_confidence_of_the_defaults(method: str) -> None:
    scenes, folder = scenes_and_data()
    trials = scenes.Trials(folder)
    (by_pair,) = trials.errors(method, [{}])
    means = trials.means(by_pair)
    for name, most in MOST[method].items():
        found = means[name][[0, 1 if name.startswith("middlebury") else 2]]
        assert (found < most).all(), f"{name}: {found}"
        area, least = means[name][3:5]
        assert area / least < WORST_CONFIDENCE[method][name], f"{name}: {area / least}"


def test_ranges_of_the_check() -> None:
    scenes, folder = scenes_and_data()
    pairs = list(scenes.find_ranges(folder, ("as it is",)))
    assert [name for name, found in pairs if not (found.is_right and found.sure)] == []
    assert [name for name, found in pairs if found.verdicts[0] not in ("fit", "rows_off")] == []
    assert [name for name, found in pairs if found.verdicts[1] != "exchanged"] == []
    assert sum(found.is_narrow for _, found in pairs) >= len(pairs) - 1


def test_ranges_of_parts() -> None:
    scenes, folder = scenes_and_data()
    parts = [f for _, f in scenes.find_ranges(folder, ("part",))]
    assert sum(f.is_right for f in parts) >= 0.92 * len(parts) and sum(f.is_narrow for f in parts) >= 0.92 * len(parts)
    sure, doubtful = ([f for f in parts if f.sure == value] for value in (True, False))
    assert sum(f.is_right for f in sure) / len(sure) > sum(f.is_right for f in doubtful) / len(doubtful)
