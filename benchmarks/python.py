# SPDX-License-Identifier: Apache-2.0
"""Measures the cost of a call from Python; prints Markdown tables.

    PYTHONPATH=python PARALLAX_LIBRARY=build/developer/shared/libparallax.so python3 benchmarks/python.py

Where there is a GPU, also with arrays of torch and cupy that are on it.
"""

import concurrent.futures
import statistics
import time

import numpy as np

import parallax_stereo as px


def seconds(call, runs):
    """The median time of single calls."""
    times = []
    for _ in range(runs):
        begin = time.perf_counter()
        call()
        times.append(time.perf_counter() - begin)
    return statistics.median(times)


def print_smallest_calls():
    print("| 1×1 pixel, cpu | µs a call |\n|---|--:|")
    image = np.zeros((1, 1), np.uint8)
    for method in [name for name in px.methods() if name != "motion"]:  # none of its labels is inside
        matcher = px.Matcher(method, (1, 1), device="cpu", disparities=2)
        print(f"| {method} | {1e6 * seconds(lambda: matcher(image, image), 5000):.1f} |")


def print_matches():
    """The library measures its stages inside the call."""
    print("\n| 640×480, 64 labels, cpu | ms in the library | ms of the call | difference % |\n|---|--:|--:|--:|")
    left, right, _ = px.synthesize((640, 480), 64)
    for method in ("block", "census", "bp"):
        matcher = px.Matcher(method, (640, 480), device="cpu", disparities=64)
        inside = []

        def call():
            matcher(left, right)
            inside.append(sum(matcher.stages.values()))

        whole = 1e3 * seconds(call, 41)
        own = statistics.median(inside)
        print(f"| {method} | {own:.2f} | {whole:.2f} | {100 * (whole / own - 1):.1f} |")


def pairs_per_second(threads, pairs=64):
    """The Python counterpart of benchmark_threads."""
    left, right, _ = px.synthesize((640, 480), 64)
    matchers = [px.Matcher("census", (640, 480), device="cpu", threads=1, disparities=64) for _ in range(threads)]

    def work(matcher):
        for _ in range(pairs // threads):
            matcher(left, right)

    begin = time.perf_counter()
    with concurrent.futures.ThreadPoolExecutor(threads) as pool:
        list(pool.map(work, matchers))
    return pairs / (time.perf_counter() - begin)


def print_threads():
    print("\n| 640×480, census, matchers of one thread each | pairs/s |\n|---|--:|")
    for threads in (1, 2, 4):
        rates = [pairs_per_second(threads) for _ in range(5)]
        print(f"| {threads} | {statistics.median(rates):.1f} |")


def print_gpu():
    print("\n| 640×480, 64 labels, arrays on the GPU | µs until the call returns | µs a pair |\n|---|--:|--:|")
    left, right, _ = px.synthesize((640, 480), 64)
    for name in ("torch", "cupy"):
        try:
            framework = __import__(name)
        except ImportError:
            continue
        to_gpu = (lambda image: framework.as_tensor(image, device="cuda")) if name == "torch" else framework.asarray
        images = to_gpu(left), to_gpu(right)
        matcher = px.Matcher("census", (640, 480), device="cuda", disparities=64)
        wait = framework.cuda.synchronize if name == "torch" else framework.cuda.Stream.null.synchronize
        matcher(*images)
        wait()

        def hundred():
            for _ in range(100):
                matcher(*images)
            wait()

        returned = []
        for _ in range(50):
            returned.append(seconds(lambda: matcher(*images), 1))
            wait()
        rate = seconds(hundred, 9) / 100
        print(f"| census, {name} | {1e6 * statistics.median(returned):.1f} | {1e6 * rate:.1f} |")


if __name__ == "__main__":
    print_smallest_calls()
    print_matches()
    print_threads()
    if any(device.name.startswith("cuda") for device in px.devices()):
        print_gpu()
