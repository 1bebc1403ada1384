# SPDX-License-Identifier: Apache-2.0
"""The C interface of libparallax (parallax/parallax_c.h), through ctypes, which releases the GIL during each call."""

from __future__ import annotations

import atexit
import ctypes
import os
import threading
from pathlib import Path
from typing import Any, Callable, Dict, Generator, List, Optional, Sequence, Type

# PARALLAX_INTERFACE of the header that this file was written for.
INTERFACE = 2

UINT8, UINT16, FLOAT32 = 8, 16, 32


class Error(Exception):
    """An error of Parallax: one line that says what failed and what to do."""

    #: The number of the pair that a MatcherPool could not match.
    pair: Optional[int] = None


class ArgumentError(Error, ValueError):
    """A parameter, size or image cannot be used."""


class FileError(Error, OSError):
    """A file cannot be read, written or parsed."""


class DeviceError(Error, RuntimeError):
    """A device is missing, has failed, or lacks a requested feature."""


class OutOfMemoryError(Error, MemoryError):
    """More memory is needed than is available or allowed."""


class InternalError(Error, RuntimeError):
    """A bug in Parallax itself."""


class CancelledError(Error):
    """cancel() ended the call."""


_ERRORS: Dict[int, Type[Error]] = {
    1: ArgumentError,
    2: FileError,
    3: DeviceError,
    4: OutOfMemoryError,
    5: InternalError,
    6: CancelledError,
}


class _Sized(ctypes.Structure):
    """A struct whose first member is its size."""

    def __init__(self, *values: Any) -> None:
        super().__init__(ctypes.sizeof(type(self)), *values)


_VIEW = [
    ("struct_size", ctypes.c_size_t),
    ("data", ctypes.c_void_p),
    ("width", ctypes.c_int32),
    ("height", ctypes.c_int32),
    ("stride_bytes", ctypes.c_int64),
    ("type", ctypes.c_int),
    ("channels", ctypes.c_int32),
]


class Image(_Sized):
    """parallax_image and parallax_output, whose members are the same."""

    _fields_ = _VIEW


_IMAGE = ctypes.POINTER(Image)


class RectifiedPair(_Sized):
    _fields_ = [
        ("struct_size", ctypes.c_size_t),
        ("left", _IMAGE),
        ("right", _IMAGE),
        ("left_mask", _IMAGE),
        ("right_mask", _IMAGE),
    ]


class Pair(_Sized):
    _fields_ = [*RectifiedPair._fields_, ("costs", _IMAGE)]


class Map(_Sized):
    pass


Map._fields_ = [
    ("struct_size", ctypes.c_size_t),
    ("disparity", _IMAGE),
    ("status", _IMAGE),
    ("confidence", _IMAGE),
    ("row_offset", _IMAGE),
    ("right", ctypes.POINTER(Map)),
]


class MarginValues(_Sized):
    _fields_ = [
        ("struct_size", ctypes.c_size_t),
        ("left", ctypes.c_int32),
        ("right", ctypes.c_int32),
        ("top", ctypes.c_int32),
        ("bottom", ctypes.c_int32),
        ("alignment", ctypes.c_int32),
        ("exact", ctypes.c_int32),
        ("halo", ctypes.c_int32),
        ("halo_alignment", ctypes.c_int32),
    ]


class ParameterInfo(ctypes.Structure):
    _fields_ = [
        ("struct_size", ctypes.c_size_t),
        ("name", ctypes.c_char_p),
        ("kind", ctypes.c_int),
        ("optional", ctypes.c_int32),
        ("expert", ctypes.c_int32),
        ("help", ctypes.c_char_p),
        ("unit", ctypes.c_char_p),
        ("allowed", ctypes.c_char_p),
        ("group", ctypes.c_char_p),
        ("default_value", ctypes.c_char_p),
        ("least", ctypes.c_double),
        ("most", ctypes.c_double),
        ("choices", ctypes.POINTER(ctypes.c_char_p)),
        ("choice_count", ctypes.c_size_t),
        ("devices", ctypes.POINTER(ctypes.c_char_p)),
        ("device_count", ctypes.c_size_t),
        ("choice_devices", ctypes.POINTER(ctypes.c_char_p)),
    ]


class DeviceInfo(ctypes.Structure):
    _fields_ = [
        ("struct_size", ctypes.c_size_t),
        ("name", ctypes.c_char_p),
        ("description", ctypes.c_char_p),
    ]


class Stage(ctypes.Structure):
    _fields_ = [("name", ctypes.c_char_p), ("milliseconds", ctypes.c_double)]


