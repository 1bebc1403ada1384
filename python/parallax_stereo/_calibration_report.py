# SPDX-License-Identifier: Apache-2.0
"""A calibration as a page of pictures: one HTML file that loads nothing."""

from __future__ import annotations

import base64
import math
from html import escape
from typing import Callable, Iterable, List, Sequence, Tuple

import cv2
import numpy as np

from ._arrays import Array
from ._calibration_fit import Calibration, coverage, rms
from ._calibration_pictures import read_gray

_STYLE = """
body { font: 15px/1.5 sans-serif; color: #222; background: #fff; max-width: 1100px; margin: 2em auto; padding: 0 1em }
table { border-collapse: collapse; margin: 1em 0 }
th, td { padding: .15em .8em; text-align: right; border-bottom: 1px solid #ddd }
th:first-child, td:first-child { text-align: left } tr.outlier { background: #fde4d8 }
.row { display: flex; flex-wrap: wrap; gap: 1em } figure { margin: 0; flex: 1 1 320px } figcaption { color: #555 }
svg, img { width: 100%; height: auto; box-sizing: border-box; border: 1px solid #aaa } svg text { font: 11px sans-serif; fill: #555 }
"""
# Shots take these colours in turn.
_COLOURS = ("#1f77b4", "#d95f02", "#1b9e77", "#7570b3", "#e7298a", "#66a61e", "#b8860b", "#555555")
_WIDTH = 480  # of a drawing, in its units
_LINES = 16  # across the rectified pair


def report(calibration: Calibration, length: Callable[[float], str]) -> str:
    """The page. `length` writes a length in the unit of the board with its unit."""
    parts = [
        "<h1>Calibration of two cameras</h1>",
        _summary(calibration, length),
        "<h2>Corners over the pictures</h2>",
        _row(_coverage(calibration, side) for side in (0, 1)),
        "<h2>Reprojection errors</h2>",
        _row(_arrows(calibration, side) for side in (0, 1)),
        _row(_scatter(calibration, side) for side in (0, 1)),
        "<h2>Rows off after rectification</h2>",
        _row([_rows_off(calibration)]),
        "<h2>A rectified pair</h2>",
        _row([_rectified_pair(calibration)]),
        "<h2>Pairs</h2>",
        _pairs(calibration),
    ]
    head = '<meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>Calibration</title>'
    return f'<!DOCTYPE html>\n<html lang="en"><head>{head}<style>{_STYLE}</style></head><body>\n' + (
        "\n".join(parts) + "\n</body></html>\n"
    )


def _summary(calibration: Calibration, length: Callable[[float], str]) -> str:
    rig = calibration.rig
    cells = [["", "left", "right"], ["picture, px"], ["focal lengths, px"], ["principal point, px"], ["distortion"]]
    for camera in (rig.left, rig.right):
        k = camera.matrix
        cells[1].append(f"{camera.size[0]} × {camera.size[1]}")
        cells[2].append(f"{k[0, 0]:.2f}, {k[1, 1]:.2f}")
        cells[3].append(f"{k[0, 2]:.2f}, {k[1, 2]:.2f}")
        cells[4].append(", ".join(f"{value:.4g}" for value in camera.distortion))
    cells.append(["error of the camera alone, px"] + [f"{error:.3f}" for error in calibration.alone])
    cells.append(["error in the rig, px"] + [f"{rms(errors):.3f}" for errors in _errors(calibration)])
    x, y, z = np.degrees(cv2.Rodrigues(rig.rotation)[0].ravel())
    text = (
        f"{len(calibration.shots)} pairs. Reprojection error (root mean square) {calibration.error:.3f} px. "
        f"Rows off: median {calibration.rows_off(0.5):.3f} px, 95 % below {calibration.rows_off(0.95):.3f} px. "
        f"Baseline {length(rig.baseline)}. Rotation {x:.3f}° about x, {y:.3f}° about y, {z:.3f}° about z."
    )
    return f"<p>{text}</p>" + _table(cells)


def _pairs(calibration: Calibration) -> str:
    outliers = calibration.outliers()
    cells = [["pair", "corners", "left error, px", "right error, px", "rows off, px (mean)"]]
    for shot, residual in zip(calibration.shots, calibration.residuals):
        errors = [f"{rms(residual.left):.3f}", f"{rms(residual.right):.3f}", f"{np.abs(residual.rows).mean():.3f}"]
        cells.append([str(shot), str(len(residual.rows)), *errors])
    note = "" if not outliers else "<p>Coloured: pairs with an error above twice the median.</p>"
    return _table(cells, [index + 1 for index in outliers]) + note


def _coverage(calibration: Calibration, side: int) -> str:
    size = (calibration.rig.left, calibration.rig.right)[side].size
    views = calibration.views(side)
    marks = [
        _dots(view.points * _scale(size), index, 4, shot.names[side].name)
        for index, (shot, view) in enumerate(zip(calibration.shots, views))
    ]
    share = coverage(views, size)
    caption = (
        f"{_SIDES[side]}: corners are in {100 * share:.0f} % of 8 × 6 parts of the picture; a colour for each pair"
    )
    return _figure(_svg(marks, size), caption)


def _arrows(calibration: Calibration, side: int) -> str:
    size = (calibration.rig.left, calibration.rig.right)[side].size
    factor = max(1, round(0.015 * size[0] / calibration.error))
    marks = []
    for index, (shot, residual) in enumerate(zip(calibration.shots, calibration.residuals)):
        points, errors = shot.common()[1 + side] * _scale(size), residual[side] * _scale(size) * factor
        lines = "".join(f"M{x:.1f} {y:.1f}l{u:.1f} {v:.1f}" for (x, y), (u, v) in zip(points, errors))
        marks.append(_path(lines, index, 1, shot.names[side].name) + _dots(points, index, 2.5))
    caption = f"{_SIDES[side]}: from corners found towards their projections, {factor} times as long"
    return _figure(_svg(marks, size), caption)


