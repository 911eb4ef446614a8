# SPDX-License-Identifier: Apache-2.0
"""Write `sycl_ext/_core.pyi`, the types of the extension module.

pybind11-stubgen reads names, arguments and docstrings out of the built module; this script adds
what it cannot see: the types of the hand-written `TensorBase` (its names and docstrings come from
the type itself), and the types that pybind11 calls "object".

    python tools/make_stub.py            # writes the file
    python tools/make_stub.py --check    # exit code 1 when it would change
"""

from __future__ import annotations

import argparse
import ast
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
STUB = ROOT / "sycl_ext" / "_core.pyi"

HEADER = '''# SPDX-License-Identifier: Apache-2.0
# Written by tools/make_stub.py; a test compares the two.
"""The C++ core of sycl_ext: literal classes and functions, used by the package alone."""

from collections.abc import Callable, Sequence
from types import ModuleType
from typing import Any, ClassVar, SupportsIndex, TypeVar

import numpy as np
from numpy.typing import NDArray
from typing_extensions import CapsuleType

from sycl_ext._tensor.tensor import Tensor

_T = TypeVar("_T", bound=TensorBase)

'''

#: Types of the attributes of TensorBase.
ATTRIBUTES = {
    "base": "object",
    "c_contiguous": "bool",
    "dtype": "np.dtype[Any]",
    "dtype_name": "str",
    "f_contiguous": "bool",
    "host_accessible": "bool",
    "is_host_copy": "bool",
    "itemsize": "int",
    "nbytes": "int",
    "ndim": "int",
    "ptr": "int",
    "readonly": "bool",
    "reversed": "bool",
    "row_id": "int | None",
    "shape": "tuple[int, ...]",
    "size": "int",
    "strides": "tuple[int, ...]",
    "usm_type": "str",
}

#: Types of the attributes of the class.
CLASS_ATTRIBUTES = {"__dlpack_c_exchange_api__": "CapsuleType"}

#: Signatures of the methods of TensorBase.
METHODS = {
    "__buffer__": "(self, flags: int, /) -> memoryview",
    "__dlpack__": "(self, *, stream: Any = None, max_version: tuple[int, int] | None = None, "
    "dl_device: tuple[int, int] | None = None, copy: bool | None = None) -> CapsuleType",
    "__dlpack_device__": "(self) -> tuple[int, int]",
}
#: Docstrings of the methods that a Python older than 3.12 does not show on the type.
SLOTS = {"__buffer__": "Return a buffer over memory that the host can reach."}

#: What pybind11 does not say, by function: types of arguments, and of the result as "return".
TYPES = {
    "accelerate": {"function": "Callable[..., Any]", "return": "Callable[..., Any]"},
    "adopt": {"base": "object", "return": "Tensor"},
    "allocate": {"return": "Tensor"},
    "allocate_dedicated": {"return": "Tensor"},
    "as_ndarray": {"tensor": "TensorBase", "return": "NDArray[Any]"},
    "as_usm": {"base": "object", "return": "Tensor"},
    "capsule_from_pointer": {"return": "CapsuleType"},
    "consume_capsule": {
        "capsule": "CapsuleType",
        "expected": "tuple[int, int] | None",
        "return": "tuple[Tensor, bool]",
    },
    "context_in_capsule": {"capsule": "CapsuleType"},
    "copy_to_host": {"return": "Tensor"},
    "copy_to_row": {"return": "Tensor"},
    "from_host": {"owner": "object", "return": "Tensor"},
    "from_usm": {"owner": "object", "return": "Tensor"},
    "host_view": {"base": "object", "cls": "type[_T]", "return": "_T"},
    "lazy_host_copy": {"base": "object", "cls": "type[_T]", "return": "_T"},
    "make_capsule": {"device": "tuple[int, int]", "return": "CapsuleType"},
    "queue_of_capsule": {"capsule": "CapsuleType"},
    "reshape_strides": {"return": "tuple[int, ...] | None"},
    "row_of_queue": {"queue": "Queue"},
    "set_fast_path_hooks": {
        "device_ids": "dict[Any, int]",
        "dtype_indices": "dict[Any, int]",
        "from_ndarray": "Callable[[Any], TensorBase]",
        "import_refused": "Callable[..., TensorBase]",
        "order_behind": "Callable[[TensorBase, Any], None]",
        "producer_queue": "Callable[[object], object]",
        "settle_host": "Callable[[TensorBase], TensorBase]",
        "stream_for": "Callable[[int], object]",
    },
    "set_hooks": {
        "copy_refused_error": "type[Exception]",
        "export_negotiated": "Callable[..., object]",
        "host_view_class": "type[TensorBase]",
        "numpy_dtype": "Callable[[str], np.dtype[Any]]",
        "sycl_error": "type[Exception]",
        "tensor_class": "type[TensorBase]",
    },
    "open_ipc": {"return": "Tensor"},
    "raise_dropped_signal": {"tensor": "object"},
    "view": {"base": "object", "return": "Tensor"},
    "Queue.__eq__": {"arg0": "object"},
    "Queue.capsule": {"return": "CapsuleType"},
    "Row.context_capsule": {"return": "CapsuleType"},
    "Row.queue": {"return": "Queue"},
}
#: Types of the constants of the module.
CONSTANTS = {
    "DLPACK_VERSION": "tuple[int, int]",
    "DTYPES": "tuple[tuple[str, str, int], ...]",
    "_C_API": "CapsuleType",
    "package_modules": "dict[str, ModuleType]",
}

#: Words of pybind11-stubgen, and ours.
WORDS = {
    "typing.SupportsInt | typing.SupportsIndex": "SupportsIndex",
    "typing.Any": "Any",
    "typing.ClassVar": "ClassVar",
    "collections.abc.Callable": "Callable",
    "collections.abc.Sequence[": "Sequence[",
    "collections.abc.Sequence": "Sequence[int]",
}


