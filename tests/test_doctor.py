# SPDX-License-Identifier: Apache-2.0
"""``python -m sycl_ext doctor``: what it concludes, and real runs on set-ups that are broken."""

import grp
import json
import os
import shutil
import subprocess
import sys
from dataclasses import fields, replace
from pathlib import Path

import pytest

import beds
from sycl_ext import _startup
from sycl_ext._cli import make_parser
from sycl_ext._doctor import checks, collect, command, render
from sycl_ext._doctor.facts import (
    SCHEMA,
    DeviceFacts,
    Driver,
    Facts,
    Finding,
    Gpu,
    Library,
    Measurement,
    Node,
    Runtime,
    Step,
    User,
)

ROOT = Path(__file__).resolve().parent.parent
EMPTY = str(beds.HERE / "beds")  # a folder without .icd files

# ---- facts of a machine where all is well --------------------------------------------------------

USM = ("device", "shared", "host")
CPU = DeviceFacts(0, "opencl:cpu:0", "Xeon", "opencl", "cpu", "2026.1", (*USM, "system"), True)
GPU = DeviceFacts(1, "level_zero:gpu:0", "Max 1550", "level_zero", "gpu", "1.6", USM, True)
NODE = Node("/dev/dri/renderD128", "root", "render", "crw-rw----", True)
ICD = Driver("/env/lib/libintelocl.so", "sycl_ext")
TESTS = ("allocate", "copy", "export", "import", "dpnp", "torch")
WELL = Facts(
    python="3.11.7",
    executable="/env/bin/python",
    prefix="/env",
    platform="Linux",
    packages={"sycl_ext": "0.1.0", "intel-sycl-rt": "2026.2.0", "dpctl": "0.22.1"},
    requirements=("dpctl>=0.22", "intel-sycl-rt<2027,>=2026.0", "numpy>=1.26"),
    embedded_driver="/env/lib/libintelocl.so",
    drivers=(ICD,),
    gpus=(Gpu("0000:03:00.0", "xe"),),
    nodes=(NODE,),
    user=User("ada", ("ada", "render"), ("render",)),
    steps=(
        *(Step(f"import {name}", "ok") for name in collect.PROBED),
        Step("list devices", "ok"),
        *(Step(f"device {row}: {test}", "ok") for row in (0, 1) for test in TESTS),
    ),
    libraries=(Library("/env/lib/libsycl.so.9", "intel-sycl-rt 2026.2.0", "import sycl_ext"),),
    devices=(CPU, GPU),
)


def with_step(name, outcome, detail=""):
    """The steps of WELL, one of which went another way."""
    step = Step(name, outcome, detail)
    return tuple(step if step.name == other.name else other for other in WELL.steps)


def fails(what, detail, **changes):
    return replace(WELL, steps=with_step(what, "failed", detail), **changes)


NO_DEVICE = replace(WELL, devices=(), gpus=(), nodes=(), steps=WELL.steps[:5])
CLOSED = replace(NODE, accessible=False)
ADA = User("ada", ("ada",))
NO_LIBSYCL = "ImportError: libsycl.so.9: cannot open shared object file: No such file or directory"
TWO = (
    *WELL.libraries,
    Library("/opt/intel/lib/libsycl.so.8", "", "import torch"),
)
ONEAPI = {"LD_LIBRARY_PATH": ("/opt/intel/lib/libsycl.so.8",)}

