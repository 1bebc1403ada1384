# SPDX-License-Identifier: Apache-2.0
"""Pairs and tiles on a cluster of processes give the bytes of one process."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any, Callable, Dict, Iterator, Tuple

import numpy as np
import pytest

import parallax_stereo as px
from parallax_stereo import _tiles

dask = pytest.importorskip("dask")
distributed = pytest.importorskip("distributed")
zarr = pytest.importorskip("zarr")
tifffile = pytest.importorskip("tifffile")

import dask.array as da  # noqa: E402
import dask.bag as db  # noqa: E402

import parallax_stereo.dask as px_dask  # noqa: E402

WIDTH, HEIGHT, LABELS = 433, 2003, 24


@pytest.fixture(autouse=True)
def short_strips(monkeypatch: pytest.MonkeyPatch) -> None:
    """Makes strips short, so that a small image has several."""
    monkeypatch.setattr(px_dask, "_STRIP_ROWS", 500)


@pytest.fixture(scope="module")
def images() -> Tuple[Any, Any]:
    """Images of odd sizes."""
    left, right, _ = px.synthesize((WIDTH, HEIGHT), LABELS)
    return left, right


def small(images: Tuple[Any, Any]) -> Tuple[Any, Any]:
    return images[0][:60, :90], images[1][:60, :90]


@pytest.fixture(scope="module")
def client() -> Iterator[Any]:
    """Two processes of one thread, each with a nanny that starts it again."""
    with distributed.LocalCluster(2, threads_per_worker=1, dashboard_address=":0") as cluster:
        with distributed.Client(cluster) as client:
            yield client


def in_chunks(image: Any, chunks: Tuple[int, int] = (271, 333)) -> Any:
    return da.from_array(image, chunks=chunks + image.shape[2:])


def compute(maps: Tuple[Any, Any]) -> px.Result:
    return px.Result(*dask.compute(*maps))


def assert_same(result: px.Result, expected: px.Result) -> None:
    for name in ("disparity", "status"):
        array, wanted = getattr(result, name), getattr(expected, name)
        assert (array.dtype, array.shape) == (wanted.dtype, wanted.shape)
        assert array.tobytes() == wanted.tobytes(), f"{name}: {(array != wanted).sum()} pixels differ"


def tiles_of(array: Any, name: str = "_match_tile") -> int:
    return sum(str(key[0]).startswith(name) for key in array.__dask_graph__() if isinstance(key, tuple))


# Margins and cuts.


def test_margins_are_those_of_the_method() -> None:
    margins = px.margins("census", (640, 480), disparities=64)
    assert margins == px.TileMargins(105, 105, 37, 37, 4, True, 434, 32)  # docs/reference/tile_margins.md
    assert px.margins("census", (640, 480), disparities=64, left_right_check=False).right < 105
    assert px.margins("census", (30, 480), disparities=64).left < 105  # the image is not wide enough
    assert not px.margins("bp", disparities=64).exact
    assert px.margins("bp", disparities=64, padding=10).top == 13
    assert px.margins("block", fill="row", speckle_size=0, median=3).halo == 1
    with pytest.raises(px.ArgumentError, match="refit"):
        px.margins("census", refit=5)
    with pytest.raises(px.ArgumentError, match="width"):
        px.margins("census", ("640", 480))  # type: ignore[arg-type]


def test_cuts_cover_the_axis_with_blocks_of_one_length() -> None:
    random = np.random.default_rng(1)
    several = 0
    for _ in range(300):
        extent, before, after = (int(random.integers(low, high)) for low, high in ((1, 3000), (0, 200), (0, 200)))
        alignment = int(random.choice([1, 4, 32]))
        possible = _tiles.cuts(extent, before, after, alignment)
        assert possible[0].chunks == (extent,)
        several += len(possible) > 1
        for cut in possible[1:]:
            assert sum(cut.chunks) == extent and min(cut.chunks) >= max(cut.before, cut.after)
            assert cut.before >= before and cut.after >= after
            for index, chunk in enumerate(cut.chunks):
                first, last = cut.place(index)
                begin, end = max(0, first - cut.before), min(extent, last + 1 + cut.after)
                assert begin % alignment == 0 and end - begin == cut.length and cut.around(index) == slice(begin, end)
                assert cut.inside(index) == slice(first - begin, last + 1 - begin)
    assert several > 100


def test_the_best_cuts_are_the_least_work_that_fits() -> None:
    columns, rows = _tiles.cuts(3000, 100, 50, 4), _tiles.cuts(2000, 40, 40, 4)
    for most in (200_000, 400_000, 3_000_000, 10_000_000):
        best = _tiles.best_cuts(columns, rows, lambda width, height: width * height <= most)
        fitting = [x.work * y.work for x in columns for y in rows if x.length * y.length <= most]
        assert best is not None and best[0].work * best[1].work == min(fitting)
    assert _tiles.best_cuts(columns, rows, lambda width, height: False) is None


# Tiles.


@pytest.mark.parametrize("method", ["block", "census"])
@pytest.mark.parametrize("min_disparity", [0, -17])
@pytest.mark.parametrize("kind", ["gray", "colour", "16 bit"])
def test_tiles_are_the_untiled_map(
    client: Any, images: Tuple[Any, Any], method: str, min_disparity: int, kind: str
) -> None:
    left, right = images if min_disparity == 0 else images[::-1]
    if kind != "colour":
        left, right = (np.ascontiguousarray(image[:, :, 1]) for image in (left, right))
    if kind == "16 bit":
        left, right = (image.astype(np.uint16) * 257 + 3 for image in (left, right))
    settings = {"disparities": LABELS, "method": method, "min_disparity": min_disparity}
    expected = px.match(left, right, **settings)
    assert {px.STATUS.index("filled"), px.STATUS.index("matched")} <= set(np.unique(expected.status))
    maps = px_dask.match_tiles(in_chunks(left), in_chunks(right, (500, 217)), tile_size=(330, 400), **settings)
    assert tiles_of(maps[0]) >= 9 and tiles_of(maps[0], "_refine_strip") >= 2
    assert_same(compute(maps), expected)


def test_masks_and_other_steps_and_one_tile(client: Any, images: Tuple[Any, Any]) -> None:
    left_mask = np.ones((HEIGHT, WIDTH), bool)
    left_mask[300:500, 200:450] = False
    right_mask = np.full((HEIGHT, WIDTH), 255, np.uint8)
    right_mask[:, :90] = 0
    steps = {"fill": "row", "median": 3, "bilateral": 5, "speckle_size": 90, "left_right_check": False}
    given = {"left_mask": left_mask, "right_mask": right_mask, **steps}
    expected = px.match(*images, LABELS, "block", **given)
    for tile_size in ((400, 300), (WIDTH, HEIGHT)):
        maps = px_dask.match_tiles(*images, LABELS, "block", tile_size=tile_size, **given)
        assert (tiles_of(maps[0]) == 1) == (tile_size[0] == WIDTH)
        assert_same(compute(maps), expected)
    given["right_mask"] = None
    maps = px_dask.match_tiles(*images, LABELS, "block", tile_size=(400, 300), **given)
    assert_same(compute(maps), px.match(*images, LABELS, "block", **given))


@pytest.mark.parametrize("method", ["bp", "tiled-bp", "sgm"])
def test_tiles_of_inexact_methods_differ_little(client: Any, images: Tuple[Any, Any], method: str) -> None:
    expected = px.match(*images, LABELS, method)
    maps = px_dask.match_tiles(*images, LABELS, method, tile_size=(WIDTH, 480))
    assert tiles_of(maps[0]) >= 5
    result = compute(maps)
    assert (result.disparity.dtype, result.status.dtype) == (np.float32, np.uint8)
    differs = ~(np.abs(result.disparity - expected.disparity) < 0.5)
    assert differs[np.isfinite(result.disparity) | np.isfinite(expected.disparity)].mean() < 0.005
    again = compute(px_dask.match_tiles(*images, LABELS, method, tile_size=(WIDTH, 480)))
    assert_same(again, result)


def test_the_memory_of_a_tile_is_limited(images: Tuple[Any, Any]) -> None:
    whole = px.Matcher("census", (WIDTH, HEIGHT), disparities=LABELS, threads=1).memory
    settings = {"disparities": LABELS, "method": "census", "threads": 1}
    assert tiles_of(px_dask.match_tiles(*images, **settings)[0]) == 1
    maps = px_dask.match_tiles(*images, max_memory=whole // 2, **settings)
    assert tiles_of(maps[0]) > 1
    assert_same(compute(maps), px.match(*images, **settings))
    with pytest.raises(px.OutOfMemoryError, match="^strips of .* rows need .* and max_memory is 2000000: raise it"):
        px_dask.match_tiles(*images, max_memory=2_000_000, **settings)
    with pytest.raises(px.OutOfMemoryError, match="^the smallest tiles, of .*, need .* and max_memory is 2000000"):
        px_dask.match_tiles(*images, max_memory=2_000_000, **settings, fill="none", median=0, speckle_size=0)


def test_threads_of_this_process(images: Tuple[Any, Any]) -> None:
    expected = px.match(*images, LABELS, "census")
    maps = px_dask.match_tiles(*images, LABELS, "census", tile_size=(330, 400))
    with distributed.Client(processes=False, n_workers=1, threads_per_worker=3, dashboard_address=":0") as client:
        assert_same(compute(maps), expected)
        assert client.submit(px_dask._threads_of_worker, pure=False).result() == 3
    with dask.config.set(scheduler="threads"):
        assert_same(compute(maps), expected)


# Files.


@pytest.mark.parametrize("kind", ["zarr", "tif"])
def test_files_in_and_out(client: Any, images: Tuple[Any, Any], kind: str, tmp_path: Path) -> None:
    paths = [tmp_path / f"{side}.{kind}" for side in ("left", "right")]
    for path, image, tiled in zip(paths, images, (True, False)):
        if kind == "zarr":
            zarr.save_array(str(path), image, chunks=(300, 256, 3))
        else:
            layout = {"tile": (128, 256)} if tiled else {"rowsperstrip": 50, "compression": "zlib"}
            tifffile.imwrite(path, image, photometric="rgb", **layout)
    expected = px.match(*images, LABELS, "census")
    maps = px_dask.match_tiles(paths[0], str(paths[1]), LABELS, "census", tile_size=(330, 400))
    outputs = [tmp_path / f"disparity.{kind}", tmp_path / "status.zarr"]
    assert px_dask.store(maps, outputs) is None
    assert sorted(os.listdir(tmp_path)) == sorted(path.name for path in paths + outputs)
    disparity = zarr.open(str(outputs[0]), mode="r")[:] if kind == "zarr" else tifffile.imread(outputs[0])
    assert_same(px.Result(disparity, zarr.open(str(outputs[1]), mode="r")[:]), expected)


def test_files_are_refused_by_name(images: Tuple[Any, Any], tmp_path: Path) -> None:
    maps = px_dask.match_tiles(*small(images), LABELS, "block")
    (tmp_path / "there.tif").write_text("mine")
    refused = [
        (["there.tif", "s.zarr"], px.FileError, "there.tif: it is already there"),
        (["s.zarr", "s.zarr"], px.FileError, "s.zarr: it is already there, or named twice"),
        (["d.png", "s.zarr"], px.ArgumentError, "d.png: choose the suffix .zarr, .tif or .tiff"),
        (["d.tif"], px.ArgumentError, "2 arrays are given, and 1 paths"),
        (["no/d.tif", "s.zarr"], px.FileError, "no/d.tif"),
    ]
    for names, error, message in refused:
        with pytest.raises(error, match=message):
            px_dask.store(maps, [tmp_path / name for name in names])
    assert (tmp_path / "there.tif").read_text() == "mine"
    (tmp_path / "torn.tif").write_bytes(b"II*\0")
    target = px_dask._Tiff(maps[0], tmp_path / "gone.tif")
    (tmp_path / "gone.tif").unlink()
    with pytest.raises(px.FileError, match="cannot write .*gone.tif: No such file"):
        target[slice(0, 1), slice(0, 90)] = np.zeros((1, 90), np.float32)
    with pytest.raises(px.FileError, match="cannot write .*gone.tif: .*gone.tif.part is gone"):
        px_dask._rename(None, [tmp_path / "gone.tif"])
    for name in ("missing.zarr", "torn.tif"):
        with pytest.raises(px.FileError, match=f"cannot read .*{name}"):
            px_dask.match_tiles(tmp_path / name, tmp_path / name)


def fail(_block: Any) -> Any:
    raise RuntimeError("no such block")


def test_a_job_that_fails_writes_no_file(client: Any, images: Tuple[Any, Any], tmp_path: Path) -> None:
    left, right = small(images)
    maps = px_dask.match_tiles(da.from_array(left).map_blocks(fail, meta=left[:0]), right, LABELS, "block")
    with pytest.raises(RuntimeError, match="no such block"):
        px_dask.store(maps, [tmp_path / "disparity.tif", tmp_path / "status.zarr"])
    assert all(name.endswith(".part") for name in os.listdir(tmp_path))


# Pairs.


def test_pairs_of_all_kinds(client: Any, images: Tuple[Any, Any], tmp_path: Path) -> None:
    left, right = small(images)
    for name, image in (("left", left), ("right", right)):
        np.save(tmp_path / f"{name}.npy", image)
    mask = np.ones((60, 90), bool)
    mask[:20] = False
    files = (str(tmp_path / "left.npy"), tmp_path / "right.npy")
    pairs = [
        (left, right),
        files,
        (dask.delayed(px.read)(files[0]), da.from_array(right, chunks=(20, 30, 3))),
        dask.delayed(tuple)(files),
        {"left": left[:41], "right": right[:41]},
        {"left": left, "right": right, "left_mask": mask, "disparities": 9},
    ]
    results = dask.compute(*px_dask.match_pairs(pairs, LABELS, "census", confidence=True, both_maps=True))
    expected = px.match(left, right, LABELS, "census", confidence=True, both_maps=True)
    for result in results[:4]:
        assert_same(result, expected)
        assert_same(result.right, expected.right)
        assert result.confidence.tobytes() == expected.confidence.tobytes()
    assert_same(results[4], px.match(left[:41], right[:41], LABELS, "census"))
    assert_same(results[5], px.match(left, right, 9, "census", left_mask=mask))
    calibration = px.Calibration(focal=100, baseline=1)
    for result in results[:2]:  # they read the picture where it is needed
        assert np.array_equal(result.points(calibration)[1], expected.points(calibration)[1])
        assert np.array_equal(result.right.points(calibration)[1], expected.right.points(calibration)[1])


def test_a_bag_of_pairs(client: Any, images: Tuple[Any, Any]) -> None:
    left, right = small(images)
    bag = db.from_sequence([(left[i:], right[i:]) for i in range(7)], npartitions=3)
    results = px_dask.match_pairs(bag, method="census", preset="fast", disparities=LABELS).compute()
    assert len(results) == 7
    for i, result in enumerate(results):
        assert_same(result, px.match(left[i:], right[i:], LABELS, "census", preset="fast"))


def test_the_range_may_be_that_of_the_pair(client: Any, images: Tuple[Any, Any]) -> None:
    (result,) = dask.compute(*px_dask.match_pairs([images], "auto", "block"))
    assert_same(result, px.match(*images, "auto", "block"))


def test_saving_where_the_result_is(client: Any, images: Tuple[Any, Any], tmp_path: Path) -> None:
    results = px_dask.match_pairs([small(images)] * 2, LABELS, "block")
    dask.compute([result.save(str(tmp_path / f"{i}.pfm")) for i, result in enumerate(results)])
    expected = px.match(*small(images), LABELS, "block")
    assert [np.array_equal(px.read(tmp_path / f"{i}.pfm"), expected.disparity) for i in range(2)] == [True, True]


# Errors.


def refusal(run: Callable[[], Any]) -> str:
    with pytest.raises(px.Error) as raised:
        run()
    return f"{type(raised.value).__name__}: {raised.value}"


def test_errors_name_their_pair_or_tile(client: Any, images: Tuple[Any, Any], tmp_path: Path) -> None:
    left, right = small(images)

    def pairs(*given: Any) -> Callable[[], Any]:
        return lambda: dask.compute(*px_dask.match_pairs(list(given), LABELS, "block"))

    missing = tmp_path / "r.npy"
    assert refusal(pairs((left, right), (left, missing))).startswith(f"FileError: pair 1 ({missing}): cannot read")
    assert "ArgumentError: pair 1: right" in refusal(pairs((left, right), (left, right[:9])))
    for wrong in ((left,), {"left": left}, "lr", 5):
        assert "ArgumentError: pair 0: a pair is (left, right)" in refusal(pairs(wrong))
    assert "pair 0: the parameters" in refusal(pairs({"left": left, "right": right, "window": left}))
    assert "ArgumentError: pair 0: left has shape (60,)" in refusal(pairs((left[:, 0, 0], right)))
    assert "pair 0: parameter is labels" in refusal(pairs({"left": left, "right": right, "labels": 3}))
    bag = db.from_sequence([(left, right)] * 3 + [(left, right[:9])], npartitions=2)
    assert "pair 1 of partition 1: right" in refusal(px_dask.match_pairs(bag, LABELS, "block").compute)
    maps = px_dask.match_tiles(*images, LABELS, "block", "cuda:99", tile_size=(WIDTH, 700))
    pattern = r"DeviceError: tile \((\d), 0\), rows \d+ to \d+ and columns 0 to 432: "
    assert re.match(pattern, refusal(maps[0].compute))


def test_arguments_are_refused_at_once(images: Tuple[Any, Any]) -> None:
    left, right = small(images)

    def tiles(*given: Any, **settings: Any) -> Callable[[], Any]:
        return lambda: px_dask.match_tiles(*(given or (left, right)), LABELS, **{"method": "census", **settings})

    assert "labels" in refusal(tiles(labels=5))
    assert "refit" in refusal(tiles(refit=5))
    assert "no-such" in refusal(tiles(method="no-such"))
    assert "right has shape (9, 90, 3), left (60, 90, 3)" in refusal(tiles(left, right[:9]))
    assert "left has shape (60, 90, 2)" in refusal(tiles(left[:, :, :2], right))
    assert "left_mask has shape (60, 90, 3)" in refusal(tiles(left_mask=left))
    assert "left has dtype float32" in refusal(tiles(left.astype(np.float32), right))
    assert "size is 5: give (width, height)" in refusal(tiles(tile_size=5))
    assert "max_memory is '2G'" in refusal(tiles(max_memory="2G"))
    assert "leaves no room within the margins: allow" in refusal(tiles(*images, tile_size=(50, 50)))
    assert "labels" in refusal(lambda: px_dask.match_pairs([], LABELS, labels=5))


# Workers that die.


def wait_until(done: Callable[[], bool], what: str) -> None:
    end = time.monotonic() + 120
    while not done():
        assert time.monotonic() < end, what
        time.sleep(0.05)


def wait_for_marker(marker: str) -> None:
    """Waits outside the worker's only thread: tasks that the scheduler gave to the same worker go on."""
    distributed.secede()
    wait_until(lambda: os.path.exists(marker), "the marker")


