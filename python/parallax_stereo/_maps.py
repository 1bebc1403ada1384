# SPDX-License-Identifier: Apache-2.0
"""Disparity maps as arrays: errors, depth, points, files and pictures."""

from __future__ import annotations

import ctypes
import struct
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Optional, Tuple, Union

import numpy as np

from ._arrays import Array, as_array, input_array, integer, picture, view
from ._library import (
    ArgumentError,
    CalibrationValues,
    FileError,
    MetricsValues,
    encoded,
    free,
    function,
    text,
)
from ._pictures import read_picture

PathLike = Union[str, Path]


@dataclass(frozen=True)
class Metrics:
    """Errors over the pixels with known truth, as in `parallax eval`. Shares are from 0 to 1; errors are in pixels."""

    count: int  #: evaluated pixels
    bad05: float  #: share of pixels with an error above 0.5 px or without a value
    bad1: float  #: the same above 1 px
    bad2: float  #: the same above 2 px
    bad4: float  #: the same above 4 px
    average: float  #: mean error over pixels with a value
    rms: float  #: root mean square of these errors
    a50: float  #: median of these errors
    a90: float  #: 0.9 quantile of these errors
    a95: float  #: 0.95 quantile of these errors
    a99: float  #: 0.99 quantile of these errors
    d1: float  #: share of KITTI's outliers: error above 3 px and 5 % of the truth, or no value
    coverage: float  #: share of pixels with a value
    mismatches: int  #: pixels whose rounded disparity is wrong


def _disparity(value: Any, name: str = "disparity") -> Array:
    return input_array(value, name, (np.float32,))


def evaluate(disparity: Any, truth: Any, mask: Any = None) -> Metrics:
    """Compares a disparity map with the truth.

    disparity, truth: float32, (height, width), in pixels; not finite = no value.
    mask: where to evaluate: bool, or uint8 with 255 = evaluate, as in Middlebury's masks; None = everywhere.
    """
    arrays = [_disparity(disparity), _disparity(truth, "truth")]
    metrics = MetricsValues()
    views = [view(array) for array in arrays]
    if mask is None:
        function("evaluate")(views[0], views[1], None, metrics)
    else:
        chosen = as_array(mask, "mask")
        if chosen.dtype == np.bool_:
            chosen = chosen.astype(np.uint8) * np.uint8(255)
        chosen = input_array(chosen, "mask", (np.uint8,))
        function("evaluate")(views[0], views[1], view(chosen), metrics)
    return Metrics(*(getattr(metrics, name) for name in Metrics.__dataclass_fields__))


@dataclass(frozen=True)
class Calibration:
    """A rectified rig. Lengths are in pixels, except for the baseline, whose unit is also that of depths."""

    focal: float  #: focal length of the left camera
    baseline: float  #: distance between the cameras
    centre_x: float = 0.0  #: column of the left camera's principal point
    centre_y: float = 0.0  #: row of both cameras' principal points
    doffs: float = 0.0  #: principal point of the right camera minus that of the left one, in x
    width: int = 0  #: columns of the images; 0 = unknown
    height: int = 0  #: rows of the images; 0 = unknown
    disparities: int = 0  #: a bound on the disparities; 0 = unknown
    metres_per_unit: float = 0.0  #: metres in the unit of the baseline; 0 = unknown, taken as metres

    @staticmethod
    def read(path: PathLike) -> Calibration:
        """Reads Middlebury's calib.txt, whose baseline is in millimetres."""
        values = CalibrationValues()
        function("read_calibration")(encoded(path, "path"), values)
        return Calibration._of(values)

    def in_metres(self) -> Calibration:
        """The same rig with its baseline in metres, so that depths, points and meshes are in metres."""
        values = self._values()
        function("calibration_in_metres")(values)
        return Calibration._of(values)

    @staticmethod
    def _of(values: CalibrationValues) -> Calibration:
        return Calibration(**{name: getattr(values, name) for name in Calibration.__dataclass_fields__})

    def _values(self) -> CalibrationValues:
        values = CalibrationValues()
        for name in Calibration.__dataclass_fields__:
            try:
                setattr(values, name, getattr(self, name))
            except TypeError as error:
                raise ArgumentError(f"calibration {name} is {getattr(self, name)!r}: give a number") from error
        return values


def _calibration(calibration: Any) -> CalibrationValues:
    if not isinstance(calibration, Calibration):
        raise ArgumentError(f"calibration is {type(calibration).__name__}: give a Calibration")
    return calibration._values()


def depth(disparity: Any, calibration: Calibration) -> Array:
    """Depths as float32, in the unit of the baseline; 0 = none."""
    array = _disparity(disparity)
    depths = np.empty(array.shape, np.float32)
    function("depth")(_calibration(calibration), view(array), view(depths))
    return depths


