# SPDX-License-Identifier: Apache-2.0
"""The kit under bad conditions: adapters that hang, die or write, Ctrl-C, no folder."""

import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import environments
from dlpack_conformance import Known, runner
from dlpack_conformance.cases import CASES
from dlpack_conformance.runner import Library
from waiting import eventually

pytestmark = pytest.mark.timeout(300)

GOOD = """
import os, sys
import numpy as np
from dlpack_conformance import Adapter, Known
adapter = Adapter("numpy", np.array, np.from_dlpack)
"""
ONE = CASES["must-consumer-good_struct"]
#: Other content of the module of an adapter -> the message of the kit.
ERRORS = {
    "import time; time.sleep(1000)": "no answer in 1 s",
    "os.abort()": "SIGABRT",
    "sys.exit(0)": "exit code 0",
    "raise SystemExit": "exit code 0",
    "1 / 0": "ZeroDivisionError: division by zero",
    "adapter = {'make': 1}": "TypeError: hard:adapter is {'make': 1}, and not a",
    "adapter = Adapter('numpy', lambda values: 1 / 0)": "ZeroDivisionError: division by zero",
    "del adapter": "AttributeError: module 'hard' has no attribute 'adapter'",
    "adapter = Adapter('numpy')": "ValueError: nothing to check: give Adapter(make=...) for",
}


@pytest.fixture
def adapter(tmp_path, monkeypatch):
    """Makes the library ``hard:adapter``, of a module with these lines."""
    made = []

    def make(lines):
        (tmp_path / "hard.py").write_text(f"{GOOD}\n{lines}\n")
        monkeypatch.setenv("PYTHONPATH", str(tmp_path))
        monkeypatch.setenv("PYTHONDONTWRITEBYTECODE", "1")  # two modules within a second
        made.append(Library("hard:adapter"))
        return made[-1]

    yield make
    for library in made:
        library.close()


@pytest.mark.parametrize(("lines", "text"), ERRORS.items())
def test_unusable_adapter_is_an_error(lines, text, adapter, monkeypatch):
    monkeypatch.setattr(runner, "FIRST", 1 if "sleep" in lines else runner.FIRST)
    assert adapter(lines).hello()["error"].startswith(text)


@pytest.mark.parametrize(
    ("cases", "text"),
    [
        (
            "consumer-good_stuct",
            "consumer-good_stuct matches no case; near are consumer-good_struct",
        ),
        ("consumer-good_struct nosuchcase*", "nosuchcase* matches no case; near are "),
        ("must-producer-good_struct", "must-producer-good_struct matches no case; near are must-"),
    ],
)
def test_known_defect_of_no_case_is_an_error(cases, text, adapter):
    """Also if it is of another version, or of a side that is not checked."""
    library = adapter(
        f"known = (Known({cases!r}, 'why', versions='<0'),)\n"
        "adapter = Adapter('numpy', np.array, known=known)"
    )
    assert f"Adapter.known: {text}" in library.hello()["error"]


@pytest.mark.parametrize(
    "lines",
    [
        "print('{}', flush=True); os.write(1, b'garbage\\n')",
        "assert sys.stdin.readline() == ''",
        "os.close(0); os.close(1); os.close(2)",
        "sys.stdout = sys.stderr = sys.stdin = None",
        "import atexit; atexit.register(print, 'bye')",
    ],
)
def test_adapter_may_write_and_read(lines, adapter):
    library = adapter(lines)
    assert library.hello()["sides"] == ["producer", "consumer"]
    assert library.run(ONE, "host").good


