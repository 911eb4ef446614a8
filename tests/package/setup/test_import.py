# SPDX-License-Identifier: Apache-2.0
"""The import of the package: what it loads, and when; source trees; a second import."""

import _thread
import ast
import functools
import pickle
import shutil
import subprocess
import sys
import textwrap
from pathlib import Path

import numpy as np
import pytest

import environments
import sycl_ext as sx
from sycl_ext._setup import elsewhere, runtimes, startup
from sycl_ext_pytest.devices import layer

PROGRAM = """
import pickle, sys
import numpy as np
import sycl_ext as first

def forget(condition):
    for name in list(sys.modules):
        if name.partition(".")[0] == "sycl_ext" and condition(name):
            del sys.modules[name]

t = first.zeros((2, 3), usm_type="shared")
copy = t.copy_from(t, wait=False)
{forget}
import sycl_ext as again

u = again.zeros((2, 3), usm_type="shared")
assert type(u) is again.Tensor and u.device == again.device()
assert pickle.loads(pickle.dumps(u)).shape == (2, 3)
assert np.array_equal(again.exchange(u, np), np.zeros((2, 3)))
assert again.as_tensor(u.T).shape == (3, 2) and again.from_dlpack(again.host_view(u)).ptr == u.ptr
assert np.array_equal(t.to_numpy(), np.zeros((2, 3))) and copy.result() is t
assert again.from_dlpack(t).ptr == t.ptr
try:
    again.zeros(3).__dlpack__(dl_device=(2, 0), copy=False)
except BufferError:
    pass
assert again.exchange.__module__ == "sycl_ext" and again.ipc.Handle.__module__ == "sycl_ext.ipc"
"""


@pytest.mark.parametrize(
    "forget",
    [
        "forget(lambda name: True)",
        "forget(lambda name: name != 'sycl_ext._core')",
        "forget(lambda name: name == 'sycl_ext')",
        "forget(lambda name: name == 'sycl_ext._core')",
    ],
)
def test_second_import_works(forget):
    """The core works for the package that was imported last; older tensors keep their class."""
    environments.python(PROGRAM.replace("{forget}", forget))


def test_import_after_an_interrupted_one_works():
    environments.python(
        textwrap.dedent("""
        import builtins, sys
        import sycl_ext as sx
        real = builtins.__import__
        def interrupted(name, *args, **kwargs):
            if name == "sycl_ext._devices.queues":
                raise KeyboardInterrupt
            return real(name, *args, **kwargs)
        builtins.__import__ = interrupted
        import sycl_ext as sx
        try:
            sx.zeros
        except KeyboardInterrupt:
            pass
        else:
            raise AssertionError
        builtins.__import__ = real
        assert sx.from_dlpack(sx.zeros(3)).shape == (3,)
        """)
    )


@pytest.mark.parametrize("version", ["1.25.2", "1.26.0", "2.5.0.dev0+git20260101"])
def test_numpy_that_is_too_old_is_named(version, monkeypatch):
    monkeypatch.setattr(np, "__version__", version)
    if version == "1.25.2":
        with pytest.raises(ImportError, match=r"requires NumPy >= 1.26, but 1.25.2 is .*-m pip"):
            startup.require_numpy()
    else:
        startup.require_numpy()


# ---- loading on first use ------------------------------------------------------------------------


@pytest.mark.parametrize("answer", [True, False])
def test_main_interpreter_is_told_by_newer_pythons(answer, monkeypatch):
    monkeypatch.setattr(_thread, "_is_main_interpreter", lambda: answer, raising=False)
    assert startup.is_main_interpreter() is answer


def test_import_loads_five_small_modules():
    environments.python(
        textwrap.dedent("""
        import os, sys
        before = set(sys.modules)
        import sycl_ext as sx
        inner = ("checkout", "icd", "prefix", "public", "startup")
        ours = {"sycl_ext", "sycl_ext._setup", *(f"sycl_ext._setup.{name}" for name in inner)}
        named = set(sys.modules) - before
        # An editable installation has a finder of its own, which Python loads modules for.
        assert {name for name in named if name.startswith("sycl_ext")} == ours, named
        assert not named & {"numpy", "typing", "re", "pathlib", "dataclasses", "dpctl"}, named
        assert "libsycl" not in open("/proc/self/maps").read()
        assert not hasattr(sx, "icd") and not hasattr(sx, "TYPE_CHECKING")
        assert os.path.isdir(sx.get_include()) and os.path.isdir(sx.get_cmake_dir())
        assert sx.__version__ and "sycl_ext._core" not in sys.modules and "numpy" not in sys.modules
        """)
    )