#: Facts, the check that fires, and words of its cause and of its cure.
BROKEN = {
    "a kernel that keeps processes apart": (
        replace(WELL, ptrace_scope=1),
        "ptrace-scope",
        "ptrace_scope is 1",
        "sudo sysctl kernel.yama.ptrace_scope=0",
    ),
    "no libsycl": (
        fails("import sycl_ext", NO_LIBSYCL, devices=(), libraries=()),
        "runtime",
        "not in this environment",
        "python -m pip install --force-reinstall 'intel-sycl-rt<2027,>=2026.0'",
    ),
    "no libsycl for dpctl, either": (
        replace(
            WELL,
            steps=(
                Step("import sycl_ext", "failed", NO_LIBSYCL),
                Step("import dpctl", "failed", NO_LIBSYCL),
            ),
            devices=(),
        ),
        "runtime",
        "not in this environment",
        "python -m pip install --force-reinstall 'intel-sycl-rt<2027,>=2026.0'",
    ),
    "another libsycl": (
        fails(
            "import sycl_ext",
            "ImportError: libsycl.so.9: undefined symbol: x",
            overrides={"LD_LIBRARY_PATH": ("/opt/intel/lib/libsycl.so.9",)},
        ),
        "runtime",
        "LD_LIBRARY_PATH",
        "unset LD_LIBRARY_PATH",
    ),
    "no libsycl, and no driver": (
        replace(NO_DEVICE, drivers=(), steps=with_step("import sycl_ext", "failed", NO_LIBSYCL)),
        "runtime",
        "not in this environment",
        "python -m pip install --force-reinstall 'intel-sycl-rt<2027,>=2026.0'",
    ),
    "no dpctl": (
        fails("import sycl_ext", "ModuleNotFoundError: No module named 'dpctl'", overrides=ONEAPI),
        "runtime",
        "dpctl is not installed",
        "python -m pip install 'dpctl>=0.22'",
    ),
    "no core": (
        fails("import sycl_ext", "ModuleNotFoundError: No module named 'sycl_ext._core'"),
        "runtime",
        "the extension module is not there",
        "python -m pip install --force-reinstall --no-deps sycl_ext",
    ),
    "core of another version": (
        fails("import sycl_ext", "TypeError: set_hooks(): incompatible function arguments"),
        "runtime",
        "of another version",
        "python -m pip install --force-reinstall --no-deps sycl_ext",
    ),
    "a runtime that kills": (
        replace(WELL, steps=with_step("import sycl_ext", "crashed", "SIGSEGV"), devices=()),
        "runtime",
        "SIGSEGV",
        "python -m pip install --force-reinstall 'intel-sycl-rt<2027,>=2026.0'",
    ),
    "dpnp that kills": (
        replace(WELL, steps=with_step("import dpnp", "crashed", "SIGSEGV")),
        "package",
        "SIGSEGV",
        "python -m pip install --upgrade dpnp dpctl",
    ),
    "jax will bring a libsycl": (
        replace(WELL, other_runtimes=(Runtime("jax-oneapi-plugin 0.11.2", "intel-sycl-rt==2025"),)),
        "another-runtime",
        "share no queues and no contexts",
        "python -m pip install --upgrade jax-oneapi-plugin",
    ),
    "torch brings a libsycl": (
        replace(WELL, libraries=TWO),
        "two-libsycl",
        "import torch",
        "python -m pip install --upgrade sycl_ext torch",
    ),
    "oneAPI in LD_LIBRARY_PATH": (
        replace(WELL, libraries=TWO, overrides=ONEAPI),
        "two-libsycl",
        "LD_LIBRARY_PATH leads to another one",
        "unset LD_LIBRARY_PATH",
    ),
    "a libsycl from elsewhere": (
        replace(
            WELL,
            libraries=(Library("/opt/intel/lib/libsycl.so.9", "", "import sycl_ext"),),
            overrides={"LD_PRELOAD": ("/opt/intel/lib/libsycl.so.9",)},
        ),
        "other-runtime",
        "LD_PRELOAD",
        "unset LD_PRELOAD",
    ),
    "a module of another environment": (
        replace(WELL, libraries=(Library("/old/lib/libsycl.so.9", "", "import sycl_ext"),)),
        "other-runtime",
        "another environment",
        "python -m pip install --force-reinstall --no-deps sycl_ext",
    ),
    "a driver that brings a libsycl": (
        replace(WELL, libraries=(*WELL.libraries, replace(TWO[1], loaded_by="list devices"))),
        "two-libsycl",
        "list devices loads another one",
        "python -m pip install --force-reinstall 'intel-sycl-rt<2027,>=2026.0'",
    ),
    "a selector": (
        replace(
            NO_DEVICE,
            environment={"ONEAPI_DEVICE_SELECTOR": "cuda:gpu"},
            devices_without_selector=(CPU, GPU),
        ),
        "hidden-devices",
        "ONEAPI_DEVICE_SELECTOR=cuda:gpu: no device fits that",
        "unset ONEAPI_DEVICE_SELECTOR",
    ),
    "a selector without Level Zero": (
        replace(
            NO_DEVICE,
            environment={"ONEAPI_DEVICE_SELECTOR": "opencl:*"},
            devices_without_selector=(CPU,),
        ),
        "hidden-devices",
        "UR adapter initialization failed",
        "unset ONEAPI_DEVICE_SELECTOR",
    ),
    "a selector and a mask": (
        replace(
            NO_DEVICE,
            environment={"ONEAPI_DEVICE_SELECTOR": "*:gpu", "ZE_AFFINITY_MASK": "7"},
            devices_without_selector=(CPU, GPU),
        ),
        "hidden-devices",
        "ZE_AFFINITY_MASK=7",
        "unset ONEAPI_DEVICE_SELECTOR ZE_AFFINITY_MASK",
    ),
    "a selector that is none": (
        replace(
            NO_DEVICE,
            steps=with_step("list devices", "failed", "SyclError: parsing error")[:5],
            environment={"ONEAPI_DEVICE_SELECTOR": ":"},
            devices_without_selector=(CPU,),
        ),
        "hidden-devices",
        "parsing error",
        "unset ONEAPI_DEVICE_SELECTOR",
    ),
    "a list that fails": (
        fails("list devices", "SyclError: no platform", devices=()),
        "list",
        "no platform",
        "python -m pip install --force-reinstall 'intel-sycl-rt<2027,>=2026.0'",
    ),
    "a variable that points nowhere": (
        replace(NO_DEVICE, drivers=(Driver("/no.so", "OCL_ICD_FILENAMES", "OSError: no file"),)),
        "driver",
        "OCL_ICD_FILENAMES names it, but: OSError: no file",
        "unset OCL_ICD_FILENAMES",
    ),
    "the same without a CPU device": (
        replace(
            NO_DEVICE,
            drivers=(Driver("/no.so", "OCL_ICD_FILENAMES", "OSError: no file"),),
            embedded_driver="",
        ),
        "driver",
        "no file",
        'unset OCL_ICD_FILENAMES && python -m pip install "sycl_ext[cpu]"',
    ),
    "a file that points nowhere": (
        replace(NO_DEVICE, drivers=(Driver("/no.so", "/etc/a.icd", "OSError: no file"),)),
        "driver",
        "/etc/a.icd names it",
        "export OCL_ICD_FILENAMES=/env/lib/libintelocl.so",
    ),
    "the same, and no CPU device": (
        replace(
            NO_DEVICE,
            drivers=(Driver("/no.so", "/etc/a.icd", "OSError: no file"),),
            embedded_driver="",
        ),
        "driver",
        "/etc/a.icd names it",
        'python -m pip install "sycl_ext[cpu]"',
    ),
    "the same beside a device": (
        replace(WELL, drivers=(ICD, Driver("/no.so", "/etc/a.icd", "OSError: no file"))),
        "driver",
        "/etc/a.icd names it",
        "sudo rm /etc/a.icd",
    ),
    "an embedded driver without its libraries": (
        replace(NO_DEVICE, drivers=(replace(ICD, error="OSError: libtbb.so.12: no file"),)),
        "driver",
        "libtbb",
        "python -m pip install --force-reinstall intel-opencl-rt",
    ),
    "no driver": (
        replace(NO_DEVICE, drivers=(), embedded_driver=""),
        "no-driver",
        "no OpenCL driver (ICD) is installed",
        'python -m pip install "sycl_ext[cpu]"',
    ),
    "a driver that nobody may name": (
        replace(NO_DEVICE, drivers=(), environment={"SYCL_EXT_NO_ICD": "1"}),
        "no-driver",
        "SYCL_EXT_NO_ICD stops",
        "unset SYCL_EXT_NO_ICD",
    ),
    "not in the group": (
        replace(WELL, nodes=(CLOSED,), user=ADA, devices=(CPU,)),
        "permission",
        "ada is not in the group render",
        "sudo usermod -aG render ada",
    ),
    "in the group since the login": (
        replace(WELL, nodes=(CLOSED,), user=replace(ADA, groups_at_login=("render",))),
        "permission",
        "this session is older",
        "newgrp render",
    ),
    "in the group, and kept out": (
        replace(WELL, nodes=(CLOSED,)),
        "permission",
        "render may, and something else forbids it",
        "getfacl /dev/dri/renderD128",
    ),
    "a group of the host": (
        replace(WELL, nodes=(replace(CLOSED, group="109"),), user=ADA),
        "permission",
        "group 109",
        "docker run --device /dev/dri --group-add 109 IMAGE",
    ),
    "a mode that lets nobody in": (
        replace(WELL, nodes=(replace(CLOSED, mode="crw-------"),)),
        "permission",
        "nobody in but root",
        "sudo chgrp render /dev/dri/renderD128 && sudo chmod g+rw /dev/dri/renderD128",
    ),
    "a node that is missing": (
        replace(WELL, gpus=(Gpu("0000:03:00.0"),), nodes=(), devices=(CPU,)),
        "no-node",
        "no module of the kernel",
        "sudo modprobe xe",
    ),
    "a container without the node": (
        replace(WELL, nodes=(), devices=(CPU,), in_container=True),
        "no-node",
        "container",
        "docker run --device /dev/dri IMAGE",
    ),
    "a GPU without a driver": (
        replace(
            WELL,
            devices=(CPU,),
            drivers=(ICD, Driver("libze_loader.so.1", "Level Zero", "OSError: no libze")),
        ),
        "no-gpu-driver",
        "no libze",
        "sudo apt-get install libze1 libze-intel-gpu1 intel-opencl-icd",
    ),
    "a GPU that loses bytes": (
        fails("device 1: copy", "AssertionError: shared USM lost its bytes"),
        "self-test",
        "lost its bytes",
        "sudo apt-get install --only-upgrade libze-intel-gpu1 intel-opencl-icd",
    ),
    "a CPU driver that kills": (
        replace(WELL, steps=with_step("device 0: copy", "crashed", "SIGSEGV")),
        "self-test",
        "SIGSEGV",
        "python -m pip install --upgrade intel-opencl-rt",
    ),
    "dpnp that refuses": (
        fails("device 1: dpnp", "ValueError: no"),
        "self-test",
        "ValueError: no",
        "python -m pip install --upgrade dpnp dpctl",
    ),
    "an end that kills": (
        replace(WELL, steps=(*WELL.steps, Step("exit", "crashed", "SIGSEGV"))),
        "self-test",
        "SIGSEGV",
        "python -m pip install --upgrade intel-opencl-rt",
    ),
    "no fp64": (
        replace(WELL, devices=(CPU, replace(GPU, fp64=False))),
        "no-fp64",
        "kernels that compute with float64 fail",
        "export OverrideDefaultFP64Settings=1 IGC_EnableDPEmulation=1",
    ),
    "no USM": (
        replace(WELL, devices=(CPU, replace(GPU, usm_types=()))),
        "no-usm",
        "driver does not implement it",
        "python -m sycl_ext devices",
    ),
    "no device, and nothing to blame": (
        replace(NO_DEVICE, runtime_messages=("UR adapter initialization failed",)),
        "no-device",
        "UR adapter initialization failed",
        'python -m pip install "sycl_ext[cpu]"',
    ),
}