def held_back(block: Any, marker: str, block_id: Any = None) -> Any:
    """The last block of an image becomes available when the marker exists."""
    if block_id[:2] == (2, 2):
        wait_for_marker(marker)
    return block


def maps_in_memory(dask_scheduler: Any) -> Any:
    """Addresses of the workers that hold a tile's map."""
    return [
        worker.address
        for key, task in dask_scheduler.tasks.items()
        if "_match_tile" in key and task.state == "memory"
        for worker in task.who_has
    ]


def test_a_worker_that_is_killed_loses_nothing(images: Tuple[Any, Any], tmp_path: Path) -> None:
    marker = str(tmp_path / "killed")
    left = in_chunks(images[0], (700, 150)).map_blocks(held_back, marker, meta=images[0][:0])
    maps = px_dask.match_tiles(left, in_chunks(images[1]), LABELS, "census", tile_size=(330, 400))
    with distributed.LocalCluster(3, threads_per_worker=1, dashboard_address=":0") as cluster:
        with distributed.Client(cluster) as client:
            futures = client.compute(list(maps))
            wait_until(lambda: bool(client.run_on_scheduler(maps_in_memory)), "the first map of a tile")
            holder = client.run_on_scheduler(maps_in_memory)[0]
            pids = client.run(os.getpid)
            os.kill(pids[holder], signal.SIGKILL)
            wait_until(lambda: holder not in client.scheduler_info()["workers"], "the end of the worker")
            assert not any(future.done() for future in futures)
            Path(marker).touch()
            assert_same(px.Result(*client.gather(futures)), px.match(*images, LABELS, "census"))


