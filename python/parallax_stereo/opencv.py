# SPDX-License-Identifier: Apache-2.0
"""Matchers that stand where OpenCV's do.

    matcher = px.opencv.create("bp", numDisparities=128)
    disparity = matcher.compute(left, right)  # int16, 16 times the disparity, as cv2.StereoSGBM's
"""

from __future__ import annotations

from typing import Any, Dict, Optional, Tuple

import numpy as np

from ._arrays import Array, as_array
from ._library import ArgumentError
from ._matcher import Matcher

#: The disparities are integers of this many fractional bits.
DISP_SHIFT = 4
DISP_SCALE = 16


class StereoMatcher:
    """The interface of cv2.StereoMatcher. Colour images are in OpenCV's order: blue, green, red."""

    def __init__(self, method: str, minDisparity: int, numDisparities: int, keywords: Dict[str, Any]) -> None:
        self._method = method
        self._minimum = minDisparity
        self._disparities = numDisparities
        self._keywords = keywords
        self._planned: Optional[Tuple[Any, Matcher]] = None

    def compute(self, left: Any, right: Any, disparity: Optional[Array] = None) -> Array:
        """Returns 16 times the disparity as int16, (minDisparity - 1) * 16 where there is none; or, if `disparity` is
        float32, the disparity itself, minDisparity - 1 where there is none."""
        images = [_as_rgb(as_array(image, name)) for image, name in ((left, "left"), (right, "right"))]
        found = self._matcher(images[0])(images[0], images[1]).disparity
        none = self._minimum - 1
        result: Array
        if disparity is not None and disparity.dtype == np.float32:
            result = np.where(np.isfinite(found), found, np.float32(none))
        else:
            result = _fixed_point(found, none)
        if disparity is None:
            return result
        if disparity.shape != result.shape or disparity.dtype != result.dtype:
            raise ArgumentError(
                f"disparity is {disparity.dtype} {disparity.shape}: give int16 or float32 of {result.shape}"
            )
        disparity[...] = result
        return disparity

    def _matcher(self, left: Array) -> Matcher:
        key = (left.shape[:2], left.dtype, self._minimum, self._disparities)
        if self._planned is None or self._planned[0] != key:
            matcher = Matcher(
                self._method,
                (left.shape[1], left.shape[0]),
                dtype=left.dtype,
                min_disparity=self._minimum,
                disparities=self._disparities,
                **self._keywords,
            )
            self._planned = (key, matcher)
        return self._planned[1]

    def getMinDisparity(self) -> int:
        return self._minimum

    def setMinDisparity(self, minDisparity: int) -> None:
        self._minimum = minDisparity

    def getNumDisparities(self) -> int:
        return self._disparities

    def setNumDisparities(self, numDisparities: int) -> None:
        self._disparities = numDisparities


def create(method: str = "bp", minDisparity: int = 0, numDisparities: int = 64, **keywords: Any) -> StereoMatcher:
    """A matcher with the interface of cv2.StereoMatcher. Other keywords are those of parallax_stereo.Matcher."""
    return StereoMatcher(method, minDisparity, numDisparities, keywords)


def _as_rgb(image: Array) -> Array:
    if image.ndim == 3 and image.shape[2] == 3:
        return np.ascontiguousarray(image[:, :, ::-1])
    return image


def _fixed_point(disparity: Array, none: int) -> Array:
    missing = ~np.isfinite(disparity)
    scaled = np.where(missing, np.float32(none), disparity) * np.float32(DISP_SCALE)
    result: Array = np.clip(np.floor(scaled + np.float32(0.5)), -32768, 32767).astype(np.int16)
    return result