def test_a_machine_where_all_is_well():
    assert checks.examine(WELL) == []
    assert "RESULT: all is well" in render.as_text(WELL, [])


@pytest.mark.parametrize("name", BROKEN)
def test_a_check_names_the_cause_and_the_cure(name):
    facts, wanted, cause, cure = BROKEN[name]
    (finding,) = checks.examine(facts)
    assert finding.id == wanted
    assert cause in finding.cause
    assert finding.cure == cure
    text = render.as_text(facts, [finding])
    assert f"-> {cure}\n" in f"{text}\n"
    for line in text.splitlines():
        assert len(line) <= 80 or " " not in line.strip() or "->" in line, line


def test_every_check_is_tried():
    """Each check fires in BROKEN, and `unexplained`, which is no row of the table."""
    facts = [row[0] for row in BROKEN.values()]
    for check in checks.CHECKS:
        assert any(list(check(fact)) for fact in facts), check.__name__


def test_problems_come_before_warnings():
    facts = replace(
        WELL,
        devices=(CPU, replace(GPU, fp64=False)),
        steps=with_step("device 0: copy", "failed", "AssertionError: no"),
        drivers=(ICD, Driver("/no.so", "/etc/a.icd", "OSError: no")),
    )
    found = checks.examine(facts)
    assert [finding.severity for finding in found] == ["problem", "warning", "warning"]
    assert "RESULT: 1 problem and 2 warnings" in render.as_text(facts, found)


