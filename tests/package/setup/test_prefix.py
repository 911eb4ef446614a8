# SPDX-License-Identifier: Apache-2.0
"""Libraries are loaded from the environment of the package, where nobody else may write."""

import os
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

import environments
from sycl_ext import _core
from sycl_ext._doctor import driver_checks
from sycl_ext._doctor.machine import Machine
from sycl_ext._setup import icd, prefix

SITE = Path(sysconfig.get_path("purelib"))
LIB = Path(icd.embedded_driver()).parent
SITE_IN_PREFIX = Path("lib") / f"python3.{sys.version_info.minor}" / "site-packages"


@pytest.fixture
def environment(tmp_path):
    """The prefix of an installation, with a driver that is an empty file."""
    package = tmp_path / "env" / SITE_IN_PREFIX / "sycl_ext"
    package.mkdir(parents=True)
    (tmp_path / "env" / "lib" / icd.DRIVER).touch()
    for folder in (tmp_path / "env", tmp_path / "env" / "lib", package):
        folder.chmod(0o755)
    return tmp_path / "env"


def driver_found(environment, site=SITE_IN_PREFIX):
    return prefix.find(icd.DRIVER, str(environment / site / "sycl_ext"))


@pytest.fixture(autouse=True)
def other_prefix(monkeypatch):
    """Only the prefix of the package is looked at."""
    monkeypatch.setattr(sys, "prefix", "/nowhere")


def give(monkeypatch, path, user):
    """Let a file belong to another user; only root could do that."""
    real = os.stat

    def stat(at, *arguments, **how):
        status = real(at, *arguments, **how)
        if str(at) != str(path):
            return status
        return os.stat_result([*status[:4], user, *status[5:10]])

    monkeypatch.setattr(os, "stat", stat)


@pytest.mark.parametrize(
    ("site", "is_in_a_prefix"),
    [
        ("/env/lib/python3.11/site-packages", True),
        ("/users/me/.local/lib/python3.13/site-packages", True),  # --user
        ("/env/lib64/python3.12/site-packages", True),
        ("/usr/local/lib/python3.11/dist-packages", True),
        ("/usr/lib/python3/dist-packages", True),
        ("/scratch/me/libs", False),  # --target
        ("/scratch/me/site-packages", False),
        ("/scratch/lib/me/site-packages", False),
        ("/scratch/a/python3.11/site-packages", False),
        ("/users/me/sycl_ext", False),  # a checkout
        ("/", False),
    ],
)
def test_prefix_is_known_by_its_folders(site, is_in_a_prefix):
    assert (prefix.prefix_of(site) is not None) is is_in_a_prefix


def test_driver_of_the_environment_is_taken(environment, monkeypatch):
    assert driver_found(environment) == str(environment / "lib" / icd.DRIVER)
    (environment / "lib64").symlink_to("lib")
    site = Path("lib64", *SITE_IN_PREFIX.parts[1:])
    assert driver_found(environment, site) == str(environment / "lib" / icd.DRIVER)
    monkeypatch.setattr(sys, "prefix", str(environment))  # an editable installation
    assert prefix.find(icd.DRIVER, str(environment.parent)) == driver_found(environment)


def test_driver_outside_a_prefix_is_not_taken(tmp_path):
    package = tmp_path / "scratch" / "me" / "libs" / "sycl_ext"
    package.mkdir(parents=True)
    for folder in (tmp_path, *(package.parents[n] for n in range(4))):
        (folder / icd.DRIVER).touch()
        (folder / "lib").mkdir(exist_ok=True)
        (folder / "lib" / icd.DRIVER).touch()
    assert prefix.candidates(icd.DRIVER, str(package)) == []


@pytest.mark.parametrize("what", [f"lib/{icd.DRIVER}", "lib", "."])
def test_driver_that_others_may_change_is_not_taken(environment, what, monkeypatch):
    """12345 is the id of another user."""
    path = environment / what
    mode = path.stat().st_mode
    path.chmod(mode | 0o002)
    assert driver_found(environment) is None
    assert "is writable by every user" in prefix.refused(
        icd.DRIVER, str(environment / SITE_IN_PREFIX / "sycl_ext")
    )
    path.chmod(mode)
    assert driver_found(environment)
    give(monkeypatch, path if what != "." else environment, 12345)
    assert driver_found(environment) is None


def test_link_to_a_driver_of_another_user_is_not_taken(environment, tmp_path, monkeypatch):
    theirs, ours = tmp_path / "theirs.so", environment / "lib" / icd.DRIVER
    ours.unlink()
    theirs.touch(0o755)
    ours.symlink_to(theirs)
    assert driver_found(environment)
    give(monkeypatch, theirs, 12345)
    assert driver_found(environment) is None


def test_owner_of_the_package_may_own_the_driver(environment, monkeypatch):
    """That user's code runs already: a shared installation, or a mount of a container."""
    lib, driver = environment / "lib", environment / "lib" / icd.DRIVER
    give(monkeypatch, lib, 12345)
    give(monkeypatch, driver, 12345)
    assert driver_found(environment) is None
    give(monkeypatch, environment / SITE_IN_PREFIX / "sycl_ext", 12345)
    assert driver_found(environment)


def test_group_that_may_not_change_the_package_may_not_change_the_driver(environment, monkeypatch):
    status = os.stat_result((0o100664, 0, 0, 1, 1000, 4321, 0, 0, 0, 0))
    real = os.stat
    driver = str(environment / "lib" / icd.DRIVER)
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    monkeypatch.setattr(os, "stat", lambda at, **how: status if at == driver else real(at, **how))
    assert "is writable by group 4321" in prefix.distrust(driver, "/")