def parse_type(text: str) -> ast.expr:
    """Read a type as an expression."""
    return ast.parse(text, mode="eval").body


def raw_stub() -> ast.Module:
    """Ask pybind11-stubgen for what it can see."""
    # It leaves "..." where the signature names a C++ class; TYPES has these, and `checked` finds
    # any other.
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "pybind11_stubgen", "sycl_ext._core", "-o", folder]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            sys.exit(f"pybind11-stubgen failed:\n{done.stderr}")
        text = (Path(folder) / "sycl_ext" / "_core.pyi").read_text()
    for theirs, ours in WORDS.items():
        text = text.replace(theirs, ours)
    return ast.parse(text)


def with_short_docstring(node: ast.FunctionDef | ast.ClassDef) -> None:
    """Put the docstring on one line, without the list of members that an enum repeats."""
    text = ast.get_docstring(node)
    if text is not None:
        summary = " ".join(text.partition("\n\nMembers:")[0].split())
        node.body[0] = ast.Expr(ast.Constant(summary))


def checked(node: ast.FunctionDef, scope: str = "") -> ast.FunctionDef:
    """Put the known types of a function in; stop at a type that nobody knows."""
    name = scope + node.name
    known = TYPES.get(name, {})
    arguments = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]
    for argument in arguments:
        if argument.arg in known:
            argument.annotation = parse_type(known[argument.arg])
    if "return" in known:
        node.returns = parse_type(known["return"])
    typed = [a.annotation for a in arguments if a.arg != "self"] + [node.returns]
    unknown = [t is None or ast.unparse(t) in ("...", "Any", "tuple", "type") for t in typed]
    if any(unknown):
        sys.exit(f"{name}: add its types to TYPES in {Path(__file__).name}: {ast.unparse(node)}")
    with_short_docstring(node)
    return node


def enum_class(node: ast.ClassDef) -> ast.ClassDef:
    """Keep of an enum what is used: its members, its name and its value."""
    node.body = [
        part
        for part in node.body
        if not isinstance(part, ast.FunctionDef) or not part.name.startswith("__")
    ]
    with_short_docstring(node)
    return node


def literal_class(node: ast.ClassDef) -> ast.ClassDef:
    """Take a class that pybind11 made, with the types of TYPES."""
    with_short_docstring(node)
    node.body = [
        checked(part, f"{node.name}.") if isinstance(part, ast.FunctionDef) else part
        for part in node.body
        if "__hash__" not in ast.unparse(part)
    ]
    return node


def tensor_base() -> ast.ClassDef:
    """Describe the hand-written type: names and docstrings from the type, types from the tables."""
    from sycl_ext._core import TensorBase  # after the package, which finds the SYCL runtime

    found = {n: member for n, member in vars(TensorBase).items() if not n.startswith("__")}
    missing = {n for n in found if n not in ATTRIBUTES} | {n for n in ATTRIBUTES if n not in found}
    methods = [
        n for n, member in vars(TensorBase).items() if type(member).__name__.startswith("me")
    ]
    missing |= {n for n in methods if n not in METHODS}
    if missing:
        sys.exit(f"TensorBase: bring {sorted(missing)} and the tables in {Path(__file__)} together")
    lines = ["class TensorBase:", f"    {TensorBase.__doc__!r}"]
    lines += [f"    {name}: ClassVar[{kind}]" for name, kind in CLASS_ATTRIBUTES.items()]
    for name, kind in ATTRIBUTES.items():
        lines += [
            "    @property",
            f"    def {name}(self) -> {kind}:",
            f"        {found[name].__doc__!r}",
        ]
    for name, signature in METHODS.items():
        doc = SLOTS.get(name) or vars(TensorBase)[name].__doc__
        lines += [f"    def {name}{signature}:", f"        {doc!r}"]
    node = ast.parse("\n".join(lines)).body[0]
    assert isinstance(node, ast.ClassDef)
    for part in node.body:
        if isinstance(part, ast.FunctionDef):
            with_short_docstring(part)
    return node


def statement(node: ast.stmt) -> ast.stmt | None:
    """Translate one statement of the raw stub; None: it is not needed."""
    if isinstance(node, ast.ClassDef):
        if node.name == "TensorBase":
            return tensor_base()
        is_enum = any("__members__" in ast.unparse(part) for part in node.body)
        return enum_class(node) if is_enum else literal_class(node)
    if isinstance(node, ast.FunctionDef):
        return checked(node)
    if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
        if node.target.id == "__all__":
            return None
        node.annotation, node.value = parse_type(CONSTANTS[node.target.id]), None
        return node
    return None


def make_stub() -> str:
    """Return the text of the whole stub."""
    import sycl_ext  # noqa: F401  (finds the SYCL runtime before the module is read)

    body = [done for done in map(statement, raw_stub().body) if done is not None]
    text = HEADER + "\n".join(map(ast.unparse, map(ast.fix_missing_locations, body)))
    command = [sys.executable, "-m", "ruff", "format", "--stdin-filename", str(STUB), "-"]
    return subprocess.run(command, input=text, capture_output=True, text=True, check=True).stdout


def main() -> int:
    """Write the stub, or compare it."""
    parser = argparse.ArgumentParser(description="Write sycl_ext/_core.pyi.")
    parser.add_argument("--check", action="store_true", help="compare, and write nothing")
    if not parser.parse_args().check:
        STUB.write_text(make_stub())
        return 0
    if STUB.exists() and STUB.read_text() == make_stub():
        return 0
    print(f"{STUB.name} is not what tools/make_stub.py makes of the module; run it")
    return 1


if __name__ == "__main__":
    sys.exit(main())
