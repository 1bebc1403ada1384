# SPDX-License-Identifier: Apache-2.0
"""Matching on a Dask cluster. This module needs Dask; the rest of the package does not.

    import parallax_stereo.dask as px_dask

    disparity, status = px_dask.match_tiles("left.zarr", "right.zarr", disparities=128, method="census")
    px_dask.store([disparity, status], ["disparity.tiff", "status.zarr"])

Every function works with any of Dask's schedulers, from threads of this process to a cluster.
"""

from __future__ import annotations

import contextlib
import functools
import multiprocessing
import os
import threading
from collections import OrderedDict
from pathlib import Path
from typing import Any, Dict, Iterable, Iterator, List, Mapping, NamedTuple, Optional, Sequence, Tuple, Union

import numpy as np

try:
    import dask
    import dask.array as da
    import dask.bag as db
except ImportError as missing:
    raise ImportError(
        "parallax_stereo.dask needs Dask: install python3-distributed, or dask[distributed] from PyPI"
    ) from missing

from ._arrays import Array, integer, is_on_gpu, picture, stretched
from ._library import ArgumentError, DeviceError, Error, FileError, OutOfMemoryError
from ._maps import PathLike, read
from ._matcher import Matcher, Result, _checked_size, _image_type, _range, _Settings
from ._tiles import (
    Cut,
    TileMargins,
    PlannedMatcher,
    best_cuts,
    cuts,
    for_tiles,
    margins_of,
    refine_strip,
    strip_memory,
)

# The default memory of a tile, and the default rows of a strip without its halo.
_TILE_BYTES = 512 << 20
_STRIP_ROWS = 2048
# Bytes of the matchers that a process keeps besides the one used last.
_KEPT_BYTES = 1 << 30
# A pixel of the map between tiles and strips. It is sent as bytes without fields, which NumPy copies ten times as fast.
_MAP = np.dtype([("disparity", np.float32), ("status", np.uint8)])
_FIELDS = ("disparity", "status")
_PIXEL = np.dtype((np.void, _MAP.itemsize))
# Zarr arrays are stored in squares.
_STORED_SIDE = 1024


class _Job(NamedTuple):
    """The settings of a match. Workers get them, and make the matchers."""

    method: str
    preset: str
    device: str
    threads: int
    max_memory: int
    configure: Tuple[Tuple[str, Any], ...]
    parameters: Tuple[Tuple[str, Any], ...]
    both_maps: bool = False

    def threads_here(self) -> int:
        """The threads of a match: tasks of a process take turns, so each gets all threads of the worker."""
        return self.threads or _threads_of_worker()

    def settings(self) -> _Settings:
        """The same for the library."""
        configure, parameters = dict(self.configure), dict(self.parameters)
        return _Settings(
            self.method,
            self.preset,
            self.device,
            self.threads_here(),
            self.max_memory,
            configure,
            parameters,
            self.both_maps,
        )


def _job(
    method: str,
    preset: str,
    device: str,
    threads: int,
    max_memory: int,
    configure: Optional[Mapping[str, Any]],
    parameters: Mapping[str, Any],
    both_maps: bool = False,
) -> _Job:
    job = _Job(method, preset, device, threads, max_memory, _items(configure or {}), _items(parameters), both_maps)
    job.settings()  # refuses settings here that no worker could use
    return job


def _items(values: Mapping[str, Any]) -> Tuple[Tuple[str, Any], ...]:
    return tuple(sorted(values.items()))


def _threads_of_worker() -> int:
    """The number of tasks that Dask runs at once in this process; 0 = one for each core."""
    try:
        from distributed import get_worker

        return int(get_worker().state.nthreads)
    except (ImportError, ValueError):
        # Dask without a cluster has either a process for each core, or threads that share this process.
        return 1 if multiprocessing.parent_process() is not None else 0


