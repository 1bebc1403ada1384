#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Renders the recording of docs/tutorial/webcams.md: the pictures of two webcams whose rig and depths are known exactly.

    python3 benchmarks/webcams.py render FOLDER
    python3 benchmarks/webcams.py compare RIG.json DEPTH.tiff

`render` writes FOLDER/board/left/01.png and so on (pairs of a chessboard of 9 × 6 inner corners and squares of 25 mm),
and FOLDER/room/left/00.png and so on (a sequence of a room with a flying ball). `compare` prints
how far a calibration and a map of depths, found from these pictures by `parallax match --rig RIG.json`, are from the
truth. Needs NumPy and Pillow; `compare` needs the package parallax_stereo, too.
"""

import json
import sys
from collections import namedtuple
from pathlib import Path

import numpy as np
from PIL import Image

SIZE = (640, 480)
SAMPLES = 3  # per pixel, on both axes
BOARD = (9, 6)  # inner corners
SQUARE = 0.025  # metres
PAIRS, FRAMES = 16, 8
TILT = np.radians(12.0)  # of the cameras, downwards

LEFT = {"focal": [521.0, 521.0], "centre": [327.5, 236.0], "distortion": [-0.25, 0.07, 0.0008, -0.0006, 0.0]}
RIGHT = {"focal": [524.5, 524.5], "centre": [314.0, 246.5], "distortion": [-0.242, 0.062, -0.0005, 0.0009, 0.0]}
RIGHT_CENTRE = np.array([0.0985, 0.0016, -0.0021])  # in the left camera's coordinates, metres


# Cameras.


def rotation(angles):
    """Rodrigues' formula."""
    angle = float(np.linalg.norm(angles))
    x, y, z = np.asarray(angles) / max(angle, 1e-12)
    cross = np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])
    return np.eye(3) + np.sin(angle) * cross + (1 - np.cos(angle)) * cross @ cross


TURN = rotation(np.radians([0.7, -1.1, 0.9]))  # from the left camera's coordinates to the right one's
# The room's axes are the left camera's, but upright: x to the right, y down, z forward.
TO_ROOM = rotation([-TILT, 0, 0])


def bent(x, y, distortion):
    """Brown's model: the position to which the lens bends a ray (x, y, 1), before the camera matrix."""
    k1, k2, p1, p2, k3 = distortion
    square = x * x + y * y
    factor = 1 + square * (k1 + square * (k2 + square * k3))
    return (
        x * factor + 2 * p1 * x * y + p2 * (square + 2 * x * x),
        y * factor + p1 * (square + 2 * y * y) + 2 * p2 * x * y,
    )


def straight(x, y, distortion):
    """The inverse of bent(), by iteration."""
    u, v = x, y
    for _ in range(25):
        found = bent(u, v, distortion)
        u, v = u + x - found[0], v + y - found[1]
    return u, v


# Rays from one point, in coordinates of the room: the directions (3, rows, columns) have a component of 1 along the
# axis of the camera.
Rays = namedtuple("Rays", "origin directions")


def rays_of(x, y, turn, centre):
    """Rays (x, y, 1) in the coordinates of a camera, to which `turn` leads from the left camera's."""
    directions = np.einsum("ij,jrc->irc", TO_ROOM @ turn.T, np.stack([x, y, np.ones_like(x)]))
    return Rays((TO_ROOM @ centre).astype(np.float32), directions.astype(np.float32))


def rays_of_samples(camera, turn, centre):
    columns, rows = (((np.arange(SAMPLES * length) + 0.5) / SAMPLES - 0.5) for length in SIZE)
    pixels = np.meshgrid(columns, rows)
    flat = [(pixels[i] - camera["centre"][i]) / camera["focal"][i] for i in (0, 1)]
    return rays_of(*straight(*flat, camera["distortion"]), turn, centre)


# Textures: functions of two coordinates on a surface, in metres, to colours (3, ...) from 0 to 1.

LATTICE = np.random.default_rng(7).random((256, 256), dtype=np.float32)


def value_noise(u, v):
    """Smooth noise from 0 to 1 with a spacing of 1."""
    column, row = np.floor(u), np.floor(v)
    a, b = u - column, v - row
    a, b = a * a * (3 - 2 * a), b * b * (3 - 2 * b)
    i, j = column.astype(np.int32) & 255, row.astype(np.int32) & 255
    right, below = (i + 1) & 255, (j + 1) & 255
    above_value = LATTICE[j, i] * (1 - a) + LATTICE[j, right] * a
    below_value = LATTICE[below, i] * (1 - a) + LATTICE[below, right] * a
    return above_value * (1 - b) + below_value * b


