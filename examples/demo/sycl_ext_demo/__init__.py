# SPDX-License-Identifier: Apache-2.0
"""``python -m sycl_ext demo``: move a picture from a file into USM, to dpnp and back.

Each step prints a line that says whether it was a view or a copy (by comparing addresses), and why.
`python -m sycl_ext` finds this package in a checkout, and ``run.py`` is its own program.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeVar

import numpy as np

import sycl_ext as sx
from sycl_ext_demo import picture
from sycl_ext_demo.drawing import pen_drawing
from sycl_ext_demo.picture import Failed

if TYPE_CHECKING:
    from numpy.typing import NDArray

    _SubParsers = argparse._SubParsersAction[argparse.ArgumentParser]

#: An array of any of the libraries.
T = TypeVar("T", bound=Any)

LINE = "{:<17}  {:<5}  {:<14}  {:>9}  {:>11}  {}"

#: Kinds of USM that the host can access on every device, best first.
USM_TYPES: tuple[Literal["shared", "host"], ...] = ("shared", "host")

#: The folder of the pictures.
FOLDER = "sycl_ext_demo"

NO_DPNP = """\
dpnp cannot be imported ({}), so NumPy computed on the host.
For the whole round trip: pip install dpnp pillow
"""


def add_to(subparsers: _SubParsers) -> None:
    """Add the command to the command line."""
    parser = subparsers.add_parser(
        "demo",
        help="take a picture through USM, dpnp and NumPy, show every hop, write two pictures to "
        f"./{FOLDER}",
        description="Take a picture from a file into USM, let dpnp draw it with a pen, and bring "
        "the result to NumPy; show for every hop whether it was a view or a copy. The pictures "
        f"before.png and after.png are written to the folder {FOLDER} in the current folder.",
    )
    parser.add_argument(
        "file",
        nargs="?",
        type=Path,
        default=picture.DEFAULT,
        metavar="FILE",
        help="an image, or a .npy file; a picture comes with the demo",
    )
    parser.add_argument(
        "--output",
        type=Path,
        default=Path(FOLDER),
        metavar="DIR",
        help="the folder for before.png and after.png; it is created (default: ./%(default)s)",
    )
    parser.add_argument(
        "--device",
        metavar="DEVICE",
        help='an id or a filter string, such as 0 or "gpu" (default: the default device)',
    )
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Run the demo."""
    device = find_device(options.device)
    journey = Journey(f"device {device.id}: {device.name.strip()} ({device.filter_string})")
    before = journey.hop(
        "file to NumPy",
        lambda: picture.load(options.file),
        route="read",
        why=f"{options.file.name}; not timed",
    )
    usm = journey.hop(
        "NumPy to USM", lambda: put_into_usm(before, device), copied="plain host memory is not USM"
    )
    try:
        import dpnp
    except ImportError as error:
        after = draw_with_numpy(journey, usm)
        advice = f"\n{NO_DPNP.format(error)}"
    else:
        after = draw_with_dpnp(journey, dpnp, usm)
        advice = ""

    for name, pixels in (("before.png", before), ("after.png", after)):
        picture.save(options.output / name, pixels)
    print(f"\n{journey.summary()}")
    print(f"saved: {options.output / 'before.png'}, {options.output / 'after.png'}")
    print(end=advice)
    return 0


def put_into_usm(pixels: picture.Pixels, device: sx.Device) -> sx.Tensor:
    """Copy pixels into memory that host and device can access."""
    usm_type = next((kind for kind in USM_TYPES if kind in device.usm_types), None)
    if usm_type is None:
        raise Failed(
            f"{device!r} has neither 'shared' nor 'host' USM, and the demo needs memory that host "
            "and device reach; name another --device (python -m sycl_ext devices lists them)"
        )
    return sx.empty(pixels.shape, pixels.dtype, usm_type=usm_type, device=device).copy_from(pixels)