@pytest.mark.parametrize(
    ("severities", "codes"),
    [((), (0, 0)), (("warning",), (0, 1)), (("warning", "problem"), (1, 1))],
)
def test_exit_codes(severities, codes):
    found = [Finding("id", severity, "problem", "cause", "cure") for severity in severities]
    assert (command.exit_code(found, strict=False), command.exit_code(found, strict=True)) == codes


# ---- what is collected ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("environment", "wanted"),
    [
        ({"OCL_ICD_VENDORS": EMPTY}, []),
        ({"OCL_ICD_VENDORS": EMPTY, "SYCL_EXT_NO_ICD": "1"}, []),
        (
            {"OCL_ICD_VENDORS": EMPTY, "OCL_ICD_FILENAMES": "/a.so:/b.so"},
            [("/a.so", "OCL_ICD_FILENAMES"), ("/b.so", "OCL_ICD_FILENAMES")],
        ),
    ],
)
def test_the_drivers_that_the_loader_looks_at(environment, wanted):
    assert collect.named_drivers(environment, Path("/embedded.so")) == wanted


def test_the_embedded_driver_is_named_when_nobody_decides():
    named = collect.named_drivers({}, Path("/embedded.so"))
    assert named[0] == ("/embedded.so", "sycl_ext")


def test_drivers_in_files(tmp_path):
    (tmp_path / "a.icd").write_text("/a.so\n")
    (tmp_path / "b.icd").write_text("")
    environment = {"OCL_ICD_VENDORS": str(tmp_path)}
    named = collect.named_drivers(environment, None)
    assert named == [("/a.so", str(tmp_path / "a.icd")), ("", str(tmp_path / "b.icd"))]
    broken = collect.load_drivers(named, timeout=60)
    assert "cannot open" in broken[0].error
    assert "no library is named" in broken[1].error


