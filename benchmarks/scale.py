# SPDX-License-Identifier: Apache-2.0
"""Simulates a scheduler's queue for large jobs, compares it with real runs, and prints the tables of docs/measurements/scale.md.

    python3 benchmarks/scale.py check --parallax build/developer/parallax --devices cpu,cpu   # simulated beside measured
    python3 benchmarks/scale.py check --parallax build/gpu/parallax --devices cuda:0,cuda:1
    python3 benchmarks/scale.py tables                                                        # a million pairs
"""

from __future__ import annotations

import argparse
import concurrent.futures
import dataclasses
import heapq
import itertools
import json
import pathlib
import queue
import random
import statistics
import subprocess
import tempfile
import time
from typing import Any, Dict, List, Optional, Sequence, Tuple

# The simulation.


@dataclasses.dataclass(frozen=True)
class Cluster:
    """The cluster on which a job runs, and the times of its scheduler."""

    slots: int  # tasks at once
    dispatch_seconds: float = 0.0  # of the scheduler for each task, one after the other
    start_seconds: float = 0.0  # of a task before its first tile: process, plan, device, kernels
    failures_per_hour: float = 0.0  # of a busy slot
    requeue_seconds: float = 0.0  # from a failure until what is left of the task waits again
    slow_share: float = 0.0  # of the slots: stragglers
    slow_factor: float = 1.0  # how much longer they take


def simulate(cluster: Cluster, tile_seconds: Sequence[float], chunk: int, seed: int = 1) -> float:
    """Runs an array job, each task of which matches `chunk` tiles; returns the seconds until the last task ends. The
    scheduler dispatches one task after the other to free slots. A task that fails keeps the tiles that it has finished;
    the others wait again."""
    chance = random.Random(seed)
    counter = itertools.count()
    waiting = [
        (0.0, next(counter), tile_seconds[first : first + chunk]) for first in range(0, len(tile_seconds), chunk)
    ]
    slow = round(cluster.slow_share * cluster.slots)
    slots = [(0.0, slot, cluster.slow_factor if slot < slow else 1.0) for slot in range(cluster.slots)]
    scheduler_free = 0.0
    while waiting:
        ready, _, task = heapq.heappop(waiting)
        free, slot, factor = heapq.heappop(slots)
        scheduler_free = max(ready, free, scheduler_free) + cluster.dispatch_seconds
        fails_after = (
            chance.expovariate(cluster.failures_per_hour / 3600) if cluster.failures_per_hour else float("inf")
        )
        busy, done = _run(task, factor, cluster.start_seconds, fails_after)
        end = scheduler_free + busy
        heapq.heappush(slots, (end, slot, factor))
        if done < len(task):
            heapq.heappush(waiting, (end + cluster.requeue_seconds, next(counter), task[done:]))
    return max(free for free, _, _ in slots)


def _run(task: Sequence[float], factor: float, start: float, fails_after: float) -> Tuple[float, int]:
    """Seconds that the slot is busy, and the number of tiles that are kept."""
    kept = 0.0
    for done, seconds in enumerate(task):
        if start + kept + factor * seconds > fails_after:
            return fails_after, done
        kept += factor * seconds
    return start + kept, len(task)


# Real runs.


class Job:
    """A plan of many synthetic pairs in a folder, whose tiles `parallax match --plan` matches."""

    def __init__(self, parallax: str, folder: pathlib.Path, pairs: int, options: Sequence[str]) -> None:
        self.parallax, self.folder, self.tiles = parallax, folder, pairs
        self.plan = folder / "plan.jsonl"
        left, right = (next(folder.parent.glob(f"scene/{side}.*")) for side in ("left", "right"))
        folder.mkdir()
        (folder / "list.txt").write_text(f"{left}\t{right}\n" * pairs)
        self._call("plan", "--plan", self.plan, "--list", folder / "list.txt", "-o", folder / "{number}.pfm", *options)

    def _call(self, *arguments: Any) -> None:
        subprocess.run([self.parallax, *map(str, arguments)], check=True, capture_output=True)

    def start(self, first: int, last: int, device: str) -> subprocess.Popen[bytes]:
        command = [self.parallax, "match", "--plan", self.plan, "--tile", f"{first}-{last}"]
        command += ["--device", device, "--threads", 1]
        return subprocess.Popen([str(word) for word in command], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)

    def tile_seconds(self) -> List[List[float]]:
        """The seconds of each process's tiles, in their order."""
        logs = sorted(self.folder.glob("plan.jsonl.tiles/log-*.jsonl"))
        lines = [[json.loads(line) for line in log.read_text().splitlines()] for log in logs]
        return [[line["milliseconds"] / 1000 for line in log if "milliseconds" in line] for log in lines if log]


