# SPDX-License-Identifier: Apache-2.0
"""Simulates a scheduler's queue for large jobs, compares it with real runs, and prints the tables of docs/measurements/scale.md.

    python3 benchmarks/scale.py check --parallax build/developer/parallax --devices cpu,cpu   # simulated beside measured
    python3 benchmarks/scale.py check --parallax build/gpu/parallax --devices cuda:0,cuda:1
    python3 benchmarks/scale.py tables                                                        # a million pairs
"""

import argparse
import concurrent.futures
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
from collections import namedtuple
from typing import NamedTuple

# The simulation.


class Cluster(NamedTuple):
    """The cluster on which a job runs, and the times of its scheduler."""

    slots: int  # tasks at once
    dispatch_seconds: float = 0.0  # of the scheduler for each task, one after the other
    start_seconds: float = 0.0  # of a task before its first tile: process, plan, device, kernels
    failures_per_hour: float = 0.0  # of a busy slot
    requeue_seconds: float = 0.0  # from a failure until what is left of the task waits again
    slow_share: float = 0.0  # of the slots: stragglers
    slow_factor: float = 1.0  # how much longer they take


def seconds_to_failure(chance, failures_per_hour):
    return chance.expovariate(failures_per_hour / 3600) if failures_per_hour else None


def simulate(cluster, tile_seconds, chunk, seed=1):
    """Runs an array job, each task of which matches `chunk` tiles; returns the seconds until the last task ends. The
    scheduler dispatches one task after the other to free slots. A task that fails keeps the tiles that it has finished;
    the others wait again."""
    chance = random.Random(seed)
    counter = itertools.count()
    firsts = range(0, len(tile_seconds), chunk)
    waiting = [(0.0, next(counter), tile_seconds[first : first + chunk]) for first in firsts]
    slow = round(cluster.slow_share * cluster.slots)
    slots = [(0.0, slot, cluster.slow_factor if slot < slow else 1.0) for slot in range(cluster.slots)]
    scheduler_free = 0.0
    while waiting:
        ready, _, task = heapq.heappop(waiting)
        free, slot, factor = heapq.heappop(slots)
        scheduler_free = max(ready, free, scheduler_free) + cluster.dispatch_seconds
        fails_after = seconds_to_failure(chance, cluster.failures_per_hour) or float("inf")
        busy, done = busy_seconds(task, factor, cluster.start_seconds, fails_after)
        end = scheduler_free + busy
        heapq.heappush(slots, (end, slot, factor))
        if done < len(task):
            heapq.heappush(waiting, (end + cluster.requeue_seconds, next(counter), task[done:]))
    return max(free for free, _, _ in slots)


def busy_seconds(task, factor, start, fails_after):
    """Seconds that the slot is busy, and the number of tiles that are kept."""
    kept = 0.0
    for done, seconds in enumerate(task):
        if start + kept + factor * seconds > fails_after:
            return fails_after, done
        kept += factor * seconds
    return start + kept, len(task)


# Real runs.


# Tile seconds leave out the first tile of each task, which makes a plan.
Measured = namedtuple("Measured", "seconds median_task_seconds tile_seconds")


