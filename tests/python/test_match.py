# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import gc
import resource
import threading
from pathlib import Path
from typing import Any, List

import numpy as np
import pytest

import parallax_stereo as px


def same(one: px.Result, other: px.Result) -> bool:
    return bool(one.disparity.tobytes() == other.disparity.tobytes() and one.status.tobytes() == other.status.tobytes())


def test_rows_are_aligned_and_it_is_told() -> None:
    left, right, _ = px.synthesize((320, 240), 32)
    lower = np.ascontiguousarray(np.roll(right, 1, axis=0))
    result = px.match(left, lower, 32, "sgm")
    assert abs(result.rows_moved - 1) < 0.05 and "rows moved by" in repr(result)
    given = px.match(left, lower, 32, "sgm", rows="given")
    assert given.rows_moved == 0 and "rows" not in repr(given) and not same(result, given)
    matcher = px.Matcher("sgm", (320, 240), disparities=32, rows="once")
    assert same(matcher(left, lower), result) and abs(matcher.rows_moved - 1) < 0.05
    matcher(left, right)
    assert abs(matcher.rows_moved - 1) < 0.05
    matcher.forget_rows()
    assert same(matcher(left, right), px.match(left, right, 32, "sgm")) and matcher.rows_moved == 0


@pytest.mark.parametrize("method", px.methods())
def test_every_method_matches(method: str, pair: Any) -> None:
    left, right, truth = pair
    rows: Any = {"min_disparity": 0, "min_row_offset": -1, "row_offsets": 3} if method == "motion" else {}
    result = px.match(left, right, disparities=16, method=method, **rows)
    assert result.disparity.shape == (80, 120) and result.disparity.dtype == np.float32
    assert result.status.shape == (80, 120) and result.status.dtype == np.uint8
    assert px.evaluate(result.disparity, truth).bad1 < 0.15
    assert result.valid.dtype == np.bool_ and result.valid.mean() > 0.9
    assert same(result, px.match(left, right, disparities=16, method=method, device="reference", **rows))
    assert same(result, px.match(left, right, 16, method, "cpu", threads=1, **rows))


def test_defaults_are_those_of_bp(pair: Any) -> None:
    left, right, _ = pair
    matcher = px.Matcher(size=(120, 80))
    assert matcher.parameters["method"] == "bp"
    assert same(px.match(left, right), matcher(left, right))


@pytest.mark.parametrize("dtype", [np.uint8, np.uint16])
@pytest.mark.parametrize("channels", [1, 3])
def test_arrays_of_any_stride(dtype: Any, channels: int, pair: Any) -> None:
    left, right = (image.astype(dtype) * (256 if dtype == np.uint16 else 1) for image in pair[:2])
    if channels == 1:
        left, right = left[:, :, 1].copy(), right[:, :, 1].copy()
    expected = px.match(left, right, 16, "census")

    def embedded(image: Any) -> Any:
        """The array embedded in a larger one."""
        larger = np.zeros((90, 140, *image.shape[2:]), dtype)
        larger[5:85, 10:130] = image
        return larger[5:85, 10:130]

    def upside_down(image: Any) -> Any:
        return image[::-1].copy()[::-1]

    def mirrored(image: Any) -> Any:
        return image[:, ::-1].copy()[:, ::-1]

    def of_columns(image: Any) -> Any:
        return np.asfortranarray(image)

    def sparse(image: Any) -> Any:
        return np.repeat(np.repeat(image, 2, axis=0), 2, axis=1)[::2, ::2]

    for change in (embedded, upside_down, mirrored, of_columns, sparse):
        changed = change(left)
        assert changed.strides != left.strides
        assert same(expected, px.match(changed, change(right), 16, "census")), change.__name__


def test_rows_are_not_copied(pair: Any) -> None:
    from parallax_stereo import _arrays

    image = pair[0]
    for same_memory in (image, image[::-1], image[10:50, 20:60], image[:, :, :]):
        assert np.shares_memory(_arrays.picture(same_memory, "left"), image)
    assert not np.shares_memory(_arrays.picture(image[:, ::2], "left"), image)


def test_masks(pair: Any) -> None:
    left, right, _ = pair
    mask = np.ones((80, 120), bool)
    mask[:20] = False
    result = px.match(left, right, 16, "census", left_mask=mask)
    assert (result.status[:20] == px.STATUS.index("input_masked")).all()
    assert not result.valid[:20].any() and result.valid[20:].mean() > 0.9
    assert same(result, px.match(left, right, 16, "census", left_mask=mask.astype(np.uint8) * 255))


