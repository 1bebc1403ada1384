# SPDX-License-Identifier: Apache-2.0
"""Maps of a video that are steadied, and maps in shared memory."""

import os
import subprocess
import sys

import numpy as np
import parallax_stereo as px
import pytest

SIZE = (160, 120)


def frames(count):
    """Noisy pictures of one scene."""
    left, right, _ = px.synthesize(SIZE, 32)
    noise = np.random.default_rng(1)
    for _ in range(count):
        yield tuple(
            np.clip(image + noise.normal(0, 3, image.shape), 0, 255).astype(np.uint8) for image in (left, right)
        )


def test_maps_of_a_scene_at_rest_become_steady():
    matcher, steady = px.Matcher("census", SIZE, disparities=32, device="cpu"), px.TemporalFilter(SIZE)
    alone, steadied, predicted = [], [], []
    for left, right in frames(12):
        result = matcher(left, right)
        alone.append(result.disparity.copy())
        assert steady(left, right, result) is result
        steadied.append(result.disparity)
        predicted.append(steady.was_predicted)
    assert predicted == [False] + 11 * [True]
    assert np.array_equal(alone[0], steadied[0])
    deviation = lambda maps: np.median(np.std(maps[6:], axis=0))
    assert deviation(steadied) < 0.5 * deviation(alone)


def test_a_state_goes_on_in_another_filter():
    matcher = px.Matcher("census", SIZE, disparities=32, device="cpu")
    one, first, second = (px.TemporalFilter(SIZE, frames=5) for _ in range(3))
    for number, (left, right) in enumerate(frames(6)):
        expected = one(left, right, matcher(left, right)).disparity
        if number == 3:
            second.restore(first.save())
        found = (first if number < 3 else second)(left, right, matcher(left, right)).disparity
        assert np.array_equal(expected, found)
    assert one.save() == second.save()
    one.clear()
    left, right = next(frames(1))
    assert np.array_equal(one(left, right, matcher(left, right)).disparity, matcher(left, right).disparity)


def test_what_is_refused():
    steady = px.TemporalFilter(SIZE)
    left, right = next(frames(1))
    result = px.match(left, right, method="census", disparities=32)
    with pytest.raises(px.ArgumentError, match="frames is 0"):
        px.TemporalFilter(SIZE, frames=0)
    with pytest.raises(px.ArgumentError, match="result is ndarray"):
        steady(left, right, result.disparity)
    with pytest.raises(px.ArgumentError, match="make a filter for frames like this one"):
        steady(left[:, :100], right[:, :100], result)
    with pytest.raises(px.ArgumentError, match="is not that of a filter"):
        steady.restore(px.TemporalFilter((80, 60)).save())
    with pytest.raises(px.ArgumentError, match="give the bytes of save"):
        steady.restore(None)
    result.disparity.flags.writeable = False
    with pytest.raises(px.ArgumentError, match="read-only"):
        steady(left, right, result)


# What 'parallax match --share' writes: header, then a slot.
WRITER = """
import mmap, struct, sys, numpy as np
name, width, height = sys.argv[1], 6, 4
slot = 4096
with open(f"/dev/shm/parallax-{name}", "w+b") as file:
    file.truncate(4096 + 4 * slot)
    memory = mmap.mmap(file.fileno(), 0)
    import os
    for number in range(3):
        at = 4096 + number * slot
        memory[at : at + 64] = struct.pack("=QQqqd24x", 2, 10 + number, 1_500_000_000, 2_000_000_000, 0.002)
        values = np.full((height, width), number, np.float32)
        values[0, 0] = np.inf
        memory[at + 64 : at + 64 + values.nbytes] = values.tobytes()
        memory[at + 64 + values.nbytes : at + 64 + values.nbytes + 24] = bytes([number]) * 24
    memory[:96] = struct.pack(
        "=8sIIIIQQQIi5d", b"PXMAPS", 1, 4, width, height, 4096, slot, 3, 1, os.getpid(), 700, 0.12, 3, 2, 0
    )
print("done")
"""


def test_maps_are_read_from_shared_memory():
    name = f"test-python-{os.getpid()}"
    with pytest.raises(px.FileError, match="start match --share"):
        px.SharedMaps(name)
    with pytest.raises(px.ArgumentError, match="name is 'a/b'"):
        px.SharedMaps("a/b")
    try:
        subprocess.run([sys.executable, "-c", WRITER, name], check=True, capture_output=True)
        maps = px.SharedMaps(name)
        assert maps.size == (6, 4) and maps.count == 3 and maps.has_ended
        assert maps.calibration == px.Calibration(700, 0.12, 3, 2, 0, 6, 4)
        (only,) = list(maps)
        assert only.number == 12 and only.skew == 0.002 and (only.arrival, only.written) == (1.5, 2.0)
        assert np.isinf(only.disparity[0, 0]) and (only.disparity.ravel()[1:] == 2).all() and (only.status == 2).all()
        with open(f"/dev/shm/parallax-{name}", "r+b") as file:
            file.write(b"PXMAPZ")
        with pytest.raises(px.FileError, match="not that of this version"):
            px.SharedMaps(name)
    finally:
        os.unlink(f"/dev/shm/parallax-{name}")