class Runs:
    """Plans of many synthetic pairs, whose tiles processes of `parallax match --plan` match."""

    def __init__(self, arguments, folder):
        self.arguments, self.folder, self.jobs = arguments, folder, itertools.count()
        self.devices = arguments.devices.split(",")
        self.call("synth", folder / "scene", "--size", arguments.size, "--disparities", arguments.disparities)

    def call(self, *words):
        subprocess.run([self.arguments.parallax, *map(str, words)], check=True, capture_output=True)

    def plan(self, pairs):
        folder = self.folder / f"job-{next(self.jobs)}"
        folder.mkdir()
        left, right = (next(self.folder.glob(f"scene/{side}.*")) for side in ("left", "right"))
        (folder / "list.txt").write_text(f"{left}\t{right}\n" * pairs)
        words = ["--list", folder / "list.txt", "-o", folder / "{number}.pfm", "--method", self.arguments.method]
        self.call("plan", "--plan", folder / "plan.jsonl", *words, "--disparities", self.arguments.disparities)
        return folder / "plan.jsonl"

    def run(self, chunk, pairs=None, failures=0.0, seed=1):
        """Runs a job's tasks as an array job does: a process on each device takes the next chunk of tiles."""
        pairs = pairs or self.arguments.pairs
        plan, chance, walls, waiting = self.plan(pairs), random.Random(seed), [], queue.SimpleQueue()
        for first in range(0, pairs, chunk):
            waiting.put((first, min(first + chunk, pairs) - 1))

        def work(device):
            while not waiting.empty():
                try:
                    first, last = waiting.get_nowait()
                except queue.Empty:
                    return
                begin = time.perf_counter()
                words = ["match", "--plan", plan, "--tile", f"{first}-{last}", "--device", device, "--threads", "1"]
                try:
                    timeout = seconds_to_failure(chance, failures)
                    subprocess.run([self.arguments.parallax, *words], check=True, capture_output=True, timeout=timeout)
                except subprocess.TimeoutExpired:  # killed; tiles that are done are not matched again
                    waiting.put((first, last))
                except subprocess.CalledProcessError as error:
                    raise SystemExit(error.stderr.decode()) from error
                walls.append(time.perf_counter() - begin)

        begin = time.perf_counter()
        with concurrent.futures.ThreadPoolExecutor() as pool:
            list(pool.map(work, self.devices))
        return Measured(time.perf_counter() - begin, statistics.median(walls), tile_seconds(plan))


def tile_seconds(plan):
    """The seconds of all tiles but the first of each process."""
    seconds = []
    for log in sorted(plan.parent.glob("plan.jsonl.tiles/log-*.jsonl")):
        lines = [json.loads(line) for line in log.read_text().splitlines()]
        seconds += [line["milliseconds"] / 1000 for line in lines if "milliseconds" in line][1:]
    return seconds