def _scatter(calibration: Calibration, side: int) -> str:
    """Errors as points about the centre, with circles at one and two times their root mean square."""
    errors = [residual[side] for residual in calibration.residuals]
    radius = rms(_errors(calibration)[side])
    limit = float(np.abs(_errors(calibration)).max()) or 1.0
    half = 120
    marks = [f'<path d="M{_WIDTH / 2 - half} {half}h{2 * half}M{_WIDTH / 2} 0v{2 * half}" stroke="#ccc"/>']
    for times in (1, 2):
        circle = f'cx="{_WIDTH / 2}" cy="{half}" r="{times * radius / limit * half:.1f}"'
        marks.append(f'<circle {circle} fill="none" stroke="#999" stroke-dasharray="3"/>')
    for index, values in enumerate(errors):
        marks.append(
            _dots(values / limit * half + (_WIDTH / 2, half), index, 3, calibration.shots[index].names[side].name)
        )
    caption = f"{_SIDES[side]}: errors to ±{limit:.2f} px; circles at {radius:.3f} and {2 * radius:.3f} px"
    return _figure(_svg(marks, (2, 1)), caption)


def _rows_off(calibration: Calibration) -> str:
    width = calibration.rig.left.size[0]
    limit = max(float(np.abs(residual.rows).max()) for residual in calibration.residuals) or 1.0
    wide, high, middle = 2 * _WIDTH, 240, 120
    step = 10 ** math.floor(math.log10(limit / 2))
    step *= 2 if limit / step > 5 else 1
    ticks = [tick * step for tick in range(-int(limit / step), int(limit / step) + 1)]
    marks = []
    for tick in ticks:
        y = middle - tick / limit * middle
        marks.append(f'<path d="M0 {y:.1f}h{wide}" stroke="{"#999" if tick == 0 else "#ddd"}"/>')
        marks.append(f'<text x="4" y="{y - 2:.1f}">{tick:g} px</text>')
    for index, (shot, residual) in enumerate(zip(calibration.shots, calibration.residuals)):
        points = np.column_stack([shot.common()[1][:, 0] / width * wide, middle - residual.rows / limit * middle])
        marks.append(_dots(points, index, 4, str(shot)))
    caption = "Left row minus right row, over the column in the left picture"
    return _figure(f'<svg viewBox="0 0 {wide} {high}">{"".join(marks)}</svg>', caption)


def _rectified_pair(calibration: Calibration) -> str:
    """The rectified pair of median error, with lines that must cross the same things on both sides."""
    errors = [residual.rms for residual in calibration.residuals]
    shot = calibration.shots[int(np.argsort(errors)[len(errors) // 2])]
    both = np.hstack(calibration.rig.rectify(*(read_gray(name) for name in shot.names)))
    scale = min(1.0, 1600 / both.shape[1])
    shown = cv2.resize(both, None, fx=scale, fy=scale, interpolation=cv2.INTER_AREA) if scale < 1 else both
    coloured = cv2.cvtColor(shown, cv2.COLOR_GRAY2BGR)
    for row in np.linspace(0, len(coloured), _LINES + 2)[1:-1].astype(int):
        coloured[row] = (0, 160, 255)
    _, data = cv2.imencode(".jpg", coloured, [cv2.IMWRITE_JPEG_QUALITY, 85])
    source = "data:image/jpeg;base64," + base64.b64encode(data.tobytes()).decode()
    return _figure(
        f'<img src="{source}" alt="rectified pair">',
        f"{escape(str(shot))}: a line crosses the same things on both sides",
    )


_SIDES = ("Left", "Right")


def _errors(calibration: Calibration) -> Array:
    """The errors of the left and right camera: (2, n, 2)."""
    errors: Array = np.concatenate([[shot.left, shot.right] for shot in calibration.residuals], axis=1)
    return errors


def _scale(size: Tuple[int, int]) -> float:
    return _WIDTH / size[0]


def _svg(marks: Iterable[str], size: Tuple[int, int]) -> str:
    """A drawing with the shape of a picture."""
    return f'<svg viewBox="0 0 {_WIDTH} {_WIDTH * size[1] / size[0]:.0f}">{"".join(marks)}</svg>'


def _path(data: str, index: int, width: float, title: str = "") -> str:
    colour = _COLOURS[index % len(_COLOURS)]
    shown = f"<title>{escape(title)}</title>" if title else ""
    return (
        f'<path d="{data}" stroke="{colour}" stroke-width="{width}" stroke-linecap="round" fill="none">{shown}</path>'
    )


def _dots(points: Array, index: int, width: float, title: str = "") -> str:
    return _path("".join(f"M{x:.1f} {y:.1f}h0" for x, y in points), index, width, title)


def _figure(content: str, caption: str) -> str:
    return f"<figure>{content}<figcaption>{caption}</figcaption></figure>"


def _row(figures: Iterable[str]) -> str:
    return f'<div class="row">{"".join(figures)}</div>'


def _table(rows: Sequence[Sequence[str]], marked: Sequence[int] = ()) -> str:
    lines: List[str] = []
    for index, cells in enumerate(rows):
        kind = "th" if index == 0 else "td"
        shown = "".join(f"<{kind}>{escape(cell)}</{kind}>" for cell in cells)
        lines.append(f'<tr{" class=" + chr(34) + "outlier" + chr(34) if index in marked else ""}>{shown}</tr>')
    return f"<table>{''.join(lines)}</table>"
