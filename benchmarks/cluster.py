# SPDX-License-Identifier: Apache-2.0
"""Measures the seconds from 'parallax submit' to the merged map, for several sizes of chunks, with a SLURM of two nodes
that runs on this machine (as root; Debian: slurm-wlm and munge), and with two local processes:

    unshare --pid --fork --kill-child --mount-proc --net python3 benchmarks/cluster.py build/release/parallax
"""
import json
import pathlib
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "tests/slurm"))
import cluster as slurm

SIZE, DISPARITIES, TILE = "6000x4800", "128", "1000x1000"


def main(command):
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        folder.chmod(0o755)
        (folder / "cluster").mkdir()
        slurm.bring_up_loopback()
        cluster = slurm.Cluster(folder / "cluster", max_tasks=1001)
        try:
            measure(command, folder, cluster)
        finally:
            cluster.stop()


def measure(command, folder, cluster):
    def parallax(*words):
        return subprocess.run([command, *map(str, words)], check=True, capture_output=True, text=True).stdout

    pair, plan, output = folder / "pair", folder / "plan.json", folder / "map.tiff"
    parallax("synth", pair, "--size", SIZE, "--disparities", DISPARITIES, "--no-truth", "--tiled")

    def make_plan():
        subprocess.run(["rm", "-rf", plan, output, f"{plan}.tiles", f"{plan}.jobs"], check=True)
        words = ["--disparities", DISPARITIES, "--tile-size", TILE, "--threads", 1, "-o", output, "--plan", plan]
        parallax("plan", pair / "left.tiff", pair / "right.tiff", *words)
        return json.loads(plan.read_text().splitlines()[0])["tiles"]

    def seconds(*words):
        """The time from the command until the map is complete and nothing runs any more."""
        make_plan()
        begin = time.monotonic()
        parallax(*words, plan)
        slurm.wait_for(lambda: output.exists() and not cluster.queue(), 3600)
        taken = time.monotonic() - begin
        return taken, json.loads(parallax("status", "--json", plan))["milliseconds_per_tile"]

    tiles = make_plan()
    print(f"{tiles} tiles\n\n| | tasks | s | ms a tile (median) |\n|---|--:|--:|--:|")
    for chunk in ("1", "10", "auto"):
        taken, milliseconds = seconds("submit", "--slurm", "--chunk", chunk)
        tasks = 1 + int(pathlib.Path(f"{plan}.jobs/tiles.sh").read_text().split("--array=0-")[1].split()[0])
        print(f"| `--slurm --chunk {chunk}` | {tasks} | {taken:.1f} | {milliseconds:.0f} |", flush=True)
    make_plan()
    begin = time.monotonic()
    parallax("match", "--plan", plan, "--tile", f"0-{tiles - 1}", "--threads", 2)
    print(f"| one process: `match --tile 0-{tiles - 1} --threads 2` | | {time.monotonic() - begin:.1f} | |")


main(*sys.argv[1:])
