# SPDX-License-Identifier: Apache-2.0
"""Build every distribution, and use each in an environment of its own: ``make distributions``.

    python tests/programs/distributions/run.py [argument of pytest ...]

Such an environment has what the distribution and its group ``test`` declare, and nothing else. The
core is installed first, then the distribution, and at the end the distribution is uninstalled: the
core must work, and have the same public names, before, with and after it.
Packages of others are hard links to the files of the environment that runs this; pip installs our
wheels, compares their requirements with what is there, and uses no index.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import zipfile
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib  # mypy brings it

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[2]
BUILD = ROOT / "build" / "distributions"
#: Environments whose tests run at the same time.
AT_ONCE = 2
PREFIXES = ("OCL_ICD_", "ONEAPI_", "PYTHON", "SYCL_", "UR_", "ZE_", "CL_CONFIG_", "LD_")

sys.path[:0] = [str(ROOT / "tests" / "interop"), str(ROOT / "tests" / "support")]

from install import make_wheel, pip  # noqa: E402
from linked_packages import collect_failed, make_environment, pip_in  # noqa: E402


@dataclass(frozen=True)
class Ours:
    """A distribution of this repository."""

    folder: str
    #: The packages of its wheel, and so all that it may put into site-packages.
    packages: tuple[str, ...]
    #: What is run in its environment, from another folder: arguments of Python.
    check: tuple[str, ...]
    #: What the check needs, and the distribution does not declare.
    more: tuple[str, ...] = ()
    #: Arguments of Python for the first example of its README, if that is a command.
    command: tuple[str, ...] = ()


def tests(folder: str, *options: str) -> tuple[str, ...]:
    """Return the arguments that run tests of this repository with its settings."""
    settings = ("-c", str(ROOT / "pyproject.toml"), "--rootdir", str(ROOT), "-q")
    return ("-m", "pytest", *settings, *options, str(ROOT / folder))


DISTRIBUTIONS = {
    # Dask and dpnp are there, but no integration.
    "sycl-ext": Ours(
        ".",
        ("sycl_ext", "sycl_ext_pytest"),
        tests("tests/programs/distributions/alone", "--noconftest"),
        (
            "sycl-ext[cpu]",
            "distributed",
            "dpnp",
            "xarray",
            "pyinstaller",
            "pytest",
            "pytest-timeout",
        ),
    ),
    "sycl-ext-hardware": Ours(
        "hardware",
        ("sycl_ext_hardware",),
        tests("hardware/tests", "-m", "not long"),
        command=("-m", "sycl_ext_hardware", "--quick"),
    ),
    "sycl-ext-dask": Ours(
        "integrations/dask", ("sycl_ext_dask",), tests("integrations/dask/tests")
    ),
    "sycl-ext-mpi": Ours("integrations/mpi", ("sycl_ext_mpi",), tests("integrations/mpi/tests")),
    "sycl-ext-ray": Ours("integrations/ray", ("sycl_ext_ray",), tests("integrations/ray/tests")),
    "sycl-ext-symmetric": Ours(
        "integrations/symmetric", ("sycl_ext_symmetric",), tests("integrations/symmetric/tests")
    ),
    "sycl-ext-vllm": Ours(
        "integrations/vllm", ("sycl_ext_vllm",), tests("integrations/vllm/tests")
    ),
    "sycl-ext-xarray": Ours(
        "integrations/xarray", ("sycl_ext_xarray",), tests("integrations/xarray/tests")
    ),
    # Without SYCL: its own tests also use this package, and run with those of this package.
    "dlpack-conformance": Ours(
        "conformance",
        ("dlpack_conformance",),
        (
            "-m",
            "pytest",
            "-q",
            "-c",
            os.devnull,
            "--pyargs",
            "dlpack_conformance",
            "--dlpack=numpy",
        ),
    ),
}


#: Uses the core, and prints its public names.
CORE = """
import numpy as np
import sycl_ext as sx

t = sx.full((2, 3), 7, "int32", usm_type="shared")
array = sx.exchange(t, np, copy=False)
array[0] = 1
assert sx.from_dlpack(array, copy=True).tolist() == t.tolist() == [[1, 1, 1], [7, 7, 7]]
print([(name, dir(getattr(sx, name))) for name in dir(sx)])
"""


# ---- an environment ------------------------------------------------------------------------------


def declared(ours: Ours) -> list[str]:
    """Return the requirements of a distribution, those of its tests, and those of its check."""
    about = tomllib.loads((ROOT / ours.folder / "pyproject.toml").read_text())
    groups = about.get("dependency-groups", {})
    own = [] if ours.folder == "." else groups.get("test", [])
    return [*about["project"]["dependencies"], *own, *ours.more]


# ---- the wheels ----------------------------------------------------------------------------------


def build(folder: Path) -> None:
    """Build all wheels."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    shutil.copy(make_wheel(Path(sys.prefix)), folder)
    others = [ROOT / ours.folder for ours in DISTRIBUTIONS.values() if ours.folder != "."]
    pip(Path(sys.prefix), "wheel", "--quiet", "--no-deps", "--wheel-dir", folder, *others)


