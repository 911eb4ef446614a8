# SPDX-License-Identifier: Apache-2.0
"""The house: a file reaches only lower floors.  Reads text; needs no build and no device."""

import ast
import re
import shutil
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent

#: Floors of `src/`, lowest first.  A .hpp and its .cpp live on one floor.
CPP_FLOORS = [
    {"append_only", "error", "forced_unwind", "interpreter", "process_memory"},
    {"dtype", "fork", "layout", "sycl_handles"},
    {
        "block_pool",
        "context_use",
        "extents",
        "interruptible",
        "runtime_call",
        "runtimes",
        "strided",
    },
    {"queue"},
    {"deferred_free", "device_table", "untrusted"},
    {"usm"},
    {"tensor"},
    {"copy", "dlpack_export", "dlpack_import", "ipc"},
    {"python_guard"},
    {"capsule", "offer_watch", "origins", "signals"},
    {"tensor_object"},
    {"exchange_api", "extension_api", "numpy_bridge"},
    {"fast_path"},
    {"bindings"},
]

#: Floors of `sycl_ext/`, lowest first.
PYTHON_FLOORS = [
    {"_core"},
    {
        "_consumers",
        "_device_words",
        "_doctor.__init__",
        "_doctor.facts",
        "_dtypes",
        "_hierarchy",
        "_icd",
        "_indexing",
        "_interpreter",
        "_paths",
        "_peers",
        "_protocols",
        "_runtimes",
        "_shared_memory",
        "_startup",
        "_text",
        "_trace",
    },
    {
        "_doctor.checks",
        "_doctor.collect",
        "_doctor.render",
        "_fast",
        "_introspection",
        "_negotiate",
        "_queues",
    },
    {"_devices", "_doctor.command", "_exit"},
    {"_execute", "_memory"},
    {"_interfaces", "_pickle", "_scalars"},
    {"_tensor"},
    {"_dask", "_host", "_ipc"},
    {"_exchange", "_staging"},
    {"_hooks"},
    {"__init__"},
    {"_cli.drawing", "_cli.text", "_doctor.probe", "_doctor.self_test"},
    {"_cli.devices", "_cli.doctor", "_cli.picture"},
    {"_cli.demo"},
    {"_cli.__init__"},
    {"__main__"},
]

#: Who may spell a foreign header: a pattern of it, and the files.
FOREIGN_HEADERS = {
    r"sycl/": {"sycl_handles.hpp", "device_table.cpp", "ipc.cpp"},
    r"pybind11/": {"numpy_bridge.cpp", "bindings.cpp"},
}

#: Headers of Python, and the floor where they begin.
PYTHON_HEADERS, PYTHON_BEGINS = r"(Python|frameobject|structmember)\.h", "python_guard"

#: Who may reach SYCL at all; every other unit compiles without it.
SYCL_UNITS = {
    "context_use.cpp",
    "device_table.cpp",
    "ipc.cpp",
    "queue.cpp",
    "runtimes.cpp",
    "untrusted.cpp",
    "usm.cpp",
}

#: Pure modules: they decide, and touch neither the core nor a device.
PURE_PYTHON = {
    "_consumers",
    "_device_words",
    "_doctor.checks",
    "_doctor.collect",
    "_doctor.facts",
    "_doctor.render",
    "_hierarchy",
    "_indexing",
    "_negotiate",
    "_protocols",
    "_startup",
    "_text",
}


def floor_of(name, floors):
    """Return the floor of a name; None: it has none."""
    return next((number for number, names in enumerate(floors) if name in names), None)


def stated_floor(text):
    """Return the number in "Floor N." of a file's header comment."""
    found = re.search(r"Floor (\d+)\.", "\n".join(text.splitlines()[:5]))
    return int(found.group(1)) if found else None


def compare(who, name, text, floors, may_be_silent=False):
    """Complain when a file has no floor, or its header comment says another one."""
    floor, stated = floor_of(name, floors), stated_floor(text)
    if floor is None:
        yield f"{who} has no floor; add it to the table in {Path(__file__).name}"
    elif stated is None and not may_be_silent:
        yield f"{who} does not say 'Floor {floor}.' in its header comment"
    elif stated not in (None, floor):
        yield f"{who} says 'Floor {stated}.', and the table says {floor}"


