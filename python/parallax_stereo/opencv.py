# SPDX-License-Identifier: Apache-2.0
"""Matchers that can replace OpenCV's. This module does not need cv2.

    matcher = px.opencv.create("bp", numDisparities=128)
    disparity = matcher.compute(left, right)  # int16, 16 times the disparity, as from cv2.StereoSGBM

docs/howto/opencv.md maps the parameters of cv2.StereoBM and cv2.StereoSGBM to those of Parallax.
"""

from __future__ import annotations

from typing import Any, Dict, Optional, Tuple

import numpy as np

from ._arrays import Array, integer, picture
from ._library import ArgumentError
from ._matcher import Matcher, _Settings

#: The disparities are integers with this many fractional bits.
DISP_SHIFT = 4
DISP_SCALE = 16


class StereoMatcher:
    """The interface of cv2.StereoMatcher. Colour images are in OpenCV's order: blue, green, red.

    It plans when it is first used and when the parameters, or the size or type of the images, have changed.
    """

    # The images of compute(), in their order.
    _sides = ("left", "right")

    def __init__(self, method: str, values: Dict[str, Any], settings: Dict[str, Any]) -> None:
        self._method = method
        defaults = {"device": "auto", "threads": 0, "max_memory": 0, "configure": None, "preset": "default"}
        self._settings: Dict[str, Any] = {**defaults, **settings}
        self._preset = self._settings.pop("preset")
        self._values: Dict[str, Any] = {}
        self._planned: Optional[Tuple[Any, Matcher]] = None
        self._set(**values)

    def __getstate__(self) -> Dict[str, Any]:
        return {
            **self.__dict__,
            "_settings": dict(self._settings),
            "_values": dict(self._values),
            "_planned": None,
        }

    def compute(self, left: Any, right: Any, disparity: Optional[Array] = None) -> Array:
        """Returns 16 times the disparity as int16, with (minDisparity - 1) * 16 where there is none. If
        `disparity` is float32, returns the disparity itself, with minDisparity - 1 where there is none.
        Writes into `disparity` if it is given."""
        images = [_as_rgb(picture(image, name)) for image, name in zip((left, right), self._sides)]
        dtype = _checked_dtype(disparity, images[0].shape[:2])
        if dtype == np.int16:
            self._check_that_16_bits_suffice()
        result = self._match(images[0], images[1])
        result[~np.isfinite(result)] = self.getMinDisparity() - 1
        if dtype == np.int16:
            result = np.floor(result * DISP_SCALE + np.float32(0.5)).astype(np.int16)
        if disparity is None:
            return result
        disparity[...] = result
        return disparity

    def _match(self, left: Array, right: Array) -> Array:
        """Disparities in pixels, in a new array; +inf = none."""
        disparity: Array = self._matcher(left)(left, right).disparity
        return disparity

    @property
    def parameters(self) -> Dict[str, Any]:
        """All parameters of the method, by their own names."""
        return dict(self._values)

    def getMinDisparity(self) -> int:
        return int(self._values["min_disparity"])

    def setMinDisparity(self, minDisparity: int) -> None:
        """In pixels; any sign."""
        self._set(min_disparity=integer(minDisparity, "minDisparity"))

    def getNumDisparities(self) -> int:
        return int(self._values["disparities"])

    def setNumDisparities(self, numDisparities: int) -> None:
        """In pixels; need not be a multiple of 16."""
        self._set(disparities=integer(numDisparities, "numDisparities"))

    def getBlockSize(self) -> int:
        """The parameter `window`; 1 for methods that compare single pixels."""
        return int(self._values.get("window", 1))

    def setBlockSize(self, blockSize: int) -> None:
        size = integer(blockSize, "blockSize")
        if "window" in self._values:
            self._set(window=size)
        elif size != 1:
            raise ArgumentError(f"method {self._method} has no window: leave the block size at 1")

    def getSpeckleWindowSize(self) -> int:
        return max(int(self._values["speckle_size"]) - 1, 0)

    def setSpeckleWindowSize(self, speckleWindowSize: int) -> None:
        """Regions of up to this many pixels lose their disparity; 0 or less = none."""
        size = min(integer(speckleWindowSize, "speckleWindowSize"), 2**31 - 2)
        self._set(speckle_size=size + 1 if size > 0 else 0)

    def getSpeckleRange(self) -> int:
        return int(round(self._values["speckle_range"]))

    def setSpeckleRange(self, speckleRange: int) -> None:
        """Largest difference in pixels between neighbours in a region, as in cv2.StereoSGBM. In cv2.StereoBM it
        is in 16ths of a pixel."""
        self._set(speckle_range=integer(speckleRange, "speckleRange"))

    def getDisp12MaxDiff(self) -> int:
        return int(round(self._values["left_right_tolerance"])) if self._values["left_right_check"] else -1

    def setDisp12MaxDiff(self, disp12MaxDiff: int) -> None:
        """Tolerance in pixels of the left-right check; negative = no check."""
        tolerance = integer(disp12MaxDiff, "disp12MaxDiff")
        if tolerance < 0:
            self._set(left_right_check=False)
        else:
            self._set(left_right_check=True, left_right_tolerance=tolerance)

    def getDefaultName(self) -> str:
        """The name of the class, as C++ writes it into files."""
        return "parallax_StereoMatcher"

    def _set(self, **values: Any) -> None:
        device, threads, memory, configure = (
            self._settings[name] for name in ("device", "threads", "max_memory", "configure")
        )
        checked = _Settings(
            self._method, self._preset, device, threads, memory, configure or {}, {**self._values, **values}
        ).parameters()
        if checked.get("full_row"):
            raise ArgumentError(
                "full_row has no lowest disparity, and so no value for none: search a range of disparities"
            )
        self._values = {name: value for name, value in checked.items() if name != "method"}
        self._planned = None

    def _matcher(self, left: Array) -> Matcher:
        key = (left.shape[:2], left.dtype)
        if self._planned is None or self._planned[0] != key:
            self._planned = None
            size = (left.shape[1], left.shape[0])
            matcher = Matcher(self._method, size, dtype=left.dtype, **self._settings, **self._values)
            self._planned = (key, matcher)
        return self._planned[1]

    def _check_that_16_bits_suffice(self) -> None:
        lowest = self.getMinDisparity()
        highest = lowest + self.getNumDisparities()
        if lowest - 1 < -2048 or highest > 2047:
            raise ArgumentError(
                f"disparities from {lowest} to {highest - 1} do not fit int16 in 16ths: "
                "give a float32 array as disparity"
            )


