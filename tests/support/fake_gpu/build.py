"""Compile the stand-in GPU and say which environment makes a process see it.

Touches `out_dir` only; imports nothing of this project.
"""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from importlib import metadata
from pathlib import Path

from stand_in_build import built, is_current, opencl, setting_variables

# The runtime looks for adapters by name; this is one that no wheel fills.
LIBRARY = "libur_adapter_native_cpu.so.0"
SOURCES = Path(__file__).parent / "adapter"
FLAGS = ("-O1", "-std=c++17", "-shared", "-fPIC", "-fvisibility=hidden", "-pthread")
# The names of settings.cpp, in lower case.
SETTINGS = (
    "devices",
    "tiles",
    "mem",
    "delay_us",
    "p2p",
    "strict_p2p",
    "strict_ctx",
    "2d",
    "fp64",
    "ipc",
    "backend",
    "fail_at",
    "stats",
)


def build(out_dir: Path) -> Path:
    """Compile the adapter into `out_dir`, unless it is newer than all it is made of."""
    library = Path(out_dir) / LIBRARY
    headers = installed("intel-sycl-rt", "include/unified-runtime/ur_api.h")
    sources = sorted(SOURCES.glob("*.[ch]pp"))
    if is_current(library, (*sources, headers, Path(__file__))):
        return library

    library.parent.mkdir(parents=True, exist_ok=True)
    unfinished = library.with_name(f"{LIBRARY}.{os.getpid()}")
    command = [*compiler(), *FLAGS, "-isystem", str(headers.parents[1])]
    command += [str(file) for file in sources if file.suffix == ".cpp"]
    run([*command, "-o", str(unfinished)])
    unfinished.replace(library)  # a process that runs keeps the file it has loaded
    return library


def environment(out_dir: Path, *, with_cpu: bool = True, **settings: object) -> dict[str, str]:
    """The variables for a process that shall see the stand-in GPUs built into `out_dir`.

    With `with_cpu`, the OpenCL CPU device comes first and the GPUs after it; without, the GPUs
    are alone. `settings` are the FAKEGPU_* variables in lower case, as in ``tiles=1``, and
    ``**{"2d": 0}`` for the one that is not a Python name.
    """
    library = built(out_dir, LIBRARY)
    if with_cpu:
        variables = {
            **opencl(installed("intel-opencl-rt", "lib/libintelocl.so")),
            "UR_ADAPTERS_SEARCH_PATH": str(library.parent),
        }
    else:
        variables = {"UR_ADAPTERS_FORCE_LOAD": str(library)}
    return {**variables, **setting_variables(SETTINGS, settings)}


def compiler() -> list[str]:
    """The C++ compiler: $CXX, or g++."""
    return shlex.split(os.environ.get("CXX") or "g++")


def run(command: list[str]) -> None:
    """Run a compiler; its own words are the error message."""
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        raise RuntimeError(f"{shlex.join(command)}\n{done.stdout}{done.stderr}")


def installed(distribution: str, ending: str) -> Path:
    """The file of an installed wheel whose path ends so, else that file in this environment."""
    try:
        files = metadata.files(distribution) or []
    except metadata.PackageNotFoundError:
        files = []
    for file in files:
        if file.as_posix().endswith(f"/{ending}"):
            return Path(str(file.locate())).resolve()
    path = Path(sys.prefix) / ending
    if not path.exists():
        raise FileNotFoundError(f"{ending}: neither in {distribution} nor in {sys.prefix}")
    return path
