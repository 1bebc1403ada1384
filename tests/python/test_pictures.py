# SPDX-License-Identifier: Apache-2.0
"""Pictures of every format, written by Pillow, tifffile or byte by byte, have the values that were written. read() and
the command line share their readers, so errors are compared word by word."""

from __future__ import annotations

import itertools
import os
import struct
import subprocess
import zlib
from pathlib import Path
from typing import Any, Dict, Iterator, Optional, Tuple

import numpy as np
import pytest

import parallax_stereo as px

pillow = pytest.importorskip("PIL.Image")
SIZE = (13, 21)  # height and width


def noise(dtype: Any, channels: int = 1, seed: int = 1) -> Any:
    generator = np.random.default_rng(seed)
    shape = SIZE if channels == 1 else (*SIZE, channels)
    if np.dtype(dtype).kind == "f":
        return generator.normal(size=shape).astype(dtype)
    limits = np.iinfo(dtype)
    return generator.integers(limits.min, limits.max, shape, dtype, endpoint=True)


def check(path: Path, values: Any, masked: Any = None) -> None:
    read = px.read(path)
    assert read.dtype == values.dtype and read.shape == values.shape, path.name
    assert np.array_equal(np.asarray(read), values), path.name
    found = np.ma.getmaskarray(read)  # type: ignore[no-untyped-call]
    assert np.array_equal(
        found if found.ndim == 2 else found[:, :, 0], np.zeros(SIZE, bool) if masked is None else masked
    )


def check_refused(path: Path, sentence: str) -> None:
    with pytest.raises(px.FileError, match=sentence) as error:
        px.read(path)
    command = os.environ.get("PARALLAX_COMMAND")
    if command is None:
        return
    told = subprocess.run([command, "check", str(path), str(path)], capture_output=True, text=True)
    assert told.returncode != 0 and str(error.value) in told.stderr, path.name


def chunk(name: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))


def png(values: Any, kind: int, bits: int, extra: bytes = b"") -> bytes:
    """`values`: samples of `bits` bits; `extra`: chunks before the pixels."""
    height, width = values.shape[:2]
    rows = values.reshape(height, -1)
    if bits == 16:
        data = rows.astype(">u2").view(np.uint8).reshape(height, -1)
    elif bits == 8:
        data = rows.astype(np.uint8)
    else:
        spread = (rows[:, :, None] >> np.arange(bits - 1, -1, -1) & 1).reshape(height, -1)
        data = np.packbits(spread.astype(np.uint8), axis=1)
    filtered = np.concatenate([np.zeros((height, 1), np.uint8), data], axis=1)
    header = struct.pack(">IIBBBBB", width, height, bits, kind, 0, 0, 0)
    pixels = chunk(b"IDAT", zlib.compress(filtered.tobytes()))
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + extra + pixels + chunk(b"IEND", b"")


