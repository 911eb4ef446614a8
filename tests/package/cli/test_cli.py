# SPDX-License-Identifier: Apache-2.0
"""``python -m sycl_ext``: the device table and the demo, as a user runs them."""

import json
import os
import re
import subprocess
import sys
from importlib.metadata import entry_points
from pathlib import Path

import numpy as np
import pytest

import environments
import sycl_ext as sx
from sycl_ext._cli import devices as devices_command
from sycl_ext._cli import doctor as doctor_command
from sycl_ext._cli import main
from sycl_ext_demo import picture
from sycl_ext_demo.drawing import pen_drawing

HOP = re.compile(
    r"(?P<name>\w+ (?:to )?\w+)  +(?P<route>read|copy|view|new)  +(?P<address>0x[0-9a-f]+)  +"
    r"(?P<bytes>[\d,]+)  +(?:(?P<time>[\d,.]+ ms)  )?(?P<why>.+)"
)


def run_module(*arguments, **variables):
    return subprocess.run(
        [sys.executable, "-m", "sycl_ext", *map(str, arguments)],
        capture_output=True,
        text=True,
        env={**os.environ, **variables},
        timeout=120,
        check=False,
    )


def hops_of(text):
    return [HOP.fullmatch(line) for line in text.splitlines() if HOP.fullmatch(line)]


@pytest.fixture
def without_dpnp(monkeypatch):
    monkeypatch.setitem(sys.modules, "dpnp", None)


# ---- usage ---------------------------------------------------------------------------------------


def test_module_without_arguments_prints_the_help():
    done = run_module()
    assert done.returncode == 0
    for command in ("devices", "doctor", "demo"):
        assert f"\n    {command} " in done.stdout


def test_demo_help_names_the_folder_that_it_writes(capsys):
    for arguments in ([], ["demo"]):
        with pytest.raises(SystemExit):
            main([*arguments, "--help"])
        assert re.search(r"writ\w+ .*\bsycl_ext_demo\b", capsys.readouterr().out, re.DOTALL)


@pytest.mark.parametrize("locale", ["C", pytest.param("C.UTF-8", marks=pytest.mark.long)])
def test_path_beyond_the_locale_is_written(locale, tmp_path):
    folder = os.fsdecode(os.fsencode(tmp_path) + b"/\xc3\xbc\xff")
    done = run_module("demo", "--output", folder, LC_ALL=locale, PYTHONUTF8="0")
    assert done.returncode == 0, done.stderr
    assert "saved: " in done.stdout


def test_version(capsys):
    with pytest.raises(SystemExit) as end:
        main(["--version"])
    assert end.value.code == 0
    assert capsys.readouterr().out == f"sycl_ext {sx.__version__}\n"


@pytest.mark.parametrize("unbuffered", ["", "1"])
@pytest.mark.parametrize(
    "command", ["sycl_ext devices", "sycl_ext --version", "sycl_ext_pytest cpu"]
)
def test_closed_output_pipe_ends_without_a_traceback(command, unbuffered):
    reader, writer = os.pipe()
    os.close(reader)
    done = subprocess.run(
        [sys.executable, "-m", *command.split()],
        stdout=writer,
        stderr=subprocess.PIPE,
        env={**os.environ, "PYTHONUNBUFFERED": unbuffered},
        timeout=120,
        check=False,
    )
    os.close(writer)
    assert done.stderr == b""


def test_output_that_cannot_be_written_is_one_line():
    with Path("/dev/full").open("wb") as full:
        done = subprocess.run(
            [sys.executable, "-m", "sycl_ext", "devices"],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            timeout=120,
            check=False,
        )
    assert (done.returncode, done.stderr) == (1, "error: [Errno 28] No space left on device\n")


@pytest.mark.parametrize("seconds", ["0", "-1", "nan", "inf", "soon"])
def test_timeout_of_the_doctor_is_at_least_a_second(seconds, capsys):
    """With less time each driver would count as one that crashes."""
    with pytest.raises(SystemExit, match="2"):
        main(["doctor", "--timeout", seconds])
    assert "argument --timeout: " in capsys.readouterr().err


def test_ctrl_c_ends_a_command_without_a_traceback(monkeypatch, capsys):
    def interrupted(_machine):
        raise KeyboardInterrupt

    monkeypatch.setattr(doctor_command, "examine", interrupted)
    assert main(["doctor"]) == 130
    assert capsys.readouterr() == ("", "")


@pytest.mark.parametrize("command", ["devices", "demo", "doctor"])
def test_deleted_working_directory_is_an_error(command, tmp_path, monkeypatch, capsys):
    """The SYCL runtime would list no device, and hang at its end."""
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    assert main([command]) == 1
    assert "the working directory was deleted" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("option", "folder", "file"),
    [
        ("--include", sx.get_include(), "sycl_ext/sycl_ext.hpp"),
        ("--cmakedir", sx.get_cmake_dir(), "sycl_ext-config.cmake"),
    ],
)
def test_folders_for_extensions(option, folder, file, capsys):
    with pytest.raises(SystemExit) as end:
        main([option])
    assert end.value.code == 0
    assert capsys.readouterr().out == f"{folder}\n"
    assert (Path(folder) / file).exists()


