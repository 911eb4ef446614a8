# SPDX-License-Identifier: Apache-2.0
"""Resolves a consumer to the row of its library and the function to call. Pure Python."""

import functools
import importlib
import sys
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from types import BuiltinFunctionType, ModuleType
from typing import Any, NamedTuple

from sycl_ext._negotiation.consumer_functions import FUNCTIONS, Function
from sycl_ext._negotiation.consumer_row import OF_DEVICE_MEMORY, Consumer, When
from sycl_ext._negotiation.consumers import WITH_VERSIONS, consumer_for


class Lookup(NamedTuple):
    """An attribute, or an entry of `sys.modules`, and its value; None: it is missing."""

    holder: Any
    name: str
    value: Any
    asked: bool = False  # it is compared by ``==``, and a function is called for its answer


@dataclass(slots=True)
class Target:
    """A consumer as it is called.

    The core keeps the target of a consumer as long as everything in `lookups`, and where it
    counts in `device_lookups`, has the same value. So whatever can change and decides about the
    target is in them, attributes of the consumer included.
    """

    title: str  # the name in messages
    row: Consumer | None = None  # as the library is configured; None: the table does not know it
    call: Callable[[Any], Any] | None = (
        None  # takes what `row` names; None: a device is the consumer
    )
    #: Whether `call` only imports. Then its exceptions are refusals, and with ``copy=False`` its
    #: result must be at the address that it was handed.
    imports: bool = False
    narrow_call: Callable[[Any], Any] | None = None  # in place of `call` for bfloat16 and float8
    usm_interface_call: Callable[[Any], Any] | None = None  # `Consumer.usm_interface_importer`
    then: Callable[[Any], Any] | None = None  # takes the array that `call` returned
    kept: bool = False  # whether the core may keep it
    lookups: list[Lookup] = field(default_factory=list)
    #: Of what the library was asked about memory other than the host's. They are compared for such
    #: memory, and where a device was asked for.
    device_lookups: list[Lookup] = field(default_factory=list)

    def attribute(self, holder: Any, *path: str) -> Any:
        """Return an attribute of an attribute, and add each step to `lookups`; None: it is missing.

        Nothing that can change is read in another way, but for an `answer`.
        """
        for name in map(sys.intern, path):  # so that a lookup compares no characters
            if holder is None:
                break
            value = sys.modules.get(name) if holder is sys.modules else getattr(holder, name, None)
            if not any(known.holder is holder and known.name == name for known in self.lookups):
                self.lookups.append(Lookup(holder, name, value))
            holder = value
        return holder

    def answer(self, holder: Any, name: str, value: Any) -> Any:
        """Return a value that may be a new object each time; in `lookups` it is compared by ``==``.

        It is that of an attribute, or of a call of it.
        """
        self.lookups.append(Lookup(holder, name, value, asked=True))
        return value

    def configure(self, row: Consumer, *, with_native: bool) -> None:
        """Take a row as its library is configured now."""
        for name, when in row.configured.items():
            if name == "takes_native" and not with_native:
                continue  # the question would initialize CUDA for nothing
            of_device = name in OF_DEVICE_MEMORY
            if not self._holds(row, when, self.device_lookups if of_device else self.lookups):
                row = replace(row, **{name: getattr(Consumer, name)})
        self.row = row

    def _holds(self, row: Consumer, when: When, lookups: list[Lookup]) -> bool:
        *path, name = when.name.split(".")
        holder = self.attribute(sys.modules, row.package, *path)
        value = getattr(holder, name, None)
        answer = value() if callable(value) else value
        lookups.append(Lookup(holder, name, answer, asked=True))
        return bool(answer == when.answer)


def read_consumer(consumer: Any, *, with_native: bool = True) -> Target:
    """Return how a consumer is called: a module, its name, or a callable.

    `with_native`: whether memory of CUDA or HIP may be handed over.
    """
    if isinstance(consumer, str):
        name = str(consumer)  # of a subclass, such as numpy.str_
        target = _target_of_module(_module_named(name), with_native)
        target.attribute(sys.modules, name)
        return target
    if isinstance(consumer, ModuleType):
        return _target_of_module(consumer, with_native)
    if not callable(consumer):
        kind = type(consumer)
        raise TypeError(
            f"consumer is a {kind.__module__}.{kind.__qualname__}; pass a module with "
            "from_dlpack, a callable that takes one argument, or a device"
        )
    return _target_of_function(consumer, with_native)


def _target_of_module(module: ModuleType, with_native: bool) -> Target:
    name = getattr(module, "__name__", None)
    if not isinstance(name, str):
        raise TypeError(
            f"consumer is a module whose __name__ is {name!r}, so its library is unknown; pass its "
            "function, as in exchange(x, module.from_dlpack)"
        )
    package = _package_of(name)
    target = Target(package, imports=True)
    # A module that was unloaded is not kept alive.
    target.kept = target.attribute(sys.modules, name) is module
    target.answer(module, "__name__", name)
    row = _row_of(target, package) or Consumer(package)
    call = target.attribute(module, "from_dlpack") if row.takes == "producer" else None
    _set_importer(target, row, call if callable(call) else None, with_native)
    return target


def _set_importer(
    target: Target, row: Consumer, call: Callable[[Any], Any] | None, with_native: bool
) -> None:
    """Have a target call the importing function of a library, or the given one in its place."""
    target.call = call or _importing_function(target, row)
    if row.narrow_importer and isinstance(target.call, BuiltinFunctionType):
        target.narrow_call = _importer(target, row.package, row.narrow_importer)
    if row.usm_interface_importer is not None:
        target.usm_interface_call = row.usm_interface_importer(target.call)
    target.configure(row, with_native=with_native)