@dataclasses.dataclass
class Measured:
    seconds: float
    task_seconds: float  # median
    tile_seconds: List[float]  # but the first of each task, which makes a plan


def run(job: Job, chunk: int, devices: Sequence[str], failures_per_hour: float, seed: int) -> Measured:
    """Runs the tasks of a job as an array job does: a process on each device takes the next chunk of tiles."""
    chance = random.Random(seed)
    waiting: "queue.SimpleQueue[Tuple[int, int]]" = queue.SimpleQueue()
    for first in range(0, job.tiles, chunk):
        waiting.put((first, min(first + chunk, job.tiles) - 1))
    walls: List[float] = []
    errors: List[str] = []

    def work(device: str) -> None:
        while not errors:
            try:
                first, last = waiting.get_nowait()
            except queue.Empty:
                return
            begin = time.perf_counter()
            process = job.start(first, last, device)
            try:
                timeout = chance.expovariate(failures_per_hour / 3600) if failures_per_hour else None
                error = process.communicate(timeout=timeout)[1]
                if process.returncode != 0:
                    errors.append(error.decode())
            except subprocess.TimeoutExpired:
                process.kill()
                process.communicate()
                # Tiles that are done are not matched again.
                waiting.put((first, last))
            walls.append(time.perf_counter() - begin)

    begin = time.perf_counter()
    with concurrent.futures.ThreadPoolExecutor() as pool:
        list(pool.map(work, devices))
    seconds = time.perf_counter() - begin
    if errors:
        raise SystemExit(errors[0])
    return Measured(seconds, statistics.median(walls), [second for log in job.tile_seconds() for second in log[1:]])