def test_doctor_needs_no_numpy():
    """It names the missing part."""
    said = environments.python("""
import sys
sys.modules["numpy"] = None
from sycl_ext._cli import main
from sycl_ext._cli import doctor as doctor_command
assert main(["devices"]) == 1
main([])
""")
    assert "error: import of numpy halted" in said
    assert " doctor " in said


def test_devices_that_cannot_be_listed():
    done = run_module("devices", ONEAPI_DEVICE_SELECTOR=":")
    assert done.returncode == 1
    assert done.stderr.startswith("error: listing the SYCL devices failed")
    assert "Traceback" not in done.stderr


# ---- devices -------------------------------------------------------------------------------------


def test_devices(capsys):
    assert main(["devices"]) == 0
    tables = capsys.readouterr().out.partition("\n\nsettings")[0].split("\n\n")
    assert len(tables) == len(devices_command.TABLES)
    first, everything = sx.device(0), ""
    for columns, text in zip(devices_command.TABLES, tables, strict=True):
        header, *rows = text.splitlines()
        assert len(rows) == len(sx.devices())
        for column in columns[1:]:
            start = header.index(column)
            assert all(row[start - 1] == " " for row in rows)
        everything += f" {rows[0]} "
    known = ("root", first.filter_string, first.backend, first.driver_version, "shared", first.uuid)
    for word in ("0", *known):
        assert f" {word} " in everything, word


def test_devices_fit_100_columns(capsys):
    """Also a tile of a GPU whose driver reports long texts, and the table of this machine."""
    facts = {
        "id": 12,
        "kind": "sub_device",
        "filter_string": "level_zero:gpu:10",
        "parent": None,
        "name": "Intel(R) Data Center GPU Max 1550 with a marketing name of many more words",
        "backend": "level_zero",
        "driver_version": "2026.22.10.0.01_160000",
        "usm_types": ("device", "shared", "host", "system"),
        "host_accessible": ["shared", "host", "system"],
        "has_fp64": True,
        "pci_address": "0000:ca:00.0",
        "uuid": "8680f206-0c00-0332-faff-fffb8b1f0000",
        "total_memory": 128 * 2**30,
        "free_memory": 100 * 2**30,
        "numa_node": 15,
        "local_cpus": tuple(range(56)),
    }
    assert main(["devices"]) == 0
    printed = capsys.readouterr().out.partition("\n\nsettings")[0]
    for text in (printed, *devices_command.tables([facts])):
        assert max(map(len, text.splitlines())) <= 100
    assert (
        "Intel(R) Data Center GPU Max 1550 with a marketin…" in devices_command.tables([facts])[0]
    )


def test_devices_for_programs(capsys):
    sub_device = sx.device(0).create_sub_devices(1)[0]
    assert main(["devices", "--json"]) == 0
    described = json.loads(capsys.readouterr().out)
    assert [device["id"] for device in described["devices"]] == [
        device.id for device in sx.devices()
    ]
    first = described["devices"][0]
    assert (first["kind"], first["parent"]) == ("root", None)
    assert first["filter_string"] == sx.device(0).filter_string
    assert described["devices"][sub_device.id]["parent"] == 0
    assert "shared" in first["host_accessible"]
    assert (first["uuid"], first["pci_address"]) == (sx.device(0).uuid, None)
    assert first["total_memory"] == sx.device(0).total_memory
    assert (first["free_memory"], first["numa_node"], first["local_cpus"]) == (None, None, None)
    assert described["environment"] == devices_command.environment_lines(os.environ)


def test_devices_json_without_a_device_is_an_empty_list():
    done = run_module("devices", "--json", ONEAPI_DEVICE_SELECTOR="level_zero:*")
    assert done.returncode == 1
    assert json.loads(done.stdout)["devices"] == []


def test_script_is_the_module():
    (script,) = (point for point in entry_points(group="console_scripts", name="sycl-ext"))
    assert script.load() is main
    done = subprocess.run(
        [Path(sys.executable).with_name("sycl-ext"), "--help"], capture_output=True, text=True
    )
    assert (done.returncode, done.stdout.split()[:2]) == (0, ["usage:", "sycl-ext"])


def test_variables_that_change_ids_are_shown(capsys, monkeypatch):
    monkeypatch.setenv("ZE_FLAT_DEVICE_HIERARCHY", "COMPOSITE")
    monkeypatch.setenv("ONEAPI_DEVICE_SELECTOR", "*:cpu")
    monkeypatch.delenv("ZE_AFFINITY_MASK", raising=False)
    assert main(["devices"]) == 0
    text = capsys.readouterr().out
    assert "ZE_FLAT_DEVICE_HIERARCHY=COMPOSITE" in text
    assert "ONEAPI_DEVICE_SELECTOR=*:cpu" in text
    assert "ZE_AFFINITY_MASK" not in text


