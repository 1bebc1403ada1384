# SPDX-License-Identifier: Apache-2.0
"""parallax_stereo.opencv, without cv2."""

import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import parallax_stereo as px


def pair(gray=True):
    made = px.synthesize((160, 96), 20, "planes")
    left, right = made[0], made[1]
    return (left[:, :, 1].copy(), right[:, :, 1].copy()) if gray else (left, right)


def expected(matcher, method, left, right):
    return px.match(left, right, method=method, device="cpu", **matcher.parameters).disparity


def expect_same(disparity, found, minimum):
    missing = ~np.isfinite(found)
    assert disparity.dtype == np.int16
    assert missing.any()
    assert (disparity[missing] == (minimum - 1) * 16).all()
    assert np.abs(disparity[~missing] / 16 - found[~missing]).max() <= 1 / 32


@pytest.mark.parametrize("method", px.methods())
@pytest.mark.parametrize("minimum", [-3, 0, 2])
def test_gives_16_times_the_disparity(method, minimum):
    left, right = pair()
    matcher = px.opencv.create(method, minimum, 30, device="cpu", fill="none")
    expect_same(matcher.compute(left, right), expected(matcher, method, left, right), minimum)


def test_takes_16_bits_and_other_sizes_in_turn():
    matcher = px.opencv.create("block", 0, 30, device="cpu", fill="none", uniqueness=5)
    left, right = pair()
    for images in ((left, right), (left.astype(np.uint16) * 257, right.astype(np.uint16) * 257), (left[5:], right[5:])):
        expect_same(matcher.compute(*images), expected(matcher, "block", *images), 0)


def test_colour_is_blue_green_red():
    left, right = pair(gray=False)
    matcher = px.opencv.create("block", 0, 30, device="cpu", fill="none", uniqueness=5)
    disparity = matcher.compute(left[:, :, ::-1], right[:, :, ::-1])
    expect_same(disparity, expected(matcher, "block", left, right), 0)


def test_writes_into_an_array():
    left, right = pair()
    matcher = px.opencv.create("block", 1, 30, device="cpu", fill="none", uniqueness=5)
    fixed, floats = np.empty(left.shape, np.int16), np.empty(left.shape, np.float32)
    assert matcher.compute(left, right, fixed) is fixed
    assert matcher.compute(left, right, floats) is floats
    found = expected(matcher, "block", left, right)
    expect_same(fixed, found, 1)
    assert (floats == np.where(np.isfinite(found), found, 0)).all()


@pytest.mark.parametrize("method", [method for method in px.methods() if method != "motion"])
@pytest.mark.parametrize("minimum", [-3, 0, 2])
def test_the_right_matcher_gives_the_right_map_with_the_sign_of_opencv(method, minimum):
    left, right = pair()
    matcher = px.opencv.create(method, minimum, 30, device="cpu", fill="none")
    right_matcher = px.opencv.createRightMatcher(matcher)
    assert right_matcher.getMinDisparity() == -(minimum + 30) + 1 and right_matcher.getNumDisparities() == 30
    found = px.match(left, right, method=method, device="cpu", both_maps=True, **matcher.parameters).right.disparity
    expect_same(right_matcher.compute(right, left), -found, right_matcher.getMinDisparity())
    floats = np.empty(left.shape, np.float32)
    assert right_matcher.compute(right, left, floats) is floats
    assert (floats == np.where(np.isfinite(found), -found, right_matcher.getMinDisparity() - 1)).all()


def test_the_range_of_the_right_matcher_may_be_set():
    right_matcher = px.opencv.createRightMatcher(px.opencv.create("block", 0, 20))
    right_matcher.setMinDisparity(-30)
    assert right_matcher.getMinDisparity() == -30 and right_matcher.parameters["min_disparity"] == 11
    right_matcher.setNumDisparities(31)
    assert right_matcher.getMinDisparity() == -30 and right_matcher.parameters["min_disparity"] == 0
    with pytest.raises(px.ArgumentError, match="differ in size"):
        right_matcher.compute(np.zeros((9, 9), np.uint8), np.zeros((8, 9), np.uint8))


