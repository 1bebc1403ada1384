# SPDX-License-Identifier: Apache-2.0
"""Rigs of two calibrated cameras, rectification, and matching of the images that the cameras take."""

from __future__ import annotations

import ctypes
import json
import threading
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Dict, List, Mapping, Optional, Sequence, Tuple

import numpy as np

from . import _matcher
from ._arrays import Array, Images, integer, is_on_gpu, view
from ._copies import Copied, remembered
from ._library import (
    ArgumentError,
    CalibrationValues,
    FileError,
    Handle,
    Image,
    Map,
    RectificationValues,
    RectifiedPair,
    RectifyParameters,
    encoded,
    function,
    text,
)
from ._maps import Calibration, PathLike
from ._matcher import Result

_INTERPOLATIONS = ("bilinear", "lanczos3")


@dataclass(frozen=True)
class Camera:
    """A camera. Lengths are in pixels; the centre of the first pixel is (0, 0)."""

    size: Tuple[int, int]  #: width and height of its images
    focal: Tuple[float, float]  #: focal length over the width and over the height of a pixel
    centre: Tuple[float, float]  #: column and row of the principal point
    #: or "equidistant", a fisheye lens, "omnidirectional", "double-sphere" or "extended-unified"
    model: str = "radial-tangential"
    #: OpenCV's coefficients: 0, 4, 5, 8, 12 or 14; for "equidistant", 4; for "omnidirectional" ξ, k1, k2, p1, p2, for
    #: "double-sphere" ξ, α, for "extended-unified" α, β
    distortion: Tuple[float, ...] = ()

    @property
    def matrix(self) -> Array:
        """float64 (3, 3), as OpenCV has it."""
        (fx, fy), (cx, cy) = self.focal, self.centre
        return np.array([[fx, 0, cx], [0, fy, cy], [0, 0, 1]], np.float64)

    @staticmethod
    def _of(values: Mapping[str, Any]) -> Camera:
        fields: Dict[str, Any] = {}
        for key, value in values.items():
            fields[key] = value if isinstance(value, str) else tuple(value)
        return Camera(**fields)

    @staticmethod
    def _from_opencv(matrix: Any, distortion: Any, size: Any, fisheye: bool, side: str) -> Camera:
        k = _numbers(matrix, (3, 3), f"the matrix of the {side} camera")
        if k[0, 1] != 0:
            raise ArgumentError(f"the matrix of the {side} camera has skew {k[0, 1]}: give one without")
        model = "equidistant" if fisheye else "radial-tangential"
        coefficients = () if distortion is None else tuple(np.asarray(distortion, np.float64).ravel().tolist())
        focal, centre = (k[0, 0].item(), k[1, 1].item()), (k[0, 2].item(), k[1, 2].item())
        return Camera(_matcher._checked_size(size), focal, centre, model, coefficients)


class Rig:
    """Two calibrated cameras, which never change: a point X in the left camera's coordinates is
    rotation · X + translation in the right one's, as in OpenCV.

        rig = px.Rig.read("rig.json")
        rig = px.Rig.from_opencv(K1, D1, K2, D2, R, T, (1280, 720))

    `parallax rig convert` turns the files of other programs into JSON.
    """

    def __init__(self, left: Camera, right: Camera, rotation: Any, translation: Any) -> None:
        values = {
            "left": left.__dict__,
            "right": right.__dict__,
            "rotation": _numbers(rotation, (3, 3), "rotation").tolist(),
            "translation": _numbers(translation, (3,), "translation").tolist(),
        }
        try:
            self._create(json.dumps(values, allow_nan=False), "rig")
        except (FileError, TypeError, ValueError) as error:
            raise ArgumentError(str(error)) from error

    @staticmethod
    def from_json(json_text: str, name: str = "rig") -> Rig:
        """Parses the JSON of docs/reference/rigs.md. `name` appears in errors."""
        rig = Rig.__new__(Rig)
        rig._create(json_text, name)
        return rig

    @staticmethod
    def read(path: PathLike) -> Rig:
        """Reads a JSON file."""
        try:
            written = Path(path).read_text("utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise FileError(f"cannot read {path}: {error}") from error
        return Rig.from_json(written, str(path))

    @staticmethod
    def from_opencv(
        K1: Any, D1: Any, K2: Any, D2: Any, R: Any, T: Any, size: Tuple[int, int], *, fisheye: bool = False
    ) -> Rig:
        """The result of cv2.stereoCalibrate, or of cv2.fisheye.stereoCalibrate. `size`: (width, height) of the images."""
        left = Camera._from_opencv(K1, D1, size, fisheye, "left")
        right = Camera._from_opencv(K2, D2, size, fisheye, "right")
        return Rig(left, right, R, np.asarray(T).ravel())

    def to_json(self) -> str:
        """The JSON of docs/reference/rigs.md, which from_json() reads to the same values."""
        written = ctypes.c_char_p()
        function("rig_json")(self._handle.pointer, ctypes.byref(written))
        return text(written.value)

    def _create(self, json_text: str, name: str) -> None:
        self._handle = Handle("rig")
        function("rig_create")(encoded(json_text, "json"), encoded(name, "name"), ctypes.byref(self._handle.pointer))
        values = json.loads(self.to_json())
        #: the cameras
        self.left, self.right = Camera._of(values["left"]), Camera._of(values["right"])
        #: float64 (3, 3) and (3,); the unit of the translation is that of depths
        self.rotation, self.translation = np.array(values["rotation"]), np.array(values["translation"])
        for array in (self.rotation, self.translation):
            array.flags.writeable = False
        self._made = (*self.__dict__, "_made")

    def __reduce__(self) -> Tuple[Any, ...]:
        added = {name: value for name, value in self.__dict__.items() if name not in self._made}
        return _rig_again, (type(self), self.to_json()), added or None

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Rig) and self.to_json() == other.to_json()

    def __hash__(self) -> int:
        return hash(self.to_json())

    def __repr__(self) -> str:
        return f"<Rig {self.left.size[0]}×{self.left.size[1]}, baseline {np.linalg.norm(self.translation):.4g}>"


