# SPDX-License-Identifier: Apache-2.0
"""``python -m sycl_ext doctor``: real runs, on this machine and on set-ups that are broken."""

import json
import os
import shutil
import subprocess
import sys

import pytest

import environments
from doctor_facts import EMPTY, TESTS, card_at
from sycl_ext._doctor.finding import Finding
from sycl_ext._doctor.machine import SCHEMA, is_libsycl

#: Starts a program without the right of root to open every file.
DROP_RIGHTS = """
import ctypes, os, sys
for capability in (1, 2):  # CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH
    ctypes.CDLL(None).prctl(24, capability, 0, 0, 0)  # PR_CAPBSET_DROP
os.execv(sys.executable, [sys.executable, *sys.argv[1:]])
"""


def doctor(*arguments, before=(), **variables):
    """Run the doctor in an environment that nothing has touched but `variables`."""
    return subprocess.run(
        [sys.executable, *before, "-m", "sycl_ext", "doctor", *map(str, arguments)],
        env={**environments.clean_environment(), **variables},
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )


def examine(*arguments, **how):
    """Run it, and return exit code and report.

    The machine may have more OpenCL drivers, and one without USM (PoCL) is a finding.
    """
    done = doctor("--json", *arguments, **how)
    assert done.stderr == ""
    report = json.loads(done.stdout)
    report["findings"] = [finding for finding in report["findings"] if finding["id"] != "no-usm"]
    return done.returncode, report


def only(report):
    """Return the one finding."""
    (finding,) = report["findings"]
    return Finding(**finding)


def test_doctor_finds_this_machine_healthy():
    code, report = examine("--root", EMPTY)
    assert (code, report["ok"], report["findings"], report["schema"]) == (0, True, [], SCHEMA)
    facts = report["facts"]
    assert facts["devices"][0]["filter_string"] == "opencl:cpu:0"
    steps = {step["name"]: step["outcome"] for step in facts["steps"]}
    names = [name for name in steps if name.startswith("device 0: ")]
    assert names == [f"device 0: {test}" for test in TESTS]
    assert {steps[name] for name in steps if name in names or "device" not in name} == {"ok"}
    loaded_by = {library["path"]: library["loaded_by"] for library in facts["libraries"]}
    (runtime,) = filter(is_libsycl, loaded_by)
    assert loaded_by[runtime] == "import sycl_ext"
    assert runtime.rpartition("/")[0] == facts["runtime_folder"]
    assert loaded_by[facts["embedded_driver"]] == "list devices"
    assert facts["embedded_driver"] == facts["drivers"][0]["path"]
    assert facts["drivers"][0]["named_by"] == "sycl_ext"
    assert facts["packages"]["dpctl"]


#: Variables ({empty}: a folder without files, {file}: one that names a driver that is not there),
#: the check that fires, words of its problem or cause, and its cure.
BROKEN_BY_VARIABLES = [
    ({"SYCL_EXT_NO_ICD": "1", "OCL_ICD_VENDORS": "{empty}"},
        *("no-driver", "SYCL_EXT_NO_ICD", "unset OCL_ICD_VENDORS SYCL_EXT_NO_ICD")),
    ({"OCL_ICD_FILENAMES": "/nowhere.so", "OCL_ICD_VENDORS": "{empty}"},
        *("driver", "/nowhere.so: cannot open shared object file", "unset OCL_ICD_FILENAMES")),
    ({"OCL_ICD_VENDORS": "{file}"}, *("driver", "{file}/a.icd",
        "export OCL_ICD_FILENAMES={embedded}")),
    ({"ONEAPI_DEVICE_SELECTOR": "level_zero:gpu"}, *("hidden-devices", "opencl:cpu:0",
        "unset ONEAPI_DEVICE_SELECTOR")),
    ({"ONEAPI_DEVICE_SELECTOR": "bogus:garbage"}, *("hidden-devices", "parsing error",
        "unset ONEAPI_DEVICE_SELECTOR")),
    ({"ONEAPI_DEVICE_SELECTOR": "level_zero", "SYCL_EXT_NO_ICD": "1", "OCL_ICD_VENDORS": EMPTY},
        *("list-devices", "Incomplete selector", "unset ONEAPI_DEVICE_SELECTOR")),
]  # fmt: skip


@pytest.mark.parametrize(("variables", "check", "words", "cure"), BROKEN_BY_VARIABLES)
def test_variables_that_break_it(variables, check, words, cure, tmp_path):
    (tmp_path / "a.icd").write_text("/nowhere.so\n")
    known = {"empty": EMPTY, "file": str(tmp_path)}
    code, report = examine("--quick", **{k: v.format(**known) for k, v in variables.items()})
    finding, embedded = only(report), report["facts"]["embedded_driver"]
    assert (code, finding.id) == (1, check)
    assert words.format(**known) in finding.problem + finding.cause
    assert finding.cure == cure.format(embedded=embedded)


def test_two_libsycl(tmp_path):
    """A package that brings a runtime of its own."""
    second = tmp_path / "libsycl.so.8"
    shutil.copy(environments.installed("intel-sycl-rt", "lib/libsycl.so"), second)
    (tmp_path / "torch.py").write_text(f"import ctypes\nctypes.CDLL({str(second)!r})\n")
    code, report = examine(PYTHONPATH=str(tmp_path))
    finding = Finding(**report["findings"][0])
    assert (code, finding.id) == (1, "two-libsycl")
    assert str(second) in finding.problem
    assert finding.cause.startswith("import torch loads the second one")
    assert finding.cure == "python -m pip install --upgrade torch"


