# SPDX-License-Identifier: Apache-2.0
"""Where the facts of the doctor come from: drivers, files, the bus, packages."""

import grp
import os
import sys
from pathlib import Path

import pytest

from doctor_facts import EMPTY, card_at
from sycl_ext._doctor import collect
from sycl_ext._doctor.facts import (
    Gpu,
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