class PoolLimits(_Sized):
    _fields_ = [
        ("struct_size", ctypes.c_size_t),
        ("matchers_per_gpu", ctypes.c_int32),
        ("waiting", ctypes.c_int32),
    ]


class LostDevice(ctypes.Structure):
    _fields_ = [("device", ctypes.c_char_p), ("reason", ctypes.c_char_p)]


class MetricsValues(_Sized):
    _fields_ = [
        ("struct_size", ctypes.c_size_t),
        ("count", ctypes.c_uint64),
        ("bad05", ctypes.c_double),
        ("bad1", ctypes.c_double),
        ("bad2", ctypes.c_double),
        ("bad4", ctypes.c_double),
        ("average", ctypes.c_double),
        ("rms", ctypes.c_double),
        ("a50", ctypes.c_double),
        ("a90", ctypes.c_double),
        ("a95", ctypes.c_double),
        ("a99", ctypes.c_double),
        ("d1", ctypes.c_double),
        ("coverage", ctypes.c_double),
        ("mismatches", ctypes.c_uint64),
    ]


class CalibrationValues(_Sized):
    _fields_ = [
        ("struct_size", ctypes.c_size_t),
        ("focal", ctypes.c_double),
        ("centre_x", ctypes.c_double),
        ("centre_y", ctypes.c_double),
        ("doffs", ctypes.c_double),
        ("baseline", ctypes.c_double),
        ("width", ctypes.c_int32),
        ("height", ctypes.c_int32),
        ("disparities", ctypes.c_int32),
        ("metres_per_unit", ctypes.c_double),
    ]


class RectifyParameters(_Sized):
    _fields_ = [
        ("struct_size", ctypes.c_size_t),
        ("alpha", ctypes.c_double),
        ("zoom", ctypes.c_double),
        ("same_centres", ctypes.c_int32),
        ("width", ctypes.c_int32),
        ("height", ctypes.c_int32),
        ("interpolation", ctypes.c_int),
    ]


class RectificationValues(_Sized):
    _fields_ = [
        ("struct_size", ctypes.c_size_t),
        ("rotation_left", ctypes.c_double * 9),
        ("rotation_right", ctypes.c_double * 9),
        ("focal", ctypes.c_double),
        ("centre_left_x", ctypes.c_double),
        ("centre_right_x", ctypes.c_double),
        ("centre_y", ctypes.c_double),
        ("baseline", ctypes.c_double),
        ("width", ctypes.c_int32),
        ("height", ctypes.c_int32),
        ("quarter_turns", ctypes.c_int32),
    ]


class CheckParameters(_Sized):
    _fields_ = [
        ("struct_size", ctypes.c_size_t),
        ("search_rows", ctypes.c_double),
        ("search_columns", ctypes.c_double),
        ("max_rows_off", ctypes.c_double),
        ("threads", ctypes.c_int32),
    ]


class ReportValues(ctypes.Structure):
    """The beginning of parallax_pair_report: the figures after it are in the JSON."""

    _fields_ = [
        ("struct_size", ctypes.c_size_t),
        ("verdict", ctypes.c_int32),
        ("side", ctypes.c_int32),
        ("sentence", ctypes.c_char_p),
        ("remarks", ctypes.POINTER(ctypes.c_char_p)),
        ("remark_count", ctypes.c_size_t),
        ("json", ctypes.c_char_p),
        ("points", ctypes.POINTER(ctypes.c_float)),
        ("point_count", ctypes.c_size_t),
    ]


INTERRUPT = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p)
LOG = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_char_p)
PROGRESS = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64)

_HANDLE = ctypes.c_void_p
_TEXT = ctypes.c_char_p
_INT = ctypes.c_int32
_OUT = ctypes.POINTER(ctypes.c_void_p)
_COUNT = ctypes.POINTER(ctypes.c_size_t)
_BYTES = ctypes.POINTER(ctypes.c_uint64)
_CALIBRATION = ctypes.POINTER(CalibrationValues)
_RECTIFY = ctypes.POINTER(RectifyParameters)
_RECTIFICATION = ctypes.POINTER(RectificationValues)

