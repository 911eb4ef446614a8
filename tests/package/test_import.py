# SPDX-License-Identifier: Apache-2.0
"""The package is imported again, by programs that empty ``sys.modules``."""

import os
import shutil
import subprocess
import sys
import textwrap
from pathlib import Path

import numpy as np
import pytest

import environments
from sycl_ext import _core
from sycl_ext._devices import startup

PROGRAM = """
import gc, pickle, sys
import numpy as np
import sycl_ext as first

def forget(condition):
    for name in list(sys.modules):
        if name.partition(".")[0] == "sycl_ext" and condition(name):
            del sys.modules[name]

t = first.zeros((2, 3), usm_type="shared")
device = first.device()
copy = t.copy_from(t, wait=False)  # loads a module
pickle.dumps(t)  # and this one more
{forget}
import sycl_ext as again

assert again.Tensor is first.Tensor and again.SyclError is first.SyclError
assert sys.modules["sycl_ext"] is again
assert isinstance(copy, again.AsyncCopy)
assert type(t.copy_from(t, wait=False)) is type(copy)
assert isinstance(t, again.Tensor) and isinstance(again.empty(3, device=device), first.Tensor)
assert pickle.loads(pickle.dumps(t)).shape == (2, 3)
assert np.array_equal(again.exchange(t, np), np.zeros((2, 3)))
assert again.as_tensor(t.T).shape == (3, 2) and first.from_dlpack(again.host_view(t)).ptr == t.ptr
try:
    again.zeros(3).__dlpack__(dl_device=(2, 0), copy=False)
except BufferError:
    pass
from sycl_ext._devices.device import Device
assert isinstance(device, Device) and type(again.device()) is Device
assert set(again.__all__) <= set(dir(again))
assert all(getattr(again, name) is getattr(first, name) for name in again.__all__)
assert again.exchange.__module__ == again.IpcHandle.__module__ == "sycl_ext"
"""


@pytest.mark.parametrize(
    "forget",
    [
        "forget(lambda name: True)",
        "forget(lambda name: name != 'sycl_ext._core')",
        "forget(lambda name: name == 'sycl_ext')",
        "forget(lambda name: name == 'sycl_ext._core')",
        "forget(lambda name: name in ('sycl_ext._tensor.tensor', 'sycl_ext'))",
        "del first; forget(lambda name: True); gc.collect(); import sycl_ext as first;"
        " forget(lambda name: True)",
    ],
)
def test_a_second_import_is_the_first_package(forget):
    environments.python(PROGRAM.replace("{forget}", forget))


def test_an_import_after_one_that_was_interrupted():
    environments.python(
        textwrap.dedent("""
        import builtins, sys
        real = builtins.__import__
        def interrupted(name, *args, **kwargs):
            if name == "sycl_ext._tensor.host_view":
                raise KeyboardInterrupt
            return real(name, *args, **kwargs)
        builtins.__import__ = interrupted
        try:
            import sycl_ext
        except KeyboardInterrupt:
            pass
        else:
            raise AssertionError
        assert "sycl_ext" not in sys.modules
        builtins.__import__ = real
        import sycl_ext as sx

        assert sx.from_dlpack(sx.zeros(3)).shape == (3,)
        """)
    )


def test_a_core_that_cannot_be_loaded_is_told_by_the_public_names_alone():
    """pickle looks for a function that does not say its module in every module there is."""
    get = startup.attribute_error_of(ImportError("file too short", name="sycl_ext._core"))
    for public in ("zeros", "Tensor", "from_dlpack"):
        with pytest.raises(ImportError, match="file too short"):
            get(public)
    for other in ("clip", "det", "_ipython_display_", "__path__"):
        with pytest.raises(AttributeError, match=other):
            get(other)


@pytest.mark.parametrize("version", ["1.25.2", "1.26.0", "2.5.0.dev0+git20260101"])
def test_the_oldest_numpy_is_named(version, monkeypatch):
    monkeypatch.setattr(np, "__version__", version)
    failure = startup.load_core()
    if version == "1.25.2":
        assert "needs NumPy >= 1.26, and 1.25.2 is installed; python -m pip" in str(failure)
    else:
        assert failure is None


# ---- in a source tree ----------------------------------------------------------------------------

SHOW = """
import sycl_ext as sx
from sycl_ext._devices import startup
try:
    print(sx.zeros(2).to_numpy().tolist(), sx.__path__, startup.__file__)
except ImportError as error:
    print(error)
"""


