# SPDX-License-Identifier: Apache-2.0
"""Pictures and videos that hold both views, which the command line splits: by --layout, or as the files say."""

from __future__ import annotations

import io
import os
import shutil
import struct
import subprocess
from pathlib import Path
from typing import Any, List, Tuple

import numpy as np
import pytest

import parallax_stereo as px

pillow = pytest.importorskip("PIL.Image")
COMMAND = os.environ.get("PARALLAX_COMMAND", "")
pytestmark = pytest.mark.skipif(not COMMAND, reason="PARALLAX_COMMAND is not set")
needs_ffmpeg = pytest.mark.skipif(shutil.which("ffmpeg") is None, reason="ffmpeg is not installed")
LAYOUTS = ("side-by-side", "right-left", "top-bottom", "bottom-top")


def run(*arguments: Any) -> subprocess.CompletedProcess[str]:
    return subprocess.run([COMMAND, *map(str, arguments)], capture_output=True, text=True)


def matched(folder: Path, *arguments: Any) -> Any:
    done = run("match", *arguments, "--disparities", 16, "--method", "census", "-o", folder / "d.pfm")
    assert done.returncode == 0, done.stderr
    return px.read_disparity(folder / "d.pfm")


def packed(left: Any, right: Any, layout: str) -> Any:
    first, second = (left, right) if layout in ("side-by-side", "top-bottom") else (right, left)
    return np.concatenate([first, second], axis=1 if layout in ("side-by-side", "right-left") else 0)


def jpeg(image: Any, **options: Any) -> bytes:
    file = io.BytesIO()
    pillow.fromarray(image).save(file, "JPEG", quality=95, subsampling=0, **options)
    return file.getvalue()


def views_of(files: List[bytes]) -> Tuple[Any, ...]:
    return tuple(np.asarray(pillow.open(io.BytesIO(file)).convert("RGB")) for file in files)


def expected_map(left: Any, right: Any) -> Any:
    return px.match(np.ascontiguousarray(left), np.ascontiguousarray(right), 16, "census").disparity


@pytest.mark.parametrize("layout", LAYOUTS)
def test_pictures_are_split(layout: str, pair: Any, tmp_path: Path) -> None:
    left, right = pair[:2]
    pillow.fromarray(packed(left, right, layout)).save(tmp_path / "both.png")
    assert np.array_equal(matched(tmp_path, tmp_path / "both.png", "--layout", layout), expected_map(left, right))


def test_options_that_do_not_fit_are_refused(pair: Any, tmp_path: Path) -> None:
    pillow.fromarray(pair[0][:79]).save(tmp_path / "odd.png")
    odd = tmp_path / "odd.png"
    for arguments, sentence in (
        ((odd,), "RIGHT is required, or --layout"),
        ((odd, odd, "--layout", "top-bottom"), "--layout takes both views"),
        ((odd, "--layout", "top-bottom", "--side-by-side"), "--side-by-side and --layout differ"),
        ((odd, "--layout", "top-bottom"), "odd.png: is 79 pixels high"),
    ):
        refused = run("match", *arguments)
        assert refused.returncode in (1, 2) and sentence in refused.stderr, refused.stderr


def mpo(first: bytes, second: bytes) -> bytes:
    """Two JPEGs as CIPA DC-007 puts them into one file: an index in the first one's segment APP2."""

    def segment(begin: int, first_length: int) -> bytes:
        # Offsets count from the header of the index, which follows the marker, its length and "MPF\0".
        entries = struct.pack(">IIIHH", 0x20030000, first_length, 0, 0, 0)
        entries += struct.pack(">IIIHH", 0x20000, len(second), first_length - begin, 0, 0)
        fields = struct.pack(">HHI4s", 0xB000, 7, 4, b"0100") + struct.pack(">HHII", 0xB001, 4, 1, 2)
        fields += struct.pack(">HHII", 0xB002, 7, len(entries), 8 + 2 + 3 * 12 + 4)
        index = b"MM\0\x2a" + struct.pack(">IH", 8, 3) + fields + struct.pack(">I", 0) + entries
        return b"\xff\xe2" + struct.pack(">H", 2 + 4 + len(index)) + b"MPF\0" + index

    length = len(first) + len(segment(0, 0))
    return first[:2] + segment(2 + 4 + 4, length) + first[2:] + second


def test_multi_picture_files(pair: Any, tmp_path: Path) -> None:
    files = [jpeg(image) for image in pair[:2]]
    (tmp_path / "a.mpo").write_bytes(mpo(*files))
    assert np.array_equal(matched(tmp_path, tmp_path / "a.mpo"), expected_map(*views_of(files)))
    # The same as Pillow writes it, and under the name of a plain JPEG, as some cameras give it.
    images = [pillow.fromarray(image) for image in pair[:2]]
    images[0].save(tmp_path / "b.jpg", "MPO", save_all=True, append_images=images[1:], quality=95)
    with pillow.open(tmp_path / "b.jpg") as opened:
        views = []
        for frame in (0, 1):
            opened.seek(frame)
            views.append(np.asarray(opened.convert("RGB")))
    assert np.array_equal(matched(tmp_path, tmp_path / "b.jpg"), expected_map(*views))
    cut = mpo(*files)[:-2000]
    (tmp_path / "cut.mpo").write_bytes(cut)
    refused = run("match", tmp_path / "cut.mpo")
    assert refused.returncode in (1, 2) and "cut.mpo" in refused.stderr