def _target_of_function(consumer: Callable[[Any], Any], with_native: bool) -> Target:
    function: Any = consumer
    while isinstance(function, functools.partial):
        function = function.func
    module = _module_of(function)
    target = Target(_package_of(module), call=consumer, kept=function is consumer)
    row = _row_of(target, target.title)
    if row is None:
        called = getattr(function, "__qualname__", type(function).__qualname__)
        return Target(f"{module}.{called}" if module else called, call=consumer)
    if target.kept:
        target.kept = _note_place(target, function, module)
    importer = row.importer.replace(":", ".").rpartition(".")[2]
    if importer and getattr(function, "__name__", None) == importer:
        target.imports = True
        _set_importer(target, row, consumer, with_native)
        return target
    known = _known_function(target, function, row.package)
    takes = (known and known.takes) or row.functions
    if known is not None:
        target.title = known.name.replace(":", ".")
        target.imports = function is consumer
        # The arguments of a partial may say whether it copies, so it is given what copy= asks for.
        unsure = {} if function is consumer else {"copies": (), "keeps": "any"}
        row = replace(row, **{**known.limits, **unsure})
    if takes == "own array":
        target.then, target.imports = _finishing(consumer), True
        _set_importer(target, row, _nearest_import(target, row, module), with_native)
        return target
    if takes == "NumPy array":
        row = replace(row, memory="host", takes=takes, drops_stream=False)
    target.configure(row, with_native=with_native)
    return target


def _finishing(consumer: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Return what a library's array is passed to: a class has its instance already."""
    if not isinstance(consumer, type):
        return consumer
    return lambda array: array if isinstance(array, consumer) else consumer(array)


def _note_place(target: Target, function: Any, module: str) -> bool:
    """Add the place of a function to the lookups; return whether it has one.

    Its place is an attribute of its module, or of its library, by its own name. A function without
    a place, such as a closure, is not kept alive.
    """
    name, own = getattr(function, "__name__", None), getattr(function, "__module__", None)
    if not isinstance(name, str):
        return False
    target.attribute(function, "__class__")
    target.answer(function, "__name__", name)
    target.answer(function, "__module__", own)
    for place in dict.fromkeys((own, module, _package_of(module))):
        holder = sys.modules.get(place) if isinstance(place, str) else None
        if holder is not None and getattr(holder, name, None) is function:
            target.attribute(sys.modules, str(place))
            target.attribute(holder, name)
            return True
    return False


def _row_of(target: Target, package: str) -> Consumer | None:
    """Return the row of a package in the version that is in use, if there is one."""
    is_asked = package in WITH_VERSIONS
    version = target.attribute(sys.modules, package, "__version__") if is_asked else None
    return consumer_for(package, str(version or ""))


def _known_function(target: Target, function: Any, package: str) -> Function | None:
    """Return the row of a function. It is compared by identity: its ``__name__`` may differ."""
    for row in FUNCTIONS:
        module, _, path = row.name.partition(":")
        if _package_of(module) != package:
            continue
        if target.attribute(sys.modules, module, *path.split(".")) is function:
            return row
    return None


def _module_named(name: str) -> ModuleType:
    try:
        return importlib.import_module(name)
    except (ModuleNotFoundError, ValueError, TypeError) as error:
        raise ValueError(
            f"consumer is {name!r}, which is neither a device such as 'gpu:0' nor a module "
            f"that can be imported ({error}); pass the name of an installed package, such as "
            "'numpy'"
        ) from error


def _importing_function(target: Target, row: Consumer) -> Callable[[Any], Any]:
    """Return the function of a library that imports arrays."""
    if row.importer:
        return _importer(target, row.package, row.importer)
    names = [f.name.replace(":", ".") for f in FUNCTIONS if f.name.startswith(f"{row.package}:")]
    such = f", such as {names[0]}" if names else ""
    raise TypeError(
        f"consumer {row.package} has no from_dlpack; pass one of its functions{such}, which get a "
        "NumPy array"
    )


def _nearest_import(target: Target, row: Consumer, name: str) -> Any:
    """Return the ``from_dlpack`` of the innermost module around a function, if it takes producers.

    None: no module has one.
    """
    while name and row.takes == "producer":
        function = target.attribute(sys.modules, name, "from_dlpack")
        if function is not None:
            return function
        name = name.rpartition(".")[0]
    return None


def _importer(target: Target, package: str, importer: str) -> Callable[[Any], Any]:
    name, _, path = f"{package}{importer}".partition(":")
    try:
        importlib.import_module(name)
        call: Callable[[Any], Any] | None = target.attribute(sys.modules, name, *path.split("."))
        if call is None:
            raise AttributeError(path)
    except (AttributeError, ImportError, ValueError):
        raise TypeError(
            f"consumer {package} has no {importer.lstrip('.:')}; use the array of "
            "exchange(x, numpy), or pass a module with from_dlpack or a callable"
        ) from None
    return call


@functools.lru_cache(maxsize=64)
def _package_of(module: str) -> str:
    """Return the library of a module; array_api_compat behaves like the library that it wraps."""
    package, _, rest = module.partition(".")
    return rest.partition(".")[0] if package == "array_api_compat" and rest else package


def _module_of(consumer: Any) -> str:
    """Return the module that a callable comes from; that of a known library is preferred."""
    own = getattr(consumer, "__self__", None)
    candidates = (
        getattr(consumer, "__module__", None),
        getattr(getattr(consumer, "__objclass__", None), "__module__", None),  # of a method in C
        own.__name__ if isinstance(own, ModuleType) else getattr(type(own), "__module__", None),
        type(consumer).__module__,
    )
    names = [name for name in candidates if isinstance(name, str) and name != "builtins"]
    known = (name for name in names if consumer_for(_package_of(name), "") is not None)
    return next(known, names[0] if names else "")
