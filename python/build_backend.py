# SPDX-License-Identifier: Apache-2.0
"""Builds the wheel of Parallax with CMake and the standard library alone, as PEP 517 asks, so that
`pip install .` needs no network.

The wheel has libparallax and the two libraries that it loads, so it runs where they are not installed. With
PARALLAX_LIBRARY, the path of a built libparallax.so, nothing is compiled. CMAKE_ARGS has more options for CMake.
scripts/release.sh builds a library that contains both, and names the platform in PARALLAX_WHEEL_PLATFORM.
"""

from __future__ import annotations

import base64
import hashlib
import io
import os
import platform
import re
import shlex
import shutil
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from pathlib import Path
from typing import Any, Dict, List, Optional, Tuple

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "python" / "parallax_stereo"
# The libraries that libparallax loads; a system may lack them.
BUNDLED = ("libtbb.so.12", "libhwy.so.1")
# What libparallax_pictures, with which read() reads pictures, is built with.
DECODERS = ("spng", "libjpeg", "libtiff-4", "libwebp")


def _version() -> str:
    found = re.search(r"project\(parallax VERSION (\S+)", (ROOT / "CMakeLists.txt").read_text())
    assert found is not None
    return found.group(1)


NAME = f"parallax_stereo-{_version()}"
DIST_INFO = f"{NAME}.dist-info"
PLATFORM = os.environ.get("PARALLAX_WHEEL_PLATFORM")
TAG = f"py3-none-{PLATFORM or 'linux_' + platform.machine()}"


def _metadata() -> str:
    return (
        "Metadata-Version: 2.1\n"
        "Name: parallax-stereo\n"
        f"Version: {_version()}\n"
        "Summary: Dense stereo matching, the same bytes on every device\n"
        "License: Apache-2.0\n"
        "Classifier: License :: OSI Approved :: Apache Software License\n"
        "Classifier: Operating System :: POSIX :: Linux\n"
        "Classifier: Programming Language :: Python :: 3\n"
        "Classifier: Typing :: Typed\n"
        "Requires-Python: >=3.9\n"
        "Requires-Dist: numpy>=1.22\n"
        "Provides-Extra: plot\n"
        "Requires-Dist: matplotlib; extra == 'plot'\n"
        "Description-Content-Type: text/markdown\n"
        "\n" + (ROOT / "docs" / "reference" / "python.md").read_text()
    )


def _wheel() -> str:
    return f"Wheel-Version: 1.0\nGenerator: parallax {_version()}\nRoot-Is-Purelib: false\nTag: {TAG}\n"


def _run(*command: str) -> None:
    subprocess.run(command, check=True, stdout=sys.stderr)


def _has_decoders() -> bool:
    try:
        return subprocess.run(["pkg-config", "--exists", *DECODERS]).returncode == 0
    except OSError:
        return False


def _compiled(folder: Path) -> Path:
    pictures = _has_decoders()
    _run(
        "cmake",
        "-S",
        str(ROOT),
        "-B",
        str(folder),
        "-DCMAKE_BUILD_TYPE=Release",
        "-DCMAKE_UNITY_BUILD=ON",
        "-DBUILD_SHARED_LIBS=ON",
        "-DPARALLAX_TOOLS=OFF",
        f"-DPARALLAX_PICTURES={'ON' if pictures else 'OFF'}",
        "-DPARALLAX_DEVELOPER_MODE=OFF",
        "-DPARALLAX_VECTORS=all",
        "-DCMAKE_BUILD_WITH_INSTALL_RPATH=ON",
        "-DCMAKE_INSTALL_RPATH=$ORIGIN",
        *(["-GNinja"] if shutil.which("ninja") else []),
        *shlex.split(os.environ.get("CMAKE_ARGS", "")),
    )
    targets = ["parallax", *(["parallax_pictures"] if pictures else [])]
    _run("cmake", "--build", str(folder), "--target", *targets, "--parallel", str(os.cpu_count() or 1))
    return folder / "src" / "libparallax.so"


