# SPDX-License-Identifier: Apache-2.0
"""Make a second SYCL runtime, and a library that works with it."""

from __future__ import annotations

from pathlib import Path

from stand_in_build import compiler, installed, run

HERE = Path(__file__).resolve().parent
PRODUCER = "libproducer.so"


def stand_in(folder: Path) -> Path:
    """Our libsycl under the name of the version before, in its file name and inside.

    It is another library to the loader, with objects of its own.
    """
    ours = installed("intel-sycl-rt", "lib/libsycl.so")
    (versioned,) = (
        path
        for path in ours.parent.glob("libsycl.so.*")
        if path.suffix[1:].isdigit() and path.name.count(".") == 2
    )
    name = f"libsycl.so.{int(versioned.suffix[1:]) - 1}"
    image = ours.read_bytes()
    old, new = (text.encode() + b"\0" for text in (versioned.name, name))
    assert len(old) == len(new)
    assert old in image
    library = folder / name
    library.write_bytes(image.replace(old, new))
    (folder / "libsycl.so").symlink_to(name)
    for adapter in ours.parent.glob("libur_*.so.0"):  # the runtime looks for them in its own folder
        (folder / adapter.name).symlink_to(adapter)
    return library


def producer(folder: Path, runtime: Path, headers: Path) -> Path:
    """Compile the library against the headers and the libsycl of a runtime."""
    library = folder / PRODUCER
    command = [*compiler(), "-O1", "-std=c++17", "-shared", "-fPIC", "-w", "-isystem", str(headers)]
    command += [str(HERE / "producer.cpp"), f"-L{runtime}", "-lsycl", f"-Wl,-rpath,{runtime}"]
    run([*command, "-o", str(library)])
    return library


def build(folder: Path) -> tuple[Path, Path]:
    """Make the stand-in and its library: (libsycl, producer)."""
    library = stand_in(folder)
    headers = installed("intel-sycl-rt", "include/sycl/sycl.hpp").parents[1]
    return library, producer(folder, folder, headers)