def depth_uncertainty(disparity: Any, calibration: Calibration, disparity_uncertainty: float = 0.25) -> Array:
    """The standard deviation of each depth as float32, in the unit of the baseline, for disparities with this standard
    deviation in pixels; +inf where there is no depth."""
    array = _disparity(disparity)
    uncertainty = np.empty(array.shape, np.float32)
    function("depth_uncertainty")(_calibration(calibration), view(array), disparity_uncertainty, view(uncertainty))
    return uncertainty


def normals(disparity: Any, calibration: Calibration) -> Array:
    """Normals of the surface as float32 (height, width, 3), of length 1, towards the camera: right, down, forward; 0
    where there is no depth."""
    array = _disparity(disparity)
    vectors = np.empty((*array.shape, 3), np.float32)
    function("normals")(_calibration(calibration), view(array), view(vectors))
    return vectors


_POINT = np.dtype([("position", "<f4", 3), ("colour", "u1", 3), ("reserved", "u1")])


def points(disparity: Any, left: Any, calibration: Calibration) -> Tuple[Array, Array]:
    """A point for each pixel that has a depth.

    Returns positions, float32 (n, 3): right, down and forward from the left camera, in the unit of the baseline; and
    colours, uint8 (n, 3): red, green, blue of the left image.
    """
    cloud = _cloud(disparity, left, calibration)
    return cloud["position"].copy(), cloud["colour"].copy()


def _cloud(disparity: Any, left: Any, calibration: Calibration) -> Array:
    array, image = _disparity(disparity), picture(left, "left")
    cloud = np.empty(array.size, _POINT)
    count = ctypes.c_size_t()
    function("points")(_calibration(calibration), view(array), view(image), cloud.ctypes.data, ctypes.byref(count))
    return cloud[: count.value]


def mesh(disparity: Any, left: Any, calibration: Calibration, greatest_step: float = 1.0) -> Tuple[Array, Array, Array]:
    """The surface through the points of neighbouring pixels, cut where disparities differ by more than `greatest_step`.

    Returns positions and colours of the vertices, as points() does, and triangles, uint32 (n, 3): indices of vertices,
    counter-clockwise for the camera.
    """
    vertices, triangles = _mesh(disparity, left, calibration, greatest_step)
    return vertices["position"].copy(), vertices["colour"].copy(), triangles.copy()


def _mesh(disparity: Any, left: Any, calibration: Calibration, greatest_step: float) -> Tuple[Array, Array]:
    array, image = _disparity(disparity), picture(left, "left")
    vertices, triangles = np.empty(array.size, _POINT), np.empty((2 * array.size, 3), np.uint32)
    vertex_count, triangle_count = ctypes.c_size_t(), ctypes.c_size_t()
    function("mesh")(
        _calibration(calibration),
        view(array),
        view(image),
        greatest_step,
        vertices.ctypes.data,
        ctypes.byref(vertex_count),
        triangles.ctypes.data,
        ctypes.byref(triangle_count),
    )
    return vertices[: vertex_count.value], triangles[: triangle_count.value]


def colour(disparity: Any, low: Optional[float] = None, high: Optional[float] = None) -> Array:
    """The map as a picture, uint8 (height, width, 3): `low` and below is blue, `high` and above is red, none is black.
    By default, `low` and `high` are the least and the greatest disparity of the map."""
    array = _disparity(disparity)
    present = array[np.isfinite(array)]
    least = float(present.min()) if low is None and present.size else low
    most = float(present.max()) if high is None and present.size else high
    colours = np.empty((*array.shape, 3), np.uint8)
    function("colour")(view(array), least or 0.0, most or 0.0, view(colours))
    return colours


def encode_png(image: Array) -> bytes:
    """Encodes a gray or colour image of uint8 or uint16 as a PNG."""
    height, width = image.shape[:2]
    kind = 2 if image.ndim == 3 else 0
    big_endian = np.ascontiguousarray(image, image.dtype.newbyteorder(">"))
    rows = big_endian.view(np.uint8).reshape(height, -1)
    filtered = np.concatenate([np.zeros((height, 1), np.uint8), rows], axis=1)  # no filter

    def chunk(name: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))

    header = struct.pack(">IIBBBBB", width, height, 8 * image.dtype.itemsize, kind, 0, 0, 0)
    return (
        b"\x89PNG\r\n\x1a\n"
        + chunk(b"IHDR", header)
        + chunk(b"IDAT", zlib.compress(filtered.tobytes(), 3))
        + chunk(b"IEND", b"")
    )


def _write_bytes(path: PathLike, data: bytes) -> None:
    try:
        Path(path).write_bytes(data)
    except OSError as error:
        raise FileError(f"cannot write {path}: {error.strerror}") from error


