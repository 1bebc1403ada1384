# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import json
import os
import subprocess
import warnings
from pathlib import Path
from typing import Any, Tuple

import numpy as np
import pytest

import parallax_stereo as px


@pytest.fixture(scope="module")
def wide() -> Tuple[Any, Any]:
    left, right, _ = px.synthesize((320, 240), 32)
    return left, right


def shifted_down(image: Any, rows: int) -> Any:
    return np.ascontiguousarray(np.roll(image, rows, axis=0))


def test_a_pair_that_is_fit(wide: Tuple[Any, Any]) -> None:
    report = px.check(*wide)
    assert report.fit and report.verdict == "fit" and report.side == "neither" and report.remarks == ()
    assert str(report) == report.sentence and report.sentence.startswith("The pair is fit to be matched")
    assert repr(report).startswith("<PairReport fit, ")
    assert report.range == {"min_disparity": 0, "disparities": 40}
    assert 0 <= report.lowest < report.highest < 32 and report.rows_off < report.rows_off_95 < 0.1
    assert report.sharpness == pytest.approx(1, abs=0.05)
    count = len(report.residual)
    assert report.left_points.shape == report.right_points.shape == (count, 2) and report.uncertainty.shape == (count,)
    assert count > 500 and np.array_equal(report.left_points, np.round(report.left_points))
    rows = report.right_points[:, 1] - report.left_points[:, 1]
    assert np.median(np.abs(rows)) < 0.02 and (report.uncertainty >= 0).all() and np.abs(report.residual).max() < 2
    disparities = report.left_points[:, 0] - report.right_points[:, 0]
    assert report.lowest >= disparities.min() and report.highest <= disparities.max()
    assert px.Matcher("census", (320, 240), **report.range).parameters["disparities"] == 40
    assert report.sure and 0.6 < report.seen <= 1
    assert (
        report.range_sentence == f"The range of disparities is sure: {100 * report.seen:.0f} % of the picture shows it."
    )


def test_a_range_that_is_not_sure_warns(wide: Tuple[Any, Any]) -> None:
    left, right = (image.copy() for image in wide)
    left[:, 120:] = right[:, 120:] = 128
    report = px.check(left, right)
    assert not report.sure and 0 < report.seen < 0.35 and "is not sure" in report.range_sentence
    with pytest.warns(UserWarning, match="The range of disparities is not sure: only"):
        result = px.match(left, right, "auto", "census")
    expected = px.match(left, right, report.range["disparities"], "census", min_disparity=report.range["min_disparity"])
    assert np.array_equal(result.disparity, expected.disparity)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        px.match(*wide, "auto", "census")


def test_without_points_a_range_is_not_sure(wide: Tuple[Any, Any]) -> None:
    faint = [(image // 24 + 100).astype(np.uint8) for image in wide]
    report = px.check(*faint)
    assert report.verdict == "too_little_texture" and not report.sure and report.seen > 0.5
    assert report.range["min_disparity"] <= 0 and 32 <= report.range["disparities"] <= 48


def test_rows_that_are_off(wide: Tuple[Any, Any]) -> None:
    left, right = wide[0], shifted_down(wide[1], 2)
    report = px.check(left, right)
    assert report.verdict == "rows_off" and not report.fit and "shifted" in report.sentence
    assert report.rows_off == pytest.approx(2, abs=0.02)
    assert report.model.shift.value == pytest.approx(2, abs=0.02) and report.model.shift.held
    assert report.model.rotation.uncertainty > 0 and report.model.scale_ratio == pytest.approx(1, abs=1e-3)
    assert abs(report.model.rotation_degrees) < 0.1 and report.model.residual < 0.1
    assert px.check(left, right, max_rows_off=3).fit
    assert px.check(left, shifted_down(wide[1], 12), search_rows=0.005).verdict == "unrelated"


def test_exchanged_pictures_and_colours(wide: Tuple[Any, Any]) -> None:
    darker = (wide[1] * [1, 0.6, 1]).astype(np.uint8)
    report = px.check(darker, wide[0])
    assert report.verdict == "exchanged" and report.range["min_disparity"] < -30
    assert len(report.remarks) >= 1 and str(report).splitlines() == [report.sentence, *report.remarks]
    assert [channel.gain for channel in report.colour] == pytest.approx([1, 1 / 0.6, 1], rel=0.05)
    assert report.exposure.gain > 1.1 and isinstance(report.exposure.offset, float)


def test_masks_are_used(wide: Tuple[Any, Any]) -> None:
    mask = np.ones((240, 320), bool)
    mask[:, :160] = False
    assert px.check(*wide, left_mask=mask).left_points[:, 0].min() >= 160
    assert px.check(*wide, right_mask=mask).right_points[:, 0].min() >= 157


def test_a_pair_without_a_range(wide: Tuple[Any, Any]) -> None:
    black = np.zeros((60, 80), np.uint8)
    report = px.check(black, black + np.uint8(1))
    assert report.verdict == "too_little_texture" and report.left_points.shape == (0, 2)
    for run in (lambda: report.range, lambda: px.match(black, black + np.uint8(1), "auto")):
        with pytest.raises(px.ArgumentError, match="no range of disparities was found: .*texture"):
            run()
    mirrored = px.check(wide[0], wide[1][:, ::-1])
    assert mirrored.verdict == "mirrored" and len(mirrored.residual) > 100
    with pytest.raises(px.ArgumentError, match="mirrored"):
        mirrored.range


def test_match_searches_the_range_of_the_pair(wide: Tuple[Any, Any]) -> None:
    mask = np.ones((240, 320), np.uint8)
    mask[:, :60] = 0
    expected = px.match(*wide, 40, "census", left_mask=mask)
    assert px.check(*wide, left_mask=mask).range == {"min_disparity": 0, "disparities": 40}
    result = px.match(*wide, disparities="auto", method="census", left_mask=mask, threads=1)
    assert np.array_equal(result.disparity, expected.disparity)
    exchanged = px.match(wide[1], wide[0], "auto", "census")
    assert exchanged.disparity[exchanged.valid].max() < 1
    with pytest.raises(px.ArgumentError, match="min_disparity is given"):
        px.match(*wide, "auto", min_disparity=3)


def test_the_report_is_that_of_the_command(wide: Tuple[Any, Any], tmp_path: Path) -> None:
    command = os.environ.get("PARALLAX_COMMAND")
    pillow = pytest.importorskip("PIL.Image")
    if not command:
        pytest.skip("PARALLAX_COMMAND does not name the command parallax")
    for name, image in zip(("left.png", "right.png"), wide):
        pillow.fromarray(image).save(tmp_path / name)
    printed = subprocess.run(
        [command, "check", "left.png", "right.png", "--json"], cwd=tmp_path, stdout=subprocess.PIPE
    )
    assert json.loads(printed.stdout) == json.loads(px.check(*wide, threads=1).json)


def test_errors_name_their_cause(wide: Tuple[Any, Any]) -> None:
    cases = [
        (lambda: px.check(wide[0], wide[1][:50]), "320×50"),
        (lambda: px.check(*wide, max_rows_off=0), "max_rows_off is 0"),
        (lambda: px.check(*wide, search_rows=2), "search_rows is 2"),
        (lambda: px.check(*wide, search_columns="far"), "must be numbers"),  # type: ignore[arg-type]
        (lambda: px.check(*wide, threads=1.5), "threads is 1.5"),  # type: ignore[arg-type]
        (lambda: px.check("left.png", "right.png"), "left is str"),
        (lambda: px.match(*wide, "some"), "disparities"),
    ]
    for run, message in cases:
        with pytest.raises(px.ArgumentError, match=message):
            run()
