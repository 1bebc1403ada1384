# SPDX-License-Identifier: Apache-2.0
"""The commands of docs/tutorial/webcams.md run, one after the other, and print what the page says.

Blocks marked `sh` run in a shell. A block marked `text` shows what the block before it prints: words are the same, numbers
are close, and a line with "…" stands for any lines. The block marked `python` runs with the recording in place of cameras.
Blocks without a mark need cameras or the network and do not run.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any, List, Tuple

import github_markdown as markdown
import pytest

PAGE = markdown.ROOT / "docs" / "tutorial" / "webcams.md"
BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
NUMBER = re.compile(r"-?\d+(?:\.\d+)?")
COMMAND = os.environ.get("PARALLAX_COMMAND", "")


def blocks() -> List[Tuple[str, str]]:
    return [(found[1], found[2]) for found in BLOCK.finditer(PAGE.read_text())]


def is_like(shown: str, printed: str) -> bool:
    """Numbers may differ by a tenth, or by 0.05: other versions of OpenCV round differently."""
    if [part.split() for part in NUMBER.split(shown)] != [part.split() for part in NUMBER.split(printed)]:
        return False
    pairs = zip(NUMBER.findall(shown), NUMBER.findall(printed))
    return all(float(printed) == pytest.approx(float(shown), rel=0.1, abs=0.05) for shown, printed in pairs)


def expect_printed(shown: str, printed: str) -> None:
    """Every line of the page is in the output, in this order, and next to each other unless "…" is between them."""
    rest, skip = [line for line in printed.splitlines() if line.strip()], False
    for line in shown.splitlines():
        if line == "…":
            skip = True
            continue
        while skip and rest and not is_like(line, rest[0]):
            rest.pop(0)
        assert rest and is_like(line, rest[0]), f"the page shows\n{line}\nand the output has\n{printed}"
        rest.pop(0)
        skip = False
    assert skip or not rest, "the page lacks\n" + "\n".join(rest)


def run(commands: str, folder: Path, programs: Path) -> Tuple[str, Path]:
    """The output of the commands, and the folder in which they end."""
    ending = programs / "folder"
    done = subprocess.run(
        ["bash", "-ec", f"trap 'pwd >\"{ending}\"' EXIT\n{commands}"],
        cwd=folder,
        env={**os.environ, "PATH": f"{programs}:{os.environ['PATH']}"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    expected = re.search(r"# exit status (\d)", commands)
    assert done.returncode == (int(expected[1]) if expected else 0), f"{commands}\n{done.stdout}"
    return done.stdout, Path(ending.read_text().strip())


def run_live(code: str, monkeypatch: pytest.MonkeyPatch) -> None:
    cv2 = pytest.importorskip("cv2")
    opened, shown, capture = iter(("left", "right")), [], cv2.VideoCapture

    def show(name: str, picture: Any) -> None:
        shown.append(picture.copy())

    monkeypatch.setattr(cv2, "VideoCapture", lambda number: capture(f"room/{next(opened)}/%02d.png"))
    monkeypatch.setattr(cv2, "imshow", show)
    monkeypatch.setattr(cv2, "waitKey", lambda milliseconds: -1)
    names: Any = {}
    exec(compile(code, str(PAGE), "exec"), names)
    assert len(shown) == 8 and all(picture.shape == (480, 640, 3) for picture in shown)
    assert 1 < names["depths"].mean() < 3


def test_commands_of_the_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in ("cv2", "PIL"):
        pytest.importorskip(module)
    if not Path(COMMAND).is_file() or not shutil.which("ffmpeg"):
        pytest.skip("no command parallax, or no ffmpeg")
    programs, folder, printed = tmp_path / "bin", tmp_path / "project", ""
    programs.mkdir()
    folder.mkdir()
    (programs / "parallax").symlink_to(COMMAND)
    (programs / "python3").symlink_to(sys.executable)
    (folder / "benchmarks").symlink_to(markdown.ROOT / "benchmarks")
    counts = {"sh": 0, "text": 0, "python": 0}
    for kind, content in blocks():
        if kind == "sh":
            printed, folder = run(content, folder, programs)
        elif kind == "text":
            expect_printed(content, printed)
        elif kind == "python":
            monkeypatch.chdir(folder)
            run_live(content, monkeypatch)
        if kind:
            counts[kind] += 1
    assert counts["sh"] >= 9 and counts["text"] >= 8 and counts["python"] == 1
    for name in ("map.pfm", "view.png", "room.ply", "mesh.ply", "cut.ply", "room.avi", "maps/07.png", "depths/07.png"):
        assert (folder / name).stat().st_size > 1000, name


@pytest.mark.parametrize(
    "shown, printed, agree",
    [
        ("a 1.00 px", "a 1.04 px", True),
        ("a  100 px", "a 109 px", True),
        ("a 100 px", "a 120 px", False),
        ("a 100 px", "b 100 px", False),
        ("a 1", "a 1 2", False),
    ],
)
def test_what_is_alike(shown: str, printed: str, agree: bool) -> None:
    assert is_like(shown, printed) == agree


def test_lines_are_neighbours_unless_some_are_left_out() -> None:
    expect_printed("a\n…\nc\n", "a\nb\nc\n")
    for shown in ("a\nc\n", "a\nb\n", "a\n…\nd\n", "b\n…\n"):
        with pytest.raises(AssertionError):
            expect_printed(shown, "a\nb\nc\n")