# ---- in a process --------------------------------------------------------------------------------

#: A library that says when it is loaded.
PLANTED = '#include <cstdio>\n[[gnu::constructor]] static void load() { std::puts("PLANTED"); }\n'
PROGRAM = """
import sys
sys.prefix, sys.path[:0] = {prefix!r}, [{site!r}]
sys.path.append({libraries!r})
import sycl_ext as sx
try:
    print([device.filter_string for device in sx.devices()])
except Exception as error:
    print(type(error).__name__, error)
"""


def installed_in(site):
    """Copy the package to a folder of packages, as pip does."""
    package = Path(environments.ROOT) / "sycl_ext"
    shutil.copytree(package, site / "sycl_ext", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(_core.__file__, site / "sycl_ext")


def plant(folder):
    """Put libraries there that say when they are loaded."""
    made = folder / prefix.NEEDED[0]
    command = ["g++", "-shared", "-fPIC", "-x", "c++", "-", "-o", str(made)]
    subprocess.run(command, input=PLANTED, text=True, check=True)
    for name in (*prefix.NEEDED[1:], prefix.RUNTIMES[0], icd.DRIVER):
        shutil.copy(made, folder / name)


def devices(site, in_prefix="/nowhere", **variables):
    """Run a program without the editable installation; it imports the package from a folder."""
    program = PROGRAM.format(prefix=str(in_prefix), site=str(site), libraries=str(SITE))
    done = subprocess.run(
        [sys.executable, "-S", "-c", program],
        env={**environments.clean_environment(), **variables, "OCL_ICD_VENDORS": ""},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stderr == "", done.stderr
    return done.stdout


def test_planted_libraries_are_not_loaded_by_a_package_elsewhere(tmp_path):
    """As `pip install --target` puts it: the runtime is elsewhere, or named."""
    site = tmp_path / "scratch" / "me" / "libs"
    installed_in(site)
    plant(tmp_path / "scratch")
    shown = devices(site)
    assert shown.startswith("ImportError libsycl.so.9: cannot open shared object file")
    assert f"no library is loaded from {tmp_path / 'scratch'}" in shown
    assert "install sycl_ext into a virtual environment" in shown
    assert devices(site, LIB.parent).startswith("['opencl:cpu:0'")
    advised = devices(site, LD_LIBRARY_PATH=str(LIB))
    assert advised.startswith("['opencl:cpu:0'"), advised  # the user has named the folder
    assert "PLANTED" not in shown + advised
    assert "undefined symbol" not in shown + advised


def test_import_from_a_zip_file_names_it_and_a_way_out(tmp_path):
    made = shutil.make_archive(str(tmp_path / "all"), "zip", environments.ROOT, "sycl_ext")
    program = f"import sys; sys.path.insert(0, {made!r}); import sycl_ext"
    command = [sys.executable, "-S", "-c", program]
    done = subprocess.run(command, capture_output=True, text=True)
    last = done.stderr.splitlines()[-1]
    assert last.startswith(f"ImportError: sycl_ext is in the zip file {made}")
    assert "unpack the file into a folder" in last


def test_folder_that_the_loader_has_not_the_runtime_from_is_not_searched(tmp_path, monkeypatch):
    (tmp_path / icd.DRIVER).touch()
    monkeypatch.setenv("LD_LIBRARY_PATH", f"{tmp_path}:relative:")
    assert prefix.candidates(icd.DRIVER, "/elsewhere") == []
    (tmp_path / prefix.RUNTIMES[0]).touch()
    assert prefix.candidates(icd.DRIVER, "/elsewhere") == [str(tmp_path / icd.DRIVER)]


def test_planted_libraries_in_a_prefix_of_everybody_are_not_loaded(tmp_path):
    site = tmp_path / "env" / SITE_IN_PREFIX
    installed_in(site)
    plant(tmp_path / "env" / "lib")
    assert "undefined symbol" in devices(site)  # of root or one's own, so it is taken
    (tmp_path / "env" / "lib").chmod(0o777)
    assert devices(site, LIB.parent).startswith("['opencl:cpu:0'")
    assert "is writable by every user" in devices(site)


def test_listed_libraries_are_those_of_the_module():
    command = ["readelf", "--dynamic", "--wide", _core.__file__]
    dynamic = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    needed = {line.split("[")[1].rstrip("]") for line in dynamic.splitlines() if "NEEDED" in line}
    assert needed - {"libc.so.6", "libm.so.6", "ld-linux-x86-64.so.2"} == {
        *prefix.NEEDED,
        prefix.runtime_of(_core.__file__),
    }


# ---- messages ------------------------------------------------------------------------------------


def test_doctor_names_a_driver_that_is_not_loaded(environment, monkeypatch):
    monkeypatch.setattr(sys, "prefix", str(environment))
    driver = environment / "lib" / icd.DRIVER
    driver.chmod(0o777)
    for name in icd.DECIDED_BY:
        monkeypatch.delenv(name, raising=False)
    reason = icd.trouble(None, ())
    assert f"{driver} {icd.REFUSED}{driver} is writable by every user" in reason
    machine = Machine(environment={}, _named=[], devices=())
    (finding,) = driver_checks.driver(machine)
    assert reason.split(icd.REFUSED)[1].split(";")[0] in finding.cause
    assert finding.cure == f"export OCL_ICD_FILENAMES={driver}"
    assert icd.refused_driver({"OCL_ICD_FILENAMES": str(driver)}) is None  # the cure