def _rig_again(kind: Any, json_text: str) -> Rig:
    rig: Rig = kind.__new__(kind)
    rig._create(json_text, "rig")
    return rig


@dataclass(frozen=True, eq=False)
class Rectification:
    """What rectified images show: two pinhole cameras of equal focal length, side by side. Lengths are in pixels,
    except for the baseline."""

    rotation_left: Array  #: float64 (3, 3): from the left camera's axes to the rectified ones
    rotation_right: Array  #: the same for the right camera
    focal: float  #: focal length of both
    centre_left_x: float  #: column of the left principal point
    centre_right_x: float  #: column of the right principal point
    centre_y: float  #: row of both principal points
    baseline: float  #: distance between the cameras, in the rig's unit
    size: Tuple[int, int]  #: (width, height) of both rectified images
    #: By how many quarter turns clockwise both images are turned against those of the left camera: 0 for cameras side by
    #: side, 1 or 3 where the right one is above or below the left one, 2 where the left one is mounted upside down.
    #: numpy.rot90(map, quarter_turns) turns a map back.
    quarter_turns: int = 0

    def calibration(self) -> Calibration:
        """For depths and points."""
        values, result = RectificationValues(), CalibrationValues()
        for name in ("focal", "centre_left_x", "centre_right_x", "centre_y", "baseline"):
            setattr(values, name, getattr(self, name))
        values.width, values.height = self.size
        function("rectification_calibration")(values, result)
        return Calibration._of(result)


def rectify(
    rig: Rig,
    *,
    alpha: float = 0.0,
    zoom: float = 1.0,
    size: Optional[Tuple[int, int]] = None,
    same_centres: bool = True,
    interpolation: str = "bilinear",
) -> Rectification:
    """Turns two cameras, by computation, until the same point has the same row in both images.

    alpha: 0 = the widest view in which both cameras saw every pixel; 1 = the narrowest view that shows every pixel of
    both; between: in proportion.
    zoom: multiplies the focal length.
    size: (width, height) of the rectified images; None = that of the left camera's images.
    same_centres: whether both images have the same principal point, so that disparity 0 is infinitely far away.
    interpolation: "bilinear", or "lanczos3": sharper, and slower.
    """
    return _rectification(rig, _parameters(alpha, zoom, size, same_centres, interpolation))


def _rectification(rig: Rig, parameters: RectifyParameters) -> Rectification:
    values = RectificationValues()
    function("rectify")(_pointer(rig), parameters, values)
    return Rectification(
        np.array(values.rotation_left).reshape(3, 3),
        np.array(values.rotation_right).reshape(3, 3),
        values.focal,
        values.centre_left_x,
        values.centre_right_x,
        values.centre_y,
        values.baseline,
        (values.width, values.height),
        values.quarter_turns,
    )