def test_a_driver_that_hangs(tmp_path):
    os.mkfifo(tmp_path / "driver.so")  # nobody will ever write to it
    (driver,) = collect.load_drivers([(str(tmp_path / "driver.so"), "a test")], timeout=2)
    assert driver.error == "it did not end within 2 s"


def card_at(root, address, vendor, kind):
    """What the kernel shows of a card."""
    folder = root / "sys/bus/pci/devices" / address
    folder.mkdir(parents=True)
    (folder / "vendor").write_text(f"{vendor}\n")
    (folder / "class").write_text(f"{kind}\n")


def test_gpus_on_the_bus(tmp_path):
    for address, vendor, kind in (
        ("0000:00:02.0", "0x8086", "0x030000"),
        ("0000:03:00.0", "0x8086", "0x038000"),
        ("0000:04:00.0", "0x10de", "0x030000"),
        ("0000:05:00.0", "0x8086", "0x020000"),
    ):
        card_at(tmp_path, address, vendor, kind)
    (tmp_path / "sys/bus/pci/drivers/xe").mkdir(parents=True)
    gpu = tmp_path / "sys/bus/pci/devices/0000:03:00.0"
    (gpu / "driver").symlink_to(tmp_path / "sys/bus/pci/drivers/xe")
    assert collect.intel_gpus(tmp_path) == (Gpu("0000:00:02.0"), Gpu("0000:03:00.0", "xe"))