# The arguments of each function that returns a parallax_code.
_FUNCTIONS: Dict[str, Sequence[Any]] = {
    "parallax_set_interrupt": [INTERRUPT, ctypes.c_void_p],
    "parallax_set_log": [LOG, ctypes.c_void_p],
    "parallax_list_methods": [ctypes.POINTER(ctypes.POINTER(_TEXT)), _COUNT],
    "parallax_list_presets": [_TEXT, ctypes.POINTER(ctypes.POINTER(_TEXT)), _COUNT],
    "parallax_list_parameters": [
        _TEXT,
        ctypes.POINTER(ctypes.POINTER(ctypes.POINTER(ParameterInfo))),
        _COUNT,
    ],
    "parallax_list_devices": [ctypes.POINTER(ctypes.POINTER(ctypes.POINTER(DeviceInfo))), _COUNT],
    "parallax_matcher_create": [_TEXT, _TEXT, ctypes.POINTER(_HANDLE)],
    "parallax_matcher_set_string": [_HANDLE, _TEXT, _TEXT],
    "parallax_matcher_set_json": [_HANDLE, _TEXT],
    "parallax_matcher_get_json": [_HANDLE, ctypes.POINTER(_TEXT)],
    "parallax_matcher_set_device": [_HANDLE, _TEXT, _INT],
    "parallax_matcher_set_memory_limit": [_HANDLE, ctypes.c_uint64],
    "parallax_matcher_set_both_maps": [_HANDLE, _INT],
    "parallax_matcher_configure": [_HANDLE, _TEXT, _TEXT],
    "parallax_matcher_plan": [_HANDLE, _INT, _INT, ctypes.c_int],
    "parallax_matcher_estimate_memory": [_HANDLE, _INT, _INT, ctypes.c_int, _BYTES],
    "parallax_matcher_memory": [_HANDLE, _BYTES],
    "parallax_matcher_has_confidence": [_HANDLE, ctypes.POINTER(_INT)],
    "parallax_matcher_has_row_offsets": [_HANDLE, ctypes.POINTER(_INT)],
    "parallax_matcher_run": [_HANDLE, ctypes.POINTER(Pair), ctypes.POINTER(Map)],
    "parallax_matcher_cancel": [_HANDLE],
    "parallax_matcher_enqueue": [_HANDLE, ctypes.POINTER(Pair), ctypes.POINTER(Map), ctypes.c_void_p],
    "parallax_matcher_run_in_tiles": [
        _HANDLE,
        ctypes.POINTER(Pair),
        ctypes.POINTER(Map),
        _INT,
        PROGRESS,
        ctypes.c_void_p,
    ],
    "parallax_matcher_margins": [_HANDLE, _INT, _INT, ctypes.c_int, _INT, ctypes.POINTER(MarginValues)],
    "parallax_matcher_set_tiles": [_HANDLE, _INT],
    "parallax_matcher_refine_strip": [_HANDLE, _IMAGE, ctypes.POINTER(Map)],
    "parallax_matcher_estimate_strip_memory": [_HANDLE, _INT, _INT, _BYTES],
    "parallax_matcher_stages": [_HANDLE, ctypes.POINTER(ctypes.POINTER(Stage)), _COUNT],
    "parallax_matcher_rows_moved": [_HANDLE, ctypes.POINTER(ctypes.c_double)],
    "parallax_matcher_forget_rows": [_HANDLE],
    "parallax_matcher_energy": [_HANDLE, ctypes.POINTER(Pair), _IMAGE, ctypes.POINTER(ctypes.c_double)],
    "parallax_pool_create": [_HANDLE, _TEXT, ctypes.POINTER(PoolLimits), ctypes.POINTER(_HANDLE)],
    "parallax_pool_submit": [_HANDLE, ctypes.POINTER(Pair), ctypes.POINTER(Map), _HANDLE, _BYTES],
    "parallax_pool_wait": [_HANDLE, ctypes.c_uint64, ctypes.c_void_p],
    "parallax_pool_wait_any": [_HANDLE, ctypes.POINTER(_INT), _BYTES, ctypes.c_void_p],
    "parallax_pool_lost_devices": [_HANDLE, ctypes.POINTER(ctypes.POINTER(LostDevice)), _COUNT],
    "parallax_pool_matchers": [_HANDLE, _INT, _INT, ctypes.c_int, ctypes.POINTER(_INT)],
    "parallax_evaluate": [_IMAGE, _IMAGE, _IMAGE, ctypes.POINTER(MetricsValues)],
    "parallax_read_calibration": [_TEXT, _CALIBRATION],
    "parallax_calibration_in_metres": [_CALIBRATION],
    "parallax_depth": [_CALIBRATION, _IMAGE, _IMAGE],
    "parallax_depth_uncertainty": [_CALIBRATION, _IMAGE, ctypes.c_double, _IMAGE],
    "parallax_normals": [_CALIBRATION, _IMAGE, _IMAGE],
    "parallax_points": [_CALIBRATION, _IMAGE, _IMAGE, ctypes.c_void_p, _COUNT],
    "parallax_mesh": [
        _CALIBRATION,
        _IMAGE,
        _IMAGE,
        ctypes.c_double,
        ctypes.c_void_p,
        _COUNT,
        ctypes.c_void_p,
        _COUNT,
    ],
    "parallax_find_value_range": [ctypes.POINTER(Pair), ctypes.POINTER(_INT), ctypes.POINTER(_INT)],
    "parallax_stretch": [_IMAGE, _INT, _INT, _IMAGE],
    "parallax_colour": [_IMAGE, ctypes.c_double, ctypes.c_double, _IMAGE],
    "parallax_read_pfm": [_TEXT, _OUT, ctypes.POINTER(_INT), ctypes.POINTER(_INT)],
    "parallax_write_pfm": [_TEXT, _IMAGE],
    "parallax_read_flo": [_TEXT, _OUT, ctypes.POINTER(_INT), ctypes.POINTER(_INT)],
    "parallax_write_flo": [_TEXT, _IMAGE, _IMAGE],
    "parallax_write_ply": [_TEXT, ctypes.c_void_p, ctypes.c_size_t],
    "parallax_write_pcd": [_TEXT, ctypes.c_void_p, ctypes.c_size_t],
    "parallax_write_mesh": [_TEXT, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_void_p, ctypes.c_size_t],
    "parallax_rig_create": [_TEXT, _TEXT, ctypes.POINTER(_HANDLE)],
    "parallax_rig_json": [_HANDLE, ctypes.POINTER(_TEXT)],
    "parallax_rectify": [_HANDLE, _RECTIFY, _RECTIFICATION],
    "parallax_rectification_calibration": [_RECTIFICATION, _CALIBRATION],
    "parallax_rectifier_create": [_HANDLE, _RECTIFY, _TEXT, _INT, ctypes.c_int, ctypes.POINTER(_HANDLE)],
    "parallax_rectifier_run": [_HANDLE, _IMAGE, _IMAGE, ctypes.POINTER(RectifiedPair)],
    "parallax_rectified_matcher_create": [_HANDLE, _HANDLE, _RECTIFY, ctypes.c_int, ctypes.POINTER(_HANDLE)],
    "parallax_rectified_matcher_run": [_HANDLE, _IMAGE, _IMAGE, ctypes.POINTER(Map)],
    "parallax_rectified_matcher_cancel": [_HANDLE],
    "parallax_rectified_matcher_enqueue": [_HANDLE, _IMAGE, _IMAGE, ctypes.POINTER(Map), ctypes.c_void_p],
    "parallax_rectified_matcher_memory": [_HANDLE, _BYTES],
    "parallax_rectified_matcher_has_confidence": [_HANDLE, ctypes.POINTER(_INT)],
    "parallax_rectified_matcher_has_row_offsets": [_HANDLE, ctypes.POINTER(_INT)],
    "parallax_rectified_matcher_stages": [_HANDLE, ctypes.POINTER(ctypes.POINTER(Stage)), _COUNT],
    "parallax_check_pair": [ctypes.POINTER(Pair), ctypes.POINTER(CheckParameters), ctypes.POINTER(_HANDLE)],
    "parallax_temporal_filter_create": [_INT, _INT, ctypes.c_int, _INT, _INT, ctypes.POINTER(_HANDLE)],
    "parallax_temporal_filter_run": [_HANDLE, ctypes.POINTER(Pair), ctypes.POINTER(Map)],
    "parallax_temporal_filter_clear": [_HANDLE],
    "parallax_temporal_filter_was_predicted": [_HANDLE, ctypes.POINTER(_INT)],
    "parallax_temporal_filter_state_size": [_HANDLE, _COUNT],
    "parallax_temporal_filter_save": [_HANDLE, ctypes.c_void_p, ctypes.c_size_t],
    "parallax_temporal_filter_restore": [_HANDLE, ctypes.c_char_p, ctypes.c_size_t],
    "parallax_synthesize": [_TEXT, _INT, ctypes.c_uint64, _IMAGE, _IMAGE, _IMAGE],
}