def draw_with_dpnp(journey: Journey, dpnp: Any, usm: sx.Tensor) -> NDArray[Any]:
    """Pass the picture to dpnp, let it draw, and take the result back."""
    array = journey.hop("sycl_ext to dpnp", lambda: dpnp.from_dlpack(usm), viewed="one context")
    drawn = journey.hop(
        "dpnp draws",
        lambda: compute(dpnp, array),
        route="new",
        why="dpnp computes; not timed",
    )
    tensor = journey.hop("dpnp to sycl_ext", lambda: sx.from_dlpack(drawn), viewed="one context")
    return show_to_numpy(journey, tensor)


def draw_with_numpy(journey: Journey, usm: sx.Tensor) -> NDArray[Any]:
    """Let NumPy draw, on a host view of the picture."""
    pixels = show_to_numpy(journey, usm)
    return journey.hop(
        "NumPy draws",
        lambda: pen_drawing(np, pixels),
        route="new",
        why="on the host, without dpnp; not timed",
    )


def show_to_numpy(journey: Journey, tensor: sx.Tensor) -> NDArray[Any]:
    """Pass a tensor to NumPy."""
    return journey.hop(
        "sycl_ext to NumPy",
        tensor.to_numpy,
        viewed=f"host sees {tensor.usm_type} USM",
        copied=f"host cannot see {tensor.usm_type} USM",
    )


def find_device(text: str | None) -> sx.Device:
    """Read ``--device``."""
    try:
        return sx.device(int(text) if text is not None and text.isdecimal() else text)
    except (ValueError, sx.SyclError) as error:
        raise Failed(str(error)) from error


def compute(dpnp: Any, array: Any) -> Any:
    """Let dpnp draw, and wait for it: dpnp returns before the device is done."""
    try:
        drawn = pen_drawing(dpnp, array)
        drawn.sycl_queue.wait()
    except Exception as error:  # whatever its kernels and libraries raise
        raise Failed(
            f"dpnp cannot compute on {array.sycl_device.name}: {type(error).__name__}: {error}; "
            "name another --device (python -m sycl_ext devices lists them)"
        ) from error
    return drawn


def address_of(array: Any) -> int:
    """Return the address of the first element, as the library that holds the array tells it."""
    if isinstance(array, np.ndarray):
        return int(array.ctypes.data)
    return int(array.__sycl_usm_array_interface__["data"][0])


class Journey:
    """Moves the data step by step, and prints a line for each step.

    A step that returns the same address as the step before was a view; another address is a copy.
    """

    def __init__(self, title: str) -> None:
        self.title = title
        self.address = 0  # of the data after the last hop
        self.views = 0
        self.copies = 0

    def hop(
        self,
        name: str,
        carry: Callable[[], T],
        *,
        route: str | None = None,
        why: str = "",
        viewed: str = "",
        copied: str = "another address",
    ) -> T:
        """Carry the data one hop further.

        Parameters
        ----------
        name : str
        carry : callable
            Moves the data, and returns the resulting array.
        route, why : str, optional
            A fixed description of a step that is not timed. None: find out whether it was a view or
            a copy.
        viewed, copied : str
            The reason in each case.
        """
        start = time.perf_counter()
        array = carry()
        seconds = time.perf_counter() - start
        address, nbytes = address_of(array), array.nbytes
        if not self.address:
            header = LINE.format("hop", "route", "address", "bytes", "time", "why")
            print(f"{self.title}\n\n{header}")
        time_taken = ""  # of sharing only, without reading and computing
        if route is None:
            time_taken = f"{seconds * 1e3:,.2f} ms"
            same = address == self.address
            route, why = ("view", f"same address: {viewed}") if same else ("copy", copied)
            self.views += same
            self.copies += not same
        self.address = address
        cells = (name, route, f"{address:#x}", f"{nbytes:,}", time_taken, why)
        print(LINE.format(*cells).rstrip(), flush=True)
        return array

    def summary(self) -> str:
        """Count the views and the copies."""
        views = f"{self.views} view{'s' * (self.views != 1)}"
        copies = f"{self.copies} cop{'y' if self.copies == 1 else 'ies'}"
        return f"{views}, {copies}"