def test_dir_shows_the_public_names_and_no_others():
    public = {*sx.__all__, "__version__"}
    assert set(dir(sx)) == public
    assert len(public) == 26 + 5 + 1
    assert all(getattr(sx, name) is not None for name in public)
    assert not hasattr(sx, "live_exports")
    with pytest.raises(AttributeError, match="module 'sycl_ext' has no attribute 'nonsense'"):
        _ = sx.nonsense
    with pytest.raises(AttributeError, match=r"no attribute 'arange'; use sycl_ext.from_dlp"):
        _ = sx.arange


@pytest.mark.parametrize("name", elsewhere.ELSEWHERE)
def test_advice_for_missing_names_works(name):
    known = {
        "sycl_ext": sx,
        "numpy": np,
        "x": sx.zeros(2, usm_type="shared"),
        "array": np.zeros(2),
        "buffer": b"ab",
        "values": [1, 2],
        "n": 2,
        "shape": (2,),
        "value": 1,
        "dtype": "int8",
    }
    for code in elsewhere.ELSEWHERE[name].split(", or "):
        assert eval(code, known) is not None
    assert not hasattr(sx, name)


@pytest.mark.parametrize("module", [sx, *(getattr(sx, name) for name in sx._NAMESPACES)])
def test_type_checkers_see_the_same_names(module):
    stub = ast.parse(Path(module.__file__).with_suffix(".pyi").read_text())
    imports = [node for node in stub.body if isinstance(node, ast.ImportFrom)]
    seen = {name.asname: node.module for node in imports for name in node.names}
    table = {n: f"sycl_ext.{at}" for at, names in module._PUBLIC.items() for n in names.split()}
    if module is sx:
        del table["_C_API"]  # for extensions
        table |= dict.fromkeys(sx._NAMESPACES, "sycl_ext")
    if module is sx.dlpack:
        del table["VERSION"]  # the only one that is neither a class nor a function
    assert seen == table


@pytest.mark.parametrize("name", sx._NAMESPACES)
def test_namespace_lists_public_names_only(name):
    namespace = getattr(sx, name)
    assert dir(namespace) == namespace.__all__
    assert {member for member in vars(namespace) if member[0] != "_"} <= set(namespace.__all__)


def test_public_objects_say_where_they_are_found():
    modules = [sx, *(getattr(sx, name) for name in ("dlpack", "ipc", "memory", "mpi", "pickling"))]
    for module in modules:
        for name in module.__all__:
            value = getattr(module, name)
            if callable(value):
                assert (value.__module__, value.__name__) == (module.__name__, name)


def test_broken_core_is_told_by_public_names_only():
    """pickle looks for a function that does not say its module in every module there is."""
    environments.python(
        textwrap.dedent("""
        import operator, sys
        class Finder:
            @staticmethod
            def find_spec(name, path=None, target=None):
                if name == "sycl_ext._core":
                    raise ImportError("file too short", name=name)
        import sycl_ext as sx
        sys.meta_path.insert(0, Finder)
        for public in ("zeros", "Tensor", "ipc.empty", "_C_API"):
            try:
                operator.attrgetter(public)(sx)
            except ImportError as error:
                assert str(error).startswith("file too short; python -m sycl_ext doctor"), error
            else:
                raise AssertionError(public)
        for other in ("clip", "det", "_ipython_display_"):
            assert not hasattr(sx, other)
        assert sx.get_include()
        """)
    )


def test_extension_as_first_user_meets_a_connected_core():
    environments.python(
        textwrap.dedent("""
        import ctypes, sys
        take = ctypes.pythonapi.PyCapsule_Import
        take.restype = ctypes.c_void_p
        assert take(b"sycl_ext._C_API", 0)
        assert sys.modules["sycl_ext._core"].zeros(3).shape == (3,)
        """)
    )