def noise(u, v, spacing, octaves=4):
    """Noise from -1 to 1; each octave has half the spacing of the previous one, and 0.6 times its contrast."""
    total, weight, sum_of_weights = np.zeros_like(u), 1.0, 0.0
    for octave in range(octaves):
        scale = 2**octave / spacing
        total += weight * (2 * value_noise(u * scale + 17.3 * octave, v * scale + 5.7 * octave) - 1)
        sum_of_weights, weight = sum_of_weights + weight, 0.6 * weight
    return total / sum_of_weights


def tinted(colour, brightness):
    return column(colour, brightness[None]) * brightness


def mixed(first, second, share):
    plain = np.ones_like(share)
    return tinted(first, plain) * (1 - share) + tinted(second, plain) * share


def rough(colour, spacing, contrast):
    return lambda u, v: tinted(colour, 1 + contrast * noise(u, v, spacing))


def planks(colour, width):
    def texture(u, v):
        plank = np.floor(u / width)
        tone = 0.85 + 0.3 * value_noise(plank * 3.1 + 0.5, plank * 0 + 0.5)
        grain = noise(u, v / 9 + plank * 1.7, 0.02)
        gap = np.abs(u / width - plank - 0.5) > 0.485
        return tinted(colour, tone * (1 + 0.45 * grain) * np.where(gap, 0.45, 1))

    return texture


def painting(u, v):
    """Hills under a sky, about 0.7 m wide and 0.5 m high."""
    sky = mixed((0.95, 0.75, 0.5), (0.3, 0.5, 0.8), np.clip(0.4 - 2 * v, 0, 1))
    colours = sky * (1 + 0.25 * noise(u, 2 * v, 0.12))
    for depth, colour in enumerate([(0.35, 0.42, 0.55), (0.25, 0.42, 0.3), (0.42, 0.45, 0.16), (0.55, 0.3, 0.12)]):
        ridge = -0.06 + 0.075 * depth + 0.09 * noise(u + 3.1 * depth, 0 * v + depth, 0.25)
        colours = np.where(v > ridge, tinted(colour, 1 + 0.5 * noise(u, v, 0.03, 3)), colours)
    return colours


def print_on(colour, ink):
    """Cardboard with lines of print."""

    def texture(u, v):
        line = np.floor(v / 0.022)
        letters = value_noise(u / 0.009 + 31 * line, line) > 0.47
        words = value_noise(u / 0.06 + 7 * line, line + 0.5) > 0.42
        block = value_noise(u / 0.16 + 3, v / 0.14 + 8) > 0.5
        printed = letters & words & block & (np.abs(v / 0.022 - line - 0.5) < 0.28)
        return np.where(printed, column(ink, u[None]), rough(colour, 0.03, 0.16)(u, v))

    return texture


def spine(seed):
    """The spine of a book: a colour, a title and bands."""
    hue = np.random.default_rng(seed).random(3) * 0.75 + 0.08

    def texture(u, v):
        cloth = tinted(hue, 1 + 0.3 * noise(u + seed, v, 0.02))
        title = (value_noise(v / 0.008, u / 0.012 + 13 * seed) > 0.55) & (np.abs(v + 0.01) < 0.06)
        lines = np.abs(np.abs(v) - 0.08) < 0.005
        return np.where(title | lines, column(np.clip(1.1 - hue, 0.1, 0.95), u[None]), cloth)

    return texture


def ball(u, v):
    """The texture of a worn ball with coloured sectors, by longitude and latitude in radians."""
    colours = np.array([(0.85, 0.16, 0.12), (0.95, 0.9, 0.8), (0.12, 0.3, 0.7)], np.float32)
    sector = np.floor(u / (np.pi / 3)).astype(int) % 3
    return np.moveaxis(colours[sector], -1, 0) * (1 + 0.35 * noise(3 * u, 3 * v, 0.5))


def leaves(u, v):
    return mixed((0.1, 0.3, 0.08), (0.5, 0.7, 0.2), value_noise(u * 9, v * 9)) * (1 + 0.7 * noise(u, v, 0.25, 3))


# Things: hit() gives the distance along rays, infinite where they miss, and shade() colours and normals of points.


def column(vector, like):
    """Three numbers that broadcast over an array (3, ...)."""
    return np.asarray(vector, np.float32).reshape(3, *[1] * (like.ndim - 1))


