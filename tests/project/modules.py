# SPDX-License-Identifier: Apache-2.0
"""The graph of the modules: ``make graph`` draws it, and test_architecture.py checks it.

A module of `src/` is a source with its header. Reads text; needs no build and no device.
"""

import ast
import re
import sys
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def includes_of(path):
    """Return the headers in quotes, and those in angle brackets, that a file includes."""
    text = path.read_text()
    return (
        re.findall(r'^\s*#\s*include\s*"([^"]+)"', text, re.MULTILINE),
        re.findall(r"^\s*#\s*include\s*<([^>]+)>", text, re.MULTILINE),
    )


def cpp_modules(root):
    """Return the modules of `src/`, each with those that it includes."""
    source = root / "src"
    modules = {}
    for path in sorted(source.rglob("*.[ch]pp")):
        name = path.relative_to(source).with_suffix("").as_posix()
        headers = {header.removesuffix(".hpp") for header in includes_of(path)[0]}
        modules.setdefault(name, set()).update(headers - {name})
    return {name: needs & modules.keys() for name, needs in modules.items()}


def module_name(path, root):
    """Return "sycl_ext._cli.devices" for sycl_ext/_cli/devices.py."""
    names = path.relative_to(root).with_suffix("").parts
    return ".".join(names[:-1] if names[-1] == "__init__" else names)


def imported_modules(tree, modules):
    """Return the modules of the package that a file imports, at its top or in a function."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (a.name for a in node.names if a.name.partition(".")[0] == "sycl_ext")
        elif isinstance(node, ast.ImportFrom) and node.level:
            yield f"a relative import of {node.module or '.'}"
        elif isinstance(node, ast.ImportFrom) and node.module.partition(".")[0] == "sycl_ext":
            for alias in node.names:
                child = f"{node.module}.{alias.name}"
                yield child if child in modules else node.module


def python_modules(root):
    """Return the modules of `sycl_ext/`, each with the imports of its source and of its stub.

    Imports for type checkers count: a checker that meets a circle may miss the types of a module.
    """
    package = root / "sycl_ext"
    paths = sorted([*package.rglob("*.py"), *package.rglob("*.pyi")])
    modules = {module_name(path, root): set() for path in paths}
    for path in paths:
        needs = imported_modules(ast.parse(path.read_text()), modules)
        modules[module_name(path, root)].update(needs)
    return modules


def layers(modules):
    """Return the modules in layers: each needs only modules of the layers before it.

    Raises `graphlib.CycleError`, which names the modules of a circle.

    Examples
    --------
    >>> layers({"tensor": {"memory"}, "dlpack": {"tensor"}, "memory": set()})
    [['memory'], ['tensor'], ['dlpack']]
    """
    sorter = TopologicalSorter(modules)
    sorter.prepare()
    result = []
    while ready := sorter.get_ready():
        result.append(sorted(ready))
        sorter.done(*ready)
    return result


def direct_arrows(modules):
    """Return the arrows that no longer way implies, such as a -> c where a -> b -> c exists."""
    reached = {}
    for module in (module for layer in layers(modules) for module in layer):
        needs = modules.get(module, set())
        reached[module] = needs.union(*(reached[need] for need in needs))
    for module, needs in sorted(modules.items()):
        implied = set().union(*(reached[need] for need in needs))
        yield from ((module, need) for need in sorted(needs - implied))


def folder_in(module):
    """Return the folder of a module, which is drawn as a box around it."""
    return module.rpartition("/" if "/" in module else ".")[0]


def drawing(modules):
    """Return the graph as a text for Graphviz: https://graphviz.org/doc/info/lang.html."""
    arrows = list(direct_arrows(modules))
    names = sorted({name for arrow in arrows for name in arrow})
    lines = ["digraph modules {", "rankdir=BT; node [shape=box];"]
    for number, folder in enumerate(sorted({folder_in(name) for name in names})):
        inside = "; ".join(f'"{name}"' for name in names if folder_in(name) == folder)
        lines.append(f'subgraph cluster_{number} {{ label="{folder}"; {inside} }}')
    lines += (f'"{module}" -> "{need}";' for module, need in arrows)
    return "\n".join([*lines, "}"])


def main():
    """Write the drawings, and say whether there is a circle."""
    folder = ROOT / "build"
    folder.mkdir(exist_ok=True)
    for name, modules in {"src": cpp_modules(ROOT), "sycl_ext": python_modules(ROOT)}.items():
        try:
            count = len(layers(modules))
        except CycleError as error:
            sys.exit(f"{name}: a circle: {' -> '.join(error.args[1])}")
        (folder / f"{name}.dot").write_text(drawing(modules))
        arrows = sum(map(len, modules.values()))
        print(f"{name}: {len(modules)} modules, {arrows} arrows, {count} layers, no circle")
    print("build/src.dot and build/sycl_ext.dot: dot -Tsvg -O build/*.dot draws them")


if __name__ == "__main__":
    main()