def check(arguments: argparse.Namespace) -> None:
    devices = arguments.devices.split(",")
    options = ["--method", arguments.method, "--disparities", str(arguments.disparities)]
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        subprocess.run(
            [arguments.parallax, "synth", folder / "scene", "--size", arguments.size]
            + ["--disparities", str(arguments.disparities)],
            check=True,
            capture_output=True,
        )
        numbers = itertools.count()

        def measure(chunk: int, pairs: int = arguments.pairs, failures: float = 0.0, seed: int = 1) -> Measured:
            job = Job(arguments.parallax, folder / f"job-{next(numbers)}", pairs, options)
            return run(job, chunk, devices, failures, seed)

        measure(arguments.pairs // len(devices))  # compiles kernels, and warms the file cache
        tile_seconds = measure(arguments.pairs // (2 * len(devices))).tile_seconds
        usual = statistics.median(tile_seconds)
        start_seconds = measure(1, 8 * len(devices)).task_seconds - usual
        print(f"{len(devices)} tasks at once on {arguments.devices}; {arguments.pairs} pairs of {arguments.size},")
        print(f"{arguments.method}: start of a task {start_seconds:.2f} s, a pair {usual:.3f} s (median)")
        parts = [f"{cut / usual:.2f}" for cut in statistics.quantiles(tile_seconds, n=10)]
        print(f"deciles over the median: {', '.join(parts)}\n")
        print("| pairs a task | failures an hour | measured s | simulated s | difference |\n|--:|--:|--:|--:|--:|")
        chance = random.Random(0)
        tiles = chance.choices(tile_seconds, k=arguments.pairs)
        for chunk, failures in [(chunk, 0.0) for chunk in (1, 4, 16)] + [(16, arguments.failures)]:
            cluster = Cluster(len(devices), start_seconds=start_seconds, failures_per_hour=failures)
            seeds = range(1 if failures == 0 else 3)
            measured = statistics.mean(measure(chunk, failures=failures, seed=seed).seconds for seed in seeds)
            simulated = statistics.mean(
                simulate(cluster, tiles, chunk, seed) for seed in range(1 if failures == 0 else 200)
            )
            print(
                f"| {chunk} | {failures:g} | {measured:.2f} | {simulated:.2f} | {100 * (simulated / measured - 1):+.0f} % |",
                flush=True,
            )


# Estimates.


@dataclasses.dataclass(frozen=True)
class Method:
    """Seconds for a pair of 12 megapixels and 256 disparities: docs/measurements/scale.md."""

    name: str
    gpu_seconds: float  # of an H100
    core_seconds: float  # of a processor that matches without a GPU


@dataclasses.dataclass(frozen=True)
class Files:
    """The cost of reading a pair and writing its map; a core is one of the threads that a processor offers."""

    name: str
    read_bytes: float
    written_bytes: float
    core_seconds: float


METHODS = (Method("bp", 0.0263, 3.2), Method("sgm", 0.0403, 5.8), Method("census fast", 0.0076, 1.0))
FILES = (
    Files("TIFF in, PFM out", 24.0e6, 48.0e6, 0.30),
    Files("PNG in, PFM out", 11.5e6, 48.0e6, 0.76),
    Files("PNG in, PNG out", 11.5e6, 10.4e6, 1.16),
)
PAIRS = 1_000_000
GPUS, CORES = 8, 192  # of a node
STORAGE = 10e9  # bytes a second of the file system that all nodes share: assumed
GPU_DOLLARS, CORE_DOLLARS = 3.0, 0.04  # an hour: assumed
# Seconds of a task on an H100, and of SLURM for each task.
START_SECONDS, DISPATCH_SECONDS = 0.8, 0.1
# Times of pairs divided by their median: the deciles of a real run.
DECILES = (0.51, 0.84, 0.88, 0.94, 1.00, 1.12, 1.25, 2.09, 3.17)


def print_pairs() -> None:
    print(
        "| 12 megapixels, 256 disparities | MB read | MB written | core seconds for files | cores for one GPU: bp | sgm | census fast |"
    )
    print("|---|--:|--:|--:|--:|--:|--:|")
    for files in FILES:
        cores = " | ".join(f"{files.core_seconds / method.gpu_seconds:.0f}" for method in METHODS)
        print(
            f"| {files.name} | {files.read_bytes / 1e6:.1f} | {files.written_bytes / 1e6:.1f} "
            f"| {files.core_seconds:.2f} | {cores} |"
        )


def print_nodes() -> None:
    """The longest of the three hours bounds the job."""
    print(
        "\n| a million pairs, PNG in and out | nodes | hours: matching | files | storage at 10 GB/s | dollars a thousand pairs |"
    )
    print("|---|--:|--:|--:|--:|--:|")
    files = FILES[2]
    for method, on_gpus, nodes in [(m, True, n) for m in METHODS for n in (1, 10, 100)] + [
        (METHODS[0], False, n) for n in (10, 100)
    ]:
        cores = files.core_seconds + (0.0 if on_gpus else method.core_seconds)
        hours = [
            PAIRS * method.gpu_seconds / (nodes * GPUS) / 3600 if on_gpus else 0.0,
            PAIRS * cores / (nodes * CORES) / 3600,
            PAIRS * (files.read_bytes + files.written_bytes) / STORAGE / 3600,
        ]
        price = CORES * CORE_DOLLARS + (GPUS * GPU_DOLLARS if on_gpus else 0.0)
        dollars = max(hours) * nodes * price / (PAIRS / 1000)
        cells = [f"**{time:.2f}**" if time == max(hours) else f"{time:.2f}" for time in hours]
        if not on_gpus:
            cells[0] = "–"
        name = f"{method.name} on {'GPUs' if on_gpus else 'processors'}"
        print(f"| {name} | {nodes} | {' | '.join(cells)} | {dollars:.3f} |")


def print_queue() -> None:
    """Belief propagation on ten nodes, a task on each GPU; the storage keeps up, so that only the queue matters."""
    print("\n| pairs a task | tasks | minutes | with failures | with stragglers | with both |")
    print("|--:|--:|--:|--:|--:|--:|")
    chance = random.Random(0)
    tiles = [METHODS[0].gpu_seconds * part for part in chance.choices(DECILES, k=PAIRS)]
    usual = Cluster(10 * GPUS, DISPATCH_SECONDS, START_SECONDS)
    failing = dataclasses.replace(usual, failures_per_hour=0.1, requeue_seconds=60.0)
    straggling = dataclasses.replace(usual, slow_share=0.05, slow_factor=3.0)
    both = dataclasses.replace(failing, slow_share=0.05, slow_factor=3.0)
    for chunk in (10, 100, 1000, 4000, 12500):
        times = [simulate(cluster, tiles, chunk) / 60 for cluster in (usual, failing, straggling, both)]
        cells = " | ".join(f"{minutes:.1f}" for minutes in times)
        print(f"| {chunk} | {-(-PAIRS // chunk)} | {cells} |", flush=True)


def tables(_: argparse.Namespace) -> None:
    print_pairs()
    print_nodes()
    print_queue()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(required=True)
    checking = commands.add_parser("check", help="real runs, and what the simulation makes of them")
    checking.add_argument("--parallax", required=True, help="the program")
    checking.add_argument("--devices", default="cpu,cpu", help="one for each task at once")
    checking.add_argument("--method", default="census")
    checking.add_argument("--size", default="640x480")
    checking.add_argument("--disparities", default=64, type=int)
    checking.add_argument("--pairs", default=64, type=int)
    checking.add_argument("--failures", default=600.0, type=float, help="kills an hour of a task, in the last row")
    checking.set_defaults(run=check)
    commands.add_parser("tables", help="a million pairs, on paper").set_defaults(run=tables)
    arguments = parser.parse_args()
    arguments.run(arguments)


if __name__ == "__main__":
    main()
