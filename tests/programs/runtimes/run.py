# SPDX-License-Identifier: Apache-2.0
"""Run everyday tests with each SYCL runtime that other packages pin: ``make runtimes``.

    python tests/programs/runtimes/run.py [argument of pytest ...]

PyTorch requires one version of the runtime with ``==``, so whoever installs it has that one. The
wheel is built once, with the newest runtime, as the published one is, and installed next to each
version of the table. Against oneAPI 2025.3, whose libsycl is another one, the sources are built.
Packages that have nothing to do with the runtime are hard links to those of the environment that
runs this.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib  # mypy brings it

ROOT = Path(__file__).resolve().parents[3]
BUILD = ROOT / "build" / "runtimes"

sys.path[:0] = [str(ROOT / "tests" / "interop"), str(ROOT / "tests" / "support")]

from install import make_wheel  # noqa: E402
from linked_packages import collect_failed, make_environment, pip_in  # noqa: E402


@dataclass(frozen=True)
class Runtime:
    """A version of ``intel-sycl-rt``, and who requires it."""

    version: str
    by: str
    #: What is installed with it. oneMKL is pinned: dpnp takes any of the year, and a newer one
    #: needs a newer runtime.
    companions: tuple[str, ...]
    tests: tuple[str, ...] = ("tests/core", "tests/package/exchange", "tests/ordering")
    #: Whether the wheel is not linked to its libsycl, and the sources are built against it.
    is_built: bool = False
    #: Words in the names of tests that need what its companions lack.
    lacks: str = ""


#: The newest one has all everyday tests.
RUNTIMES = (
    Runtime("2026.0.0", "PyTorch 2.13 with XPU", ("mkl==2026.0.*", "dpnp", "scikit-learn-intelex")),
    Runtime(
        "2026.1.2",
        "PyTorch 2.14 and 2.15 with XPU",
        ("mkl==2026.1.*", "dpnp", "scikit-learn-intelex"),
    ),
    Runtime(
        "2025.3.3",
        "machines whose modules have oneAPI 2025.3",
        ("dpctl==0.21.1", "dpnp==0.19.1"),
        # The others start simulated GPUs, or compile kernels, for the runtime of 2026.
        tests=(
            *(f"tests/core/{name}" for name in ("base", "rules", "tensor", "dlpack")),
            "tests/package/negotiation",
            "tests/package/exchange/test_kept_decisions.py",
            "tests/package/exchange/test_one_decision.py",
        ),
        is_built=True,
        lacks="dpnp.tensor",  # of dpnp 0.20
    ),
)
#: What comes with a version of the runtime, and is not linked.
OF_RUNTIME = re.compile("intel-.*|dpcpp-.*|umf|tcmlib|tbb|mkl|onemkl-.*|dpctl|dpnp")
#: They count a call of the runtime that only the newest one makes.
LEFT_OUT = ("tests/core/runtime/memory/test_shown_queue.py",)
PREFIXES = ("OCL_ICD_", "ONEAPI_", "PYTHON", "SYCL_", "UR_", "ZE_", "CL_CONFIG_", "LD_")

#: scikit-learn-intelex, dpnp and this package in one process.
TOGETHER = """
import dpctl, dpnp, numpy as np
import sycl_ext as sx
from sklearnex.linear_model import LinearRegression

x = sx.exchange(np.arange(12.0).reshape(6, 2) ** 2, dpnp)
y = x.sum(axis=1)
answer = LinearRegression().fit(sx.exchange(x, np), sx.exchange(y, np)).predict(dpnp.asnumpy(x))
assert np.allclose(answer, dpnp.asnumpy(y)), answer
"""


def requirements() -> list[str]:
    """Return what the package and its tests declare."""
    about: Any = tomllib.loads((ROOT / "pyproject.toml").read_text())
    groups = about["dependency-groups"]

    def of_group(name: str) -> list[str]:
        entries = groups[name]
        return [
            text
            for entry in entries
            for text in ([entry] if isinstance(entry, str) else of_group(entry["include-group"]))
        ]

    cpu = about["project"]["optional-dependencies"]["cpu"]
    return [
        *about["project"]["dependencies"],
        *cpu,
        *of_group("build"),
        *of_group("test"),
        *of_group("dev"),  # type checkers, which a test runs
        "pandas",
        "xarray",
    ]


def install(runtime: Runtime, wheel: Path) -> Path:
    """Make the environment of a runtime, and return its Python."""
    python = make_environment(
        BUILD / runtime.version,
        requirements(),
        lambda package: not OF_RUNTIME.fullmatch(package),
    )
    pinned = [f"{name}=={runtime.version}" for name in ("intel-sycl-rt", "intel-opencl-rt")]
    pip_in(python, "install", "--no-compile", *pinned, *runtime.companions)
    build_folder = f"-Cbuild-dir={BUILD / 'cmake' / runtime.version}"
    ours = (build_folder, ROOT) if runtime.is_built else (wheel,)
    here = ("--no-deps", "--no-build-isolation")
    pip_in(python, "install", *here, *ours)
    pip_in(python, "install", *here, ROOT / "conformance")
    return python


def copy_checkout(folder: Path) -> Path:
    """Copy the sources, because tests build libraries for this runtime in their checkout."""
    shutil.rmtree(folder, ignore_errors=True)
    left_out = shutil.ignore_patterns("build", ".*", "__pycache__", "dist")
    return Path(shutil.copytree(ROOT, folder, ignore=left_out))


def run(runtime: Runtime, wheel: Path, arguments: list[str]) -> bool:
    """Test the package with a runtime; return whether everything worked."""
    python = install(runtime, wheel)
    kept = ("SYCL_EXT_REQUIRE_ALL",)
    variables = {
        n: text for n, text in os.environ.items() if n in kept or not n.startswith(PREFIXES)
    }

    def works(what: str, *command: str) -> bool:
        print(f"---- {runtime.version}, {runtime.by}: {what}", flush=True)
        return not subprocess.run([python, *command], cwd=BUILD, env=variables).returncode

    checkout = copy_checkout(BUILD / "checkouts" / runtime.version)
    settings = ("-c", str(checkout / "pyproject.toml"), "--rootdir", str(checkout), "-q", "-n", "2")
    old_dpctl = ("-W", "ignore:dpctl.tensor is deprecated:DeprecationWarning")
    cache = ("-o", f"cache_dir={BUILD / 'caches' / runtime.version}")
    tests = [str(checkout / folder) for folder in runtime.tests]
    tests += [f"--ignore={checkout / file}" for file in LEFT_OUT]
    tests += ["-k", f"not {runtime.lacks}"] if runtime.lacks else []
    passed = [works("doctor", "-m", "sycl_ext", "doctor", "--full")]
    if "scikit-learn-intelex" in runtime.companions:
        passed.append(works("with dpnp and scikit-learn-intelex", "-c", TOGETHER))
    passed.append(works("tests", "-m", "pytest", *settings, *old_dpctl, *cache, *tests, *arguments))
    return all(passed)


def main(arguments: list[str]) -> int:
    """Test each runtime; a failure does not keep the others from running."""
    wheel = make_wheel(Path(sys.prefix))
    passed = [run(runtime, wheel, arguments) for runtime in RUNTIMES]
    collect_failed((BUILD / "caches").glob("*"))
    return int(not all(passed))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