def _kitti(disparity: Array) -> Array:
    """KITTI's 16 bits: disparity · 256, rounded; 0 = none."""
    values = np.zeros(disparity.shape, np.uint16)
    present = np.isfinite(disparity)
    values[present] = np.clip(np.floor(disparity[present] * 256.0 + 0.5), 1, 65535)
    return values


def write(path: PathLike, disparity: Any) -> None:
    """Writes a disparity map as .pfm, .npy, or KITTI's 16-bit .png (disparity · 256, 0 = none)."""
    array = _disparity(disparity)
    suffix = Path(path).suffix.lower()
    if suffix == ".pfm":
        function("write_pfm")(encoded(path, "path"), view(array))
    elif suffix == ".png":
        _write_bytes(path, encode_png(_kitti(array)))
    elif suffix == ".npy":
        write_npy(path, array)
    else:
        raise ArgumentError(f"cannot write {path}: choose the suffix .pfm, .png or .npy")


def write_npy(path: PathLike, array: Array) -> None:
    try:
        with open(path, "wb") as file:
            np.save(file, array)
    except OSError as error:
        raise FileError(f"cannot write {path}: {error.strerror}") from error


def write_points(path: PathLike, disparity: Any, left: Any, calibration: Calibration) -> None:
    """Writes the points of a map as a binary .pcd or, under any other name, as a binary PLY."""
    cloud = _cloud(disparity, left, calibration)
    writer = "write_pcd" if Path(path).suffix.lower() == ".pcd" else "write_ply"
    function(writer)(encoded(path, "path"), cloud.ctypes.data, len(cloud))


def write_mesh(path: PathLike, disparity: Any, left: Any, calibration: Calibration, greatest_step: float = 1.0) -> None:
    """Writes the mesh of a map as a binary PLY with faces."""
    vertices, triangles = _mesh(disparity, left, calibration, greatest_step)
    function("write_mesh")(
        encoded(path, "path"), vertices.ctypes.data, len(vertices), triangles.ctypes.data, len(triangles)
    )


def read(path: PathLike, *, ignore_orientation: bool = False) -> Array:
    """Reads an image as an array, as the command line reads it.

    Pictures are uint8 or uint16, gray (height, width) or colour (height, width, 3), with the values of the file, turned
    upright as their EXIF data say unless `ignore_orientation`. Transparent pixels, and those without data in a TIFF of
    GDAL, are masked in a masked array. Signed integers are int16. Maps of floats, .pfm or .tiff, are float32, not
    finite = none. .npy is as it is.
    """
    if Path(path).suffix.lower() != ".npy":
        return read_picture(path, ignore_orientation)
    try:
        loaded: Array = np.load(path, allow_pickle=False)
    except (OSError, ValueError, EOFError) as error:
        raise FileError(f"cannot read {path}: {error}") from error
    return loaded


def read_disparity(path: PathLike) -> Array:
    """Reads a disparity map as float32 in pixels, +inf = none, from .pfm, .tiff, .npy, or KITTI's 16-bit .png."""
    values = read(path)
    if values.dtype == np.uint16 and values.ndim == 2:
        disparity = np.where(values > 0, values.astype(np.float32) / np.float32(256), np.float32(np.inf))
    else:
        disparity = values
    if disparity.dtype != np.float32 or disparity.ndim != 2:
        raise FileError(f"{path} is not a disparity map: give a PFM, a TIFF of floats, a 16-bit PNG, or a float32 .npy")
    return disparity


def read_floats(reader: str, path: PathLike, channels: int) -> Array:
    """What a function of the library reads from a file, as float32 (height, width, channels)."""
    values, width, height = ctypes.c_void_p(), ctypes.c_int32(), ctypes.c_int32()
    function(reader)(encoded(path, "path"), ctypes.byref(values), ctypes.byref(width), ctypes.byref(height))
    try:
        shape = (height.value, width.value, channels)
        memory = (ctypes.c_float * int(np.prod(shape))).from_address(values.value or 0)
        return np.array(memory, np.float32).reshape(shape)
    finally:
        free(values)


def synthesize(
    size: Tuple[int, int] = (640, 480), disparities: int = 64, scene: str = "layers", seed: int = 1
) -> Tuple[Array, Array, Array]:
    """Renders a pair with exact truth: left and right, uint8 (height, width, 3), and the disparities of the left view,
    float32. `size` is (width, height); `scene` is "dots", "planes" or "layers"; every disparity is from 0 to
    `disparities` - 1. The same arguments give the same bytes on every machine."""
    width, height = (integer(side, "size", 0) for side in size)
    left, right = (np.empty((height, width, 3), np.uint8) for _ in range(2))
    truth = np.empty((height, width), np.float32)
    function("synthesize")(
        encoded(scene, "scene"),
        integer(disparities, "disparities"),
        integer(seed, "seed", 0, 2**64 - 1),
        view(left),
        view(right),
        view(truth),
    )
    return left, right, truth
