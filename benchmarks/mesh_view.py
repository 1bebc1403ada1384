#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Draws meshes of `parallax match --mesh`, side by side, as seen by a camera that was moved around the scene.

    PYTHONPATH=python PARALLAX_LIBRARY=build/developer/shared/libparallax.so \\
        python3 benchmarks/mesh_view.py PICTURE.png DEGREES MESH.ply [MESH.ply ...]

The camera turns by DEGREES around the point at the median depth in front of the left camera.
docs/reference/geometry.md shows the picture.
"""

import pathlib
import re
import sys

import numpy as np

from parallax_stereo._maps import encode_png

VERTEX = np.dtype([("position", "<f4", 3), ("colour", "u1", 3)])
FACE = np.dtype([("corners", "u1"), ("vertices", "<i4", 3)])
SIDE = 320  # pixels of a view


def read_mesh(path):
    """Positions, colours and triangles."""
    header, data = pathlib.Path(path).read_bytes().split(b"end_header\n", 1)
    vertices, faces = (int(count) for count in re.findall(rb"element \w+ (\d+)", header))
    points = np.frombuffer(data, VERTEX, vertices)
    triangles = np.frombuffer(data, FACE, faces, vertices * VERTEX.itemsize)["vertices"]
    return points["position"].astype(float), points["colour"], triangles


def project(positions, degrees):
    """Columns, rows and depths of points."""
    middle = np.array([0, 0, np.median(positions[:, 2])])
    cosine, sine = np.cos(np.radians(degrees)), np.sin(np.radians(degrees))
    turned = (positions - middle) @ np.array([[cosine, 0, -sine], [0, 1, 0], [sine, 0, cosine]]).T + middle
    straight = positions[:, :2] / positions[:, 2:]
    scale = SIDE / (straight.max(axis=0) - straight.min(axis=0)).max()
    place = scale * (turned[:, :2] / turned[:, 2:] - (straight.max(axis=0) + straight.min(axis=0)) / 2) + SIDE / 2
    return np.concatenate([place, turned[:, 2:]], axis=1)


def samples(steps):
    """Weights of corners at points that cover a triangle."""
    first, second = (axis.ravel() / steps for axis in np.meshgrid(np.arange(steps + 1), np.arange(steps + 1)))
    inside = first + second <= 1 + 1e-9
    return np.stack([first, second, 1 - first - second], axis=1)[inside]


def draw(path, degrees):
    positions, colours, triangles = read_mesh(path)
    corners = project(positions, degrees)[triangles]
    shades = colours[triangles].astype(float)
    length = np.ceil(np.abs(corners[:, :, :2] - np.roll(corners[:, :, :2], 1, axis=1)).max(axis=(1, 2)))
    steps = np.exp2(np.ceil(np.log2(np.maximum(2 * length, 1)))).astype(int)
    picture, depths = np.full((SIDE, SIDE, 3), 255, np.uint8), np.full(SIDE * SIDE, np.inf)
    for count in np.unique(steps):
        weights = samples(count)
        chosen = np.flatnonzero(steps == count)
        for part in np.array_split(chosen, 1 + len(chosen) * len(weights) // 4_000_000):
            points = (weights @ corners[part]).reshape(-1, 3)
            found = (weights @ shades[part]).reshape(-1, 3)
            column, row = (np.floor(points[:, axis]).astype(int) for axis in (0, 1))
            pixel = row * SIDE + column
            seen = (column >= 0) & (column < SIDE) & (row >= 0) & (row < SIDE) & (points[:, 2] > 0)
            seen[seen] = points[seen, 2] < depths[pixel[seen]]
            order = np.flatnonzero(seen)[np.argsort(-points[seen, 2], kind="stable")]  # the nearest is drawn last
            depths[pixel[order]] = points[order, 2]
            picture.reshape(-1, 3)[pixel[order]] = found[order]
    return picture


def main():
    target, degrees, *meshes = sys.argv[1:]
    views = [draw(mesh, float(degrees)) for mesh in meshes]
    filled = np.any([(view != 255).any(axis=(1, 2)) for view in views], axis=0)
    pathlib.Path(target).write_bytes(encode_png(np.concatenate(views, axis=1)[filled]))


main()