def pair_held_back(number: int, marker: str, pair: Any) -> Any:
    if number == 5:
        wait_for_marker(marker)
    return pair


def test_pairs_of_a_worker_that_is_killed_are_matched_again(images: Tuple[Any, Any], tmp_path: Path) -> None:
    marker = str(tmp_path / "killed")
    pairs = [dask.delayed(pair_held_back)(i, marker, (images[0][i:300], images[1][i:300])) for i in range(6)]
    with distributed.LocalCluster(2, threads_per_worker=1, dashboard_address=":0") as cluster:
        with distributed.Client(cluster) as client:
            futures = client.compute(px_dask.match_pairs(pairs, LABELS, "census"))
            wait_until(lambda: all(future.done() for future in futures[:5]), "five of six pairs")
            holder = next(iter(client.who_has(futures[:1]).values()))[0]
            os.kill(client.run(os.getpid)[holder], signal.SIGKILL)
            wait_until(lambda: holder not in client.scheduler_info()["workers"], "the end of the worker")
            Path(marker).touch()
            for i, result in enumerate(client.gather(futures)):
                assert_same(result, px.match(images[0][i:300], images[1][i:300], LABELS, "census"))


# Matchers.


def test_matchers_are_kept_by_settings_and_shape(images: Tuple[Any, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    left, right = small(images)
    kept = px_dask._Matchers()
    job = px_dask._job("block", "default", "cpu", 1, 0, None, {"disparities": 8})
    first = kept.get(job, left)
    assert kept.get(job, right) is first
    others = [kept.get(job, left[:50]), kept.get(job, left, tiles=True), kept.get(job, left.astype(np.uint16))]
    others.append(kept.get(job._replace(parameters=(("disparities", 9),)), left))
    assert len({id(matcher) for matcher in [first, *others]}) == 5 and kept.get(job, left) is first
    monkeypatch.setattr(px_dask, "_KEPT_BYTES", 2 * first.memory)
    kept.get(job, left[:49])
    assert kept.get(job, left) is first  # used last before
    assert kept.get(job, left[:50]) is not others[0]


def test_examples_of_the_page(client: Any, images: Tuple[Any, Any], tmp_path: Path, monkeypatch: Any) -> None:
    pillow = pytest.importorskip("PIL.Image")
    monkeypatch.chdir(tmp_path)
    client.run(os.chdir, str(tmp_path))
    for name, image in zip(("left", "right"), images):
        zarr.save_array(f"{name}.zarr", image)
        pillow.fromarray(image[:100]).save(f"{name}.png")
    page = Path(__file__).parents[2] / "docs" / "howto" / "dask.md"
    examples = re.findall(r"(<!-- not run -->\n)?```python\n(.*?)```", page.read_text(), re.DOTALL)
    names: Dict[str, Any] = {}
    for skipped, text in examples:
        if not skipped:
            exec(compile(text, str(page), "exec"), names)
    untiled = px.match(*images, 64, "census")
    assert np.array_equal(tifffile.imread("disparity.tiff"), untiled.disparity)
    assert names["near"] == (px.match(images[0][200:], images[1][200:], 64, "census").disparity > 20).mean()
    assert len(names["shares"]) == 8 and Path("map1.pfm").exists()


def test_the_package_does_not_need_dask() -> None:
    check = "import sys, parallax_stereo; assert not {'dask', 'zarr', 'tifffile'} & set(sys.modules)"
    subprocess.run([sys.executable, "-c", check], check=True)