def test_the_filter_of_ximgproc_takes_both_maps():
    pytest.importorskip("cv2.ximgproc")
    left, right, truth = px.synthesize((160, 96), 20)
    matcher = px.opencv.create("census", numDisparities=20)
    wls = px.opencv.createDisparityWLSFilter(matcher)
    assert matcher.parameters["fill"] == "none" and not matcher.parameters["left_right_check"]
    right_matcher = px.opencv.createRightMatcher(matcher)
    disparity, right_disparity = matcher.compute(left, right), right_matcher.compute(right, left)
    filtered = wls.filter(disparity, left, disparity_map_right=right_disparity)

    def wrong(found):
        return (np.abs(found / 16 - truth) > 1).mean()

    assert filtered.shape == disparity.shape and wrong(filtered) < 0.9 * wrong(disparity)
    # With maps of another sign, the filter trusts nothing.
    assert np.count_nonzero(wls.getConfidenceMap()) > truth.size / 2
    wls.filter(disparity, left, disparity_map_right=-right_disparity)
    assert np.count_nonzero(wls.getConfidenceMap()) < truth.size / 10


def test_setters_set_what_means_the_same():
    matcher = px.opencv.create("block")
    for name, value, parameter, stored in (
        ("MinDisparity", -7, "min_disparity", -7),
        ("NumDisparities", 33, "disparities", 33),
        ("BlockSize", 13, "window", 13),
        ("SpeckleWindowSize", 100, "speckle_size", 101),
        ("SpeckleWindowSize", 0, "speckle_size", 0),
        ("SpeckleRange", 2, "speckle_range", 2),
        ("Disp12MaxDiff", 3, "left_right_tolerance", 3),
        ("Disp12MaxDiff", -1, "left_right_check", False),
        ("Disp12MaxDiff", 0, "left_right_check", True),
    ):
        getattr(matcher, "set" + name)(value)
        assert getattr(matcher, "get" + name)() == value
        assert matcher.parameters[parameter] == stored


def test_create_takes_the_keywords_of_both():
    matcher = px.opencv.create(
        "census", minDisparity=-4, numDisparities=50, blockSize=7, speckleWindowSize=0, disp12MaxDiff=2, preset="fast"
    )
    found = matcher.parameters
    assert (found["min_disparity"], found["disparities"], found["window"]) == (-4, 50, 7)
    assert (found["speckle_size"], found["left_right_tolerance"], found["transform"]) == (0, 2, "census-5x5")


def test_a_setter_applies_to_the_next_match():
    left, right = pair()
    matcher = px.opencv.create("block", 0, 30, device="cpu", fill="none", uniqueness=5)
    matcher.compute(left, right)
    matcher.setMinDisparity(4)
    matcher.setBlockSize(5)
    expect_same(matcher.compute(left, right), expected(matcher, "block", left, right), 4)


@pytest.mark.parametrize(
    "call, reason",
    [
        (lambda: px.opencv.create("bp").setBlockSize(9), "method bp has no window"),
        (lambda: px.opencv.create("block", blockSize=8), "window"),
        (lambda: px.opencv.create("bp", numDisparities=0), "disparities"),
        (lambda: px.opencv.create("bp", numDisparities=16.5), "numDisparities"),
        (lambda: px.opencv.create("bp", speckleRange=-1), "speckle_range"),
        (lambda: px.opencv.create("bp", P1=8), "P1"),
        (lambda: px.opencv.create("block", full_row=True), "full_row"),
        (lambda: px.opencv.create("block").compute(*(image.astype(np.float32) for image in pair())), "float32"),
        (lambda: px.opencv.create("block").compute(*pair(), np.empty((3, 3), np.int16)), "(3, 3)"),
        (lambda: px.opencv.create("block").compute(*pair(), np.empty((96, 160), np.int32)), "int32"),
        (lambda: px.opencv.create("block", 2020).compute(*pair()), "float32"),
    ],
)
def test_refuses_by_name(call, reason):
    with pytest.raises(px.ArgumentError) as refused:
        call()
    assert reason in str(refused.value)
    assert "\n" not in str(refused.value)


def test_block_size_1_is_that_of_methods_without_a_window():
    matcher = px.opencv.create("bp", blockSize=1)
    assert matcher.getBlockSize() == 1


def test_imports_no_cv2():
    code = "import sys; sys.modules['cv2'] = None; import parallax_stereo as px; px.opencv.create()"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_the_example_of_the_documentation_runs():
    page = Path(__file__).parents[2] / "docs" / "howto" / "opencv.md"
    before, after, both = re.findall("```python\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL)
    assert "cv2.StereoSGBM_create" in before
    names = dict(zip(("left", "right"), pair()))
    exec(after, names)
    assert names["pixels"].dtype == np.float32
    pytest.importorskip("cv2.ximgproc")
    exec(both, names)
    assert names["filtered"].shape == names["left"].shape