#: The entry points of users, C extensions and pickles.
ENTRIES = (
    "getattr(sx, 'Tensor')",
    "getattr(sx, '_C_API')",
    "getattr(sx.mpi, 'staged_request')",
    "importlib.import_module('sycl_ext.ipc').Handle",
    "pickle.loads(TENSOR)",
)
FIRST_USES = """
import importlib, os, pickle, signal, sys, threading, time, warnings
import sycl_ext as sx
warnings.simplefilter("ignore", DeprecationWarning)  # of fork where threads are
TENSOR, CTRL_C = {tensor!r}, (os.getpid(), signal.SIGINT)
signal.signal(signal.SIGINT, signal.default_int_handler)
"""


def first_uses(program):
    """Run a program that uses the package for the first time, in one of several ways."""
    tensor = pickle.dumps(sx.zeros(3, device="cpu"))
    environments.python(FIRST_USES.format(tensor=tensor) + textwrap.dedent(program))


@pytest.mark.parametrize("interval", [5e-3, 1e-5])
def test_threads_use_the_package_for_the_first_time(interval):
    """None waits for a module that another one loads, and none meets half of one."""
    first_uses(f"""
        sys.setswitchinterval({interval})
        entries = [*{ENTRIES}, *(f"sx.{{name}}" for name in sx.__all__)]
        start, found, lost = threading.Barrier(len(entries)), [], []
        def use(entry):
            start.wait()
            try:
                found.append(eval(entry))
            except BaseException as error:
                lost.append((entry, repr(error)))
        threads = [threading.Thread(target=use, args=(entry,)) for entry in entries]
        [thread.start() for thread in threads]
        signal.alarm(60)  # a hang
        [thread.join() for thread in threads]
        assert not lost and len(found) == len(entries), lost
        assert sx.zeros(3).shape == (3,)
        """)


@pytest.mark.parametrize("entry", ENTRIES)
def test_fork_waits_for_a_first_use(entry):
    """Or the child has the lock of a module that nobody loads any more.  Ctrl-C comes after it."""
    first_uses(f"""
        os.register_at_fork(after_in_parent=lambda: time.sleep(0.1))  # drops Ctrl-C
        begun = threading.Event()
        class Finder:
            @staticmethod
            def find_spec(name, path=None, target=None):
                if name == "sycl_ext._negotiation.arguments":
                    begun.set()
                    time.sleep(0.2)
        sys.meta_path.insert(0, Finder)
        thread = threading.Thread(target=lambda: eval({entry!r}) or sx.Tensor)
        thread.start()
        begun.wait()
        caught = {entry!r} != {ENTRIES[0]!r} or threading.Timer(0.05, os.kill, CTRL_C).start()
        try:
            if os.fork() == 0:
                signal.alarm(20)  # a hang
                os._exit(0 if sx.zeros(3).shape == (3,) else 1)
            time.sleep(0 if caught else 20)
        except KeyboardInterrupt:
            caught = True
        assert caught and os.wait()[1] == 0
        thread.join()
        """)


def test_fork_waits_for_no_module_of_other_code(tmp_path):
    """That module uses the package while it is loaded, which waits for the fork: a deadlock."""
    (tmp_path / "dpctl_of_a_user.py").write_text(
        "import time, sycl_ext as sx; time.sleep(0.5); sx.zeros(3)"
    )
    first_uses(f"""
        sys.modules["dpctl.absent"] = None  # as tests hide a module; its import raises
        raised = []
        sys.unraisablehook = raised.append
        sys.path.insert(0, {str(tmp_path)!r})
        thread = threading.Thread(target=__import__, args=("dpctl_of_a_user",))
        thread.start()
        while "dpctl_of_a_user" not in sys.modules:
            time.sleep(0.001)
        signal.alarm(30)  # a hang
        os.fork() or os._exit(0)
        assert os.wait()[1] == 0
        thread.join()
        assert not raised, raised
        """)


@pytest.mark.parametrize("error", ["KeyboardInterrupt", "SystemExit"])
def test_signal_while_a_fork_waits_leaves_the_lock_of_logging(error):
    """Python drops what a handler raises there, and the fork goes on; Ctrl-C comes after it."""
    first_uses(f"""
        import logging
        signals = [{error}]
        class Finder:
            @staticmethod
            def find_spec(name, path=None, target=None):
                if name == "sycl_ext.waited" and signals:
                    raise signals.pop()
        sx.Tensor
        sys.meta_path.insert(0, Finder)
        kept = importlib._bootstrap._get_module_lock("sycl_ext.waited")  # as while it is found
        dropped, caught = [], False
        sys.unraisablehook = lambda raised: dropped.append(raised.exc_type)
        try:
            os.fork() or os._exit(len(dropped) != {int(error != "KeyboardInterrupt")})
            time.sleep(20 * {error == "KeyboardInterrupt"})
        except KeyboardInterrupt:
            caught = True
        assert os.wait()[1] == 0
        assert caught == {error == "KeyboardInterrupt"}
        assert dropped == ([] if caught else [SystemExit]), dropped
        assert not logging._lock._is_owned()
        """)


