# SPDX-License-Identifier: Apache-2.0
"""'parallax submit' with a real SLURM. No test depends on how fast anything is: each waits for
a state, and what must be hit in the middle is stopped there first."""
import collections
import json
import os
import pathlib
import signal
import subprocess
import time

import pytest

from cluster import command_line, processes, send, wait_for

COMMAND = os.environ["PARALLAX_COMMAND"]
SLOW = ("--device", "reference")  # slow enough to be caught in the middle


def parallax(*words, status=0, **options):
    """Runs the command and returns the output of both streams."""
    done = subprocess.run([COMMAND, *map(str, words)], capture_output=True, text=True, **options)
    assert done.returncode == status, (words, done.stdout, done.stderr)
    return done.stdout, done.stderr


class Job:
    """A pair, its plan of 12 tiles and its map untiled."""

    def __init__(self, folder, *options, name="plan.json"):
        self.folder, self.output, self.plan = folder, folder / "map.tiff", folder / name
        self.results = folder / f"{name}.tiles"
        parallax("synth", folder / "pair", "--size", "256x360", "--disparities", 16, "--no-truth")
        common = [folder / "pair/left.png", folder / "pair/right.png", "--disparities", 16, "--method", "census"]
        parallax("match", *common, "-o", folder / "untiled.tiff")
        parallax("plan", *common, *options, "-o", self.output, "--tile-size", "256x100", "--plan", self.plan)

    def submit(self, *options, **others):
        return parallax("submit", "--slurm", *options, self.plan, **others)

    def tiles(self):
        """The numbers of the existing results."""
        return sorted(self.results.glob("tile-*.tiff"))

    def written(self):
        """The times at which the results were written."""
        return {path: path.stat().st_mtime_ns for path in self.tiles()}

    def matched(self):
        """How often each tile was matched, by the logs of the plan."""
        lines = [line for path in self.results.glob("log-*.jsonl") for line in path.read_text().splitlines()]
        records = [record for record in map(json.loads, lines) if "tile" in record and "error" not in record]
        return collections.Counter(record["tile"] for record in records)

    def assert_merged(self):
        """Asserts that the merged map has the bytes of the untiled map, and that no tile was matched twice."""
        assert self.output.exists(), self.logs()
        assert self.output.read_bytes() == (self.folder / "untiled.tiff").read_bytes()
        assert max(self.matched().values()) == 1

    def logs(self, name="*"):
        return "".join(path.read_text() for path in sorted(pathlib.Path(f"{self.plan}.jobs").glob(f"{name}.log")))

    def matches(self):
        """The processes that are matching tiles of this plan."""
        return [each for each in processes() if is_match_of(each, self.plan)]

    def stop_in_the_middle(self):
        """Stops a process that has written a tile and has others to write, and returns its number."""

        def one():
            found = self.matches()
            return found[0] if found else None

        process = wait_for(one)
        send(process, signal.SIGSTOP)
        while not self.tiles():
            send(process, signal.SIGCONT)
            time.sleep(0.05)
            send(process, signal.SIGSTOP)
        assert command_line(process), "it had ended before it was stopped"
        assert len(self.tiles()) < 12
        return process


def is_match_of(process, plan):
    line = command_line(process)
    return line.startswith(COMMAND + " match") and str(plan) in line


@pytest.fixture
def small_disk(tmp_path):
    """A file system of 1 MiB."""
    folder = tmp_path / "disk"
    folder.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "none", folder], capture_output=True)
    if mounted.returncode != 0:
        pytest.skip("cannot mount a tmpfs")
    yield folder
    subprocess.run(["umount", "-l", folder], check=True)


def enlarge(disk):
    subprocess.run(["mount", "-o", "remount,size=64m", disk], check=True)


def fill(disk, spare):
    """Fills the disk except for this many bytes."""
    free = os.statvfs(disk).f_bavail * os.statvfs(disk).f_frsize
    (disk / "filling").write_bytes(b"\0" * (free - spare))


def test_a_pair_in_tiles_has_the_bytes_of_the_untiled_map(cluster, tmp_path):
    job = Job(tmp_path)
    told, _ = job.submit("--chunk", 2)
    assert "12 tiles in chunks of 2" in told and "parallax status" in told
    cluster.wait_until_done()
    job.assert_merged()
    assert not job.tiles()


def test_names_with_blanks_and_quotes(cluster, tmp_path):
    folder = tmp_path / 'a b\'s "c" $HOME `d`;'
    folder.mkdir()
    job = Job(folder, name="pl'an.json")
    job.submit("--chunk", 6)
    cluster.wait_until_done()
    job.assert_merged()
    assert "12 tiles" in job.logs("merge-*")


def test_a_tile_is_matched_here_to_find_chunks_that_take_minutes(cluster, tmp_path):
    job = Job(tmp_path)
    told, _ = job.submit()
    assert "11 tiles" in told
    cluster.wait_until_done()
    job.assert_merged()


def test_arrays_are_no_larger_than_the_scheduler_allows(cluster, tmp_path):
    job = Job(tmp_path)
    told, _ = job.submit("--chunk", 1)
    assert f"chunks of {12 // cluster.max_tasks}" in told
    cluster.wait_until_done()
    job.assert_merged()


