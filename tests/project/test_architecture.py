# SPDX-License-Identifier: Apache-2.0
"""The folders and modules, and which may reach which.  Reads text; needs no build and no device."""

import ast
import importlib.util
import re
import sys
from graphlib import CycleError
from pathlib import Path

import pytest

from modules import (
    ROOT,
    cpp_modules,
    direct_arrows,
    drawing,
    imported_modules,
    includes_of,
    layers,
    module_name,
    python_modules,
)

#: Folders of `src/`, in the order of the data: each includes its own files and those before it.
CPP_FOLDERS = (
    "base",
    "runtime/sycl",
    "runtime/devices",
    "runtime/memory",
    "tensor",
    "rules",
    "dlpack",
    "python",
)

#: The only source without a header: nothing calls the module's entry point but Python.
ENTRY_POINT = "python/bindings.cpp"

#: Folders of `sycl_ext/` and the modules next to them, and what each may import besides its own.
PYTHON_ARROWS = {
    "_core": (),
    "_negotiation": (),
    "_setup": ("_core", "_negotiation"),
    "_devices": ("_core", "_negotiation", "_setup"),
    "_protocols": ("_core", "_negotiation", "_devices"),
    "_tensor": ("_core", "_negotiation", "_devices", "_protocols", "_setup"),
    "_exchange": ("_core", "_negotiation", "_devices", "_protocols", "_tensor"),
    "_ipc": (
        "_core", "_negotiation", "_devices", "_protocols", "_tensor", "_exchange", "_setup",
    ),
    "_doctor": ("_setup", "_negotiation", "_ipc", "sycl_ext"),
    "_cli": ("_negotiation", "_setup", "_doctor", "sycl_ext"),
    # The public names; those of the package itself are loaded by a table of names.
    "ipc": ("_setup",),
    "mpi": ("_setup",),
    "memory": ("_setup",),
    "pickling": ("_setup",),
    "dlpack": ("_setup",),
    "sycl_ext": ("_devices", "_exchange", "_negotiation", "_setup", "_tensor", "dlpack",
        "ipc", "memory", "mpi", "pickling"),
    "__main__": ("_cli",),
}  # fmt: skip

#: Which folders, or files, may include a header of others.
FOREIGN_HEADERS = {
    r"sycl/": ("runtime/",),
    r"(Python|frameobject|structmember)\.h": ("python/",),
    r"pybind11/": ("python/bind.hpp",),
    # Each lock has a rank, except the one of all forks.
    r"(shared_)?mutex$": ("base/lock.hpp", "base/fork.cpp"),
}

#: Modules that decide, and touch neither the core nor a device.
PURE = (
    "_negotiation",
    "_tensor/indexing",
    "_devices/description",
    *(f"_setup/{name}" for name in ("checkout", "hierarchy", "icd", "prefix", "startup")),
    *(f"_doctor/{name}" for name in ("checks", "finding", "machine", "processes", "report")),
    *(f"_doctor/{name}_checks" for name in ("driver", "feature", "gpu", "runtime")),
)


def cpp_errors(root):
    """Check the folders of `src/`."""
    source = root / "src"
    for path in sorted(source.rglob("*.[ch]pp")):
        who = path.relative_to(source).as_posix()
        folder = who.rpartition("/")[0]
        if folder not in CPP_FOLDERS:
            yield f"src/{who} is in no folder of the table in {Path(__file__).name}"
            continue
        ours, foreign = includes_of(path)
        for header in ours:
            target = header.rpartition("/")[0]
            reached = CPP_FOLDERS[: CPP_FOLDERS.index(folder) + 1]
            if target not in reached and target != "sycl_ext":
                yield f"src/{who} includes {header}; {folder} may not reach {target}"
        for header in foreign:
            for pattern, allowed in FOREIGN_HEADERS.items():
                if re.match(pattern, header) and not who.startswith(allowed):
                    yield f"src/{who} includes <{header}>, which is for {', '.join(allowed)}"
        if path.suffix == ".cpp" and who != ENTRY_POINT:
            own = path.with_suffix(".hpp").relative_to(source).as_posix()
            if not (source / own).exists():
                yield f"src/{who} has no header; its functions are declared in {own}"
            elif ours[:1] != [own]:
                yield f"src/{who} does not include its own header first"


