# SPDX-License-Identifier: Apache-2.0
"""The processes of these tests: which Python, which devices, which extension module."""

from __future__ import annotations

import functools
import json
import os
import subprocess
import sys
import sysconfig
import textwrap
from pathlib import Path
from typing import Any

import environments
from stand_in_build import compiler, installed, run

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
BUILD = ROOT / "build" / "interop"
#: Variables that change which devices there are, or what they can do.
PREFIXES = ("OCL_ICD_", "ONEAPI_", "SYCL_", "UR_", "ZE_", "CL_CONFIG_", "FAKEGPU_", "POSING_")


def python_in(name: str) -> Path:
    """The Python of one of the environments of install.py."""
    return ROOT / name / "bin" / "python"


#: The environment of Open3D.
OPEN3D = ".venv-open3d"


def libusb() -> dict[str, str]:
    """A variable with a library that Open3D is linked to, and that its wheel lacks."""
    (library,) = (ROOT / OPEN3D).glob("lib/python3*/site-packages/libusb_package/libusb*.so")
    return {"LD_PRELOAD": str(library)}


def kept() -> dict[str, str]:
    """This environment, without what changes which devices there are."""
    return {name: text for name, text in os.environ.items() if not name.startswith(PREFIXES)}


@functools.cache
def devices(**settings: object) -> dict[str, str]:
    """The CPU device and two stand-in GPUs, or GPUs of an adapter that poses as a backend's."""
    backend = settings.get("backend")
    return environments.posing(backend) if backend else environments.level_zero(tiles=0, **settings)


def variables(**settings: object) -> dict[str, str]:
    """The environment of a process: these devices, and the modules of this folder."""
    settings_kept = kept()
    # Where it is set, each process compiles these libraries again: half of the time.
    settings_kept.pop("PYTHONDONTWRITEBYTECODE", None)
    search = [BUILD / "nanobind", HERE, HERE.parent / "support"]
    quiet = {"DPCTL_VERBOSITY": "error", "TF_CPP_MIN_LOG_LEVEL": "3", "JAX_PLATFORMS": "cpu"}
    quiet["CI"] = "true"  # OpenVINO counts no uses then, for which it forks and asks the network
    settings_kept = {**settings_kept, **quiet, **devices(**settings)}
    # The numbers of devices, and of drivers, must not depend on who tests.
    settings_kept["OCL_ICD_VENDORS"] = str(HERE)
    return {
        **settings_kept,
        "PYTHONPATH": os.pathsep.join(map(str, search)),
        "OMP_NUM_THREADS": "1",
    }


def alone(body: str, *, python: Path | None = None, **settings: object) -> Any:
    """Run Python code in a process of its own: a crash ends only that."""
    return subprocess.run(
        [str(python or sys.executable), "-X", "faulthandler", "-c", textwrap.dedent(body)],
        env=variables(**settings),
        cwd=HERE,
        capture_output=True,
        text=True,
        timeout=250,
    )


@functools.cache
def build_nanobind_module() -> Path:
    """Compile the module of nanobind_consumer.cpp, unless it is newer than its source."""
    import nanobind

    source = HERE / "nanobind_consumer.cpp"
    library = BUILD / "nanobind" / f"nanobind_consumer{sysconfig.get_config_var('EXT_SUFFIX')}"
    if library.exists() and library.stat().st_mtime > source.stat().st_mtime:
        return library
    library.parent.mkdir(parents=True, exist_ok=True)
    package = Path(nanobind.__file__).parent
    includes = [package / "include", package / "ext/robin_map/include"]
    includes.append(Path(sysconfig.get_path("include")))
    command = [*compiler(), "-O1", "-std=c++17", "-shared", "-fPIC", "-fvisibility=hidden", "-w"]
    command += [f"-I{folder}" for folder in includes]
    run([*command, str(source), str(package / "src/nb_combined.cpp"), "-o", str(library)])
    return library


def run_cases(python: Path, script: str, name: str, cases: list[Any]) -> dict[Any, Any]:
    """Run the cases of a script on a library, in as many processes as crashes make necessary.

    The script prints a line of JSON before each case, ``{"begin": n}``, and one after it,
    ``{"end": n, ...}``; other lines of JSON are about the library.

    Returns
    -------
    dict
        Case -> its last line; a crash has the outcome "crash".  And the other lines.
    """
    outcomes: list[dict[str, Any]] = []
    said: dict[Any, Any] = {}
    while len(outcomes) < len(cases):
        done = subprocess.run(
            [str(python), "-X", "faulthandler", script, name, str(len(outcomes))],
            env=variables(),
            cwd=HERE,
            capture_output=True,
            text=True,
            timeout=300,
        )
        begun = False
        for line in done.stdout.splitlines():
            words = json.loads(line) if line.startswith("{") else {}
            begun = "begin" in words or (begun and "end" not in words)
            if "end" in words:
                outcomes.append(words)
            elif "begin" not in words:
                said.update(words)
        if begun:
            outcomes.append(
                {"outcome": "crash", "text": f"{done.returncode}: {done.stderr[-2000:]}"}
            )
        elif len(outcomes) < len(cases):
            raise RuntimeError(f"{script} {name} ended with {done.returncode}\n{done.stderr}")
    return {**said, **dict(zip(cases, outcomes, strict=True))}


__all__ = [
    "OPEN3D",
    "alone",
    "build_nanobind_module",
    "installed",
    "kept",
    "libusb",
    "python_in",
    "run_cases",
    "variables",
]