def test_a_group_without_a_name(tmp_path):
    """In a container: the node's group is a number, and so it stays."""
    node = tmp_path / "dev/dri/renderD128"
    node.parent.mkdir(parents=True)
    node.write_text("")
    if os.geteuid() == 0:
        os.chown(node, -1, 54321)
    (found,) = collect.render_nodes(tmp_path)
    assert found.group == (
        "54321" if os.geteuid() == 0 else collect.name_of(grp.getgrgid, os.getgid())
    )
    assert collect.name_of(grp.getgrgid, 1 << 30) == str(1 << 30)


def test_a_driver_file_that_cannot_be_read(tmp_path):
    (tmp_path / "a.icd").mkdir()
    named = collect.named_drivers({"OCL_ICD_VENDORS": str(tmp_path)}, None)
    assert named == [("", str(tmp_path / "a.icd"))]


def test_where_conda_keeps_drivers(tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "prefix", str(tmp_path))
    assert collect.vendor_folders({}) == [Path("/etc/OpenCL/vendors")]
    (tmp_path / "conda-meta").mkdir()
    assert collect.vendor_folders({})[1] == tmp_path / "etc/OpenCL/vendors"


def test_packages_that_pip_does_not_know(monkeypatch):
    def unknown(name):
        raise collect.metadata.PackageNotFoundError(name)

    monkeypatch.setattr(collect.metadata, "version", unknown)
    monkeypatch.setattr(collect.metadata, "requires", unknown)
    assert collect.versions() == {}
    assert collect.requirements() == ()


# ---- real runs -----------------------------------------------------------------------------------

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
        env={**beds.clean_environment(), **variables},
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )


def examine(*arguments, **how):
    """Run it, and return exit code and report."""
    done = doctor("--json", *arguments, **how)
    assert done.stderr == ""
    return done.returncode, json.loads(done.stdout)


def only(report):
    """Return the one finding."""
    (finding,) = report["findings"]
    return Finding(**finding)


def test_this_machine():
    code, report = examine("--root", EMPTY)
    assert (code, report["ok"], report["findings"], report["schema"]) == (0, True, [], SCHEMA)
    facts = report["facts"]
    assert [device["filter_string"] for device in facts["devices"]] == ["opencl:cpu:0"]
    names = [step["name"] for step in facts["steps"] if step["name"].startswith("device 0: ")]
    assert names == [f"device 0: {test}" for test in TESTS]
    assert {step["outcome"] for step in facts["steps"]} == {"ok"}
    libraries = {Library(**library).family: library for library in facts["libraries"]}
    assert libraries["libsycl"]["package"].startswith("intel-sycl-rt ")
    assert libraries["libsycl"]["loaded_by"] == "import sycl_ext"
    assert {"libOpenCL", "libintelocl"} <= set(libraries)
    assert facts["embedded_driver"] == facts["drivers"][0]["path"]
    assert facts["packages"]["dpctl"]


def test_no_icd():
    code, report = examine("--quick", SYCL_EXT_NO_ICD="1", OCL_ICD_VENDORS=EMPTY)
    finding = only(report)
    assert (code, finding.id) == (1, "no-driver")
    assert finding.cure == "unset OCL_ICD_VENDORS SYCL_EXT_NO_ICD"


def test_an_icd_that_points_nowhere():
    code, report = examine("--quick", OCL_ICD_FILENAMES="/nowhere.so", OCL_ICD_VENDORS=EMPTY)
    finding = only(report)
    assert (code, finding.id) == (1, "driver")
    assert "/nowhere.so: cannot open shared object file" in finding.cause
    assert finding.cure == "unset OCL_ICD_FILENAMES"


