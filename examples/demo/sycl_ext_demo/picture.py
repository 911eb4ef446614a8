# SPDX-License-Identifier: Apache-2.0
"""Read and write pictures: an image, or the array of a .npy file, as pixels for the demo."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

Pixels = NDArray[np.uint8]

DEFAULT = Path(__file__).with_name("picture.png")

NO_PILLOW = "the demo reads and writes images with pillow; pip install pillow"


class Failed(SystemExit):
    """Ends the program; the text names the thing, the value found and the way out."""

    def __init__(self, text: str) -> None:
        super().__init__(f"error: {text}")


def load(path: Path) -> Pixels:
    """Return the picture in a file, as (height, width, 3) of uint8."""
    if not path.exists():
        raise Failed(f"{path} does not exist; give an image or a .npy file, or nothing at all")
    if path.is_dir():
        raise Failed(f"{path} is a folder; give an image or a .npy file in it")
    try:
        return from_array(path) if path.suffix == ".npy" else from_image(path)
    except OSError as error:
        raise Failed(f"{path} cannot be read: {error}") from error


def from_image(path: Path) -> Pixels:
    """Read whatever pillow reads."""
    try:
        from PIL import Image, ImageOps, UnidentifiedImageError
    except ImportError as error:
        raise Failed(NO_PILLOW) from error
    try:
        with Image.open(path) as image:
            return np.asarray(ImageOps.exif_transpose(image).convert("RGB"))
    except UnidentifiedImageError as error:
        raise Failed(
            f"{path} is not an image that pillow can read; give a PNG or JPEG, or an array as .npy"
        ) from error
    except Image.DecompressionBombError as error:
        raise Failed(f"{path} is too large: {error}; give a smaller image") from error


def from_array(path: Path) -> Pixels:
    """Read a .npy file: two dimensions, or three with 1, 3 or 4 channels last."""
    try:
        array = np.load(path, allow_pickle=False)
    except (ValueError, EOFError) as error:
        raise Failed(f"{path} is not a .npy file of numbers: {error}") from error
    if array.dtype.kind not in "buif":
        raise Failed(
            f"{path} has dtype {array.dtype}; a picture is made of real numbers: convert it with "
            '.astype("float32"), or take .real or abs() of complex ones'
        )
    if not (array.ndim == 2 or (array.ndim == 3 and array.shape[-1] in (1, 3, 4))):
        raise Failed(
            f"{path} has shape {array.shape}; a picture is (height, width) or (height, width, 1), "
            "(.., 3) or (.., 4)"
        )
    if array.size == 0:
        raise Failed(f"{path} has shape {array.shape}: no pixels; give one that has some")
    gray = array if array.ndim == 3 else array[..., None]
    return as_bytes(path, np.broadcast_to(gray[..., :3], (*gray.shape[:2], 3)))


def as_bytes(path: Path, values: NDArray[Any]) -> Pixels:
    """Bring any numbers to 0..255; uint8 stays as it is."""
    if values.dtype == np.uint8:
        return values.astype(np.uint8)
    if not np.isfinite(values).all():
        raise Failed(f"{path} has values that are not finite; try numpy.nan_to_num")
    scaled = values.astype(np.float64)
    low, high = float(np.min(scaled)), float(np.max(scaled))
    scaled = (scaled - low) / ((high - low) or 1.0)
    return (255 * scaled).astype(np.uint8)


def save(path: Path, pixels: NDArray[Any]) -> None:
    """Write a PNG."""
    try:
        from PIL import Image
    except ImportError as error:
        raise Failed(NO_PILLOW) from error
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        Image.fromarray(pixels).save(path)
    except OSError as error:
        raise Failed(f"{path} cannot be written: {error}; name another --output") from error