def test_only_what_is_missing_is_matched(cluster, tmp_path):
    job = Job(tmp_path)
    parallax("match", "--plan", job.plan, "--tile", "2-10")
    told, _ = job.submit("--chunk", 1)
    assert "3 tiles in chunks of 1" in told
    cluster.wait_until_done()
    job.assert_merged()


def test_a_node_that_dies_in_the_middle_costs_nothing(cluster, tmp_path):
    job = Job(tmp_path, *SLOW)
    job.submit("--chunk", 12)
    job.stop_in_the_middle()
    (task,) = cluster.running()
    cluster.kill_node(cluster.node_of(task))
    cluster.wait_until_done()
    job.assert_merged()


def test_a_daemon_that_dies_and_is_restarted_costs_nothing(cluster, tmp_path):
    job = Job(tmp_path, *SLOW)
    job.submit("--chunk", 12)
    process = job.stop_in_the_middle()
    (task,) = cluster.running()
    cluster.kill_daemon(cluster.node_of(task))
    cluster.restart_dead_nodes()
    send(process, signal.SIGCONT)
    cluster.wait_until_done()
    job.assert_merged()


def test_a_task_that_is_killed_is_submitted_again(cluster, tmp_path):
    job = Job(tmp_path, *SLOW)
    job.submit("--chunk", 12)
    send(job.stop_in_the_middle(), signal.SIGKILL)
    cluster.wait_until_done()
    assert "in chunks of" in job.logs("merge-*")
    job.assert_merged()


def test_without_retries_what_is_missing_is_said(cluster, tmp_path):
    job = Job(tmp_path, *SLOW)
    job.submit("--chunk", 12, "--retries", 0)
    send(job.stop_in_the_middle(), signal.SIGKILL)
    cluster.wait_until_done()
    assert not job.output.exists()
    assert "missing" in job.logs("merge-*")
    job.submit("--chunk", 12)
    cluster.wait_until_done()
    job.assert_merged()


def test_a_time_limit_keeps_what_was_done(cluster, tmp_path):
    job = Job(tmp_path, *SLOW)
    # SLURM's shortest limit: a minute.
    job.submit("--chunk", 12, "--sbatch", "time=1", "--retries", 0)
    job.stop_in_the_middle()
    kept = job.written()
    cluster.wait_until_done()
    assert "DUE TO TIME LIMIT" in job.logs("tiles-*")
    assert "missing" in job.logs("merge-*")
    assert job.written().items() >= kept.items()
    job.submit("--chunk", 12)
    cluster.wait_until_done()
    job.assert_merged()


def test_a_task_that_the_administrator_requeues(cluster, tmp_path):
    job = Job(tmp_path, *SLOW)
    job.submit("--chunk", 12)
    job.stop_in_the_middle()
    (task,) = cluster.running()
    cluster.ask("scontrol", "requeue", task)
    cluster.wait_until_done()
    job.assert_merged()


def test_a_full_disk_is_named_and_the_job_continues_when_there_is_room(cluster, tmp_path, small_disk):
    job = Job(tmp_path)
    job.results.symlink_to(small_disk)
    fill(small_disk, 150_000)  # a few tiles
    job.submit("--chunk", 3, "--retries", 1)
    cluster.wait_until_done()
    assert not job.output.exists()
    assert "No space left" in job.logs("tiles-*")
    assert "match them again" in job.logs("merge-*")  # what 'parallax merge' says
    kept = job.written()
    assert 0 < len(kept) < 12
    enlarge(small_disk)
    job.submit("--chunk", 3)
    cluster.wait_until_done()
    job.assert_merged()


def test_a_list_of_pairs_has_the_bytes_of_each_untiled(cluster, tmp_path):
    lines, sizes = [], ["320x240", "256x360", "200x96", "256x360"]  # the third is one tile
    common = ["--disparities", 16, "--method", "census"]
    for i, size in enumerate(sizes):
        parallax("synth", tmp_path / f"scene {i}", "--size", size, "--disparities", 16, "--seed", i + 1, "--no-truth")
        pair = [tmp_path / f"scene {i}/left.png", tmp_path / f"scene {i}/right.png"]
        parallax("match", *pair, *common, "-o", tmp_path / f"untiled {i}.pfm")
        lines.append("\t".join(f"scene {i}/{side}.png" for side in ("left", "right")))
    (tmp_path / "list.txt").write_text("\n".join(lines) + "\n")
    output = tmp_path / "maps" / "{folder}.pfm"
    plan = tmp_path / "plan.json"
    (tmp_path / "maps").mkdir()
    parallax("plan", "--list", tmp_path / "list.txt", *common, "--tile-size", "256x100", "-o", output, "--plan", plan)
    parallax("submit", "--slurm", "--chunk", 5, plan)
    cluster.wait_until_done()
    logs = "".join(path.read_text() for path in pathlib.Path(f"{plan}.jobs").glob("*.log"))
    for i in range(len(sizes)):
        made = tmp_path / "maps" / f"scene {i}.pfm"
        assert made.exists() and made.read_bytes() == (tmp_path / f"untiled {i}.pfm").read_bytes(), logs


def test_refusals_of_sbatch_are_one_line_and_nothing_is_left(cluster, tmp_path):
    job = Job(tmp_path)
    _, said = job.submit("--chunk", 2, "--sbatch", "partition=nowhere", status=1)
    assert "nvalid partition" in said and said.count("\n") == 1
    assert not cluster.queue()