def reaches_up(who, name, target, floors):
    """Complain when `name` reaches a file that is not below it."""
    mine, theirs = floor_of(name, floors), floor_of(target, floors)
    if None not in (mine, theirs) and theirs >= mine:
        yield f"{who} (floor {mine}) reaches {target} (floor {theirs})"


def cpp_errors(root):
    """Check `src/`."""
    for path in sorted((root / "src").glob("*.[ch]pp")):
        text, who = path.read_text(), path.name
        lone = path.suffix == ".cpp" and not path.with_suffix(".hpp").exists()
        silent = path.suffix == ".cpp" and not lone
        yield from compare(who, path.stem, text, CPP_FLOORS, may_be_silent=silent)
        for header in re.findall(r'^\s*#\s*include\s*"([^"]+)"', text, re.MULTILINE):
            target = Path(header).stem
            if target != path.stem:
                yield from reaches_up(who, path.stem, target, CPP_FLOORS)
            if target == "sycl_handles" and who not in SYCL_UNITS:
                yield f"{who} includes sycl_handles.hpp, which is for {sorted(SYCL_UNITS)}"
        for header in re.findall(r"^\s*#\s*include\s*<([^>]+)>", text, re.MULTILINE):
            floor, ground = (floor_of(n, CPP_FLOORS) for n in (path.stem, PYTHON_BEGINS))
            if re.match(PYTHON_HEADERS, header) and floor is not None and floor < ground:
                yield f"{who} (floor {floor}) includes <{header}>, which begins on floor {ground}"
            for pattern, allowed in FOREIGN_HEADERS.items():
                if re.match(pattern, header) and who not in allowed:
                    yield f"{who} includes <{header}>, which is for {sorted(allowed)}"


def module_name(path, package):
    """Return "_cli.devices" for sycl_ext/_cli/devices.py."""
    return ".".join(path.relative_to(package).with_suffix("").parts)


