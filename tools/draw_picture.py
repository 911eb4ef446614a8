# SPDX-License-Identifier: Apache-2.0
"""Draw `sycl_ext/_cli/picture.png`, the default picture of ``python -m sycl_ext demo``.

A mountain lake at dusk, out of sums of sines and a seeded random generator: the picture belongs to
this project, and anybody can draw it again.

    python tools/draw_picture.py
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from PIL import Image

PICTURE = Path(__file__).resolve().parent.parent / "sycl_ext" / "_cli" / "picture.png"
WIDTH, HEIGHT = 512, 320
SHORE = 206  # row of the waterline
SCALE = 3  # drawn larger, then shrunk: smooth edges

Pixels = np.ndarray


def color(text: str) -> Pixels:
    """Read "#rrggbb" as three floats."""
    return np.array([int(text[i : i + 2], 16) for i in (1, 3, 5)], dtype=float)


def blend(t: Pixels, stops: list[tuple[float, str]]) -> Pixels:
    """Run through the colors of `stops` along `t`."""
    at = [position for position, _ in stops]
    values = np.stack([color(text) for _, text in stops])
    return np.stack([np.interp(t, at, values[:, channel]) for channel in range(3)], axis=-1)


def ridge(x: Pixels, seed: int, base: float, height: float, rough: float) -> Pixels:
    """Return the row of a mountain ridge above each column."""
    random = np.random.default_rng(seed)
    line = np.zeros_like(x)
    for octave in range(1, 9):
        wave = np.abs(np.sin(x * 2**octave / 190 + random.uniform(0, 2 * np.pi)))
        line += (1 - wave) * rough**octave
    line = (line - line.min()) / (line.max() - line.min())
    return base - height * line


def paint_pine(picture: Pixels, x: Pixels, y: Pixels, at: float, foot: float, size: float) -> None:
    """Paint a pine: a trunk, and boughs that widen downwards."""
    up = (foot - y) / size
    tier = (up * 7) % 1.0
    reach = size * 0.26 * (1.02 - up) * (1.25 - 0.75 * tier) * (up > 0.06)
    boughs = (np.abs(x - at) < reach) & (up < 1.0)
    trunk = (np.abs(x - at) < size * 0.02) & (up >= 0) & (up < 0.5)
    picture[boughs] = color("#16302b") * 0.85
    picture[boughs & (x - at > reach * 0.15)] = color("#27493a")
    picture[trunk & ~boughs] = color("#2a1c18")


def draw() -> Pixels:
    """Return the picture as (height, width, 3) bytes."""
    y, x = np.mgrid[0 : HEIGHT * SCALE, 0 : WIDTH * SCALE] / SCALE
    sky = [(0, "#27407c"), (70, "#6a71a8"), (130, "#e29a85"), (175, "#fbd38c"), (SHORE, "#fde6b0")]
    picture = blend(y, sky)

    to_sun = np.hypot(x - 338, y - 128)
    glow = np.exp(-((to_sun / 75) ** 2))[..., None]
    picture = picture * (1 - 0.55 * glow) + color("#ffe9b5") * 0.55 * glow
    picture[to_sun < 25] = color("#fff6d8")
    for level, width, start in ((62, 70, 60), (74, 110, 150), (50, 60, 400), (98, 64, 470)):
        body = np.hypot((x - start) / width, (y - level - 2 * np.sin(x / 9)) / 5)
        veil = np.clip(1.15 - body, 0, 0.8)[..., None]
        picture = picture * (1 - veil) + color("#ffd9c2") * veil

    columns = x[0]
    far = ridge(columns, 4, 196, 104, 0.52)
    near = ridge(columns, 11, 202, 66, 0.58)
    hills = ridge(columns, 23, 205, 26, 0.45)
    for line, top, bottom in (
        (far, "#8a7ba6", "#d7a9a0"),
        (near, "#4d5683", "#9c86a0"),
        (hills, "#2c4658", "#41636a"),
    ):
        inside = y > line
        depth = np.clip((y - line) / np.maximum(SHORE - line, 1), 0, 1)
        picture[inside] = blend(depth[inside], [(0, top), (1, bottom)])
    # Light on the sunny sides of the ridges, snow on the far one.
    soft = np.convolve(far, np.ones(27) / 27, mode="same")
    sheared = np.clip((x - 0.55 * (y - far)) * SCALE, 0, WIDTH * SCALE - 1).astype(int)
    slope = np.gradient(soft, columns)[sheared] + 0.25 * np.sin(x / 5 + y / 4)
    lit = (y > far) & (y < near) & (slope > 0.3)
    fade = (0.6 * np.clip(1 - (y - far) / 80, 0, 1))[lit, None]
    picture[lit] = picture[lit] * (1 - fade) + color("#ffe0bd") * fade
    cap = (y > far) & (y < far + 11 + 5 * np.sin(x / 4.0)) & (far < 130) & (y < near)
    picture[cap] = color("#fff1ea")

    water = y > SHORE
    ripple = 2.2 * np.sin(y * 1.3 + 3 * np.sin(x / 60)) * (y - SHORE) / 40
    row = np.clip((2 * SHORE - y) * SCALE, 0, SHORE * SCALE - 1).astype(int)
    column = np.clip((x + ripple) * SCALE, 0, WIDTH * SCALE - 1).astype(int)
    mirrored = picture[row, column] * 0.74 + color("#3d5c86") * 0.26
    picture[water] = mirrored[water]
    glitter = water & (np.abs(x - 338 - 6 * np.sin(y / 5)) < 5 + (y - SHORE) / 5)
    glitter &= np.sin(y * 1.6 + np.sin(x / 11)) > 0.25
    picture[glitter] = picture[glitter] * 0.35 + color("#fff0c4") * 0.65

    shore = HEIGHT - 30 + 17 * np.sin(columns / 88 + 2.2) + 5 * np.sin(columns / 23)
    ground = y > shore
    picture[ground] = blend((y - shore)[ground], [(0, "#4d6b3f"), (10, "#2f4a35"), (50, "#1b2d28")])
    blades = ground & (np.sin(x * 1.9 + np.sin(y / 2) * 2) > 0.86) & (y - shore < 16)
    picture[blades] = color("#9aa860")
    for at, size in ((44, 150), (86, 108), (14, 92), (470, 128), (436, 84), (500, 96), (122, 56)):
        foot = np.interp(at, columns, shore) + 8
        paint_pine(picture, x, y, at, float(foot), size)

    small = picture.reshape(HEIGHT, SCALE, WIDTH, SCALE, 3).mean(axis=(1, 3))
    return np.clip(small, 0, 255).astype(np.uint8)


if __name__ == "__main__":
    # A palette keeps the file small; no dithering, which would not compress.
    image = Image.fromarray(draw()).quantize(224, dither=Image.Dither.NONE)
    image.save(PICTURE, optimize=True)
    print(f"{PICTURE.name}: {PICTURE.stat().st_size} bytes")
