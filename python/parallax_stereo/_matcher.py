# SPDX-License-Identifier: Apache-2.0
"""Matchers and their results."""

from __future__ import annotations

import ctypes
import dataclasses
import json
import threading
import warnings
from pathlib import Path
from typing import Any, Callable, Dict, List, Mapping, Optional, Sequence, Tuple, Union

import numpy as np

from . import _check, _gpu, _maps, _view
from ._arrays import (
    TYPES,
    Array,
    Images,
    as_array,
    input_array,
    integer,
    is_on_gpu,
    output_array,
    pair_of,
    view,
)
from ._copies import Copied, remembered
from ._library import (
    PROGRESS,
    ArgumentError,
    Error,
    Handle,
    Image,
    Map,
    Stage,
    encoded,
    function,
    text,
)
from ._maps import Calibration, PathLike
from ._view import Viewer

Progress = Callable[[int, int], Any]

#: Why a pixel has its disparity, or has none: names of the values of `Result.status`.
STATUS = (
    "matched",
    "filled",
    "out_of_range",
    "inconsistent",
    "ambiguous",
    "textureless",
    "speckle",
    "input_masked",
)


class Result:
    """The result of a match. Its arrays are from NumPy, or from the framework whose GPU arrays were matched."""

    def __init__(
        self,
        disparity: Any,
        status: Any,
        confidence: Any = None,
        left: Any = None,
        right: Any = None,
        row_offset: Any = None,
    ) -> None:
        #: float32 (height, width), in pixels; +inf = none
        self.disparity = disparity
        #: uint8 (height, width), indices into STATUS
        self.status = status
        #: float32 (height, width), 0 to 1, or None if the matcher does not report it or was not asked to
        self.confidence = confidence
        #: float32 (height, width), by how many rows the match is lower in the right image; +inf where there is no
        #: disparity. None if the matcher searches no rows or was not asked to report it
        self.row_offset = row_offset
        #: the result of the right image, or None if the matcher was not asked for both maps: right (x, y) shows the same
        #: point as left (x + disparity, y + row_offset)
        self.right: Optional[Result] = None
        #: by how many rows match() moved the right image first, root mean square over its corners; 0 = none
        self.rows_moved = 0.0
        self._left, self._right = left, right
        # Objects that work on a GPU needs, which may still be running.
        self._needed: Any = None

    def __getstate__(self) -> Dict[str, Any]:
        sides = {f"_{side}": getattr(self, f"_{side}") for side in ("left", "right")}
        images = {name: image() if callable(image) else image for name, image in sides.items()}
        return {**self.__dict__, **images, "_needed": None}

    @property
    def valid(self) -> Any:
        """bool (height, width): where there is a disparity."""
        return self.disparity < float("inf")

    def depth(self, calibration: Calibration) -> Array:
        """Depths as float32 (height, width), in the unit of the baseline; 0 = none."""
        return _maps.depth(_on_host(self.disparity), calibration)

    def normals(self, calibration: Calibration) -> Array:
        """Normals of the surface, float32 (height, width, 3), towards the camera of this map; 0 where there is no depth."""
        return _maps.normals(_on_host(self.disparity), self._seen_from(calibration))

    def points(self, calibration: Calibration) -> Tuple[Array, Array]:
        """Positions, float32 (n, 3), and colours, uint8 (n, 3), of the pixels that have a depth, relative to the camera
        of this map."""
        return _maps.points(_on_host(self.disparity), self._picture(), self._seen_from(calibration))

    def mesh(self, calibration: Calibration, greatest_step: float = 1.0) -> Tuple[Array, Array, Array]:
        """Positions and colours of vertices, and triangles, uint32 (n, 3): see mesh()."""
        return _maps.mesh(_on_host(self.disparity), self._picture(), self._seen_from(calibration), greatest_step)

    def save(self, path: PathLike, calibration: Optional[Calibration] = None) -> None:
        """Writes the disparities as .pfm, .npy or KITTI's 16-bit .png, or, with a calibration, the points as .ply or
        .pcd."""
        if Path(path).suffix.lower() not in (".ply", ".pcd"):
            _maps.write(path, _on_host(self.disparity))
        elif calibration is None:
            raise ArgumentError(f"cannot write {path}: points need a calibration=")
        else:
            _maps.write_points(path, _on_host(self.disparity), self._picture(), self._seen_from(calibration))

    def colour(self, low: Optional[float] = None, high: Optional[float] = None) -> Array:
        """The map as a picture, uint8 (height, width, 3): near is red, far is blue, none is black."""
        return _maps.colour(_on_host(self.disparity), low, high)

    def plot(self, axes: Any = None) -> Any:
        """Draws the map with a colour scale into `axes` or a new figure, using matplotlib. Returns the axes."""
        from matplotlib import pyplot

        if axes is None:
            axes = pyplot.figure().add_subplot()
        disparity = _on_host(self.disparity)
        shown = axes.imshow(np.where(disparity < np.inf, disparity, np.nan), cmap="turbo")
        axes.figure.colorbar(shown, ax=axes, label="disparity (pixels)")
        axes.set_axis_off()
        return axes

    def view(self, calibration: Optional[Calibration] = None, browser: Optional[bool] = None) -> Viewer:
        """Opens a page that shows the pair and this map (B) beside one that is matched anew as parameters change (A), by
        the program parallax.

        calibration: for depths and the cloud of points
        browser: whether to open the page in the browser; by default, unless this is a notebook, which shows it in a frame
        """
        left, right = self._picture(), self._picture("right")
        return _view.view(left, right, _on_host(self.disparity), calibration, browser)

    def _seen_from(self, calibration: Calibration) -> Calibration:
        return calibration

    def _picture(self, side: str = "left") -> Any:
        image = getattr(self, f"_{side}")
        if callable(image):
            image = image()
            setattr(self, f"_{side}", image)
        if image is None:
            raise ArgumentError(f"the result has no {side} image: match with NumPy arrays")
        return _on_host(image)

    def _repr_png_(self) -> bytes:
        return _maps.encode_png(self.colour())

    def __repr__(self) -> str:
        height, width = self.disparity.shape
        share = float((_on_host(self.disparity) < np.inf).mean())
        moved = f", rows moved by {self.rows_moved:.2f} px" if self.rows_moved else ""
        return f"<Result {width}×{height}, {100 * share:.1f} % with a disparity{moved}>"


