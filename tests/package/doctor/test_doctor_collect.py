# SPDX-License-Identifier: Apache-2.0
"""Where the facts of the doctor come from: drivers, files, the bus, packages."""

import grp
import os
import sys
from pathlib import Path

import pytest

from doctor_facts import EMPTY, card_at
from sycl_ext._doctor import collect, processes
from sycl_ext._doctor.facts import (
    Gpu,
    Missing,
)


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
    named = collect.named_drivers({}, "/embedded.so")
    assert named[0] == ("/embedded.so", "sycl_ext")


def test_drivers_in_files(tmp_path):
    (tmp_path / "a.icd").write_text("/a.so\n")
    (tmp_path / "b.icd").write_text("")
    environment = {"OCL_ICD_VENDORS": str(tmp_path)}
    named = collect.named_drivers(environment, None)
    assert named == [("/a.so", str(tmp_path / "a.icd")), ("", str(tmp_path / "b.icd"))]
    broken = processes.load_drivers(named, timeout=60)
    assert "cannot open" in broken[0].error
    assert "no library is named" in broken[1].error


def test_a_driver_that_hangs(tmp_path):
    os.mkfifo(tmp_path / "driver.so")  # nobody will ever write to it
    (driver,) = processes.load_drivers([(str(tmp_path / "driver.so"), "a test")], timeout=2)
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


# ---- packages ------------------------------------------------------------------------------------


class Package:
    """An installed package, as importlib.metadata shows it."""

    version = "1.0"

    def __init__(self, folder, requires=(), files=()):
        self.requires = list(requires)
        self.files = [self.File(folder / name) for name in files]

    class File:
        def __init__(self, path):
            self.name, self.path = path.name, path

        def locate(self):
            return self.path


@pytest.fixture
def installed(tmp_path, monkeypatch):
    """Packages in place of those that are installed; of the libraries only liba.so is there."""
    (tmp_path / "liba.so").touch()
    packages = {
        "dpctl": Package(tmp_path, ["numpy>=1.26", "readline; sys_platform == 'win32'"]),
        "numpy": Package(tmp_path),
        "intel-sycl-rt": Package(tmp_path, ["umf (==1.2.*)", "Intel_License"], ["liba.so"]),
        "umf": Package(tmp_path, [], ["libb.so.1", "README"]),
        "intel-license": Package(tmp_path),
    }

    def distribution(name):
        if name not in packages:
            raise collect.metadata.PackageNotFoundError(name)
        return packages[name]

    monkeypatch.setattr(collect.metadata, "distribution", distribution)
    monkeypatch.setattr(collect, "requirements", lambda: ("dpctl>=0.22", "intel-sycl-rt<2027"))
    return packages


def test_a_library_that_is_gone(installed):
    found = [Missing("umf==1.0", "intel-sycl-rt", ("libb.so.1",))]
    assert list(collect.missing()) == found


def test_packages_that_are_gone(installed):
    for name in ("dpctl", "umf"):
        del installed[name]
    assert collect.missing() == (
        Missing("dpctl>=0.22", "sycl_ext"),
        Missing("umf==1.2.*", "intel-sycl-rt"),
    )


def test_this_environment_lacks_nothing():
    assert collect.missing() == ()
    assert collect.unreadable(collect.runtime_files()) == ()
    assert any(path.name == "libintelocl.so" for path in collect.runtime_files())


def test_a_file_that_may_not_be_read(tmp_path, monkeypatch):
    open_file, closed = tmp_path / "a.so", tmp_path / "b.so"
    open_file.touch()
    closed.touch(0o000)
    monkeypatch.setattr(os, "access", lambda path, mode: bool(Path(path).stat().st_mode & 0o444))
    assert collect.unreadable([open_file, closed, tmp_path / "none.so"]) == (str(closed),)


@pytest.mark.parametrize(
    ("record", "arguments"),
    [
        ({"url": "file:///a/b.whl", "archive_info": {}}, "/a/b.whl"),
        ({"url": "file:///my%20code", "dir_info": {}}, "'/my code'"),
        ({"url": "file:///code", "dir_info": {"editable": True}}, "--editable /code"),
        ({"url": "https://a.b/c.git", "vcs_info": {"vcs": "git"}}, "git+https://a.b/c.git"),
    ],
)
def test_where_the_package_came_from(record, arguments):
    assert collect.origin_in(record) == arguments


def test_a_source_tree_is_one_without_a_core(tmp_path, monkeypatch):
    assert collect.source_tree(tmp_path) == ""
    (tmp_path / "pyproject.toml").write_text('[project]\nname = "sycl_ext"\n')
    assert collect.source_tree(tmp_path) == ""  # there is a core
    monkeypatch.setattr(collect.importlib.util, "find_spec", lambda name: None)
    assert collect.source_tree(tmp_path) == str(tmp_path)
