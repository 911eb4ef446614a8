# SPDX-License-Identifier: Apache-2.0
"""Where the facts of the doctor come from: drivers, files, the bus, packages."""

import errno
import grp
import json
import os
import shlex
import sys
from unittest.mock import Mock

import pytest

import environments
from doctor_facts import EMPTY, ROOT, card_at
from sycl_ext._doctor import machine, probe
from sycl_ext._doctor.machine import Gpu, Machine, OtherGpu
from sycl_ext._setup import icd


def named(environment, embedded=""):
    """The drivers that are named, on a machine without a GPU."""
    known = {"environment": environment, "embedded_driver": embedded}
    return Machine(**known, gpus=(), nodes=())._named


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
def test_drivers_are_those_of_the_loader(environment, wanted):
    assert named(environment, "/embedded.so") == wanted


def test_driver_named_by_the_package_is_not_of_the_environment(monkeypatch):
    """It names the driver when it is imported, also in this process."""
    monkeypatch.setenv("OCL_ICD_FILENAMES", "/embedded.so")
    for added, there in (("/embedded.so", False), (None, True)):
        monkeypatch.setattr(icd, "added", added)
        assert ("OCL_ICD_FILENAMES" in Machine().environment) is there


def test_drivers_in_files(tmp_path):
    (tmp_path / "a.icd").write_text("/a.so\n")
    (tmp_path / "b.icd").write_text("")
    result = named({"OCL_ICD_VENDORS": str(tmp_path)})
    assert result == [("/a.so", str(tmp_path / "a.icd")), ("", str(tmp_path / "b.icd"))]
    broken = Machine(_named=result).drivers
    assert "cannot open" in broken[0].error
    assert "empty or not readable" in broken[1].error


def test_hanging_driver_is_given_up(tmp_path):
    os.mkfifo(tmp_path / "driver.so")  # nobody will ever write to it
    (driver,) = Machine(timeout=2, _named=[(str(tmp_path / "driver.so"), "a test")]).drivers
    assert driver.error == "it did not end within 2 s"


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
    assert Machine(tmp_path).gpus == (Gpu("0000:00:02.0"), Gpu("0000:03:00.0", "xe"))


def test_gpus_of_other_vendors_are_found(tmp_path):
    assert Machine(tmp_path).other_gpus == ()
    (tmp_path / "dev").mkdir()
    for node in ("nvidiactl", "nvidia0", "nvidia1", "kfd"):
        (tmp_path / "dev" / node).touch()
    assert Machine(tmp_path).other_gpus == (
        OtherGpu("NVIDIA", "cuda", str(tmp_path / "dev/nvidia0")),
        OtherGpu("AMD", "hip", str(tmp_path / "dev/kfd")),
    )


def test_links_of_the_nodes_are_looked_for(tmp_path):
    assert not Machine(tmp_path).node_links
    (tmp_path / "dev/dri/by-path").mkdir(parents=True)
    assert Machine(tmp_path).node_links


#: A filter as a container has: it answers one system call with an error.
FILTER = """
import ctypes, struct

answers = 0x50000 | {error}, 0x7FFF0000  # SECCOMP_RET_ERRNO, SECCOMP_RET_ALLOW
rows = [(0x20, 0, 0, 0), (0x15, 0, 1, 438), *((6, 0, 0, answer) for answer in answers)]
code = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *row) for row in rows))

class Program(ctypes.Structure):
    _fields_ = [("length", ctypes.c_ushort), ("rows", ctypes.c_void_p)]

prctl = ctypes.CDLL(None).prctl
assert prctl(38, 1, 0, 0, 0) == 0  # PR_SET_NO_NEW_PRIVS
assert prctl(22, 2, ctypes.byref(Program(len(rows), ctypes.addressof(code))), 0, 0) == 0
"""


@pytest.mark.parametrize("error", ["", "EPERM", "ENOSYS"])
def test_filter_of_a_container_is_found(error):
    forbid = FILTER.format(error=getattr(errno, error)) if error else ""
    ask = "from sycl_ext._doctor.machine import Machine\nprint([Machine().pidfd_getfd])"
    assert environments.python(f"{forbid}\n{ask}").strip() == repr([error])


def test_group_without_a_name_is_a_number(tmp_path):
    """In a container: the node's group is a number, and so it stays."""
    node = tmp_path / "dev/dri/renderD128"
    node.parent.mkdir(parents=True)
    node.write_text("")
    if os.geteuid() == 0:
        os.chown(node, -1, 54321)
    (device_node,) = Machine(tmp_path).nodes
    assert device_node.group == (
        "54321" if os.geteuid() == 0 else machine.name_of(grp.getgrgid, os.getgid())
    )
    assert machine.name_of(grp.getgrgid, 1 << 30) == str(1 << 30)


def test_conda_environment_has_its_own_vendor_folder(tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "prefix", str(tmp_path))
    assert icd.vendor_folders({}) == ["/etc/OpenCL/vendors"]
    (tmp_path / "conda-meta").mkdir()
    assert icd.vendor_folders({})[1] == str(tmp_path / "etc/OpenCL/vendors")


def test_packages_that_pip_does_not_know(monkeypatch):
    def unknown(name):
        raise machine.metadata.PackageNotFoundError(name)

    monkeypatch.setattr(machine.metadata, "distribution", unknown)
    collected = Machine()
    assert (collected.packages, collected.requirements) == ({}, ())
    assert collected.origin == shlex.quote(str(ROOT))  # these are the sources


# ---- packages ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("record", "arguments"),
    [
        (None, "."),
        ({"url": "file://HERE/my%20b.whl", "archive_info": {}}, "file://HERE/my%20b.whl"),
        ({"url": "file://HERE", "dir_info": {}}, "file://HERE"),
        ({"url": "file://HERE", "dir_info": {"editable": True}}, "--editable file://HERE"),
        ({"url": "file://HERE/gone", "dir_info": {"editable": True}}, "."),
        ({"url": "https://a.b/c.git", "vcs_info": {"vcs": "git"}}, "git+https://a.b/c.git"),
    ],
)
def test_origin_of_the_package_is_that_of_pip(record, arguments, tmp_path, monkeypatch):
    (tmp_path / "my b.whl").touch()
    written = record and json.dumps(record).replace("HERE", str(tmp_path))
    collected, package = Machine(), Mock(**{"read_text.return_value": written})
    monkeypatch.setattr(machine, "installed", lambda name: package)
    assert collected.origin == arguments.replace("HERE", str(tmp_path))


def test_ptrace_scope_is_read(tmp_path):
    assert Machine(tmp_path).ptrace_scope is None
    (tmp_path / "proc/sys/kernel/yama").mkdir(parents=True)
    (tmp_path / "proc/sys/kernel/yama/ptrace_scope").write_text("1\n")
    assert Machine(tmp_path).ptrace_scope == 1


def test_failed_import_leaves_devices_untested(tmp_path, monkeypatch):
    """The tests of a device import it as well, and ended the process: "crashes at exit"."""

    def import_package(name):
        if name == "sycl_ext":
            raise ImportError("no core")

    monkeypatch.setattr(probe, "import_package", import_package)
    monkeypatch.setitem(sys.modules, "sycl_ext._doctor.self_test", None)
    order = {"packages": ["sycl_ext", "dpctl"], "tests": "SHORT", "skip": []}
    probe.Probe(order, tmp_path / "report").run()
    lines = map(json.loads, (tmp_path / "report").read_text().splitlines())
    steps = [(line["step"], line["outcome"]) for line in lines if "step" in line]
    assert steps == [("import sycl_ext", "failed"), ("import dpctl", "ok")]