class _Matchers:
    """The matchers of this process, in the order of their last use."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._made: OrderedDict[Any, Matcher] = OrderedDict()

    def get(self, job: _Job, image: Array, tiles: bool = False) -> Matcher:
        size = (image.shape[1], image.shape[0])
        key = (repr(job), job.threads_here(), size, image.dtype, tiles)
        with self._lock:
            matcher = self._made.pop(key, None) or self._new(job, size, image.dtype, tiles)
            self._made[key] = matcher
        return matcher

    def clear(self) -> None:
        with self._lock:
            self._made.clear()

    def _new(self, job: _Job, size: Tuple[int, int], dtype: Any, tiles: bool) -> Matcher:
        while sum(matcher.memory for matcher in self._made.values()) > _KEPT_BYTES:
            self._made.popitem(last=False)
        settings = job.settings()
        return PlannedMatcher(for_tiles(settings) if tiles else settings, size, dtype)


_matchers = _Matchers()
# Tiles and strips of a process take turns, so that only one of them needs memory.
_turn = threading.Lock()


@contextlib.contextmanager
def _named(what: str) -> Iterator[None]:
    try:
        yield
    except Error as error:
        raise type(error)(f"{what}: {error}") from error


# Pairs.


def match_pairs(
    pairs: Any,
    disparities: Union[int, str, None] = None,
    method: str = "bp",
    device: str = "auto",
    *,
    preset: str = "default",
    threads: int = 0,
    max_memory: int = 0,
    confidence: bool = False,
    row_offset: bool = False,
    both_maps: bool = False,
    configure: Optional[Mapping[str, Any]] = None,
    **parameters: Any,
) -> Any:
    """Matches many pairs. A bag gives a bag of results, and a list gives a list of delayed results, in the same order.

        results = px_dask.match_pairs([("l0.png", "r0.png"), ("l1.png", "r1.png")], 128, "census")
        dask.compute([result.save(f"{i}.pfm") for i, result in enumerate(results)])

    pairs: a dask.bag.Bag or a list of pairs. A pair is (left, right), or a dictionary with "left", "right" and other
    arguments of match() for this pair: "left_mask", "right_mask", "costs", and parameters such as "disparities". Images
    are arrays, dask arrays, delayed arrays, or names of files that read() reads. Files are read on the worker, so their
    names must be valid there.
    threads: CPU threads of a match; 0 = as many as the worker has. Pairs of one worker process take turns.

    The other arguments are those of match(). An error names its pair.
    """
    auto = disparities == "auto"
    if disparities is not None and not auto:
        parameters["disparities"] = disparities
    job = _job(method, preset, device, threads, max_memory, configure, parameters, both_maps)
    run = functools.partial(_match_pair, job, auto, confidence, row_offset)
    if isinstance(pairs, db.Bag):
        parts = pairs.to_delayed()
        return db.from_delayed([dask.delayed(_match_part)(run, index, part) for index, part in enumerate(parts)])
    return [dask.delayed(run)(f"pair {index}", pair) for index, pair in enumerate(pairs)]


def _match_part(run: Any, index: int, pairs: Iterable[Any]) -> List[Result]:
    return [run(f"pair {number} of partition {index}", pair) for number, pair in enumerate(pairs)]


def _match_pair(job: _Job, auto: bool, confidence: bool, row_offset: bool, name: str, pair: Any) -> Result:
    with _named(_title(name, pair)):
        values = _values(pair)
        images = {side: values.pop(side, None) for side in ("left", "right", "left_mask", "right_mask", "costs")}
        arrays: Dict[str, Any] = {
            side: None if image is None else _on_host(image, side) for side, image in images.items()
        }
        parameters = {**dict(job.parameters), **values}
        if auto and "disparities" not in values:
            masks = arrays["left_mask"], arrays["right_mask"]
            parameters.update(_range(arrays["left"], arrays["right"], *masks, job.threads_here(), parameters))
        matcher = _matchers.get(job._replace(parameters=_items(parameters)), arrays["left"])
        result = matcher(**arrays, confidence=confidence, row_offset=row_offset)
        for side in ("left", "right"):
            if _is_name(images[side]):
                # The name is sent, not the picture.
                setattr(result, f"_{side}", functools.partial(read, images[side]))
                if result.right is not None:
                    setattr(result.right, "_right" if side == "left" else "_left", getattr(result, f"_{side}"))
        return result


def _title(name: str, pair: Any) -> str:
    sides = [pair.get("left"), pair.get("right")] if isinstance(pair, Mapping) else pair
    files = [str(side) for side in sides if _is_name(side)] if isinstance(sides, (list, tuple)) else []
    return f"{name} ({', '.join(files)})" if files else name


def _values(pair: Any) -> Dict[str, Any]:
    if isinstance(pair, Mapping) and "left" in pair and "right" in pair:
        return dict(pair)
    if isinstance(pair, (list, tuple)) and len(pair) == 2:
        return {"left": pair[0], "right": pair[1]}
    raise ArgumentError('a pair is (left, right), or a dictionary with "left", "right" and other arguments')


def _is_name(image: Any) -> bool:
    return isinstance(image, (str, os.PathLike))


def _on_host(image: Any, name: str) -> Array:
    if _is_name(image):
        return read(Path(image))
    if is_on_gpu(image):
        raise ArgumentError(f"{name} is on a GPU: give arrays of NumPy, and device= for a match on a GPU")
    array: Array = np.asarray(image)
    if array.ndim not in (2, 3):
        raise ArgumentError(f"{name} has shape {array.shape}: give (height, width) or (height, width, 3)")
    return array


# Tiles.


def match_tiles(
    left: Any,
    right: Any,
    disparities: Optional[int] = None,
    method: str = "bp",
    device: str = "auto",
    *,
    preset: str = "default",
    threads: int = 0,
    max_memory: int = 0,
    tile_size: Optional[Tuple[int, int]] = None,
    padding: int = 0,
    left_mask: Any = None,
    right_mask: Any = None,
    configure: Optional[Mapping[str, Any]] = None,
    range: Optional[Tuple[int, int]] = None,
    **parameters: Any,
) -> Tuple[Any, Any]:
    """Matches a pair in tiles and returns dask arrays of disparities, float32, and statuses, uint8. With block and census
    they are the untiled map, byte for byte; with row_tolerance, only where row_prior is 0.

        disparity, status = px_dask.match_tiles(da.from_zarr("left.zarr"), da.from_zarr("right.zarr"), 128, "census")

    left, right: dask arrays, arrays, or names of Zarr folders or TIFF files, of which each worker reads what it needs.
    left_mask, right_mask: likewise, bool or uint8 (height, width).
    tile_size: the largest (width, height) of a tile, margins included.
    max_memory: the most bytes for matching a tile, and for a strip of rows after that; by default, 512 MiB for a tile.
    padding: pixels of overlap around each tile for methods that are not exact; 0 = 80.
    threads: CPU threads of a match; 0 = as many as the worker has. Tiles of one worker process take turns.
    range: the values that stand for black and for white, such as (0, 4095); by default all of the dtype, because no
    tile knows the values of the others.

    Arrays are rechunked into tiles with the margins of the method, as by map_overlap; the steps after the left-right
    check run over strips of full rows. The other arguments are those of match(), without confidence and row_offset.
    Compute both arrays in one call; otherwise the pair is matched twice. An error names its tile.
    """
    if disparities is not None:
        parameters["disparities"] = disparities
    job = _job(method, preset, device, threads, 0, configure, parameters)
    largest = None if tile_size is None else _checked_size(tile_size)
    most = integer(max_memory, "max_memory", 0, 2**63)
    images = {"left": _source(left, "left"), "right": _source(right, "right")}
    for name, mask in (("left_mask", left_mask), ("right_mask", right_mask)):
        if mask is not None:
            images[name] = _source(mask, name)
    _check_sources(images)
    rows, columns, strips = _layout(job, images, largest, most, padding)
    values = (0, int(np.iinfo(images["left"].dtype).max)) if range is None else range
    overlapped = [_overlapped(image, rows, columns) for image in images.values()]
    tiles = da.map_blocks(
        _match_tile,
        *overlapped,
        names=tuple(images),
        job=job,
        rows=rows,
        columns=columns,
        values=values,
        dtype=_PIXEL,
        chunks=(rows.chunks, columns.chunks),
        drop_axis=2,
        meta=np.empty((0, 0), _PIXEL),
    )
    refined = da.map_blocks(
        _refine_strip,
        _strips_of(tiles, strips),
        _strips_of(images["left"], strips),
        job=job,
        strips=strips,
        values=values,
        dtype=_PIXEL,
        chunks=(strips.chunks, (images["left"].shape[1],)),
        drop_axis=2,
        meta=np.empty((0, 0), _PIXEL),
    )
    disparity, status = (
        refined.map_blocks(_field, name, dtype=_MAP[name], meta=np.empty((0, 0), _MAP[name])) for name in _FIELDS
    )
    return disparity, status


class _File:
    """A Zarr folder or a TIFF file. Only its name is sent; each read opens it."""

    def __init__(self, path: PathLike) -> None:
        self.path = os.path.abspath(path)
        with self._opened() as array:
            self.shape, self.dtype = tuple(array.shape), np.dtype(array.dtype)
        self.ndim = len(self.shape)

    def __getitem__(self, key: Tuple[slice, slice]) -> Array:
        with self._opened() as array:
            part: Array = np.asarray(array[key])
            return part

    @contextlib.contextmanager
    def _opened(self) -> Iterator[Any]:
        import zarr

        try:
            if Path(self.path).suffix.lower() in (".tif", ".tiff"):
                import tifffile

                with tifffile.imread(self.path, aszarr=True, series=0, level=0) as store:
                    yield zarr.open(store, mode="r")
            else:
                yield zarr.open(self.path, mode="r")
        except Exception as error:
            raise FileError(f"cannot read {self.path}: {error}") from error

    def __dask_tokenize__(self) -> Tuple[Any, ...]:
        return self.path, self.shape, self.dtype.str, os.stat(self.path).st_mtime_ns


def _source(image: Any, name: str) -> Any:
    if _is_name(image):
        return _File(Path(image))
    return image if isinstance(image, da.Array) else _on_host(image, name)


def _check_sources(images: Mapping[str, Any]) -> None:
    size = images["left"].shape[:2]
    for name, image in images.items():
        channels: Tuple[Any, ...] = (None,) if "mask" in name else (None, 3)
        if image.ndim not in (2, 3) or (image.shape[2] if image.ndim == 3 else None) not in channels:
            raise ArgumentError(f"{name} has shape {image.shape}: give (height, width) or (height, width, 3)")
        if image.shape[:2] != size or 0 in size:
            raise ArgumentError(f"{name} has shape {image.shape}, left {images['left'].shape}: give images of one size")


def _overlapped(image: Any, rows: Cut, columns: Cut) -> Any:
    """Blocks of these chunks with their overlap, (height, width, channels)."""
    if isinstance(image, _File):
        return _read_overlapped(image, rows, columns)
    array = _with_channels(image).rechunk((rows.chunks, columns.chunks, -1))
    depth = {0: (rows.before, rows.after), 1: (columns.before, columns.after), 2: 0}
    return da.overlap.overlap(array, depth, "none")


def _strips_of(image: Any, rows: Cut) -> Any:
    """The same in full rows; each strip is put together once."""
    if isinstance(image, _File):
        return _read_overlapped(image, rows, Cut((image.shape[1],)))
    array = _with_channels(image)
    return da.concatenate([array[rows.around(index)].rechunk(-1) for index in range(len(rows.chunks))])


def _read_overlapped(image: _File, rows: Cut, columns: Cut) -> Any:
    """Overlapped blocks of a file; each block is read where it is needed."""
    lengths = [(cut.length,) * len(cut.chunks) for cut in (rows, columns)]
    return da.map_blocks(
        _read_block,
        image=image,
        rows=rows,
        columns=columns,
        dtype=image.dtype,
        chunks=(*lengths, (_channels(image),)),
        meta=np.empty((0, 0, 0), image.dtype),
    )


def _read_block(*, image: _File, rows: Cut, columns: Cut, block_id: Tuple[int, ...]) -> Array:
    part = image[rows.around(block_id[0]), columns.around(block_id[1])]
    return part.reshape(*part.shape[:2], -1)


def _with_channels(image: Any) -> Any:
    array = image if isinstance(image, da.Array) else da.from_array(image)
    return array[:, :, None] if array.ndim == 2 else array


def _channels(image: Any) -> int:
    return int(image.shape[2]) if image.ndim == 3 else 1


def _layout(
    job: _Job, images: Mapping[str, Any], tile_size: Optional[Tuple[int, int]], max_memory: int, padding: int
) -> Tuple[Cut, Cut, Cut]:
    """Rows and columns of tiles, and the rows of strips."""
    height, width = images["left"].shape[:2]
    dtype = images["left"].dtype
    settings = job.settings()
    needed = margins_of(settings, (width, height), dtype, padding)
    columns = cuts(width, needed.left, needed.right, needed.alignment)
    rows = cuts(height, needed.top, needed.bottom, needed.alignment)
    strip = _strip_cut(settings, needed, images, max_memory)
    fits = _Fits(for_tiles(settings), images, tile_size, max_memory)
    best = best_cuts(columns, rows, fits)
    if best is None:
        smallest = (columns[-1].length, rows[-1].length)
        if tile_size is not None or max_memory > 0:
            raise fits.refusal(smallest)
        best = columns[-1], rows[-1]
    return best[1], best[0], strip


class _Fits:
    """Whether tiles of a size are small enough."""

    def __init__(
        self, settings: _Settings, images: Mapping[str, Any], largest: Optional[Tuple[int, int]], max_memory: int
    ) -> None:
        self._settings, self._largest = settings, largest
        self._type = _image_type(images["left"].dtype)
        self._most = max_memory if max_memory > 0 or largest is not None else _TILE_BYTES
        # Bytes of the images, and of two copies of the map.
        self._pixel = 2 * _MAP.itemsize + sum(map(_pixel_bytes, images.values()))

    def __call__(self, width: int, height: int) -> bool:
        if self._largest is not None and (width > self._largest[0] or height > self._largest[1]):
            return False
        return self._most == 0 or self._bytes(width, height) <= self._most

    def refusal(self, smallest: Tuple[int, int]) -> Error:
        size = f"{smallest[0]}×{smallest[1]}"
        if self._largest is not None and (smallest[0] > self._largest[0] or smallest[1] > self._largest[1]):
            largest = f"{self._largest[0]}×{self._largest[1]}"
            return ArgumentError(
                f"tile_size is {largest}, which leaves no room within the margins: allow {size} or more"
            )
        return OutOfMemoryError(
            f"the smallest tiles, of {size}, need {self._bytes(*smallest)} bytes, and max_memory is {self._most}: raise "
            "it, or search fewer disparities"
        )

    def _bytes(self, width: int, height: int) -> int:
        try:
            return self._settings.estimated_memory((width, height), self._type) + width * height * self._pixel
        except DeviceError as error:
            raise DeviceError(f"cannot tell the memory of a tile here: {error}; or give tile_size") from error


def _pixel_bytes(image: Any) -> int:
    return _channels(image) * int(image.dtype.itemsize)


def _strip_cut(settings: _Settings, needed: TileMargins, images: Mapping[str, Any], max_memory: int) -> Cut:
    """The highest strips allowed, but not higher than is efficient, because workers share them."""
    height, width = (int(side) for side in images["left"].shape[:2])
    possible = cuts(height, needed.halo, needed.halo, needed.halo_alignment)
    enough = 2 * needed.halo + _STRIP_ROWS
    pixel: int = 3 * _MAP.itemsize + _pixel_bytes(images["left"])

    def bytes_of(cut: Cut) -> int:
        return strip_memory(settings, width, cut.length) + width * cut.length * pixel

    for cut in possible:
        if cut.length <= enough and bytes_of(cut) <= (max_memory or _TILE_BYTES):
            return cut
    if 0 < max_memory < bytes_of(possible[-1]):
        raise OutOfMemoryError(
            f"strips of {possible[-1].length} rows need {bytes_of(possible[-1])} bytes, and max_memory is {max_memory}: "
            "raise it, or leave out steps after the match"
        )
    return possible[-1]


def _match_tile(
    *arrays: Array,
    names: Tuple[str, ...],
    job: _Job,
    rows: Cut,
    columns: Cut,
    values: Tuple[int, int],
    block_id: Tuple[int, ...],
) -> Array:
    y, x = block_id[:2]
    (top, bottom), (first, last) = rows.place(y), columns.place(x)
    with _named(f"tile ({y}, {x}), rows {top} to {bottom} and columns {first} to {last}"):
        images: Dict[str, Any] = {name: _without_channel(array) for name, array in zip(names, arrays)}
        with _turn:
            result = _matchers.get(job, images["left"], tiles=True)(**images, range=values)
    inside = rows.inside(y), columns.inside(x)
    return _packed(result.disparity[inside], result.status[inside])


def _refine_strip(
    tiles: Array, left: Array, *, job: _Job, strips: Cut, values: Tuple[int, int], block_id: Tuple[int, ...]
) -> Array:
    y = block_id[0]
    disparity, status = (_field(tiles[:, :, 0], name) for name in _FIELDS)
    first, last = strips.place(y)
    with _named(f"strip {y}, rows {first} to {last}"):
        with _turn:
            _matchers.clear()
            refine_strip(job.settings(), stretched(picture(_without_channel(left), "left"), values), disparity, status)
    inside = strips.inside(y)
    return _packed(disparity[inside], status[inside])


def _without_channel(array: Array) -> Array:
    return array[:, :, 0] if array.shape[2] == 1 else array


def _packed(disparity: Array, status: Array) -> Array:
    packed = np.empty(disparity.shape, _MAP)
    packed["disparity"], packed["status"] = disparity, status
    return packed.view(_PIXEL)


def _field(packed: Array, name: str) -> Array:
    return np.ascontiguousarray(packed.view(_MAP)[name])


# Files.


def store(arrays: Sequence[Any], paths: Sequence[PathLike], compute: bool = True) -> Any:
    """Writes dask arrays, in one computation, as Zarr folders (.zarr) or uncompressed TIFF files (.tif, .tiff).

        px_dask.store([disparity, status], ["disparity.tiff", "status.zarr"])

    All workers must see the folders. A file is called NAME.part until it is complete; a path that exists is refused.
    compute=False returns a delayed object instead, whose computation writes the files.
    """
    files = [Path(os.path.abspath(path)) for path in paths]
    if len(arrays) != len(files):
        raise ArgumentError(f"{len(arrays)} arrays are given, and {len(files)} paths: give a path for each array")
    for path in files:
        if path.suffix.lower() not in (".zarr", ".tif", ".tiff"):
            raise ArgumentError(f"cannot write {path}: choose the suffix .zarr, .tif or .tiff")
        if path.exists() or files.count(path) > 1:
            raise FileError(f"cannot write {path}: it is already there, or named twice; choose another name")
    targets = [_target(array, path) for array, path in zip(arrays, files)]
    # Full rows; blocks that share no chunk of a Zarr array.
    blocks = [array.rechunk({0: _STORED_SIDE, **dict.fromkeys(range(1, array.ndim), -1)}) for array in arrays]
    written = da.store(blocks, targets, lock=False, compute=False)
    finished = dask.delayed(_rename)(written, files)
    return finished.compute() if compute else finished


def _part(path: Path) -> Path:
    return path.with_name(path.name + ".part")


def _target(array: Any, path: Path) -> Any:
    part = _part(path)
    try:
        if path.suffix.lower() == ".zarr":
            import zarr

            chunks = tuple(min(_STORED_SIDE, side) for side in array.shape[:2]) + array.shape[2:]
            return zarr.open(str(part), mode="w", shape=array.shape, dtype=array.dtype, chunks=chunks)
        return _Tiff(array, part)
    except OSError as error:
        raise FileError(f"cannot write {path}: {error.strerror}") from error


class _Tiff:
    """A TIFF file, made in its full length, whose rows follow each other without gaps."""

    def __init__(self, array: Any, path: Path) -> None:
        import tifffile

        row_bytes = array.dtype.itemsize * int(np.prod(array.shape[1:]))
        rows = max(1, (1 << 20) // row_bytes)
        photometric = "rgb" if array.ndim == 3 else "minisblack"
        mapped = tifffile.memmap(
            str(path), shape=array.shape, dtype=array.dtype, photometric=photometric, rowsperstrip=rows
        )
        self._path, self._offset, self._row_bytes = path, mapped.offset, row_bytes

    def __setitem__(self, key: Tuple[slice, ...], rows: Array) -> None:
        # Written, not mapped: workers of other machines may write what lies on the same page.
        try:
            with open(self._path, "r+b") as file:
                file.seek(self._offset + key[0].start * self._row_bytes)
                file.write(np.ascontiguousarray(rows).data)
        except OSError as error:
            raise FileError(f"cannot write {self._path}: {error.strerror}") from error


def _rename(_written: Any, paths: Sequence[Path]) -> None:
    for path in paths:
        if _part(path).exists():
            os.replace(_part(path), path)
        elif not path.exists():  # otherwise a worker renamed it, and was lost before it reported that
            raise FileError(f"cannot write {path}: {_part(path)} is gone; compute it again")