def test_an_icd_file_that_points_nowhere(tmp_path):
    (tmp_path / "a.icd").write_text("/nowhere.so\n")
    code, report = examine("--quick", OCL_ICD_VENDORS=str(tmp_path))
    finding = only(report)
    assert (code, finding.id) == (1, "driver")
    assert str(tmp_path / "a.icd") in finding.cause
    assert finding.cure == f"export OCL_ICD_FILENAMES={report['facts']['embedded_driver']}"


def test_two_libsycl(tmp_path):
    """A package that brings a runtime of its own."""
    second = tmp_path / "libsycl.so.8"
    shutil.copy(beds.installed("intel-sycl-rt", "lib/libsycl.so"), second)
    (tmp_path / "torch.py").write_text(f"import ctypes\nctypes.CDLL({str(second)!r})\n")
    code, report = examine(PYTHONPATH=str(tmp_path))
    finding = Finding(**report["findings"][0])
    assert (code, finding.id) == (1, "two-libsycl")
    assert str(second) in finding.problem
    assert finding.cause.startswith("import torch loads another one")
    assert finding.cure == "python -m pip install --upgrade sycl_ext torch"


@pytest.mark.parametrize(
    ("requirement", "other"),
    [
        ("intel-sycl-rt==2025.1.1; extra == 'oneapi'", True),
        ("intel_sycl_rt (==2025.3.3)", True),
        ("dpcpp-cpp-rt<2026,>=2024.1", True),
        ("intel-sycl-rt<=2025.3", True),
        ("intel-sycl-rt~=2027.0", True),
        ("intel-sycl-rt<2027,>=2026.0", False),
        ("intel-sycl-rt==2026.2.0", False),
        ("intel-sycl-rt>=2025", False),
        ("intel-sycl-rt", False),
        ("numpy<2025", False),
    ],
)
def test_what_asks_for_another_runtime(requirement, other):
    assert collect.wants_other_year(requirement, 2026) is other


@pytest.mark.parametrize("how", ["asks", "brings"])
def test_a_package_that_will_load_another_runtime(tmp_path, how):
    """It is named before anything of it is imported."""
    folder = tmp_path / "jax_oneapi_plugin-0.11.2.dist-info"
    folder.mkdir()
    wants = {"asks": "intel-sycl-rt==2025.1.1", "brings": "libsycl-0a1b2c3d.so.8"}[how]
    needs = f"Requires-Dist: {wants}\n" if how == "asks" else ""
    (folder / "METADATA").write_text(
        f"Metadata-Version: 2.1\nName: jax-oneapi-plugin\nVersion: 0.11.2\n{needs}"
    )
    (folder / "RECORD").write_text(f"jax.libs/{wants},,\n" if how == "brings" else "")
    code, report = examine("--quick", PYTHONPATH=str(tmp_path))
    finding = only(report)
    assert (code, finding.id, finding.severity) == (0, "another-runtime", "warning")
    assert finding.problem.startswith("jax-oneapi-plugin 0.11.2 works with another SYCL runtime")
    assert wants in finding.problem
    assert finding.cure == "python -m pip install --upgrade jax-oneapi-plugin"
    assert finding.then == "or use jax-oneapi-plugin in a process of its own"


@pytest.mark.parametrize("selector", ["level_zero:gpu", "opencl:*"])
def test_a_selector_that_hides_everything(selector):
    code, report = examine("--quick", ONEAPI_DEVICE_SELECTOR=selector)
    finding = only(report)
    assert (code, finding.id) == (1, "hidden-devices")
    assert "opencl:cpu:0" in finding.problem
    assert f"ONEAPI_DEVICE_SELECTOR={selector}" in finding.cause.replace("'", "")
    assert finding.cure == "unset ONEAPI_DEVICE_SELECTOR"


