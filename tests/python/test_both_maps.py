# SPDX-License-Identifier: Apache-2.0
"""The map of the right image is that of the mirrored pair, mirrored back by NumPy."""

from __future__ import annotations

import copy
import pickle
from typing import Any, Dict, List, Tuple

import numpy as np
import pytest

import parallax_stereo as px

METHODS = [method for method in px.methods() if method != "motion"]


def mirrored(array: Any) -> Any:
    return np.ascontiguousarray(array[:, ::-1])


def maps_of(result: px.Result) -> List[Any]:
    return [result.disparity, result.status, result.confidence, result.row_offset]


def assert_right(right: Any, expected: px.Result) -> None:
    """`expected`: of the mirrored pair."""
    for found, wanted in zip(maps_of(right), maps_of(expected)):
        assert (found is None) == (wanted is None)
        if found is not None:
            np.testing.assert_array_equal(found, wanted[:, ::-1])


def assert_same(one: px.Result, other: px.Result) -> None:
    for found, wanted in zip(maps_of(one), maps_of(other)):
        np.testing.assert_array_equal(found, wanted)


def devices(method: str) -> List[str]:
    here = {device.name.partition(":")[0] for device in px.devices()}
    on_opencl = method not in ("tiled-bp", "planes") and "opencl" in here
    return ["reference", "cpu", *(["opencl"] if on_opencl else [])]


@pytest.mark.parametrize("method", METHODS)
def test_right_map_is_that_of_the_mirrored_pair(method: str, pair: Any) -> None:
    left, right, _ = pair
    left_mask, right_mask = (np.ones(left.shape[:2], bool) for _ in range(2))
    left_mask[10:20, 30:50] = False
    right_mask[40:60, 5:25] = False
    options: Dict[str, Any] = {"method": method, "min_disparity": -3, "disparities": 20}
    expected = px.match(
        mirrored(right),
        mirrored(left),
        left_mask=mirrored(right_mask),
        right_mask=mirrored(left_mask),
        confidence=True,
        device="reference",
        **options,
    )
    alone = px.match(
        left, right, left_mask=left_mask, right_mask=right_mask, confidence=True, device="reference", **options
    )
    assert alone.right is None
    for device in devices(method):
        masks = {"left_mask": left_mask, "right_mask": right_mask}
        both = px.match(left, right, **masks, confidence=True, device=device, both_maps=True, **options)
        assert_same(both, alone)
        assert_right(both.right, expected)


def test_rows_are_searched_for_both_maps() -> None:
    left, right, _ = px.synthesize((96, 64), 12)
    right = np.roll(right, 1, axis=0)
    options: Dict[str, Any] = {
        "disparities": 12,
        "method": "sgm",
        "device": "cpu",
        "row_tolerance": 2,
        "row_offset": True,
    }
    both = px.match(left, right, both_maps=True, **options)
    assert both.right is not None
    assert_right(both.right, px.match(mirrored(right), mirrored(left), **options))
    # A point of the left image lies one row lower in the right one, and the other way round.
    assert np.median(both.row_offset[both.valid]) == pytest.approx(1, abs=0.05)
    assert np.median(both.right.row_offset[both.right.valid]) == pytest.approx(-1, abs=0.05)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("shift", [7, -7])
def test_signs_are_those_of_the_left_map(method: str, shift: int) -> None:
    """Left (x, y) shows what right (x - shift, y) shows, so right (x, y) what left (x + shift, y) does."""
    scene = np.random.default_rng(3).integers(0, 256, (48, 120), np.uint8)
    left, right = scene[:, 20:100].copy(), scene[:, 20 + shift : 100 + shift].copy()
    both = px.match(left, right, method=method, min_disparity=-12, disparities=25, fill="none", both_maps=True)
    assert both.right is not None
    # The columns that the other image does not show.
    inside = (slice(None), slice(20, 60))
    for result in (both, both.right):
        assert np.mean(np.abs(result.disparity[inside] - shift) < 0.5) > 0.95
    hidden, seen = (slice(0, 5), slice(-5, None)) if shift > 0 else (slice(-5, None), slice(0, 5))
    assert both.valid[:, seen].mean() > 0.8 > 0.3 > both.valid[:, hidden].mean()
    assert both.right.valid[:, hidden].mean() > 0.8 > 0.3 > both.right.valid[:, seen].mean()