class _RightResult(Result):
    """The result of the right image, whose picture is the "left" one of this map."""

    def _seen_from(self, calibration: Calibration) -> Calibration:
        return dataclasses.replace(calibration, centre_x=calibration.centre_x + calibration.doffs)

    def view(self, calibration: Optional[Calibration] = None, browser: Optional[bool] = None) -> Viewer:
        raise ArgumentError(
            "the page shows maps of the left image: call view() of the result that has this one as right"
        )


def _result(maps: Sequence[Any], left: Any, right: Any, right_maps: Optional[Sequence[Any]] = None) -> Result:
    """`right_maps`: those of the right image."""
    disparity, status, confidence, row_offset = maps
    result = Result(disparity, status, confidence, left, right, row_offset)
    if right_maps is not None:
        disparity, status, confidence, row_offset = right_maps
        result.right = _RightResult(disparity, status, confidence, right, left, row_offset)
    return result


def _on_host(array: Any) -> Any:
    if isinstance(array, np.ndarray):
        return array
    if hasattr(array, "cpu"):  # torch
        return array.cpu().numpy()
    if hasattr(array, "get"):  # cupy
        return array.get()
    if hasattr(array, "copy_to_host"):  # numba
        return array.copy_to_host()
    return np.asarray(array)


def _as_text(value: Any) -> Any:
    """The value of a parameter as a type that JSON has."""
    if isinstance(value, np.generic):
        return value.item()
    return value