def test_no_permission(tmp_path):
    node = tmp_path / "dev" / "dri" / "renderD128"
    node.parent.mkdir(parents=True)
    node.write_text("")
    node.chmod(0)
    code, report = examine("--quick", "--root", tmp_path, before=("-c", DROP_RIGHTS))
    finding = only(report)
    assert (code, finding.id) == (1, "permission")
    assert f"may not open {node} (---------- " in finding.problem
    assert finding.cure == f"sudo chgrp render {node} && sudo chmod g+rw {node}"


def test_a_runtime_that_cannot_be_loaded(tmp_path):
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
        env={**beds.clean_environment(), **variables},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    assert "python -m sycl_ext doctor says what is wrong" in done.stderr.splitlines()[-1]


def test_a_crash_is_a_finding(tmp_path):
    """What comes after it is tested all the same, and what came before it not again."""
    (tmp_path / "dpnp.py").write_text("import os\nos.abort()\n")
    (tmp_path / "torch.py").write_text("raise ImportError('no torch today')\n")
    code, report = examine(PYTHONPATH=str(tmp_path))
    assert code == 1
    assert [finding["id"] for finding in report["findings"]] == ["package", "package"]
    outcomes = {step["name"]: step["outcome"] for step in report["facts"]["steps"]}
    assert outcomes["import dpnp"] == "crashed"
    assert outcomes["import torch"] == "failed"
    assert outcomes["device 0: import"] == "ok"
    assert "SIGABRT" in report["findings"][0]["cause"]


def test_a_crash_at_the_exit(tmp_path):
    """Everything was tested by then, and nothing is tested twice."""
    (tmp_path / "torch.py").write_text("import atexit, os\natexit.register(os.abort)\n")
    _, report = examine(PYTHONPATH=str(tmp_path))
    names = [step["name"] for step in report["facts"]["steps"]]
    assert len(names) == len(set(names))
    assert report["facts"]["steps"][-1]["outcome"] == "crashed"


def test_a_gpu_needs_the_driver_of_level_zero(tmp_path):
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
        "      or, for a part of them: export ONEAPI_DEVICE_SELECTOR='*:cpu'",
    ]
    for title in ("runtime", "drivers", "Intel GPUs", "environment", "devices", "self-test"):
        assert title in lines
    assert "  ONEAPI_DEVICE_SELECTOR=*:gpu" in lines
    assert any("ZE_FLAT_DEVICE_HIERARCHY is not set" in line for line in lines)


def test_help_without_a_runtime():
    done = doctor("--help")
    assert done.returncode == 0
    assert done.stdout.startswith("usage: python -m sycl_ext doctor ")


def test_wrong_usage():
    done = doctor("--cure-all")
    assert done.returncode == 2
    assert "--cure-all" in done.stderr


def test_as_a_command_among_others():
    """Where the package was imported by something else first."""
    assert make_parser().parse_args(["doctor", "--json"]).run is command.run


# ---- the document --------------------------------------------------------------------------------


@pytest.mark.parametrize("error", ["no device", "no libsycl"])
def test_the_errors_page_quotes_what_is_said(error):
    """Its other messages are examples that run."""
    if error == "no device":
        said = beds.python(
            "import sycl_ext as sx\ntry: sx.device()\nexcept sx.SyclError as error: print(error)",
            {"SYCL_EXT_NO_ICD": "1", "OCL_ICD_VENDORS": EMPTY},
        )
    else:
        said = _startup.remedy(ImportError(NO_LIBSYCL.removeprefix("ImportError: ")))
    page = " ".join((ROOT / "docs" / "errors.md").read_text().split())
    assert " ".join(said.split()) in page


def test_the_report_is_documented():
    """The fields are what programs rely on: new ones are described, none goes away unseen."""
    text = (ROOT / "docs" / "doctor.md").read_text()
    for record in (
        Facts,
        Finding,
        DeviceFacts,
        Driver,
        Gpu,
        Library,
        Measurement,
        Node,
        Step,
        User,
    ):
        for field in fields(record):
            assert f"`{field.name}`" in text, f"{record.__name__}.{field.name}"
    ids = {row[1] for row in BROKEN.values()}
    for name in ids:
        assert f"`{name}`" in text, name