@pytest.mark.parametrize(
    ("lines", "text"),
    [
        ("import time; take = lambda x: time.sleep(1000)", "no answer in 1 s"),
        ("take = lambda x: os._exit(3)", "exit code 3"),
        ("take = lambda x: sys.exit(3)", "exit code 3"),
        ("take = lambda x: os.kill(os.getpid(), 9)", "SIGKILL"),
        ("def take(x): raise ValueError('\\udcff | \\n`')", "ValueError: \udcff | "),
    ],
)
def test_case_that_ends_badly_leaves_the_next_case_alone(lines, text, adapter, monkeypatch):
    library = adapter(f"{lines}\nadapter = Adapter('numpy', np.array, take)")
    with monkeypatch.context() as patch:
        patch.setattr(runner, "SECONDS", 1 if "sleep" in lines else runner.SECONDS)
        outcome = library.run(ONE, "host")
    assert outcome.text == text
    good = CASES["must-producer-says_its_device"]
    assert library.run(good, "host").good, "the next case has another process"


def test_unreadable_version_makes_known_facts_uncertain(adapter, tmp_path):
    """No range of versions covers it: the known facts about the library may hold, or not."""
    (tmp_path / "odd-0.dist-info").mkdir()
    (tmp_path / "odd-0.dist-info" / "METADATA").write_text("Name: odd\nVersion: git-2fa3\n")
    library = adapter(
        "known = (Known('consumer-*', 'why', versions='>=1,<2'),)\n"
        "adapter = Adapter('odd', np.array, np.from_dlpack, known=known)"
    )
    assert library.hello()["version"] == "git-2fa3"
    (known,) = library.hello()["known"]
    assert known["sometimes"]


DOUBLES = """
def make(values):
    assert values.dtype == "float64", "there is no other dtype"
    return values.copy()
from dlpack_conformance.adapters.numpy import adapter as numpy
adapter = Adapter("numpy", make, np.from_dlpack, dtype="float64", known=numpy.known)
"""


def test_library_of_one_dtype_passes(adapter):
    library = adapter(DOUBLES)
    known = [Known(**defect) for defect in library.hello()["known"]]
    for case in CASES.values():
        if case.level == "must" and not any(defect.covers(case.id, "host") for defect in known):
            assert library.run(case, "host").what in ("passed", "not offered"), case


COPIES = """
import sycl_ext as sx
def make(values):
    return sx.empty(values.shape, values.dtype).copy_from(values)
def take(x, **keywords):
    t = sx.from_dlpack(x, **keywords)
    return t.copy() if t.readonly else t
adapter = Adapter("copies", make, take, host=sx.Tensor.to_numpy, write=sx.Tensor.fill)
"""


def test_consumer_may_copy_read_only_memory(adapter):
    """It has released the struct when the kit looks at the memory."""
    case = CASES["should-consumer-readonly_is_not_written_to"]
    assert adapter(COPIES).run(case, "own").what == "passed"


def test_kit_does_not_load_the_sycl_runtime(adapter):
    library = adapter("""
def take(x):
    assert not {"sycl_ext", "sycl_ext._core", "dpctl"} & set(sys.modules)
    return np.from_dlpack(x)
adapter = Adapter("numpy", np.array, take)
""")
    assert library.run(ONE, "host").text == ""
    assert library.run(CASES["must-producer-table_is_complete"], "host").what == "not offered"


# ---- pytest itself -------------------------------------------------------------------------------


def start(folder, *arguments):
    seen = {**environments.clean_environment(), **environments.cpu(), "PYTHONPATH": str(folder)}
    return subprocess.Popen(
        [sys.executable, "-m", "pytest", "-v", "-p", "no:cacheprovider", "--pyargs",
         "dlpack_conformance", *arguments],
        env=seen, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        start_new_session=True,
    )  # fmt: skip


