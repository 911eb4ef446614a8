# SPDX-License-Identifier: Apache-2.0
"""The computation of the demo: turn a picture into a pen drawing with a wash of its colors.

The code runs in every array library with the names of NumPy: `xp` is ``numpy`` or ``dpnp``.
"""

from __future__ import annotations

from typing import Any

MARGIN = 16  # pixels around the picture, so that a blur does not reach across to the other side
PAPER = (0.99, 0.965, 0.91)
INK = 0.1  # brightness of a line

#: Hatching: direction of the strokes, and the brightness below which they begin.
STROKES = ((1, 0.46), (-1, 0.27))
PERIOD = 5  # pixels from stroke to stroke


def indices(xp: Any, image: Any) -> tuple[Any, Any]:
    """Return the row numbers (height, 1) and column numbers (1, width) of an image.

    They are computed from the image, so they are on the same device, in the same kind of USM.
    """
    ones = xp.ones_like(image)
    return xp.cumsum(ones[:, :1], axis=0) - 1, xp.cumsum(ones[:1], axis=1) - 1


def blur(xp: Any, image: Any, sigma: float) -> Any:
    """Return `image` (height, width) after a Gaussian filter, by way of Fourier space."""
    height, width = image.shape
    spectrum = xp.fft.rfft2(image)
    y, x = indices(xp, spectrum.real)
    y = xp.minimum(y, height - y) / height
    low_pass = xp.exp(-2 * (xp.pi * sigma) ** 2 * (y**2 + (x / width) ** 2))
    return xp.fft.irfft2(spectrum * low_pass, s=(height, width))


def pen_drawing(xp: Any, picture: Any) -> Any:
    """Return a drawing of `picture`; both are (height, width, 3) of uint8."""
    padding = ((MARGIN, MARGIN), (MARGIN, MARGIN), (0, 0))
    colors = xp.pad(picture, padding, mode="edge").astype("float32") / 255
    light = 0.30 * colors[..., 0] + 0.59 * colors[..., 1] + 0.11 * colors[..., 2]
    soft = blur(xp, light, 1.6)

    # A line where a pixel is darker than its surroundings.
    contrast = blur(xp, light, 0.7) - 0.985 * soft
    pen = xp.clip(1 + 60 * (contrast + 0.004), 0, 1)

    # Strokes that get thicker the darker it is, and cross where it is darkest.
    y, x = indices(xp, light)
    for direction, brightness in STROKES:
        depth = xp.clip(1 - soft / brightness, 0, 1)
        wave = 0.5 + 0.5 * xp.cos((2 * xp.pi / PERIOD) * (x + direction * y))
        pen = pen * (1 - 0.75 * xp.clip(2.5 * (wave - 1 + 1.25 * depth), 0, 1))

    drawn = []
    for channel, paper in enumerate(PAPER):
        wash = xp.clip(blur(xp, colors[..., channel], 2.5), 0, 1)
        drawn.append(paper * (0.25 + 0.75 * wash) * (INK + (1 - INK) * pen))
    result = xp.clip(xp.stack(drawn, axis=-1), 0, 1)[MARGIN:-MARGIN, MARGIN:-MARGIN]
    return (255 * result).astype("uint8")