def check(arguments):
    with tempfile.TemporaryDirectory() as name:
        runs = Runs(arguments, pathlib.Path(name))
        count, pairs = len(runs.devices), arguments.pairs
        runs.run(pairs // count)  # compiles kernels, and warms the file cache
        seconds = runs.run(pairs // (2 * count)).tile_seconds
        usual = statistics.median(seconds)
        start_seconds = runs.run(1, 8 * count).median_task_seconds - usual
        print(f"{count} tasks at once on {arguments.devices}; {pairs} pairs of {arguments.size},")
        print(f"{arguments.method}: start of a task {start_seconds:.2f} s, a pair {usual:.3f} s (median)")
        parts = [f"{cut / usual:.2f}" for cut in statistics.quantiles(seconds, n=10)]
        print(f"deciles over the median: {', '.join(parts)}\n")
        print("| pairs a task | failures an hour | measured s | simulated s | difference |\n|--:|--:|--:|--:|--:|")
        tiles = random.Random(0).choices(seconds, k=pairs)
        for chunk, failures in ((1, 0.0), (4, 0.0), (16, 0.0), (16, arguments.failures)):
            cluster = Cluster(count, start_seconds=start_seconds, failures_per_hour=failures)
            real, imagined = (3, 200) if failures else (1, 1)  # number of runs
            measured = statistics.mean(runs.run(chunk, None, failures, seed).seconds for seed in range(real))
            simulated = statistics.mean(simulate(cluster, tiles, chunk, seed) for seed in range(imagined))
            difference = f"{100 * (simulated / measured - 1):+.0f} %"
            print(f"| {chunk} | {failures:g} | {measured:.2f} | {simulated:.2f} | {difference} |", flush=True)


# Estimates.


# Seconds for a pair of 12 megapixels and 256 disparities: of an H100, and of a core that matches without a GPU.
Method = namedtuple("Method", "name gpu_seconds core_seconds")
METHODS = (Method("bp", 0.0263, 3.2), Method("sgm", 0.0403, 5.8), Method("census fast", 0.0076, 1.0))
# The cost of reading a pair and writing its map: megabytes read and written, and seconds of a core, which is one of the
# threads that a processor offers.
FILES = (
    ("TIFF in, PFM out", 24.0, 48.0, 0.30),
    ("PNG in, PFM out", 11.5, 48.0, 0.76),
    ("PNG in, PNG out", 11.5, 10.4, 1.16),
)
PAIRS = 1_000_000
GPUS, CORES = 8, 192  # of a node
STORAGE = 10e3  # megabytes a second of the file system that all nodes share: assumed
GPU_DOLLARS, CORE_DOLLARS = 3.0, 0.04  # an hour: assumed
# Seconds of a task on an H100, and of SLURM for each task.
START_SECONDS, DISPATCH_SECONDS = 0.8, 0.1
# Times of pairs divided by their median: the deciles of a real run.
DECILES = (0.51, 0.84, 0.88, 0.94, 1.00, 1.12, 1.25, 2.09, 3.17)


def print_pairs():
    titles = "12 megapixels, 256 disparities | MB read | MB written | core seconds for files | cores for one GPU: bp"
    print(f"| {titles} | sgm | census fast |\n|---|--:|--:|--:|--:|--:|--:|")
    for name, read, written, seconds in FILES:
        cores = " | ".join(f"{seconds / method.gpu_seconds:.0f}" for method in METHODS)
        print(f"| {name} | {read:.1f} | {written:.1f} | {seconds:.2f} | {cores} |")


def print_nodes():
    """The longest of the three hours bounds the job."""
    titles = "a million pairs, PNG in and out | nodes | hours: matching | files | storage at 10 GB/s"
    print(f"\n| {titles} | dollars a thousand pairs |\n|---|--:|--:|--:|--:|--:|")
    _, read, written, file_seconds = FILES[2]
    on_gpus = [(method, True, nodes) for method in METHODS for nodes in (1, 10, 100)]
    for method, has_gpus, nodes in on_gpus + [(METHODS[0], False, nodes) for nodes in (10, 100)]:
        core_seconds = file_seconds + (0.0 if has_gpus else method.core_seconds)
        hours = [
            PAIRS * method.gpu_seconds / (nodes * GPUS) / 3600 if has_gpus else 0.0,
            PAIRS * core_seconds / (nodes * CORES) / 3600,
            PAIRS * (read + written) / STORAGE / 3600,
        ]
        price = CORES * CORE_DOLLARS + (GPUS * GPU_DOLLARS if has_gpus else 0.0)
        dollars = max(hours) * nodes * price / (PAIRS / 1000)
        cells = [f"**{time:.2f}**" if time == max(hours) else f"{time:.2f}" for time in hours]
        if not has_gpus:
            cells[0] = "–"
        name = f"{method.name} on {'GPUs' if has_gpus else 'processors'}"
        print(f"| {name} | {nodes} | {' | '.join(cells)} | {dollars:.3f} |")


def print_queue():
    """Belief propagation on ten nodes, a task on each GPU; the storage keeps up, so that only the queue matters."""
    print("\n| pairs a task | tasks | minutes | with failures | with stragglers | with both |")
    print("|--:|--:|--:|--:|--:|--:|")
    tiles = [METHODS[0].gpu_seconds * part for part in random.Random(0).choices(DECILES, k=PAIRS)]
    usual = Cluster(10 * GPUS, DISPATCH_SECONDS, START_SECONDS)
    failing = usual._replace(failures_per_hour=0.1, requeue_seconds=60.0)
    straggling, both = (cluster._replace(slow_share=0.05, slow_factor=3.0) for cluster in (usual, failing))
    for chunk in (10, 100, 1000, 4000, 12500):
        times = [simulate(cluster, tiles, chunk) / 60 for cluster in (usual, failing, straggling, both)]
        cells = " | ".join(f"{minutes:.1f}" for minutes in times)
        print(f"| {chunk} | {-(-PAIRS // chunk)} | {cells} |", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("command", choices=["check", "tables"])
    parser.add_argument("--parallax", default="parallax", help="the program, for check")
    parser.add_argument("--devices", default="cpu,cpu", help="one for each task at once")
    parser.add_argument("--method", default="census")
    parser.add_argument("--size", default="640x480")
    parser.add_argument("--disparities", default=64, type=int)
    parser.add_argument("--pairs", default=64, type=int)
    parser.add_argument("--failures", default=600.0, type=float, help="kills an hour of a task, in the last row")
    arguments = parser.parse_args()
    if arguments.command == "check":
        check(arguments)
    else:
        print_pairs()
        print_nodes()
        print_queue()


if __name__ == "__main__":
    main()