def test_costs_of_the_caller(gray: Any) -> None:
    costs = np.random.default_rng(1).random((80, 120, 8), np.float32)
    found = px.match(*gray, 8, "tiled-bp", cost="volume", costs=costs, sub_pixel="none", left_right_check=False)
    assert np.array_equal(found.disparity, np.rint(found.disparity))
    with pytest.raises(px.ArgumentError, match="data costs"):
        px.match(*gray, 8, "tiled-bp", cost="volume", costs=costs[:, :, :4].copy())


def test_results_go_into_the_arrays_of_the_caller(gray: Any) -> None:
    matcher = px.Matcher("bp", (120, 80), disparities=16)
    expected = matcher(*gray, confidence=True)
    out = np.zeros((80, 120), np.float32), np.zeros((80, 120), np.uint8), np.zeros((80, 120), np.float32)
    result = matcher(*gray, out=out)
    assert result.disparity is out[0] and result.status is out[1] and result.confidence is out[2]
    assert same(expected, result) and np.array_equal(expected.confidence, out[2])
    assert 0 < out[2].mean() < 1
    wide = np.zeros((80, 240), np.float32)
    part = wide[:, 60:180]
    matcher(*gray, out=(part, out[1]))
    assert np.array_equal(part, expected.disparity) and not wide[:, :60].any() and not wide[:, 180:].any()


def test_row_offsets_are_a_second_output() -> None:
    left, right, _ = px.synthesize((60, 40), 8)
    ranges: Any = {"min_disparity": -8, "disparities": 17, "min_row_offset": -1, "row_offsets": 3}
    matcher = px.Matcher("motion", (60, 40), device="reference", **ranges)
    assert matcher.has_row_offsets and not px.Matcher("block", (60, 40)).has_row_offsets
    result = matcher(left, right)
    assert result.row_offset is None
    with_both = matcher(left, right, confidence=True, row_offset=True)
    assert same(result, with_both) and with_both.confidence is not None
    rows = with_both.row_offset
    assert rows.shape == (40, 60) and rows.dtype == np.float32
    assert np.array_equal(rows < np.inf, with_both.valid) and abs(np.median(rows[with_both.valid])) < 0.1
    out = np.empty((40, 60), np.float32), np.empty((40, 60), np.uint8), None, np.empty((40, 60), np.float32)
    without = matcher(left, right, out=out)
    assert without.row_offset is out[3] and without.confidence is None and np.array_equal(out[3], rows)
    matched = px.match(left, right, method="motion", device="reference", row_offset=True, **ranges)
    assert np.array_equal(matched.row_offset, rows)
    with px.MatcherPool("motion", devices="reference", **ranges) as pool:
        assert np.array_equal(pool.wait(pool.submit(left, right, row_offset=True)).row_offset, rows)


