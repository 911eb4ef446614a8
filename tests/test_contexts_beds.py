# SPDX-License-Identifier: Apache-2.0
"""Runs the tests of ``beds/contexts`` on two platforms, and on the stand-in GPUs in three moods."""

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest

import beds

#: name -> the bed whose devices it has, and what is different
MOODS = {
    "two_platforms": ("two_platforms", {}),
    "stand_in_gpu": ("stand_in_gpu", {}),
    "stand_in_gpu_strict": ("stand_in_gpu", {"FAKEGPU_STRICT_CTX": "1"}),
    "stand_in_gpu_peers": ("stand_in_gpu", {"FAKEGPU_STRICT_CTX": "1", "FAKEGPU_P2P": "1"}),
}


def run(name, scratch):
    bed, more = MOODS[name]
    variables = {**beds.clean_environment(), **beds.BEDS[bed].environment(scratch), **more}
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider"]
    command += [str(beds.HERE / "beds" / "contexts"), f"--junitxml={scratch / name}.xml"]
    return subprocess.run(
        command,
        env={**variables, "SYCL_EXT_BED": name},
        cwd=beds.HERE,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """All of them at once: they wait more than they compute."""
    scratch = tmp_path_factory.getbasetemp()
    beds.BEDS["stand_in_gpu"].environment(scratch)  # build it before they race for it
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        done = dict(zip(MOODS, pool.map(lambda name: run(name, scratch), MOODS), strict=True))
    return scratch, done


@pytest.mark.xdist_group("contexts_beds")  # they share what `runs` has run
@pytest.mark.timeout(300)
@pytest.mark.parametrize("name", MOODS)
def test_contexts(name, runs):
    scratch, done = runs
    assert done[name].returncode == 0, done[name].stdout
    report = beds.Report.read(scratch / f"{name}.xml")
    assert report.tests > 200
    assert (report.failures, report.errors, report.skipped) == (0, 0, 0), done[name].stdout
