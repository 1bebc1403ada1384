#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Draws the pictures of docs/tutorial/webcams.md from the files that its commands write.

    cd webcams && PYTHONPATH=../python PARALLAX_LIBRARY=../build/developer/shared/libparallax.so \\
        python3 ../benchmarks/tutorial_pictures.py ../docs/pictures

The report is drawn where Chromium is installed. Needs NumPy and Pillow.
"""

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from PIL import Image, ImageDraw

LINES = 12  # across the rectified pair


def tiles(names, columns, width):
    """The images in rows, each `width` pixels wide."""
    images = [Image.open(name) for name in names]
    height = width * images[0].height // images[0].width
    sheet = Image.new("RGB", (columns * width, -(-len(images) // columns) * height))
    for index, image in enumerate(images):
        place = (index % columns * width, index // columns * height)
        sheet.paste(image.convert("RGB").resize((width, height), Image.LANCZOS), place)
    return sheet


def with_lines(pair):
    draw = ImageDraw.Draw(pair)
    for line in range(1, LINES):
        row = line * pair.height // LINES
        draw.line([(0, row), (pair.width, row)], (255, 160, 0))
    return pair


def report():
    """The corners and the errors on the page of the calibration."""
    with tempfile.TemporaryDirectory() as folder:
        shot = Path(folder) / "report.png"
        command = ["chromium", "--headless", "--no-sandbox", "--hide-scrollbars", "--window-size=1100,1415"]
        page = Path("report.html").resolve().as_uri()
        subprocess.run([*command, f"--screenshot={shot}", page], check=True, capture_output=True)
        return Image.open(shot).convert("RGB").crop((0, 405, 1100, 1415)).resize((580, 533), Image.LANCZOS)


def meshes(names):
    with tempfile.TemporaryDirectory() as folder:
        view = Path(folder) / "view.png"
        viewer = Path(__file__).with_name("mesh_view.py")
        subprocess.run([sys.executable, viewer, view, "15", *names], check=True)
        return Image.open(view).convert("RGB")


def main():
    target = Path(sys.argv[1])
    boards = [f"board/left/{number:02d}.png" for number in (1, 2, 5, 6, 10, 11, 13, 16)]
    pictures = {
        "pair": tiles(["room/left/00.png", "room/right/00.png"], 2, 440),
        "boards": tiles(boards, 4, 200),
        "rectified": with_lines(tiles(["left.png", "right.png"], 2, 440)),
        "map": tiles(["view.png"], 1, 640),
        "rows": tiles(["before.png", "after.png"], 2, 360),
        "meshes": meshes(["mesh.ply", "cut.ply"]),
    }
    if shutil.which("chromium"):
        pictures["report"] = report()
    for name, image in pictures.items():
        image.save(target / f"tutorial-{name}.jpg", quality=70, optimize=True)


if __name__ == "__main__":
    main()
