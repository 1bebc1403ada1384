# SPDX-License-Identifier: Apache-2.0
"""Objects that pickle and copy."""

from __future__ import annotations

import copy
import multiprocessing
import pickle
from typing import Any, Callable, Dict, List, Tuple

import numpy as np
import pytest

import parallax_stereo as px

RIG = px.Rig.from_opencv(
    [[100, 0, 60], [0, 100, 40], [0, 0, 1]],
    [-0.1, 0.01, 0, 0],
    [[101, 0, 61], [0, 101, 41], [0, 0, 1]],
    None,
    np.eye(3),
    [-0.1, 0, 0],
    (120, 80),
)

COPIES: Dict[str, Callable[[Any], Any]] = {
    "copy": copy.copy,
    "deepcopy": copy.deepcopy,
    **{f"pickle {n}": lambda value, n=n: pickle.loads(pickle.dumps(value, n)) for n in (2, pickle.HIGHEST_PROTOCOL)},
}


@pytest.fixture(params=COPIES)
def copied(request: Any) -> Callable[[Any], Any]:
    return COPIES[request.param]


def same(a: px.Result, b: px.Result) -> bool:
    return np.array_equal(a.disparity, b.disparity) and np.array_equal(a.status, b.status)


def test_matchers_keep_everything_that_they_were_made_with(pair: Any, copied: Any) -> None:
    wide = [image.astype(np.uint16) * 257 for image in pair[:2]]
    matcher = px.Matcher(
        "sgm",
        (120, 80),
        dtype=np.uint16,
        device="reference",
        threads=1,
        preset="default",
        max_memory=10**9,
        disparities=np.int64(12),
        median=0,
        min_disparity=-2,
    )
    other = copied(matcher)
    assert type(other) is px.Matcher
    assert other.size == (120, 80)
    assert other.parameters == matcher.parameters
    assert other.memory == matcher.memory
    assert same(other(*wide), matcher(*wide))
    with pytest.raises(px.ArgumentError, match="planned for 16"):
        other(*pair[:2])


def test_a_copy_is_planned_apart(pair: Any) -> None:
    matcher = px.Matcher("census", (120, 80), device="cpu", disparities=16)
    other = copy.copy(matcher)
    assert other._settings.handle.value != matcher._settings.handle.value


def test_limits_and_tunables_are_copied(copied: Any) -> None:
    values = {"bands_per_thread": 4}
    matcher = px.Matcher("bp", (120, 80), device="cpu", disparities=16, configure=values, max_memory=10**8)
    assert copied(matcher)._given[2] == matcher._given[2]


def test_both_maps_are_copied(pair: Any, copied: Any) -> None:
    matcher = px.Matcher("block", (120, 80), device="cpu", disparities=16, both_maps=True)
    result, expected = copied(copied(matcher)(*pair[:2])), matcher(*pair[:2])
    assert same(result, expected) and same(result.right, expected.right)


class Named(px.Matcher):
    """A class of the user's, with an own signature."""

    def __init__(self, name: str) -> None:
        super().__init__("block", (120, 80), device="cpu", disparities=16)
        self.name = name


def test_a_derived_class_keeps_its_attributes(pair: Any, copied: Any) -> None:
    named = copied(Named("left-hand rig"))
    assert type(named) is Named and named.name == "left-hand rig"
    assert same(named(*pair[:2]), Named("")(*pair[:2]))


def test_rigs_rectifiers_and_their_matchers(pair: Any, copied: Any) -> None:
    rig = copied(RIG)
    assert rig == RIG and rig.left == RIG.left and np.array_equal(rig.rotation, RIG.rotation)
    rectifier = px.Rectifier(RIG, alpha=1.0, device="cpu")
    for a, b in zip(copied(rectifier)(*pair[:2]), rectifier(*pair[:2])):
        assert np.array_equal(a, b)
    matcher = px.RectifiedMatcher(RIG, "census", alpha=0.5, device="cpu", disparities=16)
    other, expected = copied(matcher), matcher(*pair[:2])
    assert other.parameters == matcher.parameters
    assert other.calibration == matcher.calibration
    result = copied(other(*pair[:2]))
    assert same(result, expected)
    assert np.array_equal(result.points(matcher.calibration)[1], expected.points(matcher.calibration)[1])
    assert copied(rectifier.rectification).size == rectifier.rectification.size


def test_pools_travel_without_their_pairs(pair: Any, copied: Any) -> None:
    with px.MatcherPool("census", "cpu", threads=1, disparities=16) as pool:
        number = pool.submit(*pair[:2])
        other = copied(pool)
        expected = pool.wait(number)
        with other:
            assert other.parameters == pool.parameters
            assert other.wait_any() is None
            assert same(other.wait(other.submit(*pair[:2])), expected)
    with pytest.raises(px.ArgumentError, match="the pool is closed"):
        copied(pool)


def test_what_opencv_code_uses(pair: Any, copied: Any) -> None:
    matcher = px.opencv.create("block", numDisparities=16, device="cpu")
    disparity = matcher.compute(*pair[:2])
    other = copied(matcher)
    assert np.array_equal(other.compute(*pair[:2]), disparity)
    other.setNumDisparities(8)
    assert matcher.getNumDisparities() == 16


def test_reports_results_and_errors(pair: Any, copied: Any) -> None:
    report = px.check(*pair[:2])
    assert str(copied(report)) == str(report)
    assert copied(px.margins("block", (120, 80))) == px.margins("block", (120, 80))
    result = px.match(*pair[:2], 16, "block", device="cpu")
    assert same(copied(result), result)
    for error in (px.ArgumentError("x"), px.CancelledError("x")):
        assert type(copied(error)) is type(error) and str(copied(error)) == "x"


def test_a_viewer_says_that_it_cannot(copied: Any) -> None:
    with pytest.raises(TypeError, match="a Viewer is a running program, which cannot be copied or pickled"):
        copied(px.Viewer(None, "http://localhost"))


# What torch's DataLoader does: a data set goes to worker processes, which get indices and give samples.


class Disparities:
    """A data set whose samples are maps."""

    def __init__(self, pairs: List[Tuple[Any, Any]]) -> None:
        self.pairs = pairs
        self.matcher = px.Matcher("census", (120, 80), device="cpu", threads=1, disparities=16)

    def __len__(self) -> int:
        return len(self.pairs)

    def __getitem__(self, index: int) -> px.Result:
        return self.matcher(*self.pairs[index])


def work(samples: Disparities, indices: Any, results: Any) -> None:
    for index in iter(indices.get, None):
        results.put((index, samples[index]))


def loaded(samples: Disparities, start: str, workers: int = 2) -> List[px.Result]:
    context = multiprocessing.get_context(start)
    results = context.Queue()
    queues = [context.Queue() for _ in range(workers)]
    processes = [context.Process(target=work, args=(samples, queue, results), daemon=True) for queue in queues]
    for process in processes:
        process.start()
    for index in range(len(samples)):
        queues[index % workers].put(index)
    found = dict(results.get(timeout=120) for _ in range(len(samples)))
    for queue in queues:
        queue.put(None)
    for process in processes:
        process.join()
        assert process.exitcode == 0
    return [found[index] for index in range(len(samples))]


@pytest.mark.parametrize("start", ["fork", "spawn", "forkserver"])
def test_the_workers_of_a_data_loader_match(pair: Any, start: str) -> None:
    samples = Disparities([tuple(np.roll(image, i, axis=0) for image in pair[:2]) for i in range(5)])  # type: ignore
    expected = [samples[index] for index in range(len(samples))]
    assert all(same(a, b) for a, b in zip(loaded(samples, start), expected))