class Matcher(Copied):
    """A method with its parameters, planned once for images of one size and type.

    method: one of methods().
    size: (width, height) of the images.
    dtype: uint8 or uint16, the type of the images.
    device: "auto", "reference", "cpu", "cuda", "cuda:1", "opencl".
    threads: number of CPU threads; 0 = one for each core.
    preset: one of presets(method); other keywords override its values.
    max_memory: largest number of bytes that the plan may take; 0 = the memory of the machine.
    both_maps: whether results also have the map of the right image, `right`, which takes as long again.
    configure: tunables by name, which never change a result. Other keywords are the parameters of the
    method, which parameters(method) lists.

        matcher = px.Matcher("census", (640, 480), disparities=96)
        result = matcher(left, right)

    Threads may share a matcher, which then runs their pairs one after the other. A matcher that is pickled or copied is
    planned anew from its arguments, also in another process: the workers of torch's DataLoader may use it.
    """

    @remembered
    def __init__(
        self,
        method: str = "bp",
        size: Tuple[int, int] = (640, 480),
        *,
        dtype: Any = np.uint8,
        device: str = "auto",
        threads: int = 0,
        preset: str = "default",
        max_memory: int = 0,
        both_maps: bool = False,
        configure: Optional[Mapping[str, Any]] = None,
        **parameters: Any,
    ) -> None:
        settings = _Settings(method, preset, device, threads, max_memory, configure or {}, parameters, both_maps)
        self._plan(settings, size, dtype)
        self._gpu = _gpu_of(device)

    def _plan(self, settings: _Settings, size: Tuple[int, int], dtype: Any) -> None:
        self._settings = settings
        self._size = _checked_size(size)
        self._type = _image_type(dtype)
        function("matcher_plan")(self._settings.handle, *self._size, self._type)
        #: Whether this matcher can report its confidence.
        self.has_confidence = _has("matcher", "confidence", self._settings.handle)
        #: Whether this matcher searches rows and can report row offsets.
        self.has_row_offsets = _has("matcher", "row_offsets", self._settings.handle)

    @property
    def size(self) -> Tuple[int, int]:
        """(width, height) of the images."""
        return self._size

    @property
    def parameters(self) -> Dict[str, Any]:
        """All parameters with their values, and "method"."""
        return self._settings.parameters()

    @property
    def memory(self) -> int:
        """Bytes that the plan holds."""
        return _memory("matcher", self._settings.handle)

    @property
    def stages(self) -> Dict[str, float]:
        """Milliseconds of each stage of the last run from host memory."""
        return _stages("matcher", self._settings.handle, self._settings.lock)

    @property
    def rows_moved(self) -> float:
        """By how many rows the last run from host memory moved the right image, root mean square over its corners; 0 where
        rows were as given, or aligned already."""
        rows = ctypes.c_double()
        function("matcher_rows_moved")(self._settings.handle, ctypes.byref(rows))
        return rows.value

    def forget_rows(self) -> None:
        """With rows="once", the next pair tells anew by how many rows the right image is lower."""
        function("matcher_forget_rows")(self._settings.handle)

    def __call__(
        self,
        left: Any,
        right: Any,
        *,
        left_mask: Any = None,
        right_mask: Any = None,
        costs: Any = None,
        confidence: bool = False,
        row_offset: bool = False,
        out: Optional[Tuple[Any, ...]] = None,
        stream: Any = None,
        range: Optional[Tuple[int, int]] = None,
    ) -> Result:
        """Matches a pair.

        left, right: uint8, uint16 or int16 as planned, (height, width) gray or (height, width, 3) red, green, blue. Rows may
        lie anywhere in memory, even from the bottom up; arrays with gaps between pixels are copied.
        range: the values that stand for black and for white, such as (0, 4095) for a camera of 12 bits; by default
        all values of uint8, and for uint16 the lowest and the highest value of both images.
        left_mask, right_mask: bool or uint8 (height, width), where an image is valid. What a masked array masks is not.
        costs: float32 (height, width, labels), for a matcher with cost="volume".
        confidence: also compute the confidence.
        row_offset: also give the row offsets, if the matcher searches rows.
        out: arrays to write into: (disparity, status), (disparity, status, confidence) or (disparity, status, confidence
        or None, row_offset). The map of the right image always gets new ones.

        Arrays may be on a GPU: those of torch, cupy, numba and jax, and any others with __dlpack__ or
        __cuda_array_interface__. Then nothing is copied: the work is enqueued on `stream`, by default the
        current stream of the framework, and the call returns before the work is done. Values of uint16 count 256ths of
        those of uint8. Keep the result until then: it holds the matcher and the arrays. For frameworks other than torch,
        cupy and numba, `out` is required.
        """
        if is_on_gpu(left):
            if range is not None:
                raise ArgumentError("range is given, but the images are on a GPU: stretch their values there")
            return self._enqueue(left, right, left_mask, right_mask, costs, (confidence, row_offset), out, stream)
        if stream is not None:
            raise ArgumentError("stream is given, but the images are not on a GPU: leave it out")
        images = Images(left, right, left_mask, right_mask, costs, range=range)
        wanted = (confidence, row_offset)
        maps = _new_maps(images.shape, wanted, out)
        right_maps = _new_maps(images.shape, wanted, None) if self._settings.both_maps else None
        function("matcher_run")(self._settings.handle, images.pair, _map(maps, right_maps))
        return _result(maps, images.left, images.right, right_maps)

    def cancel(self) -> None:
        """Ends the calls of this matcher that other threads have begun, with CancelledError: on reference and cpu within
        milliseconds. What they were to write is incomplete; the matcher can be used again, with the same results as ever.
        Does nothing to calls that begin later: where another thread may be about to begin its call, repeat this until
        that call has ended. What a GPU has begun it completes."""
        function("matcher_cancel")(self._settings.handle)

    def _enqueue(
        self,
        left: Any,
        right: Any,
        left_mask: Any,
        right_mask: Any,
        costs: Any,
        wanted: Tuple[bool, bool],
        out: Optional[Tuple[Any, ...]],
        stream: Any,
    ) -> Result:
        def start(images: List[Optional[Image]], maps: Map, number: int) -> None:
            function("matcher_enqueue")(self._settings.handle, pair_of(images), maps, number or None)

        _refuse_both_maps(self._settings)
        images = {"left": left, "right": right, "left_mask": left_mask, "right_mask": right_mask, "costs": costs}
        return _enqueue(self, images, self._size, self._gpu, wanted, out, stream, start)

    def energy(self, left: Any, right: Any, disparity: Any, *, range: Optional[Tuple[int, int]] = None) -> float:
        """Computes the energy that the method minimises, for any disparity map of a pair. `range`: as for a match."""
        images = Images(left, right, range=range)
        array = input_array(disparity, "disparity", (np.float32,))
        energy = ctypes.c_double()
        function("matcher_energy")(self._settings.handle, images.pair, view(array), ctypes.byref(energy))
        return energy.value

    def __repr__(self) -> str:
        return f"<Matcher {self.parameters['method']}, {self._size[0]}×{self._size[1]}>"


