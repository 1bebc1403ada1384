# SPDX-License-Identifier: Apache-2.0
"""result.view(), with the program parallax."""

from __future__ import annotations

import json
import os
import tempfile
import urllib.request
from pathlib import Path
from typing import Any, Tuple

import pytest

import parallax_stereo as px

SERVER = Path(os.environ.get("PARALLAX_COMMAND", "/nothing")).with_name("parallax-view")
needs_server = pytest.mark.skipif(not SERVER.exists(), reason="needs parallax-view")


@needs_server
def test_a_result_opens_a_page(pair: Tuple[Any, Any, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    opened = []
    monkeypatch.setattr("webbrowser.open", opened.append)
    rig = px.Calibration(focal=100, baseline=0.1, centre_x=60, centre_y=40, doffs=2)
    viewer = px.match(*pair[:2], disparities=16).view(rig)
    try:
        assert opened == [viewer.address]
        with urllib.request.urlopen(viewer.address) as answer:
            token = answer.read().split(b'name="token" content="')[1].split(b'"')[0].decode()
        request = urllib.request.Request(viewer.address + "state", headers={"X-Parallax-Token": token})
        with urllib.request.urlopen(request) as answer:
            state = json.load(answer)
        assert state["stored_map"] is True
        expected = {"focal": 100, "baseline": 0.1, "centre_x": 60, "centre_y": 40, "doffs": 2}
        assert state["calibration"] == pytest.approx(expected)
        assert viewer.address in viewer._repr_html_() and viewer._repr_html_().startswith("<iframe")
        assert list(tmp_path.iterdir()) == []  # the server has read its files
    finally:
        viewer.close()


@needs_server
def test_without_a_browser(gray: Tuple[Any, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("webbrowser.open", lambda _: pytest.fail("opened"))
    px.match(*gray, disparities=16).view(browser=False).close()


def test_what_it_needs(pair: Tuple[Any, Any, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    result = px.match(*pair[:2], disparities=16)
    program = tmp_path / "parallax"
    program.write_text("#!/bin/sh\necho 'parallax: there is no page' >&2\nexit 1\n")
    program.chmod(0o755)
    monkeypatch.setenv("PARALLAX_COMMAND", str(program))
    with pytest.raises(px.DeviceError, match="did not start: there is no page"):
        result.view()
    monkeypatch.delenv("PARALLAX_COMMAND")
    monkeypatch.setenv("PATH", str(tmp_path / "nothing"))
    with pytest.raises(px.DeviceError, match="install it"):
        result.view()
    with pytest.raises(px.ArgumentError, match="no right image"):
        px.Result(result.disparity, result.status, left=pair[0]).view()