@pytest.fixture
def checkout(tmp_path):
    """A source tree without a core."""
    sources = tmp_path / "check out"
    shutil.copytree(
        environments.ROOT / "sycl_ext",
        sources / "sycl_ext",
        ignore=shutil.ignore_patterns("_core*.so", "__pycache__"),
    )
    shutil.copy(environments.ROOT / "pyproject.toml", sources)
    return sources


@pytest.fixture
def installed(tmp_path, checkout):
    """The package as pip installs it, with its core."""
    folder = tmp_path / "installed"
    shutil.copytree(checkout / "sycl_ext", folder / "sycl_ext")
    shutil.copy(_core.__file__, folder / "sycl_ext")
    return folder


def show_in(folder, *more):
    """What a user sees there whose installation is no editable one (-S: .pth files do nothing)."""
    libraries = Path(_core.__file__).parents[3]
    site_packages = Path(np.__file__).parents[1]
    done = subprocess.run(
        [sys.executable, "-S", "-c", SHOW],
        env={
            **environments.clean_environment(),
            **environments.cpu(),
            "PYTHONPATH": os.pathsep.join(map(str, (*more, site_packages))),
            "LD_LIBRARY_PATH": str(libraries),
        },
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=100,
    )
    return done.stdout.strip() or done.stderr


def test_a_source_tree_does_not_hide_the_installed_package(checkout, installed):
    package = installed / "sycl_ext"
    wanted = f"[0.0, 0.0] ['{package}'] {package}/_devices/startup.py"
    assert show_in(checkout, installed) == wanted


def test_a_source_tree_of_another_version(checkout, installed):
    with (checkout / "sycl_ext/__init__.py").open("a") as file:
        print("# changed", file=file)
    said = show_in(checkout, installed)
    assert f"the source tree of sycl_ext, {checkout}, where" in said
    assert f"{installed} has another version" in said
    assert said.endswith(f"python -m pip install '{checkout}'")


def test_a_source_tree_alone(checkout):
    said = show_in(checkout)
    assert said.endswith(f"is built; install it: python -m pip install '{checkout}'")


def test_what_the_first_exchange_does_not_need_is_loaded_later():
    environments.python(
        textwrap.dedent("""
        import sys
        import numpy as np, sycl_ext as sx
        np.asarray(sx.from_dlpack(sx.from_dlpack(np.zeros(3))))
        later = (
            *("_exchange.exchange", "_ipc.handles", "_tensor.pickling", "_debug.introspection"),
            *("_debug.exit", "_debug.paths", "_protocols.exports", "_protocols.usm_interface"),
            *("_tensor.async_copy", "_tensor.display"),
        )
        assert not [name for name in later if f"sycl_ext.{name}" in sys.modules]
        assert "exchange" not in vars(sx) and sx.exchange is vars(sx)["exchange"]
        from sycl_ext import ipc_empty
        assert sx.testing.Adapter.__module__.startswith("sycl_ext.testing")
        try:
            sx.no_such_name
        except AttributeError as error:
            assert str(error) == "module 'sycl_ext' has no attribute 'no_such_name'", error
        """)
    )


def test_another_thread_imports_while_a_name_is_loaded():
    environments.python(
        textwrap.dedent("""
        import sys, types
        import sycl_ext as sx

        class Name(str):
            def partition(self, separator):  # as if another thread had its turn here
                sys.modules[f"module_{len(sys.modules)}"] = types
                return super().partition(separator)

        sys.modules[Name("of_a_library")] = types
        assert callable(sx.exchange)
        """)
    )


def test_numpys_functions_are_found_at_the_import():
    """A first array that looked for them could be interrupted there, or met by the end."""
    environments.python(
        textwrap.dedent("""
        import sys
        import sycl_ext as sx
        tensor, called = sx.zeros(3, usm_type="shared"), []
        sys.setprofile(lambda frame, *_: called.append(frame.f_code.co_filename))
        tensor.to_numpy()
        sys.setprofile(None)
        assert not [file for file in called if "numpy" in file.split("/")], called
        """)
    )


def test_a_finder_of_before_python_3_4():
    """Which Python itself takes until 3.12."""
    environments.python(
        "import sys\n"
        "class Finder:\n"
        "    def find_module(self, name, path=None):\n"
        "        return None\n"
        "sys.meta_path.insert(0, Finder())\n"
        "import sycl_ext\n"
        "sycl_ext.zeros(1)\n"
    )
