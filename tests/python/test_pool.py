# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import gc
import threading
from typing import Any, List, Tuple

import numpy as np
import pytest

import parallax_stereo as px
from parallax_stereo import _pool

SETTINGS = {"method": "census", "disparities": 16}


def shifted(pair: Tuple[Any, Any], i: int) -> Tuple[Any, Any]:
    """Other images of another size."""
    return tuple(np.roll(image, i, axis=0)[: 80 - i % 3] for image in pair)  # type: ignore[return-value]


def expected(left: Any, right: Any, **more: Any) -> px.Result:
    settings = {**SETTINGS, **more}
    return px.match(left, right, device="cpu", **settings)


def same(a: px.Result, b: px.Result) -> bool:
    return np.array_equal(a.disparity, b.disparity) and np.array_equal(a.status, b.status)


def test_pairs_of_any_size_get_the_maps_of_a_matcher(gray: Tuple[Any, Any]) -> None:
    pairs = [shifted(gray, i) for i in range(12)]
    with px.MatcherPool(devices="cpu,reference", threads=1, **SETTINGS) as pool:
        numbers = [pool.submit(*pair) for pair in pairs]
        assert numbers == list(range(12))
        for number in reversed(numbers):
            assert same(pool.wait(number), expected(*pairs[number]))
        with pytest.raises(px.ArgumentError, match="pair 3 is not waited for"):
            pool.wait(3)


def test_map_yields_results_in_order(gray: Tuple[Any, Any]) -> None:
    pairs = [shifted(gray, i) for i in range(20)]
    with px.MatcherPool(devices=["cpu", "reference"], **SETTINGS) as pool:
        results = list(pool.map(iter(pairs)))
        assert len(results) == 20
        assert all(same(result, expected(*pair)) for result, pair in zip(results, pairs))
        assert list(pool.map([])) == []


def test_map_takes_few_pairs_ahead(gray: Tuple[Any, Any]) -> None:
    taken: List[int] = []

    def pairs() -> Any:
        for i in range(1000):
            taken.append(i)
            yield gray

    with px.MatcherPool(devices="cpu", **SETTINGS) as pool:
        results = pool.map(pairs())
        next(results)
        assert len(taken) == 4
        results.close()  # type: ignore[attr-defined]
        assert pool.wait_any() is None


def test_wait_any_gives_each_pair_once(gray: Tuple[Any, Any]) -> None:
    with px.MatcherPool(devices="cpu", **SETTINGS) as pool:
        for _ in range(5):
            pool.submit(*gray)
        numbers = []
        while (done := pool.wait_any()) is not None:
            numbers.append(done[0])
            assert same(done[1], expected(*gray))
        assert sorted(numbers) == list(range(5))


def test_errors_have_their_pair(gray: Tuple[Any, Any]) -> None:
    large = tuple(np.tile(image, (6, 6)) for image in gray)
    with px.MatcherPool(devices="cpu", threads=1, max_memory=2_000_000, **SETTINGS) as pool:
        assert pool.submit(*gray) == 0
        assert pool.submit(*large) == 1
        pool.wait(0)
        with pytest.raises(px.OutOfMemoryError, match="pair 1: the match needs") as raised:
            pool.wait(1)
        assert raised.value.pair == 1
        pool.submit(*large)
        with pytest.raises(px.OutOfMemoryError) as raised:
            pool.wait_any()
        assert raised.value.pair == 2
        with pytest.raises(px.OutOfMemoryError) as raised:
            list(pool.map([gray, large, gray]))
        assert raised.value.pair == 4
        assert pool.wait_any() is None
        assert pool.lost_devices == {}


def test_a_pair_may_differ_from_the_pool(gray: Tuple[Any, Any]) -> None:
    with px.MatcherPool(devices="cpu", **SETTINGS) as pool:
        usual, other = pool.submit(*gray), pool.submit(*gray, min_disparity=4)
        assert same(pool.wait(other), expected(*gray, min_disparity=4))
        assert same(pool.wait(usual), expected(*gray))
        with pytest.raises(px.ArgumentError, match="no_such"):
            pool.submit(*gray, no_such=1)


def test_out_confidence_and_masks_are_those_of_a_matcher(gray: Tuple[Any, Any]) -> None:
    mask = np.ones(gray[0].shape, bool)
    mask[:, :30] = False
    out = (np.empty(gray[0].shape, np.float32), np.empty(gray[0].shape, np.uint8))
    with px.MatcherPool("bp", devices="cpu", disparities=16) as pool:
        confident = pool.submit(*gray, confidence=True, left_mask=mask)
        written = pool.submit(*gray, out=out)
        result = pool.wait(confident)
        assert result.confidence is not None and result.confidence.max() > 0
        assert (result.status[:, :30] == px.STATUS.index("input_masked")).all()
        assert pool.wait(written).disparity is out[0]
        assert same(px.Result(*out), px.match(*gray, 16, device="cpu"))


def test_threads_share_a_pool(gray: Tuple[Any, Any]) -> None:
    wanted = expected(*gray)
    numbers: List[int] = []
    wrong: List[int] = []
    with px.MatcherPool(devices="cpu,reference", **SETTINGS) as pool:

        def work() -> None:
            for _ in range(10):
                pool.submit(*gray)
                done = pool.wait_any()
                assert done is not None
                numbers.append(done[0])
                if not same(done[1], wanted):
                    wrong.append(done[0])

        threads = [threading.Thread(target=work) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert sorted(numbers) == list(range(40))
    assert not wrong


def test_a_pool_may_end_with_pairs_in_it(gray: Tuple[Any, Any]) -> None:
    pool = px.MatcherPool(devices="cpu", waiting=100, **SETTINGS)
    for _ in range(50):
        pool.submit(*(image.copy() for image in gray))
    del pool
    gc.collect()


def test_a_closed_pool_says_so(gray: Tuple[Any, Any]) -> None:
    pool = px.MatcherPool(devices="cpu", **SETTINGS)
    assert pool.matchers((640, 480)) == 1
    assert pool.parameters["disparities"] == 16
    pool.close()
    pool.close()
    with pytest.raises(px.ArgumentError, match="the pool is closed"):
        pool.submit(*gray)


def test_what_it_cannot_use_is_refused(gray: Tuple[Any, Any]) -> None:
    with pytest.raises(px.ArgumentError, match="device is 'gpu'"):
        px.MatcherPool(devices="cpu,gpu", **SETTINGS)
    with pytest.raises(px.ArgumentError, match="matchers_per_gpu is 65"):
        px.MatcherPool(devices="cpu", matchers_per_gpu=65, **SETTINGS)
    with px.MatcherPool(devices="cpu", **SETTINGS) as pool:
        with pytest.raises(px.ArgumentError, match="left image is 120×80"):
            pool.submit(gray[0], gray[1][:40])
        with pytest.raises(px.ArgumentError, match="out\\[0\\] has shape"):
            pool.submit(*gray, out=(np.empty((3, 4), np.float32), np.empty((3, 4), np.uint8)))


def test_a_pair_taken_before_an_interrupt_keeps_its_arrays(
    gray: Tuple[Any, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    function = _pool.function

    def interrupted(name: str) -> Any:
        def call(*arguments: Any) -> None:
            function(name)(*arguments)
            raise KeyboardInterrupt

        return call

    with px.MatcherPool(devices="cpu", **SETTINGS) as pool:
        monkeypatch.setattr(_pool, "function", interrupted)
        with pytest.raises(KeyboardInterrupt):
            pool.submit(*gray)
        monkeypatch.undo()
        done = pool.wait_any()
        assert done is not None and done[0] == 0
        assert same(done[1], expected(*gray))