def cpp_circle_errors(root):
    """Check that no module of `src/` reaches itself through its includes."""
    try:
        layers(cpp_modules(root))
    except CycleError as error:
        yield f"modules of src/ include each other: {' -> '.join(error.args[1])}"


def folder_of(module):
    """Return "_cli" for sycl_ext._cli.devices, and "sycl_ext" for the package itself."""
    names = module.split(".")
    return names[1] if len(names) > 1 else "sycl_ext"


def defined_names(tree):
    """Return the names that a module defines at its top level, also under a condition."""
    for node in tree.body:
        if isinstance(node, ast.If):
            yield from defined_names(ast.Module([*node.body, *node.orelse], []))
        elif isinstance(node, (ast.FunctionDef, ast.ClassDef)):
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
        if "__all__" in names and all(
            isinstance(element, ast.Constant) for element in node.value.elts
        ):
            return ast.literal_eval(node.value)
    return []


def python_errors(root):
    """Check `sycl_ext/`, the stub of the core included."""
    package = root / "sycl_ext"
    paths = sorted([*package.rglob("*.py"), package / "_core.pyi"])
    modules = {module_name(path, root): path for path in paths}
    unused = {(folder, arrow) for folder, arrows in PYTHON_ARROWS.items() for arrow in arrows}
    for module, path in modules.items():
        who, folder = path.relative_to(root).as_posix(), folder_of(module)
        if folder not in PYTHON_ARROWS:
            yield f"{who} is in no folder of the table in {Path(__file__).name}"
            continue
        tree = ast.parse(path.read_text())
        for target in imported_modules(tree, modules):
            if target not in modules:
                yield f"{who} imports {target}, which is not a module of the package"
                continue
            theirs = folder_of(target)
            unused.discard((folder, theirs))
            if theirs not in (folder, *PYTHON_ARROWS[folder]):
                yield f"{who} imports {target}; {folder} may not reach {theirs}"
            pure = tuple(f"sycl_ext/{name}" for name in PURE)
            if who.startswith(pure) and theirs == "_core":
                yield f"{who} is pure, and imports the core"
        missing = set(listed_names(tree)) - set(defined_names(tree))
        if missing:
            yield f"{who} lists {sorted(missing)} in __all__ and does not define it"
    for folder, theirs in unused:
        if folder != "sycl_ext":
            yield f"the table lets {folder} reach {theirs}, which no file of it does"


#: Functions that import a module of the package: they run in a process of their own.
LATE = ("sycl_ext/_doctor/probe.py",)


def import_order_errors(root):
    """Check that modules are loaded in one order.

    Each thread that imports holds a lock for each module that it is loading. In a circle, two
    threads would wait for each other, or one would meet a module that is not complete. An import
    in a function may hold such a lock during a fork; the child then waits for it without an end.
    Imports for type checkers count: a base class does not name its subclasses.
    """
    package = root / "sycl_ext"
    paths = {module_name(path, root): path for path in sorted(package.rglob("*.py"))}
    names = {*paths, "sycl_ext._core"}
    for path in paths.values():
        who, tree = path.relative_to(root).as_posix(), ast.parse(path.read_text())
        functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]
        late = {name for function in functions for name in imported_modules(function, names)}
        if late and who not in LATE:
            yield f"{who} imports {sorted(late)} in a function"
    try:
        layers(python_modules(root))
    except CycleError as error:
        yield f"modules import each other: {' -> '.join(error.args[1])}"


def names_from_cpp(root):
    """Check what C++ imports of the package by name: nothing but what it is handed."""
    for path in sorted((root / "src").rglob("*.[ch]pp")):
        for name in re.findall(r'[iI]mport\w*\(\s*"(sycl_ext\.[\w.]*)"', path.read_text()):
            yield f"{path.relative_to(root).as_posix()} imports {name}; it is handed what it needs"


