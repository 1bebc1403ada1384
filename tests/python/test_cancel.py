# SPDX-License-Identifier: Apache-2.0
"""Calls that end early: by cancel() of another thread, and by exceptions of signal handlers, such as that of Ctrl-C."""

from __future__ import annotations

import signal
import threading
import time
from typing import Any, Callable, Iterator, Tuple

import numpy as np
import pytest

import parallax_stereo as px

# A match of these takes a tenth of a second and more.
SIZE, DISPARITIES = (1200, 900), 128
NEVER_WRITTEN = 77


@pytest.fixture(scope="module")
def large() -> Tuple[Any, Any]:
    return px.synthesize(SIZE, DISPARITIES)[:2]


class Alarm(Exception):
    pass


@pytest.fixture
def alarm() -> Iterator[Callable[[float], None]]:
    """Rings after some seconds: an exception in the main thread."""

    def ring(_number: int, _frame: Any) -> None:
        raise Alarm

    before = signal.signal(signal.SIGALRM, ring)
    yield lambda seconds: (signal.setitimer(signal.ITIMER_REAL, seconds), None)[1]
    signal.setitimer(signal.ITIMER_REAL, 0)
    signal.signal(signal.SIGALRM, before)


def empty_maps() -> Tuple[Any, Any]:
    shape = SIZE[::-1]
    return np.empty(shape, np.float32), np.full(shape, NEVER_WRITTEN, np.uint8)


def assert_ends_early(match: Callable[[Any], Any], alarm: Callable[[float], None], seconds: float = 0.05) -> None:
    """The alarm ends `match(maps)` before its maps are complete: a loaded machine may be late, but not in ten tries."""
    complete = empty_maps()
    match(complete)
    for _ in range(10):
        maps = empty_maps()
        alarm(seconds)
        with pytest.raises(Alarm):
            match(maps)
            # The alarm may ring between the last row of the match and here.
            time.sleep(seconds)
        if not np.array_equal(maps[1], complete[1]):
            return
    pytest.fail("each match was complete before the alarm ended it")


@pytest.mark.parametrize("method", ["bp", "sgm", "tiled-bp", "motion"])
def test_a_signal_ends_a_match_before_it_is_complete(large: Any, alarm: Any, method: str) -> None:
    labels = DISPARITIES if method != "motion" else None
    assert_ends_early(lambda maps: px.match(*large, labels, method, device="cpu", threads=2, out=maps), alarm)


def test_ctrl_c_ends_a_match(large: Any, alarm: Any) -> None:
    signal.signal(signal.SIGALRM, lambda *_: signal.raise_signal(signal.SIGINT))

    def match(maps: Any) -> None:
        try:
            px.match(*large, DISPARITIES, device="cpu", out=maps)
            time.sleep(0.05)
        except KeyboardInterrupt:
            raise Alarm from None

    assert_ends_early(match, alarm)


def test_a_signal_ends_tiles_and_is_not_lost_in_their_callback(large: Any, alarm: Any) -> None:
    tiles = {"max_memory": 100_000_000, "progress": lambda *_: None}
    for seconds in (0.01, 0.05, 0.1):
        assert_ends_early(lambda maps: px.match(*large, DISPARITIES, device="cpu", out=maps, **tiles), alarm, seconds)


def test_a_signal_ends_a_check(large: Any, alarm: Any) -> None:
    alarm(0.02)
    with pytest.raises(Alarm):
        while True:
            px.check(*large)


def test_a_signal_ends_a_rectified_match_which_runs_again(large: Any, alarm: Any) -> None:
    matrix = [[900, 0, 600], [0, 900, 450], [0, 0, 1]]
    rig = px.Rig.from_opencv(matrix, None, matrix, None, np.eye(3), [-0.1, 0, 0], SIZE)
    matcher = px.RectifiedMatcher(rig, "bp", device="cpu", disparities=DISPARITIES)
    expected = matcher(*large)
    assert_ends_early(lambda maps: matcher(*large, out=maps), alarm)
    assert np.array_equal(matcher(*large).disparity, expected.disparity)


def test_a_signal_ends_a_wait_for_a_pool_and_the_pool(large: Any, alarm: Any) -> None:
    def wait_for_the_last(maps: Any) -> None:
        with px.MatcherPool("bp", "cpu", disparities=DISPARITIES) as pool:
            pool.submit(*large)
            pool.submit(*large)
            pool.wait(pool.submit(*large, out=maps))

    assert_ends_early(wait_for_the_last, alarm, 0.2)


def test_a_pool_whose_wait_was_ended_is_waited_for_again(large: Any, alarm: Any) -> None:
    with px.MatcherPool("block", "cpu", disparities=DISPARITIES) as pool:
        numbers = [pool.submit(*large) for _ in range(3)]
        alarm(0.03)
        try:
            pool.wait(numbers[2])
        except Alarm:
            pool.wait(numbers[2])
        assert pool.wait_any() is not None and pool.wait_any() is not None and pool.wait_any() is None


def test_a_handler_that_raises_nothing_lets_the_match_go_on(large: Any, alarm: Any) -> None:
    calls = []
    signal.signal(signal.SIGALRM, lambda *_: calls.append(px.methods()))
    expected = px.match(*large, DISPARITIES, "census", device="cpu")
    signal.setitimer(signal.ITIMER_REAL, 0.02, 0.02)
    result = px.match(*large, DISPARITIES, "census", device="cpu")
    assert calls
    assert np.array_equal(result.disparity, expected.disparity)


def test_a_handler_that_uses_the_matcher_at_work_gets_an_error(large: Any, alarm: Any) -> None:
    matcher = px.Matcher("bp", SIZE, device="cpu", disparities=DISPARITIES)
    signal.signal(signal.SIGALRM, lambda *_: matcher.parameters)
    alarm(0.05)
    with pytest.raises(px.ArgumentError, match="a callback uses the matcher that called it"):
        matcher(*large)


def test_a_signal_ends_a_call_that_waits_for_another_thread(large: Any, alarm: Any) -> None:
    matcher = px.Matcher("bp", SIZE, device="cpu", disparities=DISPARITIES)
    begun = threading.Event()

    def run() -> None:
        begun.set()
        with pytest.raises(px.CancelledError):
            while True:
                matcher(*large)

    thread = threading.Thread(target=run)
    thread.start()
    begun.wait()
    alarm(0.1)
    with pytest.raises(Alarm):
        while True:
            matcher(*large)
    while thread.is_alive():
        matcher.cancel()
        thread.join(0.01)


def test_cancel_ends_the_calls_of_other_threads_and_the_matcher_runs_again(pair: Any) -> None:
    matcher = px.Matcher("census", (120, 80), device="cpu", disparities=16)
    matcher.cancel()  # does nothing to the calls that follow
    expected = matcher(*pair[:2])
    errors = []

    def run() -> None:
        try:
            while True:
                matcher(*pair[:2])
        except px.Error as error:
            errors.append(error)

    threads = [threading.Thread(target=run) for _ in range(3)]
    for thread in threads:
        thread.start()
    while any(thread.is_alive() for thread in threads):
        matcher.cancel()
    assert [type(error) for error in errors] == [px.CancelledError] * 3
    assert str(errors[0]) == "cancelled: what it wrote is incomplete; run it again"
    assert np.array_equal(matcher(*pair[:2]).disparity, expected.disparity)