def match(
    left: Any,
    right: Any,
    disparities: Union[int, str, None] = None,
    method: str = "bp",
    device: str = "auto",
    *,
    preset: str = "default",
    threads: int = 0,
    max_memory: int = 0,
    both_maps: bool = False,
    padding: int = 0,
    progress: Optional[Progress] = None,
    configure: Optional[Mapping[str, Any]] = None,
    left_mask: Any = None,
    right_mask: Any = None,
    costs: Any = None,
    confidence: bool = False,
    row_offset: bool = False,
    out: Optional[Tuple[Any, ...]] = None,
    stream: Any = None,
    range: Optional[Tuple[int, int]] = None,
    **parameters: Any,
) -> Result:
    """Matches one pair; for many pairs, `Matcher` plans once. The arguments are those of Matcher and of its call.

        result = px.match(left, right, disparities=128)

    disparities="auto" searches the range that check() recommends for the pair, of NumPy arrays, and warns where it is
    not sure of it.

    Rows of the right image are moved first if corners show that they are off, unless rows="given": images in host memory,
    not in tiles, and not with row_tolerance.

    A pair that needs more than max_memory is matched in tiles. For belief propagation, `padding` is the number of
    pixels of overlap around each tile (0 = 80). progress(done, total) is called after each tile, and an
    exception that it raises ends the match.
    """
    if disparities == "auto":
        parameters.update(_range(left, right, left_mask, right_mask, threads, parameters, range))
    elif disparities is not None:
        parameters["disparities"] = disparities
    if is_on_gpu(left):
        array = _gpu.gpu_array(left, _gpu.current_stream(left), "left")
        if device == "auto":
            device = "cuda" if array.gpu is None else f"cuda:{array.gpu}"
        shape, dtype = array.shape, array.dtype
    else:
        left = as_array(left, "left")
        shape, dtype = left.shape, left.dtype
    if len(shape) not in (2, 3):
        raise ArgumentError(f"left has shape {shape}: give (height, width) or (height, width, 3)")
    size = (shape[1], shape[0])
    rows_given = "rows" in parameters
    if not (is_on_gpu(left) or costs is not None or stream is not None) and _may_align_rows(method, preset, parameters):
        parameters["rows"] = "auto"
    if max_memory > 0 and isinstance(left, np.ndarray):
        settings = _Settings(method, preset, device, threads, max_memory, configure or {}, parameters, both_maps)
        if settings.estimated_memory(size, _image_type(dtype)) > max_memory:
            if both_maps:
                raise ArgumentError(
                    f"both maps need more than the {max_memory} bytes of max_memory, and tiles have no map of the right "
                    "image: raise the limit, or leave out both_maps"
                )
            images = Images(left, right, left_mask, right_mask, costs, range=range)
            if not rows_given:
                parameters.pop("rows", None)
                settings = _Settings(method, preset, device, threads, max_memory, configure or {}, parameters)
            return _match_in_tiles(settings, images, (confidence, row_offset), out, padding, progress)
    matcher = Matcher(
        method,
        size,
        dtype=dtype,
        device=device,
        threads=threads,
        preset=preset,
        max_memory=max_memory,
        both_maps=both_maps,
        configure=configure,
        **parameters,
    )
    try:
        result = matcher(
            left,
            right,
            left_mask=left_mask,
            right_mask=right_mask,
            costs=costs,
            confidence=confidence,
            row_offset=row_offset,
            out=out,
            stream=stream,
            range=range,
        )
        result.rows_moved = matcher.rows_moved
        return result
    finally:
        if isinstance(left, np.ndarray):
            matcher._settings.release()