# ---- in a source tree ----------------------------------------------------------------------------


@pytest.fixture
def sources(tmp_path):
    """A checkout without a core."""
    sources = tmp_path / "check out"
    ignored = shutil.ignore_patterns("_core*.so", "__pycache__", "libopencl_gpu.so")
    for package in ("sycl_ext", "sycl_ext_pytest"):
        shutil.copytree(environments.ROOT / package, sources / package, ignore=ignored)
    shutil.copy(environments.ROOT / "pyproject.toml", sources)
    return sources


#: Started in the checkout; the editable installation is not loaded.
IN_A_CHECKOUT = """
import runpy, sys
sys.prefix, sys.path[1:1] = {prefix!r}, [{site!r}]
sys.path.append({libraries!r})
import sycl_ext as sx, sycl_ext.ipc
from sycl_ext_pytest import devices
shape = sx.zeros(2).shape
print(sx.__file__, sx._core.__file__, sx.ipc.__file__, devices.layer(), sep="\\n")
print(shape)
sys.argv = ["sycl_ext", "--include"]
runpy.run_module("sycl_ext", run_name="__main__")
"""


def test_in_a_source_tree_the_installed_package_is_used(sources, tmp_path):
    site, libraries = tmp_path / "site", Path(np.__file__).parents[1]
    for package in ("sycl_ext", "sycl_ext_pytest"):
        shutil.copytree(sources / package, site / package)
    shutil.copy(sys.modules["sycl_ext._core"].__file__, site / "sycl_ext")
    shutil.copy(layer(), site / "sycl_ext_pytest")
    program = IN_A_CHECKOUT.format(prefix=sys.prefix, site=str(site), libraries=str(libraries))
    done = subprocess.run(
        [sys.executable, "-S", "-c", program],
        env=environments.clean_environment(),
        cwd=sources,
        capture_output=True,
        text=True,
        timeout=100,
    )
    *files, shape, include = done.stdout.splitlines()
    assert [file for file in (*files, include) if not file.startswith(f"{site}/")] == []
    assert (len(files), shape) == (4, "(2,)")


def test_source_tree_without_a_core_names_the_way_out(sources):
    """Where no other package is installed; the error says where it is, and the way out."""
    done = subprocess.run(
        [sys.executable, "-S", "-c", "import sycl_ext as sx; sx.zeros(2)"],
        env={**environments.clean_environment(), "PYTHONPATH": str(Path(np.__file__).parents[1])},
        cwd=sources,
        capture_output=True,
        text=True,
        timeout=100,
    )
    said = done.stderr.splitlines()[-1]
    assert f"its source tree, {sources}, in which" in said
    assert said.endswith(f"python -m pip install '{sources}'")


def test_public_objects_name_their_public_module_before_their_first_use():
    """A pickle of a class or of a function of the core has that name."""
    environments.python("""
import importlib
import sycl_ext
from sycl_ext._setup import startup

startup.load_core()
for namespace in ("sycl_ext", *(f"sycl_ext.{name}" for name in sycl_ext._NAMESPACES)):
    for module, names in importlib.import_module(namespace)._PUBLIC.items():
        for name in names.split():
            value = getattr(importlib.import_module(f"sycl_ext.{module}"), name)
            if isinstance(value, type | type(len)):
                assert value.__module__ == namespace, (name, value.__module__)
""")


@pytest.mark.parametrize(
    "package", ["sycl_ext", "sycl_ext_dask", "sycl_ext_ray", "sycl_ext_xarray"]
)
def test_warning_names_the_line_of_the_user(package):
    """Not a line of an integration through which the user calls the package."""
    module = {"__name__": f"{package}.module"}
    exec("def call(function): function()", module)
    with pytest.warns(RuntimeWarning, match="of a test") as caught:
        module["call"](functools.partial(runtimes.warn_user, "of a test", RuntimeWarning))
    assert [warning.filename for warning in caught] == [__file__]