def _load() -> ctypes.CDLL:
    """Loads the file that PARALLAX_LIBRARY names, else the library in this package, else the system's library."""
    chosen = os.environ.get("PARALLAX_LIBRARY")
    bundled = Path(__file__).with_name("libparallax.so.0.2")
    name = chosen or (str(bundled) if bundled.exists() else "libparallax.so.0.2")
    try:
        library = ctypes.CDLL(name)
        interface = library.parallax_interface
    except (OSError, AttributeError) as error:
        import platform  # takes as long as the rest of this file

        advice = "install libparallax0.2, or set PARALLAX_LIBRARY to the path of libparallax.so"
        if platform.libc_ver()[0] != "glibc":
            advice = "wheels need glibc, which this system lacks: build Parallax from source"
        raise ImportError(f"cannot use the library of Parallax, {name} ({error}): {advice}") from error
    if interface() < INTERFACE:
        raise ImportError(
            f"{name} has interface {interface()}, this package needs {INTERFACE}: install a newer libparallax"
        )
    return library


_library = _load()
_library.parallax_version.restype = _TEXT
_library.parallax_error_message.restype = _TEXT
for _kind in ("matcher", "pool", "rig", "rectifier", "rectified_matcher", "pair_report", "temporal_filter"):
    _release = getattr(_library, f"parallax_{_kind}_release")
    _release.argtypes = [_HANDLE]
    _release.restype = None