def tops_of(wheel: Path) -> set[str]:
    """Return what a wheel puts into site-packages, besides its own metadata."""
    tops = {name.partition("/")[0] for name in zipfile.ZipFile(wheel).namelist()}
    return {top for top in tops if not top.endswith((".dist-info", ".data"))}


def check_wheels(wheels: Path) -> None:
    """Compare the packages of each wheel with the table, and print them."""
    for name, ours in DISTRIBUTIONS.items():
        (wheel,) = wheels.glob(f"{name.replace('-', '_')}-[0-9]*.whl")
        tops = tops_of(wheel)
        print(f"{wheel.name}: {', '.join(sorted(tops))}", flush=True)
        if tops != set(ours.packages):
            sys.exit(f"{wheel.name} must have {ours.packages}")


# ---- the checks ----------------------------------------------------------------------------------


def run(name: str, wheels: Path, arguments: list[str]) -> bool:
    """Install a distribution, use it, and uninstall it; return whether everything worked."""
    ours = DISTRIBUTIONS[name]
    python = make_environment(
        BUILD / "environments" / name, declared(ours), lambda package: package not in DISTRIBUTIONS
    )
    scratch = BUILD / "scratch" / name
    shutil.rmtree(scratch, ignore_errors=True)
    scratch.mkdir(parents=True)
    kept = ("SYCL_EXT_REQUIRE_ALL",)
    variables = {
        n: text for n, text in os.environ.items() if n in kept or not n.startswith(PREFIXES)
    }

    def uses(what: str, *command: str) -> subprocess.CompletedProcess[str]:
        pipes: Any = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT}
        done = subprocess.run([python, *command], cwd=scratch, env=variables, text=True, **pipes)
        if what:
            print(f"---- {name}: {what}\n{done.stdout}", flush=True)
        return done

    def core_works(when: str) -> str:
        """Return the public names of the core."""
        done = uses("", "-c", CORE)
        print(f"---- {name}: the core {when}: {'works' if not done.returncode else done.stdout}")
        return done.stdout if not done.returncode else f"no names {when}"

    offline = ("--no-index", "--find-links", wheels)
    needed = {canonicalize_name(Requirement(text).name): text for text in declared(ours)}
    first = [text for package, text in needed.items() if package in DISTRIBUTIONS]
    with_core = "sycl-ext" in needed and name != "sycl-ext"
    if first:
        pip_in(python, "install", *offline, *first)
    names = [core_works("before it")] if with_core else []
    pip_in(python, "install", *offline, name)

    cache = ("-o", f"cache_dir={BUILD / 'caches' / name}")
    done = uses("tests", *ours.check, *cache, *arguments)
    # With --last-failed, there may be nothing to run.
    passed = done.returncode == 0 or (done.returncode == 5 and "--last-failed" in arguments)
    if example := first_example(ROOT / ours.folder / "README.md"):
        (scratch / "example.py").write_text(example)  # a file, because it may start processes
    if command := ("example.py",) if example else ours.command:
        passed = uses("README.md", *command).returncode == 0 and passed

    if with_core:
        names.append(core_works("with it"))
        pip_in(python, "uninstall", "--yes", name)
        gone = (
            f"from importlib.util import find_spec; assert not any(map(find_spec, {ours.packages}))"
        )
        passed = uses("uninstalled", "-c", gone).returncode == 0 and passed
        names.append(core_works("after it"))
    return passed and len(set(names)) <= 1


def first_example(page: Path) -> str:
    """Return the first example in Python on a page, if it is a program; empty: there is none."""
    block = re.search(r"^```python\n(?!>>>)(.*?)^```", page.read_text(), re.MULTILINE | re.DOTALL)
    return block[1] if block else ""


def main(arguments: list[str]) -> int:
    """Build and check everything; a failure does not keep the others from running."""
    wheels = BUILD / "wheels"
    build(wheels)
    check_wheels(wheels)
    with ThreadPoolExecutor(AT_ONCE) as pool:
        passed = list(pool.map(lambda name: run(name, wheels, arguments), DISTRIBUTIONS))
    collect_failed((BUILD / "caches").glob("*"))
    return int(not all(passed))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