def test_tiles_give_the_untiled_map_and_report_progress() -> None:
    left, right, _ = px.synthesize((600, 300), 16)
    expected = px.match(left, right, 16, "block", fill="row")
    needed = px.Matcher("block", (600, 300), disparities=16, fill="row").memory
    done: List[Any] = []
    result = px.match(
        left,
        right,
        16,
        "block",
        fill="row",
        max_memory=needed // 2,
        progress=lambda *tiles: done.append(tiles),
        threads=1,
    )
    assert same(expected, result)
    assert len(done) > 1 and done[-1] == (len(done), len(done))

    class Enough(Exception):
        pass

    def raise_enough(_done: int, _total: int) -> None:
        raise Enough("of it")

    with pytest.raises(Enough, match="of it"):
        px.match(left, right, 16, "block", fill="row", max_memory=needed // 2, progress=raise_enough, threads=1)
    with pytest.raises(px.OutOfMemoryError, match="raise the limit"):
        px.match(left, right, 16, "block", max_memory=1000)


def test_what_cannot_be_used_is_named(pair: Any, gray: Any) -> None:
    left, right, truth = pair
    one = np.zeros((80, 120), np.uint8)
    read_only = np.zeros((80, 120), np.float32)
    read_only.flags.writeable = False
    gpu_like = type("Gpu", (), {"__dlpack_device__": lambda self: (2, 0), "__dlpack__": lambda self, stream: None})()
    for wrong, message in (
        (lambda: px.match(left.astype(float), right), "left has dtype float64: give uint8 or uint16"),
        (lambda: px.match(left, right.astype(np.uint16)), "right image has 16 bits"),
        (lambda: px.match(left.astype(">u2"), right), "left has dtype >u2"),
        (lambda: px.match(left, right[1:]), "right image is 120×79"),
        (lambda: px.match(left[:, :, :2], right), r"left has shape \(80, 120, 2\)"),
        (lambda: px.match(left[:0], right), "image is 120×0"),
        (lambda: px.match(None, None), "left is NoneType"),
        (lambda: px.match("left.png", "right.png"), "left is str"),
        (lambda: px.match(left, gpu_like), "right is on a GPU"),
        (lambda: px.match(left, right, disparities=0), "disparities is 0"),
        (lambda: px.match(left, right, disparities="many"), "disparities is many"),
        (lambda: px.match(left, right, disparities=object()), "disparities"),
        (lambda: px.match(left, right, method="magic"), "method is magic: choose one of block"),
        (lambda: px.match(left, right, method="a\0b"), "NUL"),
        (lambda: px.match(left, right, method=7), "method is 7"),
        (lambda: px.match(left, right, preset="magic"), "preset is magic"),
        (lambda: px.match(left, right, window=9), "parameter is window"),
        (lambda: px.match(left, right, device="tpu"), "tpu"),
        (lambda: px.match(left, right, threads=-1), "threads is -1"),
        (lambda: px.match(left, right, threads="two"), "threads is 'two'"),
        (lambda: px.match(left, right, threads=2**32 + 1), "threads is 4294967297"),
        (lambda: px.match(left, right, max_memory=-1), "max_memory is -1"),
        (lambda: px.match(left, right, max_memory=2**70), "max_memory is 118"),
        (lambda: px.Matcher(size=(2**32 + 64, 64)), "width is 4294967360"),
        (lambda: px.synthesize(disparities=2**32 + 8), "disparities is 4294967304"),
        (lambda: px.match(left, right, stream=1), "stream"),
        (lambda: px.match(left, right, configure={"magic": 1}), "magic"),
        (lambda: px.match(left, right, left_mask=one[1:]), "left mask is 120×79"),
        (lambda: px.match(left, right, left_mask=truth), "left_mask has dtype float32"),
        (lambda: px.match(left, right, out=one), "out is not a tuple"),
        (lambda: px.match(left, right, out=5), "out is not a tuple"),
        (lambda: px.match(left, right, out=(one, one), confidence=True), "no array for the confidence"),
        (lambda: px.match(left, right, out=(truth, one, truth), row_offset=True), "no array for the row offsets"),
        (lambda: px.match(left, right, method="block", row_offset=True), "searches no rows"),
        (lambda: px.match(left, right, out=(None, one)), r"out\[0\] is NoneType"),
        (lambda: px.match(left, right, out=(one, one)), r"out\[0\] has dtype uint8"),
        (lambda: px.match(left, right, out=(read_only, one)), r"out\[0\] is read-only"),
        (lambda: px.match(left, right, out=(np.zeros((80, 240), np.float32)[:, ::2], one)), r"out\[0\] has gaps"),
        (lambda: px.match(left, right, out=(np.zeros((8, 8), np.float32), one)), r"out\[0\] has shape \(8, 8\)"),
        (lambda: px.Matcher("census", 640), "size is 640"),
        (lambda: px.Matcher("census", (0, 5)), "image is 0×5"),
        (lambda: px.Matcher("census", (64, 64), dtype=np.float32), "dtype float32"),
        (lambda: px.evaluate(truth, truth[1:]), "120×79"),
        (lambda: px.evaluate(truth, np.full_like(truth, np.inf)), "no pixel to evaluate"),
        (lambda: px.depth(truth, 3.0), "calibration is float"),  # type: ignore[arg-type]
        (lambda: px.write("map.jpg", truth), "map.jpg: choose the suffix"),
    ):
        with pytest.raises(px.ArgumentError, match=message) as caught:
            wrong()
        assert isinstance(caught.value, (px.Error, ValueError)) and "\n" not in str(caught.value)


def test_each_category_has_a_class(tmp_path: Path) -> None:
    with pytest.raises(px.FileError, match="nowhere.pfm"):
        px.read("/nowhere.pfm")
    with pytest.raises(OSError):
        px.Calibration.read(tmp_path / "calib.txt")
    if not any(device.name.startswith("cuda") for device in px.devices()):
        with pytest.raises(px.DeviceError, match="cuda|CUDA"):
            px.Matcher("bp", (64, 64), device="cuda")
    with pytest.raises(MemoryError):
        px.Matcher("bp", (64, 64), max_memory=1)
    for category in (px.ArgumentError, px.FileError, px.DeviceError, px.OutOfMemoryError, px.InternalError):
        assert issubclass(category, px.Error)


def test_a_matcher_may_be_called_from_threads(gray: Any) -> None:
    matcher = px.Matcher("census", (120, 80), disparities=16)
    expected = matcher(*gray)
    failures: List[Any] = []

    def work() -> None:
        for _ in range(50):
            if not same(expected, matcher(*gray)):
                failures.append("other bytes")

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures


def test_memory_stays_flat(gray: Any) -> None:
    matcher = px.Matcher("block", (120, 80), disparities=16)

    def peak_after(calls: int) -> int:
        for _ in range(calls):
            matcher(*gray)
            px.evaluate(gray[0].astype(np.float32), gray[1].astype(np.float32))
        gc.collect()
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss

    before = peak_after(500)
    assert peak_after(2000) - before < 2048  # KiB
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for _ in range(300):
        px.match(*gray, 16, "block")
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 8192


def test_lists() -> None:
    assert px.methods() == sorted(px.methods())
    assert px.presets("bp")[0] == "default"
    names = [parameter.name for parameter in px.parameters("census")]
    assert {"disparities", "min_disparity", "sub_pixel"} <= set(names)
    matcher = px.Matcher("census", (64, 64), preset="fast" if "fast" in px.presets("census") else "default")
    assert set(matcher.parameters) == {"method", *names}
    assert {device.name for device in px.devices()} >= {"reference", "cpu"}
    defaults = px.Matcher("census", (64, 64)).parameters
    for parameter in px.parameters("census"):
        value = defaults[parameter.name]
        text = str(value).lower() if isinstance(value, bool) else str(value)
        assert parameter.default == text or float(parameter.default) == value


def test_parameters_tell_their_devices() -> None:
    found = {parameter.name: parameter for parameter in px.parameters("bp")}
    assert found["row_tolerance"].devices == ("reference", "cpu")
    assert set(found["levels"].devices) > {"reference", "cpu"}
    arithmetic = found["arithmetic"]
    where = dict(zip(arithmetic.choices, arithmetic.choice_devices))
    assert where["fixed8"] == arithmetic.devices and "opencl" not in where["float32"]


def test_properties_of_a_matcher(gray: Any) -> None:
    matcher = px.Matcher("bp", (120, 80), disparities=16, levels=3, left_right_check=False)
    assert matcher.size == (120, 80) and matcher.memory > 120 * 80 * 16
    assert matcher.parameters["levels"] == 3 and matcher.parameters["left_right_check"] is False
    assert matcher.stages == {}
    result = matcher(*gray)
    assert matcher.stages and all(milliseconds >= 0 for milliseconds in matcher.stages.values())
    assert matcher.energy(*gray, result.disparity) < matcher.energy(*gray, np.zeros((80, 120), np.float32))
    assert "bp, 120×80" in repr(matcher) and "120×80" in repr(result)
    with pytest.raises(px.ArgumentError, match="block"):
        px.Matcher("block", (120, 80)).energy(*gray, result.disparity)


def test_an_older_library_is_refused(tmp_path: Path) -> None:
    import os
    import subprocess
    import sys

    # As on a system of musl.
    on_musl = "import platform; platform.libc_ver = lambda: ('', ''); "
    for before, library, message in (
        ("", "/nowhere.so", "set PARALLAX_LIBRARY"),
        ("", "libc.so.6", "cannot use the library"),
        (on_musl, "/nowhere.so", "wheels need glibc"),
    ):
        run = subprocess.run(
            [sys.executable, "-c", before + "import parallax_stereo"],
            env={**os.environ, "PARALLAX_LIBRARY": library},
            capture_output=True,
            text=True,
        )
        assert run.returncode == 1 and "ImportError" in run.stderr and message in run.stderr
