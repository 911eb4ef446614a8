# SPDX-License-Identifier: Apache-2.0
"""The test environments: which devices a test process sees.

    python tests/support/environments.py NAME [pytest argument ...]
    python tests/support/environments.py NAME --python [argument of Python ...]

The SYCL runtime reads the environment once per process, so each test environment but the first is a
process of its own: `run` starts pytest on a folder of ``tests/environments/`` there.
``tests/environments/test_environments.py`` does so for each.
"""

from __future__ import annotations

import ctypes.util
import os
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as ET
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import level_zero.build as driver
import opencl_gpu.build as opencl_gpu
import posing_adapter.build as posing_adapter
import real_drivers.build as real_drivers
import without_dpctl
from kernels.build import environment as kernel_environment
from stand_in_build import Missing, installed, opencl

HERE = Path(__file__).resolve().parent
TESTS = HERE.parent
ROOT = TESTS.parent
#: ``make test-long`` is running: tests that are marked ``long``, and everything in their processes.
LONG = os.environ.get("SYCL_EXT_LONG") == "1"
#: ``make neo`` is running: the environments of real drivers, and no others.
NEO = os.environ.get("SYCL_EXT_NEO") == "1"
#: Variables that change which devices there are, or what they can do.
PREFIXES = (
    *("OCL_ICD_", "ONEAPI_", "SYCL_", "UR_", "ZE_", "ZEL_", "CL_CONFIG_"),
    *("FAKEGPU_", "OPENCL_", "POCL_"),
    *real_drivers.VARIABLES,
)
#: And those among them that are about the tests.
OURS = (
    "SYCL_EXT_FUZZ",
    "SYCL_EXT_LMCACHE",
    "SYCL_EXT_LONG",
    "SYCL_EXT_NEO",
    "SYCL_EXT_POCL",
    "SYCL_EXT_PROCESSES",
    "SYCL_EXT_REQUIRE_ALL",
    "SYCL_EXT_SOAK",
    "SYCL_EXT_VLLM",
)


def _driver() -> Path:
    return installed("intel-opencl-rt", "lib/libintelocl.so")


def cpu(_scratch: Path | None = None) -> dict[str, str]:
    """The first environment: only the OpenCL CPU device."""
    return {**opencl(_driver()), "ONEAPI_DEVICE_SELECTOR": "*:cpu"}


def _two_platforms(scratch: Path) -> dict[str, str]:
    """Two copies of one driver are two platforms."""
    return {**opencl(*opencl_gpu.drivers(2, scratch)), "ONEAPI_DEVICE_SELECTOR": "*:cpu"}


def _opencl_gpu(_scratch: Path, **settings: object) -> dict[str, str]:
    folder = ROOT / "build" / "opencl_gpu"  # stays: it may hold a copy of the driver
    opencl_gpu.build(folder)
    return {**opencl_gpu.environment(folder, **settings), **kernel_environment()}


def level_zero(adapter: str = "v2", **settings: object) -> dict[str, str]:
    """A real Level Zero adapter on the stand-in driver, which is built once for a checkout."""
    folder = ROOT / "build" / "level_zero"
    driver.build(folder)
    return driver.environment(folder, adapter, **settings)


def posing(backend: str) -> dict[str, str]:
    """Two GPUs that pose as those of "cuda" or "hip"."""
    folder = ROOT / "build" / "posing_adapter"
    posing_adapter.build(folder, backend)
    return {**level_zero(tiles=0), **posing_adapter.environment(folder, backend)}


def _out_of_memory(_scratch: Path) -> dict[str, str]:
    limits = {
        "CL_CONFIG_CPU_FORCE_GLOBAL_MEM_SIZE": "64MB",
        "CL_CONFIG_CPU_FORCE_MAX_MEM_ALLOC_SIZE": "16MB",
    }
    return {**cpu(), **limits}


def _no_usm(_scratch: Path) -> dict[str, str]:
    """PoCL, from Debian's ``libpocl2`` or from $SYCL_EXT_POCL."""
    named = os.environ.get("SYCL_EXT_POCL")
    pocl = named or ctypes.util.find_library("pocl")
    if pocl is None or (named and not Path(named).is_file()):
        raise Missing(named or "libpocl.so.2", "libpocl2", "SYCL_EXT_POCL")
    return {**opencl(pocl, _driver()), "ONEAPI_DEVICE_SELECTOR": "*:cpu"}