def imported_modules(tree, modules):
    """Return the modules of the package that a file imports, at its top or in a function."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                if alias.name.partition(".")[0] == "sycl_ext":
                    yield alias.name.partition(".")[2] or "__init__"
        elif isinstance(node, ast.ImportFrom):
            package, _, inner = (node.module or "").partition(".")
            if node.level:
                yield f"a relative import of {inner or package or '.'}"
            elif package == "sycl_ext":
                for alias in node.names:
                    # "from sycl_ext import _core" names a module or something in __init__.
                    child = f"{inner}.{alias.name}".lstrip(".")
                    if child in modules:
                        yield child
                    elif f"{inner}.__init__".lstrip(".") in modules:
                        yield f"{inner}.__init__".lstrip(".")
                    else:
                        yield inner


def defined_names(tree):
    """Return the names that a module defines at its top level."""
    for node in tree.body:
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            yield node.name
        elif isinstance(node, (ast.Import, ast.ImportFrom)):
            yield from ((alias.asname or alias.name) for alias in node.names)
        elif isinstance(node, (ast.Assign, ast.AnnAssign)):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            yield from (target.id for target in targets if isinstance(target, ast.Name))


def listed_names(tree):
    """Return what `__all__` lists."""
    for node in tree.body:
        names = [getattr(target, "id", "") for target in getattr(node, "targets", [])]
        if "__all__" in names:
            return ast.literal_eval(node.value)
    return []


def python_errors(root):
    """Check `sycl_ext/`."""
    package = root / "sycl_ext"
    files = {module_name(path, package): path for path in sorted(package.rglob("*.py"))}
    modules = {*files, "_core"}
    for name, path in files.items():
        text = path.read_text()
        tree = ast.parse(text)
        who = f"{name.replace('.', '/')}.py"
        # The package's own front door says what it is for, not where it stands.
        front = name == "__init__"
        yield from compare(who, name, text, PYTHON_FLOORS, may_be_silent=front)
        for target in imported_modules(tree, modules):
            if target not in modules:
                yield f"{who} imports {target}, which is no module of the package"
            yield from reaches_up(who, name, target, PYTHON_FLOORS)
            if name in PURE_PYTHON and target == "_core":
                yield f"{who} is pure, and imports _core"
        missing = set(listed_names(tree)) - set(defined_names(tree))
        if missing:
            yield f"{who} lists {sorted(missing)} in __all__ and does not define it"


def table_errors(root):
    """Find names in the tables that no file has."""
    sources = {path.stem for path in (root / "src").glob("*.[ch]pp")}
    package = root / "sycl_ext"
    modules = {module_name(path, package) for path in package.rglob("*.py")} | {"_core"}
    for floors, names in ((CPP_FLOORS, sources), (PYTHON_FLOORS, modules)):
        for gone in sorted(set().union(*floors) - names):
            yield f"the table in {Path(__file__).name} has a floor for {gone}, which is gone"


def errors(root):
    """Return everything that is wrong with the house."""
    return [*cpp_errors(root), *python_errors(root), *table_errors(root)]


def test_a_file_reaches_only_lower_floors():
    found = errors(ROOT)
    assert not found, "\n".join(["", *found])


BREACHES = {
    "upward include": (
        "src/base/layout.hpp",
        '#include "tensor/tensor.hpp"\n',
        "layout.hpp (floor 1) reaches tensor (floor 6)",
    ),
    "include on one floor": (
        "src/base/dtype.cpp",
        '#include "base/layout.hpp"\n',
        "dtype.cpp (floor 1) reaches layout (floor 1)",
    ),
    "SYCL outside": ("src/tensor/tensor.cpp", "#include <sycl/queue.hpp>\n", "tensor.cpp includes <sycl/"),
    "SYCL by the back door": (
        "src/tensor/tensor.cpp",
        '#include "runtime/sycl_handles.hpp"\n',
        "tensor.cpp includes sycl_handles.hpp",
    ),
    "Python too low": (
        "src/runtime/usm.cpp",
        "#include <Python.h>\n",
        "usm.cpp (floor 5) includes <Python.h>",
    ),
    "pybind11 too low": (
        "src/python/capsule.cpp",
        "#include <pybind11/pybind11.h>\n",
        "capsule.cpp includes <pybind11/",
    ),
    "no floor": ("src/news.hpp", "// Floor 3. News.\n", "news.hpp has no floor"),
    "another floor": ("src/base/error.hpp", "// Floor 4. Errors.\n", "error.hpp says 'Floor 4.'"),
    "silent": ("src/brandnew.cpp", "\n", "brandnew.cpp has no floor"),
    "upward import": (
        "sycl_ext/_protocols.py",
        "from sycl_ext._devices import place\n",
        "_protocols.py (floor 1) reaches _devices (floor 3)",
    ),
    "front door from inside": (
        "sycl_ext/_queues.py",
        "import sycl_ext as sx\n",
        "_queues.py (floor 2) reaches __init__",
    ),
    "impure": ("sycl_ext/_negotiate.py", "from sycl_ext import _core\n", "_negotiate.py is pure"),
    "command line from inside": (
        "sycl_ext/_host.py",
        "from sycl_ext._cli.text import table\n",
        "_host.py (floor 7) reaches _cli.text",
    ),
    "relative import": ("sycl_ext/_host.py", "from ._tensor import Tensor\n", "relative import"),
    "empty promise": ("sycl_ext/_icd.py", '__all__ = ["nothing"]\n', "does not define it"),
}


@pytest.mark.parametrize("breach", BREACHES)
def test_a_breach_is_found(tmp_path, breach):
    for folder in ("src", "sycl_ext"):
        shutil.copytree(ROOT / folder, tmp_path / folder, ignore=shutil.ignore_patterns("*.so"))
    name, line, message = BREACHES[breach]
    path = tmp_path / name
    # On top: a header comment counts from the first lines, an import from anywhere.
    path.write_text(line + (path.read_text() if path.exists() else ""))
    new = set(errors(tmp_path)) - set(errors(ROOT))
    assert any(message in error for error in new), new