def _parameters(alpha: Any, zoom: Any, size: Any, same_centres: Any, interpolation: Any) -> RectifyParameters:
    if interpolation not in _INTERPOLATIONS:
        raise ArgumentError(f"interpolation is {interpolation!r}: choose {' or '.join(_INTERPOLATIONS)}")
    width, height = (0, 0) if size is None else _matcher._checked_size(size)
    try:
        alpha, zoom = float(alpha), float(zoom)
    except (TypeError, ValueError) as error:
        raise ArgumentError(f"alpha is {alpha!r}, zoom is {zoom!r}: give numbers") from error
    return RectifyParameters(alpha, zoom, bool(same_centres), width, height, _INTERPOLATIONS.index(interpolation))


def _pointer(rig: Any) -> ctypes.c_void_p:
    if not isinstance(rig, Rig):
        raise ArgumentError(f"rig is {type(rig).__name__}: give a Rig")
    return rig._handle.pointer


def _numbers(value: Any, shape: Tuple[int, ...], name: str) -> Array:
    try:
        array: Array = np.asarray(value, np.float64)
    except (TypeError, ValueError) as error:
        raise ArgumentError(f"{name} is {value!r}: give numbers") from error
    if array.shape != shape:
        raise ArgumentError(f"{name} has shape {array.shape}: give {shape}")
    return array


class Rectifier(Copied):
    """Turns images of a rig's cameras into a rectified pair, planned once. Keywords as in rectify(); dtype, device and
    threads as in Matcher.

        left, right, left_mask, right_mask = px.Rectifier(rig)(raw_left, raw_right)

    Threads may share a rectifier, which then runs their pairs one after the other. It pickles and copies as a Matcher does.
    """

    @remembered
    def __init__(
        self,
        rig: Rig,
        *,
        alpha: float = 0.0,
        zoom: float = 1.0,
        size: Optional[Tuple[int, int]] = None,
        same_centres: bool = True,
        interpolation: str = "bilinear",
        dtype: Any = np.uint8,
        device: str = "auto",
        threads: int = 0,
    ) -> None:
        parameters = _parameters(alpha, zoom, size, same_centres, interpolation)
        #: What the rectified images show.
        self.rectification = _rectification(rig, parameters)
        self._handle = Handle("rectifier")
        function("rectifier_create")(
            _pointer(rig),
            parameters,
            encoded(device, "device"),
            integer(threads, "threads"),
            _matcher._image_type(dtype),
            ctypes.byref(self._handle.pointer),
        )

    def __call__(
        self, left: Any, right: Any, *, range: Optional[Tuple[int, int]] = None
    ) -> Tuple[Array, Array, Array, Array]:
        """Rectifies a pair of NumPy arrays as Matcher takes them, of the cameras' sizes, whose values become those that matchers
        expect; `range` as for a match.

        Returns both rectified images, 0 where the camera saw nothing, and both masks for Matcher, bool (height, width):
        where the camera saw something.
        """
        pair = Images(left, right, range=range)
        images = [pair.left, pair.right]
        width, height = self.rectification.size
        results = [np.empty((height, width) + image.shape[2:], image.dtype) for image in images]
        masks = [np.empty((height, width), np.uint8) for _ in images]
        views = [ctypes.pointer(view(array)) for array in (*results, *masks)]
        function("rectifier_run")(self._handle.pointer, *map(view, images), RectifiedPair(*views))
        return results[0], results[1], masks[0] > 0, masks[1] > 0