class RightMatcher(StereoMatcher):
    """The matcher of the right view, which createRightMatcher() makes.

    compute(right, left) gives the map of the right image, as `Result.right`, with OpenCV's sign: right (x, y) shows the
    same point as left (x - d, y), so d is negative where the left disparity is positive. Its range is minDisparity =
    1 - (minDisparity + numDisparities) of the left one, and as many disparities. `parameters` are those of the left one.
    """

    _sides = ("right", "left")

    def _match(self, left: Array, right: Array) -> Array:
        if left.shape[:2] != right.shape[:2] or left.dtype != right.dtype:
            raise ArgumentError("left and right differ in size or dtype: give two images of one size and dtype")
        mirrored = super()._match(np.ascontiguousarray(left[:, ::-1]), np.ascontiguousarray(right[:, ::-1]))
        disparity: Array = np.negative(mirrored[:, ::-1])
        return disparity

    def getMinDisparity(self) -> int:
        """In pixels."""
        return 1 - (super().getMinDisparity() + self.getNumDisparities())

    def setMinDisparity(self, minDisparity: int) -> None:
        """In pixels; any sign."""
        self._set(min_disparity=1 - (integer(minDisparity, "minDisparity") + self.getNumDisparities()))

    def setNumDisparities(self, numDisparities: int) -> None:
        """In pixels; keeps minDisparity."""
        count = integer(numDisparities, "numDisparities")
        self._set(min_disparity=1 - (self.getMinDisparity() + count), disparities=count)

    def getDefaultName(self) -> str:
        """The name of the class, as C++ writes it into files."""
        return "parallax_RightMatcher"