def test_package_that_will_load_another_runtime_is_named(tmp_path):
    """It is named before anything of it is imported."""
    folder = tmp_path / "jax_oneapi_plugin-0.11.2.dist-info"
    folder.mkdir()
    (folder / "METADATA").write_text(
        "Metadata-Version: 2.1\nName: jax-oneapi-plugin\nVersion: 0.11.2\n"
    )
    library = tmp_path / "jax.libs" / "libsycl-0a1b2c3d.so.8"
    (folder / "RECORD").write_text(f"jax.libs/{library.name},,\n")
    library.parent.mkdir()
    library.touch()
    code, report = examine("--quick", PYTHONPATH=str(tmp_path))
    finding = only(report)
    assert (code, finding.id, finding.severity) == (0, "another-runtime", "warning")
    assert finding.problem.startswith("jax-oneapi-plugin 0.11.2 has its own SYCL runtime")
    assert library.name in finding.problem
    assert finding.cure == "python -m pip install --upgrade jax-oneapi-plugin"
    assert finding.then == "or use jax-oneapi-plugin in a separate process"


def test_device_node_without_permission_is_a_finding(tmp_path):
    node = tmp_path / "dev" / "dri" / "renderD128"
    (node.parent / "by-path").mkdir(parents=True)
    node.write_text("")
    node.chmod(0)
    code, report = examine("--quick", "--root", tmp_path, before=("-c", DROP_RIGHTS))
    finding = only(report)
    assert (code, finding.id) == (1, "permission")
    assert f"has no permission to open {node} (---------- " in finding.problem
    assert finding.cure == f"sudo chgrp render {node} && sudo chmod g+rw {node}"


def test_runtime_that_cannot_be_loaded_is_a_finding(tmp_path):
    """The package cannot be imported, and the doctor speaks; any other command names it."""
    (tmp_path / "libsycl.so.9").write_text("no library")
    variables = {"LD_LIBRARY_PATH": str(tmp_path)}
    code, report = examine("--quick", **variables)
    finding = only(report)
    assert (code, finding.id) == (1, "runtime")
    assert "LD_LIBRARY_PATH" in finding.cause
    assert "file too short" in finding.cause
    assert finding.cure == "unset LD_LIBRARY_PATH"
    done = subprocess.run(
        [sys.executable, "-m", "sycl_ext", "devices"],
        env={**environments.clean_environment(), **variables},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    assert "python -m sycl_ext doctor names the problem" in done.stderr.splitlines()[-1]


@pytest.mark.parametrize("variable", ["LD_LIBRARY_PATH", "LD_PRELOAD"])
def test_library_in_front_of_the_drivers_is_named(tmp_path, variable):
    """Another `libtbb.so.12`, as of an older oneAPI: the cause names its path."""
    other = tmp_path / "libtbb.so.12"
    compiler = ["g++", "-shared", f"-Wl,-soname,{other.name}", "-x", "c++", os.devnull, "-o", other]
    subprocess.run(compiler, check=True)
    value = str(other if variable == "LD_PRELOAD" else tmp_path)
    code, report = examine("--quick", **{variable: value})
    assert code == 1
    (finding,) = (row for row in report["findings"] if row["id"] == "driver")
    assert f"the dynamic loader loads {other} instead of the library" in finding["cause"]
    assert finding["cure"] == f"unset {variable}"


def test_crash_of_an_import_is_a_finding(tmp_path):
    """Later tests still run, and earlier ones do not run again."""
    (tmp_path / "dpnp.py").write_text("import os\nos.abort()\n")
    (tmp_path / "torch.py").write_text("raise ImportError('no torch today')\n")
    code, report = examine(PYTHONPATH=str(tmp_path))
    assert code == 1
    assert [finding["id"] for finding in report["findings"]] == ["package", "package"]
    outcomes = {step["name"]: step["outcome"] for step in report["facts"]["steps"]}
    assert outcomes["import dpnp"] == "crashed"
    assert outcomes["import torch"] == "failed"
    assert outcomes["device 0: capsule"] == "ok"
    assert "SIGABRT" in report["findings"][0]["cause"]


def test_crash_at_the_exit_repeats_no_test(tmp_path):
    """Everything was tested by then, and nothing is tested twice."""
    (tmp_path / "torch.py").write_text("import atexit, os\natexit.register(os.abort)\n")
    _, report = examine(PYTHONPATH=str(tmp_path))
    names = [step["name"] for step in report["facts"]["steps"]]
    assert len(names) == len(set(names))
    assert report["facts"]["steps"][-1]["outcome"] == "crashed"


def test_gpu_without_a_node_is_a_finding(tmp_path):
    card_at(tmp_path, "0000:03:00.0", "0x8086", "0x038000")
    code, report = examine("--quick", "--root", tmp_path)
    assert code == 0  # the CPU device works
    assert "Level Zero" in {driver["named_by"] for driver in report["facts"]["drivers"]}
    assert "no-node" in {finding["id"] for finding in report["findings"]}


def test_text(tmp_path):
    done = doctor("--quick", "--root", tmp_path, ONEAPI_DEVICE_SELECTOR="*:gpu")
    assert done.returncode == 1
    lines = done.stdout.splitlines()
    assert "\x1b" not in done.stdout
    assert all(len(line) <= 80 for line in lines if " " in line.strip())
    assert lines[-2:] == [
        "   -> unset ONEAPI_DEVICE_SELECTOR",
        "      or select some of them: export ONEAPI_DEVICE_SELECTOR='*:cpu'",
    ]
    for title in ("runtime", "drivers", "GPUs", "environment", "devices", "self-test"):
        assert title in lines
    assert "  ONEAPI_DEVICE_SELECTOR=*:gpu" in lines
    assert any("ZE_FLAT_DEVICE_HIERARCHY is not set" in line for line in lines)
