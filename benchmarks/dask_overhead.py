# SPDX-License-Identifier: Apache-2.0
"""Measures the cost of Dask on this machine; prints Markdown tables.

    PYTHONPATH=python PARALLAX_LIBRARY=build/developer/shared/libparallax.so python3 benchmarks/dask_overhead.py [--runs N]

The same files are matched by one process without Dask and by clusters of this machine's cores. Each row is the best of
some runs, which take turns.
"""

import argparse
import functools
import os
import resource
import tempfile
import time
from pathlib import Path

import dask
import distributed
import numpy as np
import zarr

import parallax_stereo as px
import parallax_stereo.dask as px_dask


def cpu_seconds():
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def peak_mebibytes():
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM")) >> 10


def timed(run, used=cpu_seconds):
    before, begin = used(), time.perf_counter()
    run()
    return time.perf_counter() - begin, used() - before, peak_mebibytes()


def on_cluster(processes, threads, run, in_worker=False):
    """Seconds, processor seconds, and the peak memory of a worker in MiB."""
    with distributed.LocalCluster(processes, threads_per_worker=threads, dashboard_address=":0") as cluster:
        with distributed.Client(cluster) as client:
            if in_worker:
                return client.submit(timed, run).result()
            client.run(__import__, "parallax_stereo.dask")
            used = timed(run, lambda: cpu_seconds() + sum(client.run(cpu_seconds).values()))
            return (*used[:2], max(client.run(peak_mebibytes).values()))


def print_table(title, alone, on_dask, work, unit, runs):
    ways = {
        # In its own process, because a process keeps its peak memory.
        "one process": functools.partial(on_cluster, 1, 1, alone, in_worker=True),
        "2 workers of 1 thread": functools.partial(on_cluster, 2, 1, on_dask),
        "1 worker of 2 threads": functools.partial(on_cluster, 1, 2, on_dask),
    }
    rounds = [[way() for way in ways.values()] for _ in range(runs)]
    print(f"\n| {title} | {unit}/s | CPU seconds | peak of a process, MiB |\n|---|--:|--:|--:|")
    for name, *figures in zip(ways, *rounds):
        seconds, used, peaks = zip(*figures)
        print(f"| {name} | {work / min(seconds):.1f} | {min(used):.1f} | {max(peaks)} |", flush=True)


def match_alone(files, method, out):
    matcher = px.Matcher(method, (640, 480), disparities=64, device="cpu")
    for left, right in files:
        matcher(px.read(left), px.read(right)).save(out / f"{left.stem}.pfm")


def match_on_dask(files, method, out):
    results = px_dask.match_pairs(files, 64, method, "cpu")
    dask.compute([result.save(str(out / f"{left.stem}.pfm")) for result, (left, _) in zip(results, files)])


def print_pairs(folder, runs, count=200):
    left, right, _ = px.synthesize((640, 480), 64)
    files = [(folder / f"{i}.npy", folder / f"{i}r.npy") for i in range(count)]
    for i, pair in enumerate(files):
        for name, image in zip(pair, (left, right)):
            np.save(name, np.roll(image, i, axis=0))
    for method in ("census", "bp"):
        alone, on_dask = (functools.partial(match, files, method, folder) for match in (match_alone, match_on_dask))
        print_table(f"{count} pairs of 640×480, 64 labels, {method}", alone, on_dask, count, "pairs", runs)


def tile_alone(folder, method, max_memory):
    left, right = (zarr.open(str(folder / name), mode="r")[:] for name in ("left.zarr", "right.zarr"))
    result = px.match(left, right, 128, method, "cpu", max_memory=max_memory)
    for name, array in (("disparity", result.disparity), ("status", result.status)):
        zarr.save_array(str(folder / f"alone-{method}-{name}.zarr"), array, chunks=(1024, 1024))


def tile_on_dask(folder, method, max_memory):
    names = [folder / name for name in ("left.zarr", "right.zarr")]
    with tempfile.TemporaryDirectory(dir=folder) as out:
        maps = px_dask.match_tiles(*names, 128, method, "cpu", max_memory=max_memory)
        px_dask.store(maps, [Path(out) / "disparity.zarr", Path(out) / "status.zarr"])
        if method == "census":
            paths = folder / "alone-census-disparity.zarr", Path(out) / "disparity.zarr"
            assert np.array_equal(*(zarr.open(str(path), mode="r")[:] for path in paths))


def print_tiles(folder, runs, width=8000, height=6000):
    for name, image in zip(("left.zarr", "right.zarr"), px.synthesize((width, height), 128)):
        zarr.save_array(str(folder / name), image, chunks=(1024, 1024, 3))
    for method in ("census", "bp"):
        alone, on_dask = (functools.partial(tile, folder, method, 512 << 20) for tile in (tile_alone, tile_on_dask))
        title = f"{width}×{height}, 128 labels, {method}, 512 MiB a tile"
        print_table(title, alone, on_dask, width * height / 1e6, "Mpixels", runs)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=3)
    arguments = parser.parse_args()
    os.environ["PARALLAX_TUNING"] = "off"
    with tempfile.TemporaryDirectory() as folder:
        print_pairs(Path(folder), arguments.runs)
        print_tiles(Path(folder), arguments.runs)


if __name__ == "__main__":
    main()
