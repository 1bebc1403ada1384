# SPDX-License-Identifier: Apache-2.0
"""Parallax: dense stereo matching, with the same bytes on every device.

    import parallax_stereo as px

    result = px.match(left, right, disparities=128)
    result.disparity  # float32 (height, width), in pixels; +inf = none
"""

from . import opencv
from ._check import Estimate, Exposure, PairReport, RowModel, check
from ._flow import flow, read_flow, write_flow
from ._library import (
    ArgumentError,
    CancelledError,
    DeviceError,
    Error,
    FileError,
    InternalError,
    OutOfMemoryError,
)
from ._library import version as __version__
from ._lists import Device, Parameter, devices, methods, parameters, presets
from ._log import set_log
from ._maps import (
    Calibration,
    Metrics,
    colour,
    depth,
    depth_uncertainty,
    evaluate,
    mesh,
    normals,
    points,
    read,
    read_disparity,
    synthesize,
    write,
    write_mesh,
    write_points,
)
from ._matcher import STATUS, Matcher, Result, match
from ._pool import MatcherPool
from ._rig import Camera, Rectification, RectifiedMatcher, Rectifier, Rig, rectify
from ._shared import SharedMap, SharedMaps
from ._temporal import TemporalFilter
from ._tiles import TileMargins, margins
from ._view import Viewer

__all__ = [
    "ArgumentError",
    "Calibration",
    "Camera",
    "CancelledError",
    "Device",
    "DeviceError",
    "Error",
    "Estimate",
    "Exposure",
    "FileError",
    "InternalError",
    "Matcher",
    "MatcherPool",
    "Metrics",
    "OutOfMemoryError",
    "PairReport",
    "Parameter",
    "Rectification",
    "RectifiedMatcher",
    "Rectifier",
    "Result",
    "Rig",
    "RowModel",
    "STATUS",
    "SharedMap",
    "SharedMaps",
    "TemporalFilter",
    "TileMargins",
    "Viewer",
    "__version__",
    "check",
    "colour",
    "depth",
    "depth_uncertainty",
    "devices",
    "evaluate",
    "flow",
    "margins",
    "match",
    "mesh",
    "normals",
    "methods",
    "opencv",
    "parameters",
    "points",
    "presets",
    "read",
    "read_disparity",
    "read_flow",
    "rectify",
    "set_log",
    "synthesize",
    "write",
    "write_flow",
    "write_mesh",
    "write_points",
]