def _may_align_rows(method: str, preset: str, parameters: Mapping[str, Any]) -> bool:
    """Whether the caller leaves it to match() which rows are compared, and the method aligns them. Presets of publications
    and of other libraries stay as they were published."""
    excluding = parameters.get("row_tolerance") or parameters.get("cost") == "volume" or method == "motion"
    own = preset in ("default", "fast", "balanced", "accurate", "mgm", "video")
    return own and "rows" not in parameters and not excluding


def _range(
    left: Any,
    right: Any,
    left_mask: Any,
    right_mask: Any,
    threads: int,
    parameters: Mapping[str, Any],
    values: Optional[Tuple[int, int]] = None,
) -> Dict[str, int]:
    if is_on_gpu(left):
        raise ArgumentError('disparities is "auto", but the images are on a GPU: give the number of disparities')
    if "min_disparity" in parameters:
        raise ArgumentError('min_disparity is given, and disparities is "auto": leave out one of them')
    report = _check.check(left, right, left_mask=left_mask, right_mask=right_mask, threads=threads, range=values)
    found = report.range
    if not report.sure:
        warnings.warn(report.range_sentence, stacklevel=3)
    return found


def _match_in_tiles(
    settings: _Settings,
    images: Images,
    wanted: Tuple[bool, bool],
    out: Optional[Tuple[Any, ...]],
    padding: int,
    progress: Optional[Progress],
) -> Result:
    maps = _new_maps(images.shape, wanted, out)
    raised: List[BaseException] = []

    def report(_user: Any, done: int, total: int) -> int:
        try:
            assert progress is not None
            progress(done, total)
            return 0
        except BaseException as exception:  # it must not pass through C
            raised.append(exception)
            return 1

    callback = PROGRESS(report) if progress is not None else PROGRESS(0)
    try:
        function("matcher_run_in_tiles")(
            settings.handle,
            images.pair,
            _map(maps),
            integer(padding, "padding"),
            callback,
            None,
        )
    except Error:
        if raised:
            raise raised[0]
        raise
    return _result(maps, images.left, images.right)