def test_named_driver_is_shown_in_its_variable(tmp_path):
    environment = {"OCL_ICD_FILENAMES": "/a.so", "OCL_ICD_VENDORS": str(tmp_path)}
    (_, line) = devices_command.environment_lines(environment)
    assert line.startswith("OCL_ICD_FILENAMES=/a.so names the OpenCL drivers")


def test_drivers_of_the_system(tmp_path):
    (tmp_path / "pocl.icd").write_text("libpocl.so.2\n")
    (_, line) = devices_command.environment_lines({"OCL_ICD_VENDORS": str(tmp_path)})
    assert line.startswith(f"{tmp_path / 'pocl.icd'} names an OpenCL driver (libpocl.so.2)")


def test_devices_without_a_device_names_the_next_step():
    done = run_module("devices", ONEAPI_DEVICE_SELECTOR="level_zero:*")
    assert done.returncode == 1
    assert 'pip install "intel-opencl-rt>=2026.0,<2027"' in done.stdout
    assert "python -m sycl_ext doctor" in done.stdout
    assert "ONEAPI_DEVICE_SELECTOR=level_zero:*" in done.stdout
    assert done.stderr == ""


# ---- demo ----------------------------------------------------------------------------------------


def test_demo(tmp_path, capsys):
    pytest.importorskip("dpnp")
    image = pytest.importorskip("PIL.Image")
    assert main(["demo", "--output", str(tmp_path)]) == 0
    shown = capsys.readouterr().out
    hops = hops_of(shown)
    assert [(hop["name"], hop["route"]) for hop in hops] == [
        ("file to NumPy", "read"),
        ("NumPy to USM", "copy"),
        ("sycl_ext to dpnp", "view"),
        ("dpnp draws", "new"),
        ("dpnp to sycl_ext", "view"),
        ("sycl_ext to NumPy", "view"),
    ]
    addresses = [hop["address"] for hop in hops]
    assert addresses[0] != addresses[1] == addresses[2]
    assert addresses[2] != addresses[3] == addresses[4] == addresses[5]
    assert "\n3 views, 1 copy\n" in shown

    before, after = (np.asarray(image.open(tmp_path / f"{n}.png")) for n in ("before", "after"))
    assert np.array_equal(before, picture.load(picture.DEFAULT))
    drawn = pen_drawing(np, before)
    assert abs(drawn.astype(int) - after.astype(int)).max() <= 2  # dpnp and NumPy round their way
    assert after.std() > 30
    assert max(map(len, shown.splitlines())) <= 100 + len(str(tmp_path)) * 2


def test_demo_without_dpnp(without_dpnp, tmp_path, capsys):
    pytest.importorskip("PIL")
    assert main(["demo", "--output", str(tmp_path / "new" / "folder")]) == 0
    text = capsys.readouterr().out
    assert "pip install dpnp pillow" in text
    assert [(hop["name"], hop["route"]) for hop in hops_of(text)] == [
        ("file to NumPy", "read"),
        ("NumPy to USM", "copy"),
        ("sycl_ext to NumPy", "view"),
        ("NumPy draws", "new"),
    ]
    assert (tmp_path / "new" / "folder" / "after.png").exists()


def test_npy_file_becomes_a_picture(tmp_path):
    np.save(tmp_path / "a.npy", np.arange(6, dtype=">i4").reshape(2, 3, 1) - 3)
    pixels = picture.load(tmp_path / "a.npy")
    assert (pixels.shape, pixels.dtype) == ((2, 3, 3), np.uint8)
    assert all((pixels[..., i].ravel() == [0, 51, 102, 153, 204, 255]).all() for i in range(3))


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.png", None, "a.png does not exist"),
        ("a.png", b"no image", "a.png is not an image that pillow can read"),
        ("a.npy", b"no array", "a.npy is not a .npy file of numbers"),
        ("a.npy", np.ones((2, 2), "complex64"), "a.npy has dtype complex64"),
        ("a.npy", np.ones(3), r"a.npy has shape \(3,\)"),
        ("a.npy", np.array([[np.nan, 1]]), "not finite"),
    ],
)
def test_file_that_is_no_picture_is_refused(tmp_path, name, content, message):
    pytest.importorskip("PIL")
    if isinstance(content, np.ndarray):
        np.save(tmp_path / name, content)
    elif content is not None:
        (tmp_path / name).write_bytes(content)
    with pytest.raises(SystemExit, match=message):
        picture.load(tmp_path / name)


def test_errors_are_one_line_on_stderr(tmp_path):
    done = run_module("demo", tmp_path)
    assert done.returncode == 1
    assert done.stdout == ""
    assert done.stderr == f"error: {tmp_path} is a folder; give an image or a .npy file in it\n"


@pytest.mark.parametrize("device", ["1000000", "quantum:0"])
def test_missing_device_is_an_error(device):
    with pytest.raises(SystemExit, match=f"error: .*{device}"):
        main(["demo", "--device", device])


def test_output_that_cannot_be_written_is_an_error(without_dpnp, tmp_path):
    pytest.importorskip("PIL")
    (tmp_path / "taken").write_text("")
    with pytest.raises(SystemExit, match="name another --output"):
        main(["demo", "--output", str(tmp_path / "taken")])
