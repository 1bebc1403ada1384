# SPDX-License-Identifier: Apache-2.0
"""The check of a pair: is it fit to be matched, in which range, and what is wrong with it?"""

from __future__ import annotations

import ctypes
import json
from dataclasses import dataclass
from typing import Any, Dict, Mapping, Optional, Tuple

import numpy as np

from ._arrays import Array, Images, integer
from ._library import ArgumentError, CheckParameters, Handle, ReportValues, function, text

# float32 values of a parallax_checked_point.
_POINT_VALUES = 6


@dataclass(frozen=True)
class Estimate:
    """A coefficient of RowModel, in pixels."""

    value: float  #: the coefficient
    uncertainty: float  #: its standard deviation
    held: bool  #: whether the points determine it


@dataclass(frozen=True)
class RowModel:
    """What the differences of rows consist of, in pixels at the edge of the picture: docs/explanation/rows.md."""

    shift: Estimate  #: at the centre: pitch, or principal points of unlike rows
    rotation: Estimate  #: of the right picture, clockwise as one sees it
    scale: Estimate  #: of the right picture: ratio of the focal lengths
    yaw: Estimate  #: keystone left to right
    pitch: Estimate  #: keystone top to bottom
    shear: Estimate  #: with disparity: the baseline is not parallel to the rows
    forward: Estimate  #: with disparity and row: one camera stands before the other
    distortion: Estimate  #: radial distortion left over in the right picture less that in the left one
    rotation_degrees: float  #: the angle of `rotation`
    scale_ratio: float  #: the ratio of the right picture's size to the left one's
    shear_degrees: float  #: the angle between the rows and the baseline
    residual: float  #: median distance of the points from the model
    residual_95: float  #: 95 % quantile of it

    @staticmethod
    def _of(values: Mapping[str, Any]) -> RowModel:
        fields = {name: values[name] for name in RowModel.__dataclass_fields__}
        return RowModel(**{name: Estimate(**v) if isinstance(v, dict) else v for name, v in fields.items()})


@dataclass(frozen=True)
class Exposure:
    """How values of the right picture follow from those of the left one: right = gain · left + offset."""

    gain: float  #: 1 = the same
    offset: float  #: in gray levels of 255


@dataclass(frozen=True, eq=False)
class PairReport:
    """What check() found; lengths are in pixels. As a text, it is the sentence and the remarks."""

    verdict: str  #: "fit", "rows_off", "exchanged", ...: docs/howto/check.md lists them
    side: str  #: the picture that has the fault: "left", "right" or "neither"
    sentence: str  #: the verdict for people: what is wrong and what to do
    remarks: Tuple[str, ...]  #: further sentences about what impairs a match
    rows_off: float  #: median distance of the rows of points
    rows_off_95: float  #: 95 % quantile of it
    model: RowModel  #: what the differences of rows consist of
    lowest: float  #: lowest disparity that points support
    highest: float  #: highest disparity that points support
    exposure: Exposure  #: of gray values
    colour: Tuple[Exposure, Exposure, Exposure]  #: of red, green and blue
    sharpness: float  #: of the right picture over that of the left one; 1 = the same
    left_points: Array  #: float32 (n, 2): column and row of each point that agrees with the model in the left picture
    right_points: Array  #: float32 (n, 2): the same in the right picture, to a fraction of a pixel
    uncertainty: Array  #: float32 (n): standard deviation of each row in the right picture
    residual: Array  #: float32 (n): difference of the rows of each point minus the model's
    json: str  #: all but the points, as `parallax check --json` prints it

    @property
    def fit(self) -> bool:
        """Whether the pair can be matched as it is."""
        return self.verdict == "fit"

    @property
    def will_be_aligned(self) -> bool:
        """Whether rows are off, but match() aligns them by itself."""
        return bool(json.loads(self.json)["will_be_aligned"])

    @property
    def range(self) -> Dict[str, int]:
        """The range to search, {"min_disparity": ..., "disparities": ...}, as keywords for match() and Matcher.
        ArgumentError where none was found."""
        found = self._disparities()
        if not found["found"]:
            raise ArgumentError(f"no range of disparities was found: {self.sentence}")
        return {name: found[name] for name in ("min_disparity", "disparities")}

    @property
    def seen(self) -> float:
        """The share of the picture that shows `range`, from 0 to 1."""
        return float(self._disparities()["seen"])

    @property
    def sure(self) -> bool:
        """Whether `seen` is enough, 0.35 or more, and points agree. If not, things may be nearer or farther than `range`."""
        return bool(self._disparities()["sure"])

    @property
    def range_sentence(self) -> str:
        """How sure `range` is; empty without one."""
        return str(self._disparities()["sentence"])

    def _disparities(self) -> Dict[str, Any]:
        found: Dict[str, Any] = json.loads(self.json)["disparities"]
        return found

    def __str__(self) -> str:
        return "\n".join((self.sentence, *self.remarks))

    def __repr__(self) -> str:
        return f"<PairReport {self.verdict}, {len(self.residual)} points, rows off {self.rows_off_95:.2f} px at 95 %>"


def check(
    left: Any,
    right: Any,
    *,
    left_mask: Any = None,
    right_mask: Any = None,
    max_rows_off: float = 0.5,
    search_rows: float = 0.05,
    search_columns: float = 0.5,
    threads: int = 0,
    range: Optional[Tuple[int, int]] = None,
) -> PairReport:
    """Says whether a pair of NumPy arrays is fit to be matched, in which range, and what is wrong with it.

        report = px.check(left, right)
        print(report)
        result = px.match(left, right, **report.range)

    left, right, left_mask, right_mask, threads, range: as for match(). The report does not depend on the threads.
    max_rows_off: rows off, in pixels, that are accepted: at 95 % of the points.
    search_rows: rows to search above and below, as a share of the height.
    search_columns: largest disparity of either sign, as a share of the width.
    """
    images = Images(left, right, left_mask, right_mask, range=range)
    try:
        parameters = CheckParameters(
            float(search_rows), float(search_columns), float(max_rows_off), integer(threads, "threads")
        )
    except (TypeError, ValueError) as error:
        if isinstance(error, ArgumentError):
            raise
        raise ArgumentError(f"max_rows_off, search_rows and search_columns must be numbers: {error}") from error
    held = Handle("pair_report")
    function("check_pair")(images.pair, parameters, ctypes.byref(held.pointer))
    return _report(ctypes.cast(held.pointer, ctypes.POINTER(ReportValues)).contents)


def _report(values: ReportValues) -> PairReport:
    written = text(values.json)
    figures = json.loads(written)
    points = _points(values)
    return PairReport(
        figures["verdict"],
        figures["side"],
        figures["sentence"],
        tuple(figures["remarks"]),
        figures["rows_off"]["median"],
        figures["rows_off"]["95"],
        RowModel._of(figures["model"]),
        figures["disparities"]["lowest"],
        figures["disparities"]["highest"],
        Exposure(**figures["exposure"]),
        (
            Exposure(**figures["colour"]["red"]),
            Exposure(**figures["colour"]["green"]),
            Exposure(**figures["colour"]["blue"]),
        ),
        figures["sharpness"],
        points[:, 0:2],
        points[:, 2:4],
        points[:, 4],
        points[:, 5],
        written,
    )


def _points(values: ReportValues) -> Array:
    shape = (values.point_count, _POINT_VALUES)
    if values.point_count == 0:
        return np.empty(shape, np.float32)
    return np.ctypeslib.as_array(values.points, shape).copy()
