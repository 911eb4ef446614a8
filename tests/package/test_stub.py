# SPDX-License-Identifier: Apache-2.0
"""`sycl_ext/_core.pyi` has the names, signatures and docstrings of the built module.

pybind11 writes each signature into a docstring; the text of the bindings is only in the stub.  Of
the hand-written `TensorBase` and the public functions, the module gives names and docstrings.
"""

import ast
import inspect
import re
from pathlib import Path
from types import ModuleType

import sycl_ext
from sycl_ext import _core

STUB = Path(__file__).resolve().parents[2] / "sycl_ext" / "_core.pyi"
#: How the stub names what pybind11 spells out.
SPELLINGS = {
    "sycl_ext._core.": "",
    "typing.SupportsInt | typing.SupportsIndex": "SupportsIndex",
    "collections.abc.Sequence[": "Sequence[",
    "collections.abc.Sequence": "Sequence[int]",
    "tuple[SupportsIndex, SupportsIndex]": "tuple[int, int]",
}
#: Types of pybind11 that say less than the stub may: each stands for many.
VAGUE = re.compile(r"\b(object|dict|type|tuple|TensorBase)\b(?!\[)")
#: Methods whose docstrings are those of a public function, in one place: `docstrings.hpp`.
PUBLIC_METHODS = ("TensorBase.__dlpack__", "TensorBase.to_device", "TensorBase.to_numpy")
#: Special methods that are part of a class; pybind11 adds others to each.
SPECIAL = (
    *("__buffer__", "__dlpack__", "__dlpack_device__", "__dlpack_c_exchange_api__"),
    "_get_capsule",  # as dpctl's objects have it
)
#: The public functions and methods of the core that return a class of the package.
DECLARED = {
    *("as_tensor", "empty", "exchange", "from_dlpack", "host_view", "zeros"),
    *("TensorBase.to_device", "TensorBase.to_numpy"),
}


def without_lines(text):
    return " ".join((text or "").partition("\n\nMembers:")[0].split())


def stub_names(text):
    """The statements of a stub by name, those of classes as "Class.name"."""
    nodes = {}

    def add(body, scope):
        for node in body:
            if isinstance(node, ast.ClassDef):
                nodes[scope + node.name] = node
                add(node.body, f"{node.name}.")
            elif isinstance(node, ast.FunctionDef):
                nodes.setdefault(scope + node.name, node)  # of overloads the first is documented
            elif isinstance(node, ast.AnnAssign):
                nodes[scope + node.target.id] = node

    add(ast.parse(text).body, "")
    return nodes


def module_names():
    """The objects of the module by name, in the same way."""
    objects = {}
    for name, value in vars(_core).items():
        if name.startswith("__"):
            continue
        objects[name] = value
        for member, what in vars(value).items() if isinstance(value, (type, ModuleType)) else ():
            made_by_pybind11 = member == "__init__" and type(what).__name__ == "instancemethod"
            is_enum = "__members__" in vars(value)
            if (
                not member.startswith("_")
                or (member in SPECIAL and not is_enum)
                or (is_enum and member == "__members__")
                or (made_by_pybind11 and not is_enum)
            ):
                objects[f"{name}.{member}"] = what
    objects["TensorBase.__buffer__"] = (
        None  # Python shows that slot from 3.12 on, in words of its own
    )
    return objects


def pybind11_signature(name, value):
    """The definition that pybind11 wrote into a docstring, and the rest of that; or None."""
    first, _, rest = (getattr(value, "__doc__", None) or "").partition("\n")
    if not first.startswith(f"{name.rpartition('.')[2]}(") or "->" not in first:
        return None
    for theirs, ours in SPELLINGS.items():
        first = first.replace(theirs, ours)
    return ast.parse(f"def {first}: ...").body[0], without_lines(rest)


def with_names(signature, node):
    """Name parameters that pybind11 only numbers as the stub does: by position only."""
    numbered = [re.fullmatch(r"arg\d+", argument.arg) for argument in signature.args.args]
    if any(numbered):
        signature.args.posonlyargs, signature.args.args = signature.args.args, []
        for theirs, ours in zip(signature.args.posonlyargs, node.args.posonlyargs, strict=False):
            theirs.arg = ours.arg


def parameters(node):
    """Names, kinds and defaults; the types are those that say enough."""
    plain = ast.parse(ast.unparse(node)).body[0]
    for argument in ast.walk(plain.args):
        if isinstance(argument, ast.arg):
            argument.annotation = None
    return ast.unparse(plain.args)


def types(node):
    arguments = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]
    annotations = {
        argument.arg: argument.annotation for argument in arguments if argument.arg != "self"
    }
    return {
        name: kind and ast.unparse(kind) for name, kind in {**annotations, "": node.returns}.items()
    }


def complaints(text):
    """The differences between a stub and the module."""
    stub, module = stub_names(text), module_names()
    yield from (f"{name}: not in the stub" for name in sorted(module.keys() - stub.keys()))
    yield from (f"{name}: not in the module" for name in sorted(stub.keys() - module.keys()))
    for name in sorted(stub.keys() & module.keys()):
        node, value = stub[name], module[name]
        if isinstance(node, ast.AnnAssign) or value is None:
            continue
        decorators = [
            decorator.id
            for decorator in getattr(node, "decorator_list", ())
            if hasattr(decorator, "id")
        ]
        is_property = "property" in decorators
        if is_property != inspect.isdatadescriptor(value):
            yield f"{name}: a property only in one of the two"
        doc = without_lines(value.__doc__)
        if not is_property and (known := pybind11_signature(name, value)):
            signature, doc = known
            with_names(signature, node)
            if parameters(signature) != parameters(node):
                yield f"{name}: ({parameters(node)}) is ({parameters(signature)}) in the module"
            typed = types(node)
            for which, kind in types(signature).items():
                if not VAGUE.search(kind) and typed.get(which) != kind:
                    yield f"{name}: {which or 'the result'} is {kind} in the module"
        if not doc and not name.startswith("TensorBase"):
            continue  # of the bindings, the stub has the only text
        said = without_lines(ast.get_docstring(node))
        # The long docstrings of public functions stand in one place.
        is_public = name in PUBLIC_METHODS or getattr(sycl_ext, name, None) is value
        if not (doc.startswith(f"{said} ") if is_public else said == doc):
            yield f"{name}: the docstring of the module is {doc!r}"


def test_stub_and_module_agree():
    assert len(stub_names(STUB.read_text())) > 100
    assert list(complaints(STUB.read_text())) == []


def declarations(text):
    """The functions and methods that a module declares for type checkers, without overloads."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            functions = [each for each in node.body if isinstance(each, ast.FunctionDef)]
            yield from (each for each in functions if not each.decorator_list)


def test_modules_declare_the_public_functions_as_the_stub_does():
    """All but the class of the result, which the stub cannot import."""
    stub, declared = stub_names(STUB.read_text()), set()
    for path in sorted(STUB.parent.rglob("*.py")):
        for node in declarations(path.read_text()):
            name = node.name if node.name in stub else f"TensorBase.{node.name}"
            declared.add(name)
            assert parameters(node) == parameters(stub[name]), f"{name} in {path}"
            assert ast.get_docstring(node) == ast.get_docstring(stub[name]), f"{name} in {path}"
    assert declared == DECLARED
    public = {name for name, value in vars(_core).items() if getattr(sycl_ext, name, 0) is value}
    assert public - {"_C_API"} <= DECLARED