_library.parallax_free.argtypes = [ctypes.c_void_p]
_library.parallax_free.restype = None


def _raise(code: int) -> None:
    raise _ERRORS.get(code, InternalError)(_library.parallax_error_message().decode("utf-8", "replace"))


# Signals, such as that of Ctrl-C, reach Python's handlers only in the main thread, between Python's own instructions. So
# long calls of the library in that thread ask from time to time, and end when a handler has raised an exception.

_raised: List[BaseException] = []
_check_signals = ctypes.pythonapi.PyErr_CheckSignals  # runs the handlers


def _answer() -> Generator[int, None, None]:
    """Answers the library, 1 = end the call. A function, unlike a generator that goes on within `try`, would let handlers
    run before its first instruction, and the exception would pass into C, where it is lost."""
    while True:
        try:
            yield 1 if _raised else 0
            _check_signals()
        except GeneratorExit:
            return
        except BaseException as exception:
            _raised.append(exception)


class _Interrupt:
    """What the library asks in Python's main thread: set there before its first call."""

    def __init__(self) -> None:
        self._asked: Any = None
        self.is_set = False

    def set(self) -> None:
        if threading.current_thread() is not threading.main_thread():
            return
        self.is_set = True
        answers = _answer()
        next(answers)
        self._asked = INTERRUPT(answers.send)
        function("set_interrupt")(self._asked, None)

    def unset(self) -> None:
        function("set_interrupt")(INTERRUPT(0), None)

    def forget(self) -> None:
        self.is_set = False


def _checked(code: int, _function: Any, _arguments: Any) -> None:
    if _raised and threading.current_thread() is threading.main_thread():
        exception = _raised[0]
        _raised.clear()
        raise exception
    if code != 0:
        _raise(code)


for _name, _arguments in _FUNCTIONS.items():
    _function = getattr(_library, _name)
    _function.argtypes = _arguments
    _function.restype = ctypes.c_int
    _function.errcheck = _checked


_interrupt = _Interrupt()
# The thread that forks becomes the main thread of its child.
os.register_at_fork(after_in_child=_interrupt.forget)
# A program may go on without its interpreter.
atexit.register(_interrupt.unset)


def function(name: str) -> Callable[..., None]:
    """A function of the C interface, without its prefix; a code other than 0 becomes an exception."""
    if not _interrupt.is_set:
        _interrupt.set()
    result: Callable[..., None] = getattr(_library, "parallax_" + name)
    return result


class Handle:
    """A pointer of the library that is released with this object: a "matcher", "rig", "rectifier", ..."""

    def __init__(self, kind: str) -> None:
        self.pointer = ctypes.c_void_p()
        self._release: Callable[[ctypes.c_void_p], None] = getattr(_library, f"parallax_{kind}_release")

    def release(self) -> None:
        """Releases it now: an exception of a signal handler, which Python ignores in __del__, is then raised."""
        pointer, self.pointer.value = ctypes.c_void_p(self.pointer.value), None
        self._release(pointer)

    def __del__(self) -> None:
        self.release()


free: Callable[[ctypes.c_void_p], None] = _library.parallax_free
#: The version of the library, such as "0.2.0".
version: str = _library.parallax_version().decode()


def text(value: Optional[bytes]) -> str:
    return (value or b"").decode("utf-8", "replace")


def encoded(value: Any, name: str) -> bytes:
    """Text for the C interface."""
    try:
        result = os.fsencode(value) if isinstance(value, (str, os.PathLike)) else None
    except UnicodeEncodeError:
        result = None
    if result is None or b"\0" in result:
        raise ArgumentError(f"{name} is {value!r}: give a text without NUL characters")
    return result