def createRightMatcher(matcher_left: StereoMatcher) -> RightMatcher:
    """The matcher of the right view, with the parameters and the device that the matcher of the left one has now. It
    stands for cv2.ximgproc.createRightMatcher(), which takes only OpenCV's own matchers."""
    settings = {**matcher_left._settings, "preset": matcher_left._preset}
    return RightMatcher(matcher_left._method, matcher_left.parameters, settings)


def createDisparityWLSFilter(matcher_left: StereoMatcher) -> Any:
    """OpenCV's filter of weighted least squares for this matcher and that of the right view. It needs a cv2 with ximgproc,
    as Debian's python3-opencv and opencv-contrib-python have.

        matcher = px.opencv.create("sgm", numDisparities=128)
        wls = px.opencv.createDisparityWLSFilter(matcher)
        right_matcher = px.opencv.createRightMatcher(matcher)
        disparity, right_disparity = matcher.compute(left, right), right_matcher.compute(right, left)
        filtered = wls.filter(disparity, left, disparity_map_right=right_disparity)

    As cv2.ximgproc.createDisparityWLSFilter() does for OpenCV's own matchers, it turns off all that rejects or fills
    disparities: the left-right check, the speckle filter, the fill, and the thresholds uniqueness, texture_threshold and
    min_confidence. The filter finds what is wrong by the right map. Call it before createRightMatcher().
    """
    try:
        from cv2 import ximgproc
    except ImportError as error:
        raise ImportError(f"the filter needs a cv2 with ximgproc: install opencv-contrib-python ({error})") from error
    off = {"left_right_check": False, "speckle_size": 0, "fill": "none"}
    thresholds = ("uniqueness", "texture_threshold", "min_confidence")
    matcher_left._set(**off, **{name: 0 for name in thresholds if name in matcher_left.parameters})
    wls = ximgproc.createDisparityWLSFilterGeneric(True)
    wls.setDepthDiscontinuityRadius((matcher_left.getBlockSize() + 1) // 2)
    return wls


def create(method: str = "bp", minDisparity: int = 0, numDisparities: int = 64, **keywords: Any) -> StereoMatcher:
    """A matcher with the interface of cv2.StereoMatcher.

    Keywords: blockSize, speckleWindowSize, speckleRange and disp12MaxDiff, as the setters take them; device, threads,
    preset, max_memory and configure, as in parallax_stereo.Matcher; and the method's own parameters, which
    parameters(method) lists.

        matcher = px.opencv.create("block", numDisparities=128, blockSize=11, fill="none")
    """
    setters = {name: keywords.pop(name) for name in _SETTERS if name in keywords}
    settings = {name: keywords.pop(name) for name in _SETTINGS if name in keywords}
    values = {
        "min_disparity": integer(minDisparity, "minDisparity"),
        "disparities": integer(numDisparities, "numDisparities"),
    }
    matcher = StereoMatcher(method, {**values, **keywords}, settings)
    for name, value in setters.items():
        getattr(matcher, _SETTERS[name])(value)
    return matcher


_SETTERS = {
    "blockSize": "setBlockSize",
    "speckleWindowSize": "setSpeckleWindowSize",
    "speckleRange": "setSpeckleRange",
    "disp12MaxDiff": "setDisp12MaxDiff",
}
_SETTINGS = ("device", "threads", "preset", "max_memory", "configure")


def _as_rgb(image: Array) -> Array:
    return np.ascontiguousarray(image[:, :, ::-1]) if image.ndim == 3 else image


def _checked_dtype(disparity: Optional[Array], shape: Tuple[int, ...]) -> Any:
    """The type of the result."""
    if disparity is None:
        return np.dtype(np.int16)
    dtype, found = getattr(disparity, "dtype", type(disparity).__name__), getattr(disparity, "shape", "")
    if not isinstance(disparity, np.ndarray) or dtype not in (np.int16, np.float32) or found != shape:
        raise ArgumentError(f"disparity is {dtype} {found}: give an int16 or float32 array of {shape}")
    return dtype