def test_png(tmp_path: Path) -> None:
    path = tmp_path / "a.png"
    for bits in (1, 2, 4, 8, 16):
        values = noise(np.uint16) >> (16 - bits)
        scaled = values * (255 // ((1 << bits) - 1)) if bits < 8 else values
        dtype = np.uint16 if bits == 16 else np.uint8
        path.write_bytes(png(values, 0, bits))
        check(path, scaled.astype(dtype))
        # A value of gray that is transparent.
        path.write_bytes(png(values, 0, bits, chunk(b"tRNS", struct.pack(">H", values[2, 3]))))
        check(path, scaled.astype(dtype), values == values[2, 3])
        if bits <= 8:
            palette = noise(np.uint8, 3)[:, :, :].reshape(-1, 3)[: 1 << bits]
            values = values % len(palette)
            path.write_bytes(png(values, 3, bits, chunk(b"PLTE", palette.tobytes())))
            check(path, palette[values])
            path.write_bytes(png(values, 3, bits, chunk(b"PLTE", palette.tobytes()) + chunk(b"tRNS", b"\xff\0")))
            check(path, palette[values], values == 1)
    for dtype in (np.uint8, np.uint16):
        bits = 8 * np.dtype(dtype).itemsize
        for kind, channels in ((2, 3), (4, 2), (6, 4)):
            values = noise(dtype, channels)
            if kind != 2:
                values[:, :, -1][values[:, :, -1] % 3 == 0] = 0
            path.write_bytes(png(values, kind, bits))
            colours = values if kind == 2 else values[:, :, 0] if kind == 4 else values[:, :, :3]
            check(path, colours, None if kind == 2 else values[:, :, -1] == 0)


@pytest.mark.parametrize("orientation", range(1, 9))
def test_exif(orientation: int, tmp_path: Path) -> None:
    values = noise(np.uint8)
    turned = {
        1: values,
        2: values[:, ::-1],
        3: values[::-1, ::-1],
        4: values[::-1],
        5: values.T,
        6: values[::-1].T,
        7: values[::-1, ::-1].T,
        8: values[:, ::-1].T,
    }[orientation]
    exif = pillow.Exif()
    exif[0x112] = orientation
    for name in ("a.png", "a.tiff"):
        pillow.fromarray(values).save(tmp_path / name, exif=exif)
        assert np.array_equal(px.read(tmp_path / name), turned)
        assert np.array_equal(px.read(tmp_path / name, ignore_orientation=True), values)


def pnm(kind: int, values: Any, most: int) -> bytes:
    height, width = values.shape[:2]
    header = f"P{kind}\n# written by hand\n{width} {height}\n" + ("" if kind in (1, 4) else f"{most}\n")
    if kind <= 3:
        return (header + " ".join(map(str, values.ravel())) + "\n").encode()
    if kind == 4:
        return header.encode() + np.packbits(values.astype(np.uint8), axis=1).tobytes()
    return header.encode() + values.astype(">u2" if most > 255 else np.uint8).tobytes()


def test_netpbm(tmp_path: Path) -> None:
    path = tmp_path / "a.pnm"
    for kind, most in itertools.product((2, 3, 5, 6), (1, 15, 100, 255, 256, 1023, 4095, 40000, 65535)):
        values = noise(np.uint16, 3 if kind in (3, 6) else 1).astype(np.uint32) % (most + 1)
        path.write_bytes(pnm(kind, values, most))
        check(path, values.astype(np.uint8 if most < 256 else np.uint16))
    for kind in (1, 4):
        bits = noise(np.uint8) % 2
        path.write_bytes(pnm(kind, bits, 1))
        check(path, (1 - bits) * np.uint8(255))


def test_bmp(tmp_path: Path) -> None:
    path = tmp_path / "a.bmp"
    gray, colours = noise(np.uint8), noise(np.uint8, 3)
    pillow.fromarray(gray).save(path)
    check(path, gray)
    pillow.fromarray(colours).save(path)
    check(path, colours)
    pillow.fromarray(gray > 127).save(path)
    check(path, np.where(gray > 127, 255, 0).astype(np.uint8))
    palette = pillow.fromarray(colours).quantize(17)
    palette.save(path)
    check(path, np.asarray(palette.convert("RGB")))
    height, width = SIZE

    def bmp(
        bits: int, rows: bytes, compression: int = 0, masks: bytes = b"", top: bool = False, table: bytes = b""
    ) -> bytes:
        size = 40 if len(masks) <= 12 else 108
        info = struct.pack("<IiiHHIIiiII", size, width, -height if top else height, 1, bits, compression, 0, 0, 0, 0, 0)
        extra = masks.ljust(size - 40, b"\0") if size > 40 else masks
        offset = 14 + len(info) + len(extra) + len(table)
        return b"BM" + struct.pack("<IHHI", 0, 0, 0, offset) + info + extra + table + rows

    def padded(rows: Any) -> bytes:
        flat = rows.view(np.uint8).reshape(height, -1)
        return np.pad(flat, ((0, 0), (0, -flat.shape[1] % 4))).tobytes()

    # 16 bits: 5, 5, 5, and, with masks, 5, 6, 5.
    fives = (colours >> 3).astype(np.uint16)
    scaled = ((fives * 510 + 31) // 62).astype(np.uint8)
    path.write_bytes(bmp(16, padded(fives[:, :, 0] << 10 | fives[:, :, 1] << 5 | fives[:, :, 2]), top=True))
    check(path, scaled)
    sixes = (colours[:, :, 1] >> 2).astype(np.uint16)
    masks = struct.pack("<III", 0xF800, 0x7E0, 0x1F)
    path.write_bytes(bmp(16, padded(fives[:, :, 0] << 11 | sixes << 5 | fives[:, :, 2]), 3, masks, True))
    check(path, np.stack([scaled[:, :, 0], (sixes * 510 + 63) // 126, scaled[:, :, 2]], axis=2).astype(np.uint8))
    # 32 bits with alpha, and with a fourth byte that means nothing.
    alpha = (noise(np.uint8, seed=2) % 2) * np.uint8(255)
    words = np.dstack([colours[:, :, ::-1], alpha])
    masks = struct.pack("<IIII", 0xFF0000, 0xFF00, 0xFF, 0xFF000000)
    path.write_bytes(bmp(32, padded(np.ascontiguousarray(words)), 3, masks, True))
    check(path, colours, alpha == 0)
    path.write_bytes(bmp(32, padded(np.ascontiguousarray(words)), top=True))
    check(path, colours)
    # Run lengths of 8 bits, from the bottom up: three equal pixels, the rest as they are.
    table = b"".join(struct.pack("<BBBB", i, i, i, 0) for i in range(256))
    runs = b""
    same = gray.copy()
    same[:, :3] = same[:, :1]
    for row in same[::-1]:
        runs += bytes([3, row[0], 0, width - 3]) + row[3:].tobytes() + b"\0" * ((width - 3) % 2) + b"\0\0"
    path.write_bytes(bmp(8, runs + b"\0\1", 1, table=table))
    check(path, same)
    path.write_bytes(bmp(8, runs[:-40], 1, table=table))
    check_refused(path, "is damaged")
    path.write_bytes(bmp(24, b"\0" * 50))
    check_refused(path, "is damaged .it is cut short")


def test_webp_and_jpeg(tmp_path: Path) -> None:
    colours = noise(np.uint8, 3)
    alpha = (noise(np.uint8, seed=2) % 2) * np.uint8(255)
    pillow.fromarray(np.dstack([colours, alpha])).save(tmp_path / "a.webp", lossless=True, exact=True)
    check(tmp_path / "a.webp", colours, alpha == 0)
    for values in (noise(np.uint8), colours):
        pillow.fromarray(values).save(tmp_path / "a.jpg", quality=95)
        decoded = np.asarray(pillow.open(tmp_path / "a.jpg")).astype(int)
        assert np.abs(px.read(tmp_path / "a.jpg") - decoded).max() <= 1


def tiffs() -> Iterator[Tuple[str, Any, Dict[str, Any]]]:
    for dtype, photometric in itertools.product(
        (np.uint8, np.uint16, np.int16, np.int8), ("minisblack", "miniswhite", "rgb", "rgb apart")
    ):
        for order, tile, compression in itertools.product("<>", (None, (16, 32)), (None, "zlib")):
            values = noise(dtype, 3 if "rgb" in photometric else 1)
            if photometric == "rgb apart":
                values = np.moveaxis(values, 2, 0)
            options = {"photometric": photometric[:3] if "rgb" in photometric else photometric}
            if photometric == "rgb apart":
                options["planarconfig"] = "separate"
            yield f"{np.dtype(dtype).name} {photometric} {order} {tile} {compression}", values, {
                **options,
                "byteorder": order,
                "tile": tile,
                "compression": compression,
            }


def write_tiff(path: Path, values: Any, *, byteorder: str = "<", **options: Any) -> None:
    tifffile = pytest.importorskip("tifffile")
    with tifffile.TiffWriter(path, byteorder=byteorder) as file:
        file.write(values, metadata=None, **options)


def test_tiff(tmp_path: Path) -> None:
    path = tmp_path / "a.tiff"
    count = 0
    for name, values, options in tiffs():
        write_tiff(path, values, **options)
        if options.get("planarconfig") == "separate":
            values = np.moveaxis(values, 0, 2)
        if options["photometric"] == "miniswhite":
            # 0 is white: the lowest value becomes the highest.
            values = (int(np.iinfo(values.dtype).max) + int(np.iinfo(values.dtype).min) - values.astype(int)).astype(
                values.dtype
            )
        if values.dtype == np.int8:
            values = values.astype(np.int16)
        try:
            check(path, values)
        except AssertionError as error:
            raise AssertionError(name) from error
        count += 1
    assert count >= 120


@pytest.mark.parametrize("dtype", [np.uint8, np.uint16])
def test_tiff_with_alpha_and_no_data(dtype: Any, tmp_path: Path) -> None:
    path = tmp_path / "a.tiff"
    for channels in (2, 4):
        values = noise(dtype, channels)
        values[:, :, -1] *= noise(np.uint8, seed=3) % 2
        for kind, apart in itertools.product(("unassalpha", "assocalpha"), (False, True)):
            write_tiff(
                path,
                np.moveaxis(values, 2, 0) if apart else values,
                photometric="minisblack" if channels == 2 else "rgb",
                extrasamples=[kind],
                planarconfig="separate" if apart else "contig",
            )
            check(path, values[:, :, 0] if channels == 2 else values[:, :, :3], values[:, :, -1] == 0)
    values = noise(dtype) % 5
    write_tiff(path, values, photometric="minisblack", extratags=[(42113, 2, 2, "3", True)])
    check(path, values, values == 3)


def test_tiff_of_twelve_bits(tmp_path: Path) -> None:
    path = tmp_path / "a.tiff"
    values = noise(np.uint16) >> 4
    height, width = SIZE
    bits = (values[:, :, None] >> np.arange(11, -1, -1) & 1).reshape(height, -1)
    data = np.packbits(bits.astype(np.uint8), axis=1).tobytes()
    entries = [(256, 3, width), (257, 3, height), (258, 3, 12), (259, 3, 1), (262, 3, 1), (273, 4, 122), (277, 3, 1)]
    entries += [(278, 3, height), (279, 4, len(data))]
    directory = struct.pack("<H", len(entries))
    for tag, kind, value in entries:
        directory += struct.pack("<HHI", tag, kind, 1) + struct.pack("<I", value)
    path.write_bytes(b"II*\0" + struct.pack("<I", 8) + directory + b"\0\0\0\0" + data)
    check(path, values)


def test_floats_are_read(tmp_path: Path) -> None:
    path = tmp_path / "a.tiff"
    for dtype in (np.float32, np.float64, np.uint32, np.int32):
        values = noise(dtype)
        write_tiff(path, values, photometric="minisblack")
        assert np.array_equal(px.read(path), values.astype(np.float32)), dtype
        assert np.array_equal(px.read_disparity(path), values.astype(np.float32))


def test_what_is_not_read_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.tiff"
    for bands in (2, 3, 4, 7):
        write_tiff(path, noise(np.uint16, bands), photometric="minisblack", planarconfig="contig")
        check_refused(path, f"has {bands} bands")
    write_tiff(path, noise(np.uint16, 4), photometric="separated")
    check_refused(path, "16 bits per sample")
    # Bands besides colours are left out.
    values = noise(np.uint16, 5)
    write_tiff(path, values, photometric="rgb", extrasamples=["unspecified", "unspecified"])
    check(path, values[:, :, :3])
    for name, data, kind in (
        ("a.gif", b"GIF89a" + b"\0" * 50, "a GIF"),
        ("a.jp2", b"\0\0\0\x0cjP  \r\n\x87\n" + b"\0" * 50, "JPEG 2000"),
        ("a.exr", b"v/1\x01" + b"\0" * 50, "OpenEXR"),
        ("a.heic", b"\0\0\0\x18ftypheic" + b"\0" * 50, "HEIF"),
        ("a.pam", b"P7\nWIDTH 1\n", "PAM"),
        ("a.png", b"no picture at all", "is damaged or not a picture"),
        ("a.png", b"", "is empty"),
    ):
        (tmp_path / name).write_bytes(data)
        check_refused(tmp_path / name, kind)


def test_ranges_of_values(tmp_path: Path) -> None:
    """A pair of 10, 12 or 16 bits, or of thermal counts, has the map of the pair of 8 bits."""
    left, right, _ = px.synthesize((120, 80), 16, seed=7)
    levels = [image[:, :, 1] for image in (left, right)]
    expected = px.match(*levels, 16, "bp").disparity
    wide = [levels[0].astype(np.uint16) * 16, levels[1].astype(np.uint16) * 16]
    for factor, offset in ((4, 0), (16, 0), (64, 0), (257, 0)):
        deep = [image.astype(np.uint16) * factor + np.uint16(offset) for image in levels]
        assert np.array_equal(px.match(*deep, 16, "bp").disparity, expected), (factor, offset)
    for method in ("block", "sgm", "tiled-bp", "census"):
        maps = [
            px.match(*[image.astype(np.uint16) * factor for image in levels], 16, method) for factor in (4, 16, 257)
        ]
        maps += [px.match(*levels, 16, method)] if method != "census" else []  # whose coarse images keep fractions
        for other in maps[1:]:
            assert np.array_equal(maps[0].disparity, other.disparity), method
    reports = [
        px.check(*[image.astype(dtype) * factor for image in levels])
        for dtype, factor in ((np.uint8, 1), (np.uint16, 16))
    ]
    assert reports[0].range == reports[1].range and np.array_equal(reports[0].left_points, reports[1].left_points)
    thermal = [image.astype(np.uint16) + np.uint16(7600) for image in levels]
    assert np.array_equal(px.match(*thermal, 16, "bp", range=(7600, 7855)).disparity, expected)
    assert np.array_equal(px.match(*wide, 16, "bp", range=(0, 4095)).disparity, expected)
    signed = [image.astype(np.int16) for image in wide]
    assert np.array_equal(px.match(*signed, 16, "bp").disparity, expected)
    around = [(image.astype(np.int32) * 16 - 32768).astype(np.int16) for image in wide]
    assert np.array_equal(
        px.match(*around, 16, "bp").disparity, px.match(*around, 16, "bp", range=(0, 65535)).disparity
    )
    with pytest.raises(px.ArgumentError, match="range of values is 9 to 9"):
        px.match(*wide, 16, "bp", range=(9, 9))
    command = os.environ.get("PARALLAX_COMMAND")
    if command is None:
        pytest.skip("PARALLAX_COMMAND is not set")
    names = [str(tmp_path / "l"), str(tmp_path / "r")]

    def matched(extension: str, *options: str) -> Any:
        files = [name + extension for name in names]
        arguments = [command, "match", *files, "-o", str(tmp_path / "d.pfm"), *(options or ("--disparities", "16"))]
        done = subprocess.run(arguments, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return px.read_disparity(tmp_path / "d.pfm")

    for name, image in zip(names, wide):
        Path(name + ".pgm").write_bytes(pnm(5, image, 4095))
        sbit = chunk(b"sBIT", b"\x0c")
        Path(name + ".png").write_bytes(png(image, 0, 16, sbit))
        write_tiff(Path(name + ".tif"), image.astype(np.float32) / 4095, photometric="minisblack")
    assert np.array_equal(matched(".pgm"), expected)
    # Tiles know the values of the whole pair.
    dark = [image.copy() for image in wide]
    for image in dark:
        image[:, :60] //= 8
    for name, image in zip(names, dark):
        write_tiff(Path(name + ".tiff"), image, photometric="minisblack", tile=(16, 16))
    block = ("--method", "block", "--disparities", "8")
    assert np.array_equal(matched(".tiff", *block, "--tile-size", "88x72"), matched(".tiff", *block))
    assert np.array_equal(matched(".png"), expected)
    assert np.array_equal(matched(".png", "--disparities", "16", "--bits", "12"), expected)
    floats = matched(".tif", "--disparities", "16", "--value-range", "0:1")
    assert (np.abs(floats - expected) < 1).mean() > 0.97
    refused = subprocess.run([command, "match", *[name + ".tif" for name in names]], capture_output=True, text=True)
    assert refused.returncode != 0 and "--value-range LOW:HIGH" in refused.stderr


def test_masked_arrays(pair: Any) -> None:
    left, right = pair[0], pair[1]
    hidden = np.zeros(left.shape[:2], bool)
    hidden[20:40, 30:60] = True
    masked = np.ma.MaskedArray(left, np.broadcast_to(hidden[:, :, None], left.shape))  # type: ignore[no-untyped-call]
    found = px.match(masked, right, 16, "census")
    expected = px.match(left, right, 16, "census", left_mask=~hidden)
    assert np.array_equal(found.disparity, expected.disparity)
    assert (found.status[hidden] == px.match(left, right, 16, "census", left_mask=~hidden).status[hidden]).all()
    shown = np.broadcast_to(np.arange(120) < 100, hidden.shape).copy()
    both = px.match(masked, right, 16, "census", left_mask=shown)
    assert np.array_equal(both.disparity, px.match(left, right, 16, "census", left_mask=~hidden & shown).disparity)