def session_of(process):
    """The processes of its session that are alive."""
    alive = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            words = (folder / "stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if int(words[3]) == process.pid and words[0] != "Z":
            alive.append(int(folder.name))
    return alive


SLOW = """
import time
def take(x):
    open("taken", "w").close()
    time.sleep(1000)
adapter = Adapter("numpy", np.array, take)
"""


@pytest.mark.parametrize("which", [signal.SIGINT, signal.SIGKILL])
def test_pytest_ends_in_the_middle(which, tmp_path):
    (tmp_path / "hard.py").write_text(GOOD + SLOW)
    report = tmp_path / "report.md"
    process = start(
        tmp_path, "--dlpack=hard:adapter", "-k", "good_struct", f"--dlpack-report={report}"
    )
    assert eventually(lambda: (tmp_path / "taken").exists())
    os.kill(process.pid, which)
    output, _ = process.communicate(timeout=100)
    assert eventually(lambda: not session_of(process))
    assert not report.exists()
    if which == signal.SIGINT:
        assert process.returncode == pytest.ExitCode.INTERRUPTED, output


def test_hanging_import_leaves_no_process(tmp_path):
    (tmp_path / "hard.py").write_text(
        GOOD + "open('here', 'w').close(); import time; time.sleep(1000)"
    )
    process = start(tmp_path, "--dlpack=hard:adapter")
    assert eventually(lambda: (tmp_path / "here").exists())
    os.kill(process.pid, signal.SIGINT)
    process.communicate(timeout=100)
    assert eventually(lambda: not session_of(process))


def test_known_defects_of_an_adapter_are_expected_failures(tmp_path):
    lines = """
known = (Known("consumer-imports_are*", "it copies"), Known("consumer-good_struct", "it fails"))
adapter = Adapter("odd", np.array, lambda x: np.from_dlpack(x).copy(), known=known)
"""
    (tmp_path / "hard.py").write_text(GOOD + lines)
    process = start(tmp_path, "--dlpack=hard:adapter", "-k", "good_struct or imports_are_views")
    output, _ = process.communicate(timeout=100)
    assert re.search(r"^hard:adapter .*: 1 failed, 1 xfailed$", output, re.MULTILINE), output
    assert "is known to fail: it fails ; see Adapter.known" in output


def test_line_of_a_failure_makes_it_an_expected_one(tmp_path):
    """Each failure prints a line for `Adapter.known`, with the memory if there are several."""
    lines = """
import sycl_ext as sx
def make(values):
    return sx.empty(values.shape, values.dtype).copy_from(values)
take = lambda x: 1 / 0
adapter = Adapter("odd", make, take, known=())
"""
    (tmp_path / "hard.py").write_text(GOOD + lines)
    arguments = ("--dlpack=hard:adapter", "-k", "good_struct")
    output, _ = start(tmp_path, *arguments).communicate(timeout=100)
    # Where $CI is set, pytest repeats the text of a failure in its summary.
    entries = list(dict.fromkeys(re.findall(r"^ +(Known\(.*\))$", output, re.MULTILINE)))
    line = 'Known("must-consumer-good_struct", "ZeroDivisionError: division by zero", memory="{}")'
    assert entries == [line.format(memory) for memory in ("own", "host")], output
    lines = lines.replace("known=()", f"known=({', '.join(entries)})")
    (tmp_path / "hard.py").write_text(GOOD + lines)
    output, _ = start(tmp_path, *arguments).communicate(timeout=100)
    assert "2 xfailed" in output, output


@pytest.mark.parametrize(
    ("name", "text"),
    [("report.txt", "neither .md nor .json"), ("nowhere/report.md", "there is no folder")],
)
def test_report_that_cannot_be_written_is_noticed_at_once(name, text, tmp_path):
    process = start(tmp_path, "--dlpack=numpy", f"--dlpack-report={name}")
    output, _ = process.communicate(timeout=100)
    assert process.returncode == pytest.ExitCode.USAGE_ERROR
    assert text in output


def test_two_workers_find_what_one_finds(tmp_path):
    reports = []
    for more in ((), ("-n", "2")):
        path = tmp_path / f"{len(more)}.json"
        process = start(
            tmp_path, "--dlpack=numpy", "-k", "life or layout or versions or struct", *more,
            f"--dlpack-report={path}",
        )  # fmt: skip
        output, _ = process.communicate(timeout=100)
        assert process.returncode == 0, output
        reports.append(sorted(json.loads(path.read_text()), key=lambda row: row["case"]))
    assert reports[0] == reports[1]
    assert reports[0]