def test_points_of_both_maps_lie_on_one_surface() -> None:
    scene = np.random.default_rng(4).integers(0, 256, (40, 120), np.uint8)
    left, right = scene[:, 10:100].copy(), scene[:, 16:106].copy()
    calibration = px.Calibration(focal=100.0, baseline=2.0, centre_x=45.0, centre_y=20.0, doffs=4.0)
    both = px.match(left, right, 16, "block", sub_pixel="none", fill="none", median=0, both_maps=True)
    assert both.right is not None

    def right_points(result: px.Result) -> Any:
        """Row, column in the scene and depth of each point, from its position alone."""
        positions, _ = result.points(calibration)
        rows = np.rint(positions[:, 1] / positions[:, 2] * 100 + 20)
        return rows, positions

    rows, positions = right_points(both)
    right_rows, right_positions = right_points(both.right)
    # Relative to the right camera, which stands one baseline to the right.
    one = {(int(y), round(float(p[0]) - 2.0, 2)) for y, p in zip(rows, positions)}
    other = {(int(y), round(float(p[0]), 2)) for y, p in zip(right_rows, right_positions)}
    assert len(one & other) > 0.9 * min(len(one), len(other)) > 1000
    with pytest.raises(px.ArgumentError, match="the page shows maps of the left image"):
        both.right.view()


def test_pools_have_both_maps(pair: Any) -> None:
    left, right, _ = pair
    expected = px.match(left, right, 16, "census", both_maps=True)
    assert expected.right is not None
    with px.MatcherPool("census", "cpu,cpu", disparities=16) as pool:
        results = list(pool.map([(left, right)] * 3, both_maps=True))
        alone = pool.wait(pool.submit(left, right))
    assert alone.right is None
    for result in results:
        assert_same(result, expected)
        assert result.right is not None
        assert_same(result.right, expected.right)


def test_copies_keep_both_maps(gray: Any) -> None:
    matcher = px.Matcher("census", (120, 80), disparities=16, both_maps=True)
    result = matcher(*gray)
    for one in (pickle.loads(pickle.dumps(matcher)), copy.copy(matcher)):
        assert_same(one(*gray).right, result.right)
    calibration = px.Calibration(focal=100, baseline=1, doffs=2)
    stored = pickle.loads(pickle.dumps(result)).right
    assert np.array_equal(stored.points(calibration)[0], result.right.points(calibration)[0])


def test_rows_may_run_backwards(gray: Any) -> None:
    """Rows from the bottom up, and arrays with gaps, are mirrored as any others."""
    left, right = gray
    options: Dict[str, Any] = {"disparities": 16, "method": "block", "both_maps": True}
    expected = px.match(np.ascontiguousarray(left[::-1]), np.ascontiguousarray(right[::-1]), **options).right
    assert expected is not None
    for one, other in ((left[::-1], right[::-1]), (np.repeat(left[::-1], 2, 1)[:, ::2], right[::-1])):
        found = px.match(one, other, **options).right
        assert found is not None
        assert_same(found, expected)


@pytest.mark.parametrize("shape", [(1, 1), (1, 40), (40, 1), (3, 17), (5, 33, 3)])
@pytest.mark.parametrize("dtype", [np.uint8, np.uint16])
def test_small_images_have_both_maps(shape: Tuple[int, ...], dtype: Any) -> None:
    random = np.random.default_rng(5)
    left, right = (random.integers(0, 200, shape).astype(dtype) for _ in range(2))
    options: Dict[str, Any] = {"disparities": 1, "method": "census", "device": "cpu"}
    both = px.match(left, right, both_maps=True, **options)
    assert_right(both.right, px.match(mirrored(right), mirrored(left), **options))


def test_what_has_no_right_map_is_named(pair: Any) -> None:
    left, right, _ = pair
    costs = np.zeros((*left.shape[:2], 8), np.float32)
    for call, words in (
        (lambda: px.match(left, right, method="motion", both_maps=True), "motion has no map of the second image"),
        (
            lambda: px.match(left, right, 8, "tiled-bp", cost="volume", costs=costs, both_maps=True),
            "leave out the map of the right image",
        ),
        (lambda: px.match(left, right, 16, "block", both_maps=True, max_memory=1000), "leave out both_maps"),
    ):
        with pytest.raises(px.ArgumentError, match=words):
            call()


def test_memory_for_the_right_map_is_reserved_only_where_it_is_wanted() -> None:
    size: Tuple[int, int] = (320, 200)
    alone, both = (px.Matcher("census", size, disparities=16, both_maps=wanted).memory for wanted in (False, True))
    assert 0 < both - alone <= 9 * size[0] * size[1]