# Figures of a plan of the library, which is a "matcher" or a "rectified_matcher".


def _has(kind: str, output: str, handle: ctypes.c_void_p) -> bool:
    has = ctypes.c_int32()
    function(f"{kind}_has_{output}")(handle, ctypes.byref(has))
    return bool(has.value)


def _memory(kind: str, handle: ctypes.c_void_p) -> int:
    held = ctypes.c_uint64()
    function(f"{kind}_memory")(handle, ctypes.byref(held))
    return held.value


def _stages(kind: str, handle: ctypes.c_void_p, lock: threading.Lock) -> Dict[str, float]:
    stages, count = ctypes.POINTER(Stage)(), ctypes.c_size_t()
    with lock:
        function(f"{kind}_stages")(handle, ctypes.byref(stages), ctypes.byref(count))
        return {text(stages[i].name): stages[i].milliseconds for i in range(count.value)}


def _refuse_both_maps(settings: _Settings) -> None:
    if settings.both_maps:
        raise ArgumentError(
            "the map of the right image is made in host memory, and the images are on a GPU: leave out both_maps, or give "
            "NumPy arrays"
        )


def _gpu_of(device: str) -> int:
    return int(device.partition(":")[2] or 0) if device.startswith("cuda") else 0


def _enqueue(
    matcher: Any,
    images: Mapping[str, Any],
    size: Tuple[int, int],
    gpu: int,
    wanted: Tuple[bool, bool],
    out: Optional[Tuple[Any, ...]],
    stream: Any,
    start: Callable[[List[Optional[Image]], Map, int], None],
) -> Result:
    """Matches arrays on a GPU. `start` gets views of `images`, views of the maps, of this size, and a stream."""
    left = images["left"]
    number = _gpu.current_stream(left) if stream is None else _gpu.stream_number(stream)
    inputs = {name: None if value is None else _gpu.gpu_array(value, number, name) for name, value in images.items()}
    maps = _maps_of(lambda dtype: _gpu.empty_like(left, (size[1], size[0]), dtype), wanted, out)
    outputs = {
        f"out[{i}]": None if value is None and i in _OPTIONAL else _gpu.gpu_array(value, number, f"out[{i}]")
        for i, value in enumerate(maps)
    }
    for name, array in (*inputs.items(), *outputs.items()):
        if array is not None and array.gpu not in (None, gpu):
            raise ArgumentError(f"{name} is on GPU {array.gpu}, the matcher on GPU {gpu}: give all on one GPU")
    for name, array in outputs.items():
        if array is not None and array.read_only:
            raise ArgumentError(f"{name} is read-only: give an array that may be written")
    views, written = (
        [None if array is None else _gpu.gpu_view(array, name) for name, array in arrays.items()]
        for arrays in (inputs, outputs)
    )
    start(views, _map_of_views(written), number)
    result = _result(maps, left, images["right"])
    result._needed = (matcher, inputs, outputs)
    return result