class RectifiedMatcher(Copied):
    """A Rectifier and a Matcher, planned together for the images of a rig's cameras. Pixels of the left image that its
    camera did not see have the status "input_masked". The arguments are those of rectify() and of Matcher.

        matcher = px.RectifiedMatcher(rig, "census", disparities=96)
        result = matcher(raw_left, raw_right)
        depths = result.depth(matcher.calibration)

    Threads may share a matcher, which then runs their pairs one after the other. It pickles and copies as a Matcher does.
    """

    @remembered
    def __init__(
        self,
        rig: Rig,
        method: str = "bp",
        *,
        alpha: float = 0.0,
        zoom: float = 1.0,
        size: Optional[Tuple[int, int]] = None,
        same_centres: bool = True,
        interpolation: str = "bilinear",
        dtype: Any = np.uint8,
        device: str = "auto",
        threads: int = 0,
        preset: str = "default",
        max_memory: int = 0,
        both_maps: bool = False,
        configure: Optional[Mapping[str, Any]] = None,
        **parameters: Any,
    ) -> None:
        self._rectify = _parameters(alpha, zoom, size, same_centres, interpolation)
        #: What the maps show.
        self.rectification = _rectification(rig, self._rectify)
        #: For depths and points.
        self.calibration = self.rectification.calibration()
        self._rig, self._gpu = rig, _matcher._gpu_of(device)
        self._options = (interpolation, same_centres, dtype)
        settings = _matcher._Settings(
            method, preset, device, threads, max_memory, configure or {}, parameters, both_maps
        )
        self._settings = settings
        #: All parameters of the method with their values, and "method".
        self.parameters: Dict[str, Any] = settings.parameters()
        self._handle = Handle("rectified_matcher")
        # Held until the library's results are copied, because threads may share a matcher.
        self._lock = threading.Lock()
        function("rectified_matcher_create")(
            settings.handle,
            _pointer(rig),
            self._rectify,
            _matcher._image_type(dtype),
            ctypes.byref(self._handle.pointer),
        )
        #: Whether this matcher can report its confidence.
        self.has_confidence = _matcher._has("rectified_matcher", "confidence", self._handle.pointer)
        #: Whether this matcher searches rows and can report row offsets.
        self.has_row_offsets = _matcher._has("rectified_matcher", "row_offsets", self._handle.pointer)

    @property
    def size(self) -> Tuple[int, int]:
        """(width, height) of the maps."""
        return self.rectification.size

    @property
    def memory(self) -> int:
        """Bytes that the plan holds."""
        return _matcher._memory("rectified_matcher", self._handle.pointer)

    @property
    def stages(self) -> Dict[str, float]:
        """Milliseconds of each stage of the last run from host memory."""
        return _matcher._stages("rectified_matcher", self._handle.pointer, self._lock)

    def __call__(
        self,
        left: Any,
        right: Any,
        *,
        confidence: bool = False,
        row_offset: bool = False,
        out: Optional[Tuple[Any, ...]] = None,
        stream: Any = None,
        range: Optional[Tuple[int, int]] = None,
    ) -> Result:
        """Rectifies and matches the images of the left and the right camera, on the host or on a GPU. The arguments are
        those of Matcher's call; the maps have the size `size`. The result's points have the colours of the rectified left
        image."""
        if is_on_gpu(left):
            if range is not None:
                raise ArgumentError("range is given, but the images are on a GPU: stretch their values there")
            result = self._enqueue(left, right, (confidence, row_offset), out, stream)
        elif stream is not None:
            raise ArgumentError("stream is given, but the images are not on a GPU: leave it out")
        else:
            pair = Images(left, right, range=range)
            images = [pair.left, pair.right]
            shape, wanted = (self.size[1], self.size[0]), (confidence, row_offset)
            maps = _matcher._new_maps(shape, wanted, out)
            right_maps = _matcher._new_maps(shape, wanted, None) if self._settings.both_maps else None
            function("rectified_matcher_run")(self._handle.pointer, *map(view, images), _matcher._map(maps, right_maps))
            result = _matcher._result(maps, None, None, right_maps)
        result._left = lambda: self._rectified(left, right, range)[0]
        result._right = lambda: self._rectified(left, right, range)[1]
        if result.right is not None:
            result.right._left, result.right._right = result._right, result._left
        return result

    def cancel(self) -> None:
        """As Matcher.cancel()."""
        function("rectified_matcher_cancel")(self._handle.pointer)

    def _enqueue(
        self, left: Any, right: Any, wanted: Tuple[bool, bool], out: Optional[Tuple[Any, ...]], stream: Any
    ) -> Result:
        def start(images: List[Optional[Image]], maps: Map, number: int) -> None:
            function("rectified_matcher_enqueue")(self._handle.pointer, *images, maps, number or None)

        _matcher._refuse_both_maps(self._settings)
        return _matcher._enqueue(self, {"left": left, "right": right}, self.size, self._gpu, wanted, out, stream, start)

    def _rectified(self, left: Any, right: Any, values: Any) -> Sequence[Array]:
        interpolation, same_centres, dtype = self._options
        rectifier = Rectifier(
            self._rig,
            alpha=self._rectify.alpha,
            zoom=self._rectify.zoom,
            size=self.size,
            same_centres=same_centres,
            interpolation=interpolation,
            dtype=dtype,
            device="cpu",
        )
        return rectifier(_matcher._on_host(left), _matcher._on_host(right), range=values)

    def __repr__(self) -> str:
        return f"<RectifiedMatcher {self.parameters['method']}, {self.size[0]}×{self.size[1]}>"