@pytest.mark.parametrize("layout", LAYOUTS)
def test_stereo_jpegs(layout: str, pair: Any, tmp_path: Path) -> None:
    both = jpeg(packed(*pair[:2], layout))
    whole = views_of([both])[0]
    half = (slice(None), slice(whole.shape[1] // 2)), (slice(None), slice(whole.shape[1] // 2, None))
    if layout in ("top-bottom", "bottom-top"):
        half = (slice(whole.shape[0] // 2),), (slice(whole.shape[0] // 2, None),)
    views = [whole[half[0]], whole[half[1]]]
    left, right = views if layout in ("side-by-side", "top-bottom") else views[::-1]
    # Separation, flags with the left view first or not, the arrangement, and a stereoscopic picture.
    arrangement = 2 if layout in ("side-by-side", "right-left") else 3
    descriptor = bytes([0, 4 if layout in ("side-by-side", "top-bottom") else 0, arrangement, 1])
    block = b"_JPSJPS_" + struct.pack(">H", 4) + descriptor + struct.pack(">H", 0)
    named = both[:2] + b"\xff\xe3" + struct.pack(">H", 2 + len(block)) + block + both[2:]
    (tmp_path / "a.jps").write_bytes(named)
    expected = expected_map(left, right)
    assert np.array_equal(matched(tmp_path, tmp_path / "a.jps"), expected)
    (tmp_path / "b.jps").write_bytes(both)
    assert np.array_equal(matched(tmp_path, tmp_path / "b.jps", "--layout", layout), expected)
    if layout == "right-left":
        assert np.array_equal(matched(tmp_path, tmp_path / "b.jps"), expected), "for crossed eyes"


def write_video(path: Path, frames: Any, pixel_format: str, *options: str) -> None:
    """Lossless; frames: uint8 or uint16 of red, green and blue."""
    height, width = frames[0].shape[:2]
    source = "rgb48le" if frames[0].dtype == np.uint16 else "rgb24"
    command = [
        "ffmpeg",
        "-v",
        "error",
        "-y",
        "-f",
        "rawvideo",
        "-pix_fmt",
        source,
        "-s",
        f"{width}x{height}",
        "-i",
        "-",
    ]
    command += ["-c:v", "ffv1", "-pix_fmt", pixel_format, *options, str(path)]
    subprocess.run(command, input=b"".join(frame.tobytes() for frame in frames), check=True)


@needs_ffmpeg
@pytest.mark.parametrize("layout", LAYOUTS)
def test_videos_say_their_layout(layout: str, pair: Any, tmp_path: Path) -> None:
    left, right = pair[:2]
    frames = [packed(left, right, layout)] * 2
    stereo_mode = {"side-by-side": "left_right", "right-left": "right_left"}.get(layout, layout.replace("-", "_"))
    write_video(tmp_path / "a.mkv", frames, "gbrp", "-metadata:s:v:0", f"stereo_mode={stereo_mode}")
    expected = expected_map(left, right)
    for arguments in ((), ("--layout", layout)):
        done = run(
            "match",
            tmp_path / "a.mkv",
            *arguments,
            "--disparities",
            16,
            "--method",
            "census",
            "-o",
            tmp_path / "%d.pfm",
        )
        assert done.returncode == 0, done.stderr
        assert np.array_equal(px.read_disparity(tmp_path / "1.pfm"), expected)
    # An option is stronger than what the file says.
    done = run(
        "match",
        tmp_path / "a.mkv",
        "--layout",
        LAYOUTS[LAYOUTS.index(layout) ^ 1],
        "--disparities",
        16,
        "-o",
        tmp_path / "%d.pfm",
    )
    assert done.returncode == 0 and not np.array_equal(px.read_disparity(tmp_path / "1.pfm"), expected)
    write_video(tmp_path / "plain.mkv", frames, "gbrp")
    refused = run("match", tmp_path / "plain.mkv")
    assert refused.returncode == 2 and "--layout" in refused.stderr


@needs_ffmpeg
@pytest.mark.parametrize("pixel_format, step", [("gbrp16le", 1), ("gbrp12le", 16)])
def test_videos_keep_more_than_eight_bits(pixel_format: str, step: int, tmp_path: Path) -> None:
    """Frames whose upper 8 bits hardly differ."""
    left, right, _ = px.synthesize((120, 80), 16)
    deep = [(image // np.uint16(4) * step + 0x4000).astype(np.uint16) for image in (left, right)]
    write_video(tmp_path / "a.mkv", [np.concatenate(deep, axis=1)], pixel_format)
    done = run(
        "match",
        tmp_path / "a.mkv",
        "--side-by-side",
        "--disparities",
        16,
        "--value-range",
        f"{0x4000}:{0x4000 + 255 * step}",
        "-o",
        tmp_path / "%d.pfm",
    )
    assert done.returncode == 0, done.stderr
    expected = px.match(*deep, 16, range=(0x4000, 0x4000 + 255 * step)).disparity
    assert (np.abs(px.read_disparity(tmp_path / "0.pfm") - expected) < 1).mean() > 0.99