class _Settings(Copied):
    """A parallax_matcher, released with this object."""

    @remembered
    def __init__(
        self,
        method: str,
        preset: str,
        device: str,
        threads: int,
        max_memory: int,
        configure: Mapping[str, Any],
        parameters: Mapping[str, Any],
        both_maps: bool = False,
    ) -> None:
        self._held = Handle("matcher")
        self.both_maps = both_maps
        self.handle = self._held.pointer
        # Held until the library's results are copied, because threads may share a matcher.
        self.lock = threading.Lock()
        function("matcher_create")(encoded(method, "method"), encoded(preset, "preset"), ctypes.byref(self.handle))
        values = {name: _as_text(value) for name, value in parameters.items()}
        for reserved in ("method", "preset"):
            values.pop(reserved, None)
        try:
            written = json.dumps(values, allow_nan=False)
        except (TypeError, ValueError) as error:
            raise ArgumentError(f"the parameters {values} cannot be used: {error}") from error
        function("matcher_set_json")(self.handle, written.encode())
        function("matcher_set_device")(self.handle, encoded(device, "device"), integer(threads, "threads"))
        function("matcher_set_memory_limit")(self.handle, integer(max_memory, "max_memory", 0, 2**63))
        function("matcher_set_both_maps")(self.handle, int(both_maps))
        for name, value in configure.items():
            function("matcher_configure")(self.handle, encoded(name, "configure"), encoded(str(value), name))

    def release(self) -> None:
        self._held.release()

    def use_for_tiles(self) -> None:
        function("matcher_set_tiles")(self.handle, 1)
        self._is_for_tiles = True

    def __setstate__(self, _added: Any) -> None:
        self.use_for_tiles()

    def parameters(self) -> Dict[str, Any]:
        written = ctypes.c_char_p()
        with self.lock:
            function("matcher_get_json")(self.handle, ctypes.byref(written))
            values: Dict[str, Any] = json.loads(text(written.value))
        return values

    def estimated_memory(self, size: Tuple[int, int], image_type: int) -> int:
        needed = ctypes.c_uint64()
        function("matcher_estimate_memory")(self.handle, *size, image_type, ctypes.byref(needed))
        return needed.value


def _checked_size(size: Any) -> Tuple[int, int]:
    try:
        width, height = size
    except (TypeError, ValueError) as error:
        raise ArgumentError(f"size is {size!r}: give (width, height)") from error
    return integer(width, "width"), integer(height, "height")


def _image_type(dtype: Any) -> int:
    wanted = np.dtype(dtype)
    if wanted == np.int16:
        return TYPES[np.dtype(np.uint16)]
    if wanted not in (np.dtype(np.uint8), np.dtype(np.uint16)):
        raise ArgumentError(f"left has dtype {wanted}: give uint8 or uint16")
    return TYPES[wanted]


# Maps are lists of arrays: disparity, status, and confidence and row offsets, each of which may be None. `wanted` tells
# whether the last two are wanted.

_DTYPES = ("float32", "uint8", "float32", "float32")
_OPTIONAL = {2: "the confidence", 3: "the row offsets"}
_OUT = "(disparity, status), (disparity, status, confidence) or (disparity, status, confidence or None, row_offset)"


def _maps_of(make: Callable[[str], Any], wanted: Tuple[bool, bool], out: Optional[Tuple[Any, ...]]) -> List[Any]:
    """New arrays, or those of the caller."""
    needed = (True, True, *wanted)
    if out is None:
        return [make(dtype) if need else None for dtype, need in zip(_DTYPES, needed)]
    if not isinstance(out, tuple) or not 2 <= len(out) <= 4:
        raise ArgumentError(f"out is not a tuple: give {_OUT}")
    maps = [*out, *(None for _ in range(len(out), 4))]
    for i, name in _OPTIONAL.items():
        if needed[i] and maps[i] is None:
            raise ArgumentError(f"out has no array for {name}: give {_OUT}")
    return maps


def _new_maps(shape: Tuple[int, ...], wanted: Tuple[bool, bool], out: Optional[Tuple[Any, ...]]) -> List[Any]:
    maps = _maps_of(lambda dtype: np.empty(shape, dtype), wanted, out)
    return [
        None if value is None and i in _OPTIONAL else output_array(value, f"out[{i}]", dtype, shape)
        for i, (value, dtype) in enumerate(zip(maps, _DTYPES))
    ]


def _map(maps: Sequence[Any], right_maps: Optional[Sequence[Any]] = None) -> Map:
    made = _map_of_views([None if array is None else view(array) for array in maps])
    if right_maps is not None:
        made.right = ctypes.pointer(_map(right_maps))
    return made


def _map_of_views(views: Sequence[Optional[Image]]) -> Map:
    return Map(*(None if image is None else ctypes.pointer(image) for image in views))
