# SPDX-License-Identifier: Apache-2.0
"""The program that ``make lint`` hands to the type checkers uses everything, and it runs.

Editors complete names and arguments, and both type checkers report wrong calls.
"""

import ast
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import environments
import sycl_ext as sx
from needs import needs

PROGRAM = Path(__file__).parent / "typing" / "user_program.py"
CLASSES = (sx.Tensor, sx.HostView, sx.Device, sx.Plan)


def used():
    """The names that the program uses of any object."""
    tree = ast.parse(PROGRAM.read_text())
    return {node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute)}


def public(names):
    return {name for name in names if not name.startswith("_")}


def test_user_program_uses_the_public_names():
    assert len(sx.__all__) > 20
    assert set(sx.__all__) <= used()


def test_user_program_uses_the_public_attributes():
    attributes = public(name for kind in CLASSES for name in dir(kind) if hasattr(kind, name))
    attributes -= set(dir(tuple))  # some are tuples
    assert len(attributes) > 40
    assert attributes <= used()


@needs("dpctl")
def test_user_program_runs():
    program = f"import runpy; runpy.run_path({str(PROGRAM)!r}, run_name='__main__')"
    assert "no managed tensor at address 0" in environments.python(program)


def test_array_program_runs():
    pytest.importorskip("torch")
    program = PROGRAM.with_name("array_program.py")
    assert (
        environments.python(f"import runpy; runpy.run_path({str(program)!r}, run_name='__main__')")
        == "9.0\n"
    )


def test_package_has_a_typed_marker():
    assert (Path(sx.__file__).parent / "py.typed").exists()


# ---- completion in editors -----------------------------------------------------------------------


ARGUMENTS = {
    "sx.exchange(x, np, c": "copy=",
    "sx.exchange(x, 'numpy', h": "host_copy=",
    "sx.exchange(x, np, copy=True, d": "device=",
    "sx.explain(x, np, h": "host_copy=",
    "sx.from_dlpack(x, d": "device=",
    "sx.from_dlpack(x, c": "copy=",
    "sx.as_tensor(x, d": "device=",
    "sx.host_view(x, c": "copy=",
    "sx.zeros(3, us": "usm_type=",
    "sx.zeros(3).copy_from(x, w": "wait=",
    "sx.ipc.open(x, sh": "shape=",
    "sx.memory.limit(x, on": "on_pressure=",
}
TENSORS = ("sx.from_dlpack(x)", "sx.exchange(x, 'cpu')", "sx.host_view(x)", "sx.zeros([2, 3])")
NAMESPACES = ("", *(f"{name}." for name in sx._NAMESPACES))

#: Prints the names that an editor offers at the end of each line.  An editable installation has a
#: finder of its own, which jedi cannot follow.
EDITOR = r"""
import json, sys
import jedi
from jedi.api.environment import InterpreterEnvironment
lines, root = json.load(sys.stdin)
sys.meta_path[:] = [one for one in sys.meta_path if "editable" not in type(one).__module__]
project = jedi.Project(root, sys_path=[root, *sys.path], smart_sys_path=False)
offers = {}
for line in lines:
    code = f"import numpy as np\nimport sycl_ext as sx\n{line}"
    script = jedi.Script(code, project=project, environment=InterpreterEnvironment())
    offers[line] = [found.name for found in script.complete()]
print(json.dumps(offers))
"""


@pytest.fixture(scope="module")
def completions(tmp_path_factory):
    """The public names that an editor offers at the end of a line.

    jedi fails on a file of its cache that another process is writing, so it gets its own cache.
    """
    pytest.importorskip("jedi")
    lines = [*ARGUMENTS, *(f"sx.{name}" for name in NAMESPACES), *(f"{t}.to_" for t in TENSORS)]
    done = subprocess.run(
        [sys.executable, "-c", EDITOR],
        input=json.dumps([lines, str(environments.ROOT)]),
        capture_output=True,
        text=True,
        env={**os.environ, "XDG_CACHE_HOME": str(tmp_path_factory.mktemp("cache"))},
    )
    assert done.returncode == 0, done.stderr
    return {line: public(names) for line, names in json.loads(done.stdout).items()}


@pytest.mark.parametrize("name", NAMESPACES)
def test_completion_of_a_namespace_shows_public_names_only(completions, name):
    expected = set((getattr(sx, name[:-1]) if name else sx).__all__)
    # The folder of the C++ headers looks like a module to jedi.
    assert completions[f"sx.{name}"] - {"include"} == expected


@pytest.mark.parametrize("line", ARGUMENTS)
def test_completion_of_an_argument(completions, line):
    assert ARGUMENTS[line] in completions[line]


@pytest.mark.parametrize("call", TENSORS)
def test_completion_of_a_result(completions, call):
    assert "to_numpy" in completions[f"{call}.to_"]


# ---- type checkers -------------------------------------------------------------------------------

CALLS = """
import numpy as np
import sycl_ext as sx

t = sx.zeros([2, 3])
sx.empty(np.int64(3))
sx.zeros(t.shape[:1])
t.reshape([3, 2]).reshape(np.int64(6))
sx.exchange(t, np, copy=True, host_copy=True, device=(1, 0))
sx.exchange(t, "numpy", copy=False)
sx.from_dlpack(t, device="cpu", copy=None)
sx.host_view(t, copy=None)
sx.zeros("23")                        # wrong
sx.zeros((2, "3"))                    # wrong
sx.zeros(2.5)                         # wrong
sx.zeros([2, 3], usm_type="system")   # wrong
sx.exchange(t, "numpy", kopy=True)    # wrong
sx.exchange(t, np, copy="never")      # wrong
sx.exchange(t, "cpu", host_copy=None) # wrong
sx.from_dlpack(t, devices="cpu")      # wrong
sx.host_view(t, device="cpu")         # wrong
t[0] = 1                              # wrong
t + 1                                 # wrong
t < 1                                 # wrong
sx.memory.lazily                      # wrong
"""
CHECKERS = {
    "mypy": (["-m", "mypy", "--strict"], r":(\d+): error"),
    "basedpyright": (["-m", "basedpyright", "--pythonpath", sys.executable], r":(\d+):\d+ - error"),
}


@pytest.mark.parametrize("checker", CHECKERS)
def test_type_checker_reports_wrong_calls_only(checker, tmp_path):
    pytest.importorskip(checker)
    program = tmp_path / "calls.py"
    program.write_text(CALLS)
    (tmp_path / "pyrightconfig.json").write_text('{"typeCheckingMode": "standard"}')
    command, error = CHECKERS[checker]
    project = [] if checker == "mypy" else ["--project", str(tmp_path)]
    done = subprocess.run(
        [sys.executable, *command, *project, str(program)],
        cwd=environments.ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    lines = {int(line) for line in re.findall(error, done.stdout)}
    wrong = {n for n, line in enumerate(CALLS.splitlines(), 1) if line.endswith("# wrong")}
    assert lines == wrong, done.stdout + done.stderr