@dataclass(frozen=True)
class Environment:
    """Tests in ``tests/environments/<folder>``, and the environment they run in."""

    folder: str
    environment: Callable[[Path], dict[str, str]]  # raises Missing where it cannot run
    also: tuple[str, ...] = ()  # tests of other folders
    python: Callable[[], str] = lambda: sys.executable


#: Tests of the CPU device that take a GPU where there is one.
ON_GPUS = (
    *(f"../package/test_roundtrips.py::test_{name}" for name in ("tensors", "writes")),
    "../fuzz/test_generated_input.py",
)
#: Of the Level Zero GPUs, where another backend shares memory as well.
OWN_HANDLES = "stand_in_gpu/test_own_handles.py"
#: Everyday tests that also run without dpctl; those that name it are left out, and listed.
WITHOUT_DPCTL = (
    "../core/dlpack",
    "../core/rules",
    *(f"../package/tensor/test_{name}.py" for name in ("conversions", "host_view", "indexing")),
)
ENVIRONMENTS = {
    "two_platforms": Environment("two_platforms", _two_platforms),
    "opencl_gpu": Environment(
        "opencl_gpu",
        lambda scratch: _opencl_gpu(scratch, gpus=2),
        also=(*ON_GPUS, "../core/tensor/test_copy.py"),
    ),
    "opencl_gpu_pair": Environment(
        "opencl_gpu_pair", lambda scratch: _opencl_gpu(scratch, pair=True)
    ),
    "opencl_gpu_kernels": Environment(
        "../ordering/test_pending.py",
        lambda scratch: _opencl_gpu(scratch),
    ),
    "level_zero_v1": Environment("stand_in_gpu", lambda _scratch: level_zero("v1"), ON_GPUS),
    "level_zero_v2": Environment("stand_in_gpu", lambda _scratch: level_zero("v2"), ON_GPUS),
    # The driver sees each block; GPUs that reach each other's memory, without double precision.
    "level_zero_no_pools": Environment(
        "stand_in_gpu", lambda _scratch: level_zero(pools=False, p2p=1, fp64=0), ON_GPUS
    ),
    "cuda": Environment("native_backends", lambda _scratch: posing("cuda"), (OWN_HANDLES,)),
    "hip": Environment("native_backends", lambda _scratch: posing("hip"), (OWN_HANDLES,)),
    "out_of_memory": Environment("out_of_memory", _out_of_memory),
    "no_usm": Environment("no_usm", _no_usm),
    "no_dpctl": Environment(
        "no_dpctl",
        cpu,
        also=WITHOUT_DPCTL,
        python=without_dpctl.python,
    ),
}


def _real(variables: Callable[[], dict[str, str]], *also: str, folder: str) -> Environment:
    return Environment(folder, lambda _scratch: variables(), also, real_drivers.python)


#: One process each. Other files of these folders are about the CPU, build extensions, or start
#: other environments.
PYTHON_OF_THE_CORE = " ".join(
    f"../core/python/test_{name}.py"
    for name in (
        *("buffer", "cycles", "dropped_while_raising", "exchange_api", "exchange_api_in_c"),
        *("functions", "lifetime", "producer_class"),
    )
)
DEVICES = "../package/devices ../package/negotiation"
PROTOCOLS, EXCHANGE = "../package/protocols", "../package/exchange"
ON_INTEL_GPUS = (
    "contexts",
    PYTHON_OF_THE_CORE,
    "../package/tensor",
    DEVICES,
    *("../core/dlpack", "../core/tensor", "../core/runtime"),
    "../package/test_roundtrips.py",
    PROTOCOLS,
    EXCHANGE,
)
#: Devices of real drivers, which `make neo` fetches: not for every day.
REAL_DRIVERS = {
    "neo_v1": _real(
        lambda: real_drivers.level_zero("v1", "pvc"),
        *ON_INTEL_GPUS,
        folder="stand_in_gpu",
    ),
    "neo_v2": _real(
        lambda: real_drivers.level_zero("v2", "bmg"),
        *ON_INTEL_GPUS,
        folder="stand_in_gpu",
    ),
    "neo_opencl": _real(
        real_drivers.opencl_gpus,
        *("../core/dlpack", PROTOCOLS, EXCHANGE),
        folder="opencl_gpu_pair",
    ),
    "pocl": _real(
        real_drivers.pocl,
        "../core/base",
        "../core/tensor",
        "../core/runtime",
        "../ordering/test_pending.py",
        "../ordering/test_pending_faults.py",
        "../package/protocols/test_interop_dpnp.py",
        folder="../core/dlpack",
    ),
}
ALL = {**ENVIRONMENTS, **REAL_DRIVERS}


