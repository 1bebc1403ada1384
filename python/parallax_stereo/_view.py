# SPDX-License-Identifier: Apache-2.0
"""A result in the browser, by the program parallax."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import webbrowser
from pathlib import Path
from typing import Any, List, Optional

from . import _maps
from ._arrays import Array
from ._library import DeviceError
from ._maps import Calibration


class Viewer:
    """A page of 'parallax view'. Notebooks show it in a frame. Its server ends when the page is closed, or by close()."""

    def __init__(self, process: Any, address: str) -> None:
        self._process = process
        #: where the page is, on this machine
        self.address = address

    def close(self) -> None:
        """Ends the server."""
        self._process.terminate()
        self._process.wait()

    def __reduce__(self) -> str:
        raise TypeError("a Viewer is a running program, which cannot be copied or pickled: pickle the result instead")

    def _repr_html_(self) -> str:
        return f'<iframe src="{self.address}" width="100%" height="720" style="border: 1px solid #ccc"></iframe>'

    def __repr__(self) -> str:
        return f"<Viewer {self.address}>"


def view(
    left: Array, right: Array, disparity: Array, calibration: Optional[Calibration], browser: Optional[bool]
) -> Viewer:
    program = os.environ.get("PARALLAX_COMMAND") or shutil.which("parallax")
    if program is None:
        raise DeviceError("there is no program 'parallax': install it, or set PARALLAX_COMMAND to its path")
    # The server reads the files before it prints its address.
    with tempfile.TemporaryDirectory(prefix="parallax-") as folder:
        words = [program, "view", *_files(Path(folder), left, right, disparity, calibration), "--once", "--no-open"]
        return _started(words, not _in_notebook() if browser is None else browser)


def _files(folder: Path, left: Array, right: Array, disparity: Array, calibration: Optional[Calibration]) -> List[str]:
    words = []
    for name, image in ("left.png", left), ("right.png", right):
        _maps._write_bytes(folder / name, _maps.encode_png(image))
        words.append(str(folder / name))
    _maps.write(folder / "disparity.pfm", disparity)
    words += ["--map", str(folder / "disparity.pfm")]
    if calibration is not None:
        (folder / "calib.txt").write_text(_calib(calibration, disparity))
        words += ["--calib", str(folder / "calib.txt")]
    return words


def _calib(calibration: Calibration, disparity: Array) -> str:
    """Middlebury's calib.txt, in millimetres."""
    metric = calibration.in_metres()
    camera = "[{} 0 {}; 0 {} {}; 0 0 1]"
    left, right = (
        camera.format(metric.focal, metric.centre_x + shift, metric.focal, metric.centre_y)
        for shift in (0, metric.doffs)
    )
    height, width = disparity.shape
    return (
        f"cam0={left}\ncam1={right}\ndoffs={metric.doffs}\nbaseline={1000 * metric.baseline}\n"
        f"width={width}\nheight={height}\n"
    )


def _started(words: List[str], browser: bool) -> Viewer:
    # The server outlives this process as long as its page is open.
    process = subprocess.Popen(
        words,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    assert process.stdout is not None and process.stderr is not None
    address = process.stdout.readline().strip()
    if not address:
        complaint = process.stderr.read().strip()
        process.wait()
        raise DeviceError(f"'parallax view' did not start: {complaint.removeprefix('parallax: ')}")
    process.stdout.close()
    process.stderr.close()
    if browser:
        webbrowser.open(address)
    return Viewer(process, address)


def _in_notebook() -> bool:
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    return shell is not None and hasattr(shell, "kernel")
