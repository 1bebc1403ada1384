# SPDX-License-Identifier: Apache-2.0
"""Measures the cost of Dask on this machine; prints Markdown tables.

    PYTHONPATH=python PARALLAX_LIBRARY=build/developer/shared/libparallax.so python3 benchmarks/dask_overhead.py

The same files are matched by one process without Dask and by clusters of this machine's cores. Each row is the best of
some runs, which take turns.
"""

from __future__ import annotations

import argparse
import functools
import os
import resource
import tempfile
import time
from pathlib import Path
from typing import Any, Callable, Dict, List, Tuple

import dask
import distributed
import numpy as np
import zarr

import parallax_stereo as px
import parallax_stereo.dask as px_dask

Figures = Tuple[float, float, int]


def cpu_seconds() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def peak_mebibytes() -> int:
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM")) >> 10


def of_cluster(processes: int, threads: int, run: Callable[[], Any]) -> Figures:
    """Seconds, processor seconds, and the peak memory of a worker in MiB."""
    with distributed.LocalCluster(processes, threads_per_worker=threads, dashboard_address=":0") as cluster:
        with distributed.Client(cluster) as client:
            client.run(__import__, "parallax_stereo.dask")
            before = cpu_seconds() + sum(client.run(cpu_seconds).values())
            begin = time.perf_counter()
            run()
            seconds = time.perf_counter() - begin
            used = cpu_seconds() + sum(client.run(cpu_seconds).values()) - before
            return seconds, used, max(client.run(peak_mebibytes).values())


def of_one_process(run: Callable[[], Any]) -> Figures:
    """Runs in its own process, because a process keeps its peak memory."""
    with distributed.LocalCluster(1, threads_per_worker=1, dashboard_address=":0") as cluster:
        with distributed.Client(cluster) as client:
            return client.submit(timed, run).result()  # type: ignore[no-any-return]


def timed(run: Callable[[], Any]) -> Figures:
    before, begin = cpu_seconds(), time.perf_counter()
    run()
    return time.perf_counter() - begin, cpu_seconds() - before, peak_mebibytes()


def print_table(
    title: str, alone: Callable[[], None], on_dask: Callable[[], None], work: float, unit: str, runs: int
) -> None:
    ways: Dict[str, Callable[[], Figures]] = {
        "one process": lambda: of_one_process(alone),
        "2 workers of 1 thread": lambda: of_cluster(2, 1, on_dask),
        "1 worker of 2 threads": lambda: of_cluster(1, 2, on_dask),
    }
    figures: Dict[str, List[Figures]] = {name: [] for name in ways}
    for _ in range(runs):
        for name, way in ways.items():
            figures[name].append(way())
    print(f"\n| {title} | {unit}/s | CPU seconds | peak of a process, MiB |\n|---|--:|--:|--:|")
    for name, rows in figures.items():
        seconds, used = (min(row[i] for row in rows) for i in range(2))
        print(f"| {name} | {work / seconds:.1f} | {used:.1f} | {max(row[2] for row in rows)} |", flush=True)


# Pairs.


def match_alone(files: List[Tuple[Path, Path]], method: str, out: Path) -> None:
    matcher = px.Matcher(method, (640, 480), disparities=64, device="cpu")
    for left, right in files:
        matcher(px.read(left), px.read(right)).save(out / f"{left.stem}.pfm")


def match_on_dask(files: List[Tuple[Path, Path]], method: str, out: Path) -> None:
    results = px_dask.match_pairs(files, 64, method, "cpu")
    dask.compute([result.save(str(out / f"{left.stem}.pfm")) for result, (left, _) in zip(results, files)])


def print_pairs(folder: Path, count: int, runs: int) -> None:
    left, right, _ = px.synthesize((640, 480), 64)
    files = [(folder / f"{i}.npy", folder / f"{i}r.npy") for i in range(count)]
    for i, pair in enumerate(files):
        for name, image in zip(pair, (left, right)):
            np.save(name, np.roll(image, i, axis=0))
    for method in ("census", "bp"):
        alone, on_dask = (functools.partial(match, files, method, folder) for match in (match_alone, match_on_dask))
        print_table(f"{count} pairs of 640×480, 64 labels, {method}", alone, on_dask, count, "pairs", runs)


# Tiles.


def tile_alone(folder: Path, method: str, max_memory: int) -> None:
    left, right = (zarr.open(str(folder / name), mode="r")[:] for name in ("left.zarr", "right.zarr"))
    result = px.match(left, right, 128, method, "cpu", max_memory=max_memory)
    for name, array in (("disparity", result.disparity), ("status", result.status)):
        zarr.save_array(str(folder / f"alone-{method}-{name}.zarr"), array, chunks=(1024, 1024))


def tile_on_dask(folder: Path, method: str, max_memory: int) -> None:
    names = [folder / name for name in ("left.zarr", "right.zarr")]
    with tempfile.TemporaryDirectory(dir=folder) as out:
        maps = px_dask.match_tiles(*names, 128, method, "cpu", max_memory=max_memory)
        px_dask.store(maps, [Path(out) / "disparity.zarr", Path(out) / "status.zarr"])
        if method == "census":
            alone, tiled = (
                zarr.open(str(name), mode="r")
                for name in (folder / "alone-census-disparity.zarr", f"{out}/disparity.zarr")
            )
            assert np.array_equal(alone[:], tiled[:])


def print_tiles(folder: Path, width: int, height: int, runs: int) -> None:
    for name, image in zip(("left.zarr", "right.zarr"), px.synthesize((width, height), 128)):
        zarr.save_array(str(folder / name), image, chunks=(1024, 1024, 3))
    limit = 512 << 20
    for method in ("census", "bp"):
        alone, on_dask = (functools.partial(match, folder, method, limit) for match in (tile_alone, tile_on_dask))
        title = f"{width}×{height}, 128 labels, {method}, 512 MiB a tile"
        print_table(title, alone, on_dask, width * height / 1e6, "Mpixels", runs)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=3)
    arguments = parser.parse_args()
    os.environ["PARALLAX_TUNING"] = "off"
    with tempfile.TemporaryDirectory() as folder:
        print_pairs(Path(folder), 200, arguments.runs)
        print_tiles(Path(folder), 8000, 6000, arguments.runs)


if __name__ == "__main__":
    main()