def clean_environment() -> dict[str, str]:
    """The environment of this process without anything that a test environment may set."""
    return {
        name: value
        for name, value in os.environ.items()
        if name in OURS or not name.startswith(PREFIXES)
    }


def variables_of(name: str, scratch: Path) -> dict[str, str]:
    """The variables of a process that sees "cpu", or a name in `ALL`."""
    return cpu() if name == "cpu" else ALL[name].environment(scratch)


def run(
    name: str, scratch: Path, *arguments: str, tests: str | None = None, **how: object
) -> subprocess.CompletedProcess:
    """Run the tests of an environment, or those of other folders, in a process of its own."""
    which = ALL[name]
    folders = " ".join([which.folder, *which.also] if tests is None else [tests]).split()
    command = [
        which.python(),
        "-m",
        "pytest",
        "-p",
        "no:cacheprovider",
        *(str(TESTS / "environments" / folder) for folder in folders),
    ]
    variables = process_variables(name, scratch)
    return subprocess.run([*command, *arguments], env=variables, cwd=HERE, **how)


def process_variables(name: str, scratch: Path) -> dict[str, str]:
    """All variables of a process in the test environment."""
    own = ALL[name].environment(scratch)
    return {**clean_environment(), **own, "SYCL_EXT_ENVIRONMENT": name}


def run_python(name: str, scratch: Path, *arguments: str) -> subprocess.CompletedProcess:
    """Run Python in the environment, in the folder of this process."""
    command = [ALL[name].python(), *arguments]
    return subprocess.run(command, env=process_variables(name, scratch))


def python(
    code: str,
    variables: dict[str, str] | None = None,
    *,
    inherit: bool = False,
    near: str | Path | None = None,
) -> str:
    """Run a script in a process of its own, and return what it wrote; it must not fail.

    It sees the first environment, unless `variables` say else; with `inherit`, the devices of this
    process.  The modules of this folder can be imported, and those next to the file `near`.
    """
    paths = [str(HERE), *filter(None, [os.environ.get("PYTHONPATH")])]
    if inherit:
        import needs  # which imports pytest: not every program with this module has it

        code = (needs.BREAK_KERNELS if needs.runs_no_kernel() else "") + code
    if near is not None:
        paths.insert(0, str(Path(near).parent))
    seen = (
        os.environ
        if inherit
        else {**clean_environment(), **(cpu() if variables is None else variables)}
    )
    done = subprocess.run(
        [sys.executable, "-X", "faulthandler", "-c", code],
        env={**seen, "PYTHONPATH": os.pathsep.join(paths)},
        cwd=HERE,  # not the root of a checkout, whose sources would hide an installed package
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=100,
    )
    assert done.returncode == 0, f"exit status {done.returncode}\n{done.stdout}"
    return done.stdout


@dataclass(frozen=True)
class Report:
    tests: int
    failures: int
    errors: int
    skipped: int

    @classmethod
    def read(cls, junit_xml: Path) -> Report:
        suite = ET.parse(junit_xml).getroot().find("testsuite")
        return cls(*(int(suite.get(name)) for name in ("tests", "failures", "errors", "skipped")))


if __name__ == "__main__":
    if len(sys.argv) < 2 or sys.argv[1] not in ALL:
        sys.exit(
            f"usage: python tests/support/environments.py NAME [pytest argument ...]\n"
            f"       python tests/support/environments.py NAME --python [argument of Python ...]\n"
            f"a NAME is one of {', '.join(ALL)}"
        )
    name, *arguments = sys.argv[1:]
    program = run_python if arguments[:1] == ["--python"] else run
    with tempfile.TemporaryDirectory() as folder:
        sys.exit(program(name, Path(folder), *arguments[program is run_python :]).returncode)