def where_hit(hits, distance):
    return np.where(hits & (distance > 1e-4), distance, np.float32(np.inf))


class Box(namedtuple("Box", "centre half texture yaw", defaults=[0.0])):
    """A box turned about the vertical axis; `half` has half the lengths of its sides."""

    @property
    def radius(self):
        return float(np.linalg.norm(self.half))

    def turned(self, vectors, back=False):
        cosine, sine = np.float32(np.cos(self.yaw)), np.float32(np.sin(-self.yaw if back else self.yaw))
        return np.stack([cosine * vectors[0] - sine * vectors[2], vectors[1], sine * vectors[0] + cosine * vectors[2]])

    def hit(self, origin, directions):
        local, along = self.turned(origin - column(self.centre, origin)), self.turned(directions)
        along = np.where(np.abs(along) < 1e-9, np.float32(1e-9), along)
        half = column(self.half, local)
        first, second = (-half - local) / along, (half - local) / along
        near, far = np.minimum(first, second).max(axis=0), np.maximum(first, second).min(axis=0)
        return where_hit(near <= far, near)

    def shade(self, points):
        local = self.turned(points - column(self.centre, points))
        share = local / column(self.half, local)
        side = np.abs(share).argmax(axis=0)
        normal = np.stack([np.where(side == axis, np.sign(share[axis]), 0) for axis in range(3)]).astype(np.float32)
        u = np.where(side == 0, local[2] + 0.37, local[0])
        v = np.where(side == 1, local[2] + 0.61, local[1])
        return self.texture(u, v), self.turned(normal, back=True)


class Ball(namedtuple("Ball", "centre radius texture")):
    def hit(self, origin, directions):
        from_centre = origin - column(self.centre, origin)
        a, b = (directions**2).sum(axis=0), (directions * from_centre).sum(axis=0)
        root = b * b - a * ((from_centre**2).sum(axis=0) - np.float32(self.radius**2))
        return where_hit(root > 0, (-b - np.sqrt(np.maximum(root, 0))) / a)

    def shade(self, points):
        normal = (points - column(self.centre, points)) / np.float32(self.radius)
        longitude = np.arctan2(normal[0], -normal[2]) + 1
        return self.texture(longitude, np.arcsin(np.clip(normal[1], -1, 1))), normal


class Can(namedtuple("Can", "centre across high texture")):
    """A vertical cylinder, with half its width and half its height."""

    @property
    def radius(self):
        return float(np.hypot(self.across, self.high))

    def hit(self, origin, directions):
        local = origin - column(self.centre, origin)
        a = directions[0] ** 2 + directions[2] ** 2
        b = directions[0] * local[0] + directions[2] * local[2]
        root = b * b - a * (local[0] ** 2 + local[2] ** 2 - np.float32(self.across**2))
        side = (-b - np.sqrt(np.maximum(root, 0))) / a
        lid = (-np.float32(self.high) - local[1]) / directions[1]
        from_axis = (local[0] + lid * directions[0]) ** 2 + (local[2] + lid * directions[2]) ** 2
        return np.minimum(
            where_hit((root > 0) & (np.abs(local[1] + side * directions[1]) <= self.high), side),
            where_hit(from_axis <= self.across**2, lid),
        )

    def shade(self, points):
        local = points - column(self.centre, points)
        is_lid = local[1] < -self.high + 1e-4
        angle = np.arctan2(local[0], -local[2])
        normal = np.stack([local[0] / self.across, 0 * angle, local[2] / self.across])
        normal = np.where(is_lid, column((0, -1, 0), normal), normal)
        inside = np.where(is_lid, np.float32(0.35), np.float32(1))
        return self.texture(angle * self.across, local[1]) * inside, normal


TABLE, FLOOR, WALL = 0.36, 1.05, 3.3  # y, y, z


def books():
    """Two rows on the shelf at the right."""
    random = np.random.default_rng(11)
    for bottom in (0.18, -0.28):
        x = 0.66
        while x < 1.5:
            wide, high = random.uniform(0.018, 0.04), random.uniform(0.11, 0.165)
            texture = spine(int(random.integers(1000)))
            yield Box((x + wide, bottom - high, 2.94 + random.uniform(0, 0.04)), (wide, high, 0.12), texture)
            x += 2 * wide + 0.004 + (0.12 if random.random() < 0.08 else 0)