def _loaded(library: Path) -> List[Tuple[str, bytes]]:
    """The libraries of BUNDLED that a library loads."""
    listed = subprocess.run(["ldd", str(library)], check=True, capture_output=True, text=True).stdout
    paths = dict(re.findall(r"^\s*(\S+) => (\S+)", listed, re.MULTILINE))
    return [(name, Path(paths[name]).read_bytes()) for name in BUNDLED if name in paths]


def _bundle(library: Path) -> List[Tuple[str, bytes]]:
    files = [("libparallax.so.0.2", library.read_bytes())]
    for folder in (library.parent, library.parent.parent / "tools" / "reader"):
        pictures = folder / "libparallax_pictures.so.0.2"
        if pictures.exists():
            files.append((pictures.name, pictures.read_bytes()))
            break
    return files if PLATFORM else files + _loaded(library)


def _files(library: Path) -> List[Tuple[str, bytes]]:
    python = [
        (f"parallax_stereo/{path.name}", path.read_bytes())
        for path in sorted(PACKAGE.iterdir())
        if path.suffix == ".py" or path.name == "py.typed"
    ]
    bundled = [(f"parallax_stereo/{name}", data) for name, data in _bundle(library)]
    return python + bundled + [(f"{DIST_INFO}/{name}", data) for name, data in _dist_info()]


def _licences() -> List[Path]:
    """Those of what the library contains, beside a library of scripts/release.sh."""
    library = os.environ.get("PARALLAX_LIBRARY") if PLATFORM else None
    return sorted((Path(library).parent.parent / "licences").iterdir()) if library else []


def _dist_info() -> List[Tuple[str, bytes]]:
    return [
        ("METADATA", _metadata().encode()),
        ("WHEEL", _wheel().encode()),
        ("LICENSE", (ROOT / "LICENSE").read_bytes()),
        *[(f"licenses/{path.name}", path.read_bytes()) for path in _licences()],
    ]


def _record(files: List[Tuple[str, bytes]]) -> str:
    def digest(data: bytes) -> str:
        return base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()

    rows = [f"{name},sha256={digest(data)},{len(data)}" for name, data in files]
    return "\n".join([*rows, f"{DIST_INFO}/RECORD,,", ""])


def build_wheel(
    wheel_directory: str,
    config_settings: Optional[Dict[str, Any]] = None,
    metadata_directory: Optional[str] = None,
) -> str:
    name = f"{NAME}-{TAG}.whl"
    with tempfile.TemporaryDirectory() as scratch:
        prebuilt = os.environ.get("PARALLAX_LIBRARY")
        files = _files(Path(prebuilt) if prebuilt else _compiled(Path(scratch)))
    files.append((f"{DIST_INFO}/RECORD", _record(files).encode()))
    with zipfile.ZipFile(Path(wheel_directory) / name, "w", zipfile.ZIP_DEFLATED) as archive:
        for path, data in files:
            # The same files give the same bytes.
            entry = zipfile.ZipInfo(path, (1980, 1, 1, 0, 0, 0))
            entry.external_attr = 0o100644 << 16
            entry.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(entry, data)
    return name


def prepare_metadata_for_build_wheel(metadata_directory: str, config_settings: Optional[Dict[str, Any]] = None) -> str:
    folder = Path(metadata_directory) / DIST_INFO
    folder.mkdir()
    for name, data in _dist_info():
        (folder / name).write_bytes(data)
    return DIST_INFO


def build_sdist(sdist_directory: str, config_settings: Optional[Dict[str, Any]] = None) -> str:
    name = f"{NAME}.tar.gz"
    kept = (
        "CMakeLists.txt",
        "LICENSE",
        "README.md",
        "pyproject.toml",
        "cmake",
        "docs",
        "include",
        "python",
        "src",
        "tools",
    )
    with tarfile.open(Path(sdist_directory) / name, "w:gz") as archive:
        for path in kept:
            archive.add(ROOT / path, f"{NAME}/{path}", filter=_without_caches)
        info, data = tarfile.TarInfo(f"{NAME}/PKG-INFO"), _metadata().encode()
        info.size = len(data)
        archive.addfile(info, io.BytesIO(data))
    return name


def _without_caches(entry: tarfile.TarInfo) -> Optional[tarfile.TarInfo]:
    return None if "__pycache__" in entry.name else entry