def integration_errors(root):
    """Check that integrations use public names, and that the package uses no integration."""
    private = re.compile(r"\bsycl_ext\._|\bfrom sycl_ext import _|\bsx\._")
    packages = [*root.glob("hardware/sycl_ext_*"), *root.glob("integrations/*/sycl_ext_*")]
    for path in sorted(path for package in packages for path in package.rglob("*.py")):
        if private.search(path.read_text()):
            yield f"{path.relative_to(root).as_posix()} uses a private name of sycl_ext"
    others = {package.name for package in packages}
    for path in sorted((root / "sycl_ext").rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            modules = [getattr(node, "module", None) or ""]
            if isinstance(node, ast.Import):
                modules = [alias.name for alias in node.names]
            if {name.partition(".")[0] for name in modules} & others:
                yield f"{path.relative_to(root).as_posix()} imports an integration"


def table_errors(root):
    """Find names in the tables that no file has, and arrows that go in a circle."""
    for folder in CPP_FOLDERS:
        if not (root / "src" / folder).is_dir():
            yield f"the table has src/{folder}, which is gone"
    for name in PURE:
        if not list((root / "sycl_ext").glob(f"{name}*")):
            yield f"the table has sycl_ext/{name}, which is gone"
    reached = {name: set(targets) for name, targets in PYTHON_ARROWS.items()}
    for _ in PYTHON_ARROWS:
        for name in reached:
            reached[name] |= {far for near in reached[name] for far in reached.get(near, ())}
    yield from (f"{name} reaches itself" for name in PYTHON_ARROWS if name in reached[name])


def errors(root):
    """Return everything that is wrong with the arrows."""
    checks = (
        cpp_errors,
        cpp_circle_errors,
        python_errors,
        import_order_errors,
        names_from_cpp,
        integration_errors,
        table_errors,
    )
    return [error for check in checks for error in check(root)]


def test_arrows_go_one_way():
    complaints = errors(ROOT)
    assert not complaints, "\n".join(["", *complaints])


def test_no_module_has_the_name_of_a_module_in_c():
    """Debian's Python has `array` built in, and jedi takes that for any module of the name.

    An editor then offered 26 of the 82 attributes of a tensor.
    """
    folders = ("sycl_ext", "sycl_ext_pytest", "conformance", "hardware", "integrations")
    names = {path.stem for folder in folders for path in (ROOT / folder).rglob("*.py")}
    assert "creation" in names
    specs = map(importlib.util.find_spec, names & sys.stdlib_module_names)
    assert not [spec.name for spec in specs if not str(spec.origin).endswith(".py")]


def test_circle_of_modules_is_named():
    with pytest.raises(CycleError) as refused:
        layers({"base": set(), "usm": {"base", "pools"}, "pools": {"usm"}})
    assert {"usm", "pools"} == set(refused.value.args[1])


def test_stubs_and_imports_for_type_checkers_count(tmp_path):
    package = tmp_path / "sycl_ext"
    package.mkdir()
    (package / "_core.pyi").write_text("from sycl_ext.tensor import Tensor\n")
    (package / "tensor.py").write_text("if TYPE_CHECKING:\n    from sycl_ext import _core\n")
    graph = python_modules(tmp_path)
    assert graph == {"sycl_ext._core": {"sycl_ext.tensor"}, "sycl_ext.tensor": {"sycl_ext._core"}}
    with pytest.raises(CycleError):
        layers(graph)


def test_drawing_leaves_implied_arrows_out():
    modules = {"dlpack/export": {"tensor/copy", "base/error"}, "tensor/copy": {"base/error"}}
    assert list(direct_arrows(modules)) == [
        ("dlpack/export", "tensor/copy"),
        ("tensor/copy", "base/error"),
    ]
    assert '"tensor/copy" -> "base/error";' in drawing(modules)


@pytest.mark.parametrize("modules", [cpp_modules, python_modules])
def test_drawing_has_every_module_that_needs_another(modules):
    graph = modules(ROOT)
    text = drawing(graph)
    assert all(f'"{name}"' in text for name, needs in graph.items() if needs)