def plant():
    random = np.random.default_rng(3)
    for _ in range(34):
        offset = np.clip(random.normal(0, (0.075, 0.06, 0.075)), -0.12, 0.1)
        yield Ball(tuple(np.array([0.52, TABLE - 0.27, 1.5]) + offset), random.uniform(0.035, 0.06), leaves)


def room():
    dark = (0.3, 0.19, 0.11)
    shelf, leg = rough(dark, 0.05, 0.4), rough((0.2, 0.2, 0.22), 0.03, 0.2)
    box_of_card = print_on((0.66, 0.5, 0.32), (0.25, 0.1, 0.08))
    return [
        Box((0, FLOOR + 0.5, 2), (6, 0.5, 6), planks((0.5, 0.36, 0.24), 0.11)),
        Box((0, 0, WALL + 0.5), (6, 6, 0.5), rough((0.74, 0.72, 0.64), 0.1, 0.2)),
        Box((-2.6, 0, 2), (0.5, 6, 6), rough((0.6, 0.66, 0.68), 0.1, 0.2)),
        Box((0.15, FLOOR, 2.5), (1.3, 0.006, 0.6), rough((0.5, 0.16, 0.14), 0.06, 0.7)),
        Box((-0.05, TABLE + 0.02, 1.35), (0.85, 0.02, 0.45), planks((0.62, 0.42, 0.24), 0.17)),
        Box((-0.62, -0.42, WALL - 0.015), (0.42, 0.32, 0.015), rough(dark, 0.02, 0.5)),
        Box((-0.62, -0.42, WALL - 0.03), (0.36, 0.26, 0.01), painting),
        Box((-0.47, TABLE - 0.125, 1.32), (0.15, 0.125, 0.1), box_of_card, 0.5),
        Box((0.14, TABLE - 0.028, 1.55), (0.16, 0.028, 0.115), spine(5), -0.25),
        Box((0.15, TABLE - 0.078, 1.55), (0.14, 0.022, 0.105), spine(77), -0.05),
        Box((0.13, TABLE - 0.118, 1.55), (0.13, 0.018, 0.1), spine(23), -0.4),
        Can((-0.1, TABLE - 0.055, 1.12), 0.042, 0.055, rough((0.3, 0.5, 0.6), 0.02, 0.6)),
        Can((0.52, TABLE - 0.09, 1.5), 0.085, 0.09, rough((0.72, 0.36, 0.2), 0.03, 0.35)),
        Ball((0.33, TABLE - 0.07, 1.08), 0.07, ball),
        *plant(),
        *(Box((x, 0.7, z), (0.025, 0.34, 0.025), leg) for x in (-0.84, 0.74) for z in (0.96, 1.74)),
        *(Box((1.09, y, 3.0), (0.48, 0.015, 0.18), shelf) for y in (0.2, -0.26, -0.72)),
        *(Box((x, 0.18, 3.0), (0.016, 0.9, 0.18), shelf) for x in (0.6, 1.58)),
        *books(),
    ]


def flying_ball(frame):
    share = frame / FRAMES
    return Ball((-0.55 + 1.5 * share, -0.12 - 0.75 * share * (1 - share), 1.9 - 0.5 * share), 0.09, ball)


# Pictures.

LIGHT, SPREAD = np.array([-1.1, -1.9, 0.2]), 0.3


# What the rays of a camera hit: distances along its axis, and colours (3, rows, columns).
Samples = namedtuple("Samples", "distances colours")


def nothing(rays):
    return Samples(np.full(rays.directions.shape[1:], np.inf, np.float32), np.zeros_like(rays.directions))


def window(thing, rays):
    """The part of the rays that a sphere around the thing can meet."""
    to_centre = np.asarray(thing.centre, np.float32) - rays.origin
    distance = float(np.linalg.norm(to_centre))
    if thing.radius >= 0.9 * distance:
        return slice(None), slice(None)
    coarse = rays.directions[:, ::8, ::8]
    along = np.einsum("i,irc->rc", to_centre, coarse) / np.linalg.norm(coarse, axis=0)
    limit = distance * np.cos(min(np.arcsin(thing.radius / distance) + 0.02, np.pi / 2))
    places = np.nonzero(along >= limit)
    if not places[0].size:
        return slice(0), slice(0)
    return tuple(slice(max(8 * int(i.min()) - 8, 0), 8 * int(i.max()) + 16) for i in places)


