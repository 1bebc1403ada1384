# SPDX-License-Identifier: Apache-2.0
"""Motion between frames: arrays and files."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Dict, Optional, Tuple

import numpy as np

from ._arrays import Array, as_array, check_dtype, integer, is_on_gpu, view
from ._library import ArgumentError, FileError, encoded, function
from ._maps import PathLike, read, read_floats, write_npy
from ._matcher import match


def flow(
    frame1: Any,
    frame2: Any,
    range: Optional[Tuple[int, int]] = None,
    min: Optional[Tuple[int, int]] = None,
    device: str = "auto",
    *,
    first_mask: Any = None,
    second_mask: Any = None,
    **options: Any,
) -> Tuple[Array, Array]:
    """Finds where each pixel of one frame is in another one: that at column x and row y is at (x + u, y + v).

        motion, status = px.flow(frame1, frame2, range=(31, 15))

    Returns the motions, float32 (height, width, 2) with u to the right and v downwards, in pixels, NaN = none; and the
    status of each pixel, as of match().
    range: the number of columns and of rows to search; by default those of the preset.
    min: the least u and v, of any sign; by default the range has 0 in its middle.
    first_mask, second_mask: bool or uint8 (height, width), where a frame is valid.
    Other keywords are those of match() and the parameters of the method "motion". Frames are NumPy arrays; for arrays on
    a GPU, match() with method="motion" and row_offset=True gives both components.
    """
    for name, frame in (("frame1", frame1), ("frame2", frame2)):
        if is_on_gpu(frame):
            raise ArgumentError(f'{name} is on a GPU: use match() with method="motion" and row_offset=True')
    for name in ("disparities", "min_disparity", "row_offsets", "min_row_offset"):
        if name in options:
            raise ArgumentError(f"{name} is given: give range and min")
    result = match(
        frame1,
        frame2,
        method="motion",
        device=device,
        left_mask=first_mask,
        right_mask=second_mask,
        row_offset=True,
        **_labels(range, min),
        **options,
    )
    vectors = np.stack([0 - result.disparity, result.row_offset], axis=2)
    vectors[~np.isfinite(vectors).all(axis=2)] = np.nan
    return vectors, result.status


def _labels(extent: Any, least: Any) -> Dict[str, Any]:
    """The parameters of the method, whose disparities are motions to the left."""
    if extent is None:
        if least is not None:
            raise ArgumentError("min is given, and range is not: give both")
        return {}
    columns, rows = _two(extent, "range", 1, 4096)
    centred = (-((columns - 1) // 2), -((rows - 1) // 2))
    u, v = centred if least is None else _two(least, "min", -1_000_000, 1_000_000)
    return {"disparities": columns, "min_disparity": -(u + columns - 1), "row_offsets": rows, "min_row_offset": v}


def _two(value: Any, name: str, least: int, most: int) -> Tuple[int, int]:
    try:
        first, second = value
    except (TypeError, ValueError) as error:
        raise ArgumentError(f"{name} is {value!r}: give two integers, of columns and of rows") from error
    return integer(first, name, least, most), integer(second, name, least, most)


def read_flow(path: PathLike) -> Array:
    """Reads motions as float32 (height, width, 2), NaN = none, from Middlebury's .flo or from .npy."""
    if Path(path).suffix.lower() != ".npy":
        vectors = read_floats("read_flo", path, 2)
        vectors[np.isinf(vectors)] = np.nan
        return vectors
    vectors = read(path)
    if vectors.dtype != np.float32 or vectors.ndim != 3 or vectors.shape[2] != 2:
        raise FileError(f"{path} holds no motions: give a .flo, or float32 (height, width, 2) as .npy")
    return vectors


def write_flow(path: PathLike, vectors: Any) -> None:
    """Writes motions, float32 (height, width, 2), not finite = none, as Middlebury's .flo or as .npy."""
    array = as_array(vectors, "vectors")
    check_dtype(array, "vectors", (np.float32,))
    if array.ndim != 3 or array.shape[2] != 2 or 0 in array.shape:
        raise ArgumentError(f"vectors has shape {array.shape}: give (height, width, 2)")
    suffix = Path(path).suffix.lower()
    if suffix == ".flo":
        u, v = (np.ascontiguousarray(array[:, :, i]) for i in (0, 1))
        function("write_flo")(encoded(path, "path"), view(u), view(v))
    elif suffix == ".npy":
        write_npy(path, array)
    else:
        raise ArgumentError(f"cannot write {path}: choose the suffix .flo or .npy")
