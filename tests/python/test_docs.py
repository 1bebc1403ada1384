# SPDX-License-Identifier: Apache-2.0
"""Runs the examples of docs/reference/python.md, one after the other, as a reader would type them."""

from __future__ import annotations

import importlib
import re
from pathlib import Path
from typing import Any, Dict

import pytest

import parallax_stereo as px

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "python.md"
EXAMPLE = re.compile(r"(?:<!-- needs ([\w.]+) -->\n)?```python\n(.*?)```", re.DOTALL)


def is_here(needed: str) -> bool:
    """Whether a module, or the GPU of one, is here."""
    module, _, gpu = needed.partition(".")
    try:
        return not gpu or bool(getattr(importlib.import_module(module), gpu).is_available())
    except ImportError:
        return False


def test_examples_of_the_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pillow = pytest.importorskip("PIL.Image")
    monkeypatch.chdir(tmp_path)
    for name, image in zip(("left.png", "right.png"), px.synthesize((200, 120), 32)):
        pillow.fromarray(image).save(name)
    examples = EXAMPLE.findall(PAGE.read_text())
    assert len(examples) >= 6
    names: Dict[str, Any] = {}
    for needed, text in examples:
        if not needed or is_here(needed):
            exec(compile(text, str(PAGE), "exec"), names)
    assert (tmp_path / "points.ply").exists() and (tmp_path / "disparity.pfm").exists()