def lights(shape):
    """A point of the lamp for each ray: the samples of a pixel see different ones, which makes shadows soft."""
    steps = (np.arange(SAMPLES) - (SAMPLES - 1) / 2) / SAMPLES
    rows, columns = (np.tile(steps, length // SAMPLES) for length in shape)
    x, z = np.meshgrid(LIGHT[0] + SPREAD * columns, LIGHT[2] + SPREAD * rows)
    return np.stack([x, np.full_like(x, LIGHT[1]), z]).astype(np.float32)


def lit(normal, points, lamp, shadow=False):
    towards = lamp - points
    distance = np.sqrt((towards**2).sum(axis=0))
    direct = np.clip((normal * towards).sum(axis=0) / distance, 0, 1) * np.float32(5.2) / (distance**2 + 1)
    ambient = np.float32(0.3) - np.float32(0.12) * normal[1] - np.float32(0.05) * normal[2]
    return ambient + np.where(shadow, np.float32(0), direct)


def shadowed(points, lamp, casters):
    towards, result = lamp - points, np.zeros(points.shape[1], bool)
    squared = (towards**2).sum(axis=0)
    for caster in casters:
        offset = column(caster.centre, points) - points
        along = np.clip((offset * towards).sum(axis=0) / squared, 0, 1)
        close = ((offset - along * towards) ** 2).sum(axis=0) < caster.radius**2
        if close.any():
            result[close] |= caster.hit(points[:, close], towards[:, close]) < 1
    return result


def hits(things, rays, behind):
    """The distances with the things in front, and the number of the thing that each ray hits; -1 = none."""
    distances, owners = behind.distances.copy(), np.full(behind.distances.shape, -1, np.int16)
    for index, thing in enumerate(things):
        part = window(thing, rays)
        found = thing.hit(rays.origin[:, None, None], rays.directions[(slice(None), *part)])
        nearer = found < distances[part]
        distances[part][nearer] = found[nearer]
        owners[part][nearer] = index
    return distances, owners


def render(things, rays, behind, casters=()):
    """Samples with the things in front, in the shadows of the casters."""
    distances, owners = hits(things, rays, behind)
    colours, lamp = behind.colours.copy(), lights(distances.shape)
    for index in np.unique(owners[owners >= 0]):
        mine = owners == index
        points, source = rays.origin[:, None] + rays.directions[:, mine] * distances[mine], lamp[:, mine]
        albedo, normal = things[index].shade(points)
        colours[:, mine] = albedo * lit(normal, points, source, shadowed(points + 1e-3 * normal, source, casters))
    return Samples(distances, colours)


def save(path, colours, random):
    """Converts samples to pixels, with the noise of a sensor."""
    path.parent.mkdir(parents=True, exist_ok=True)
    mean = colours.reshape(3, SIZE[1], SAMPLES, SIZE[0], SAMPLES).mean(axis=(2, 4)).transpose(1, 2, 0)
    levels = 255 * np.clip(mean, 0, 1) ** (1 / 2.2)
    noisy = levels + random.normal(0, 1.2, levels.shape)
    Image.fromarray(np.clip(np.floor(noisy + 0.5), 0, 255).astype(np.uint8)).save(path)


# The board. A pose is the rotation from its axes to the left camera's, and its centre.


def is_seen(turn, centre):
    """Whether both cameras see the squares and half of the white border."""
    half = [(count - 1) / 2 + 1.6 for count in BOARD]
    flat = np.array([[x, y, 0] for x in (-half[0], half[0]) for y in (-half[1], half[1])]) * SQUARE
    left = flat @ turn.T + centre
    for camera, (x, y, z) in ((LEFT, left.T), (RIGHT, TURN @ (left - RIGHT_CENTRE).T)):
        pixels = np.stack(bent(x / z, y / z, camera["distortion"]), axis=1) * camera["focal"] + camera["centre"]
        if pixels.min() < 3 or (pixels > np.array(SIZE) - 4).any():
            return False
    return True


def poses():
    """Poses near the borders and corners and in the middle, tilted by 15 to 40 degrees about changing axes."""
    random = np.random.default_rng(2)
    for index in range(PAIRS):
        x, y = -0.62 + 0.43 * (index % 4), -0.5 + 0.335 * (index // 4 % 4)
        axis = random.uniform(0, 2 * np.pi)
        tilt, depth = np.radians(random.uniform(15, 40)), random.uniform(0.42, 0.7)
        turn = rotation([tilt * np.cos(axis), tilt * np.sin(axis), np.radians(random.uniform(-15, 15))])
        middle = 0.5 * RIGHT_CENTRE[0] / depth
        for share in np.arange(1.0, -0.01, -0.02):
            centre = depth * np.array([middle + share * (x - middle), share * y, 1])
            if is_seen(turn, centre):
                yield turn, centre
                break


def draw_board(pose, rays, behind):
    """Colours of samples, with the board in front."""
    turn, centre = TO_ROOM @ pose[0], TO_ROOM @ pose[1]
    local = turn.T @ (rays.origin - centre)
    along = np.einsum("ij,jrc->irc", turn.T.astype(np.float32), rays.directions)
    distance = -local[2] / along[2]
    x, y = ((local[i] + distance * along[i]) / SQUARE for i in (0, 1))
    half = [(count + 1) / 2 for count in BOARD]
    on_paper = (np.abs(x) < half[0] + 0.9) & (np.abs(y) < half[1] + 0.7) & (distance > 0)
    on_squares = (np.abs(x) < half[0]) & (np.abs(y) < half[1])
    black = on_squares & ((np.floor(x - half[0]) + np.floor(y - half[1])) % 2 == 0)
    paper = np.where(black, 0.045, 0.8) * (1 + 0.03 * noise(x, y, 0.5, 2))
    points = rays.origin[:, None, None] + rays.directions * distance
    normal = column(turn[:, 2] * -np.sign(turn[2, 2]), points)
    return np.where(on_paper, lit(normal, points, lights(distance.shape)) * paper, behind.colours)


def write_pictures(folder, side, rays, seed):
    """Writes the pictures of one camera. The room is rendered once."""
    random, things = np.random.default_rng(seed), room()
    casters = [thing for thing in things if thing.radius < 1.5 and thing.centre[2] < 2]
    behind = render(things, rays, nothing(rays), casters)
    for number, pose in enumerate(poses(), 1):
        save(folder / f"board/{side}/{number:02d}.png", draw_board(pose, rays, behind), random)
    for frame in range(FRAMES):
        with_ball = render([flying_ball(frame)], rays, behind)
        save(folder / f"room/{side}/{frame:02d}.png", with_ball.colours, random)


# The truth.


def print_rig(found):
    for side, true in (("left", LEFT), ("right", RIGHT)):
        focal, centre = (np.abs(np.subtract(found[side][key], true[key])).max() for key in ("focal", "centre"))
        print(f"{side:5}  focal length off by {focal:.2f} px, principal point by {centre:.2f} px")
    cosine = (np.trace(np.array(found["rotation"]) @ TURN.T) - 1) / 2
    turn = np.degrees(np.arccos(np.clip(cosine, -1, 1)))
    baseline, true = (1000 * np.linalg.norm(vector) for vector in (found["translation"], RIGHT_CENTRE))
    print(f"rig    rotation off by {turn:.3f} degrees, baseline {baseline:.2f} mm instead of {true:.2f} mm")


def print_depths(rig_file, depths):
    """Compares depths with the first frame of the room, as seen by the rig's rectified left camera."""
    import parallax_stereo as px

    view = px.rectify(px.Rig.read(rig_file))
    columns, rows = np.meshgrid(*(np.arange(length) for length in view.size))
    x, y = (columns - view.centre_left_x) / view.focal, (rows - view.centre_y) / view.focal
    rays = rays_of(x, y, view.rotation_left, np.zeros(3))
    true, _ = hits([*room(), flying_ball(0)], rays, nothing(rays))
    present = depths > 0
    errors = np.abs(depths - true)
    print(f"depth  at {100 * present.mean():.1f} % of the pixels; errors of depths:")
    for near, far in ((0.5, 1), (1, 1.5), (1.5, 2), (2, 3), (3, 4)):
        chosen = errors[present & (true >= near) & (true < far)]
        if chosen.size > 1000:
            middle, most = 1000 * np.quantile(chosen, [0.5, 0.9])
            print(f"  {near:3} to {far:3} m  median {middle:5.1f} mm, 90 % below {most:6.1f} mm")


def main():
    action, *files = sys.argv[1:] or [""]
    if action == "render" and len(files) == 1:
        write_pictures(Path(files[0]), "left", rays_of_samples(LEFT, np.eye(3), np.zeros(3)), 0)
        write_pictures(Path(files[0]), "right", rays_of_samples(RIGHT, TURN, RIGHT_CENTRE), 1)
    elif action == "compare" and len(files) == 2:
        print_rig(json.loads(Path(files[0]).read_text()))
        print_depths(files[0], np.asarray(Image.open(files[1])))
    else:
        raise SystemExit(__doc__)


if __name__ == "__main__":
    main()
