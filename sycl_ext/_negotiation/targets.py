# SPDX-License-Identifier: Apache-2.0
"""How a consumer is called: the row of its library, and the function. Pure Python."""

import functools
import importlib
from collections.abc import Callable, Mapping
from dataclasses import replace
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np

from sycl_ext._negotiation.consumer_functions import FUNCTIONS, Function
from sycl_ext._negotiation.consumer_row import ALL, Consumer
from sycl_ext._negotiation.consumers import consumer_for
from sycl_ext._negotiation.reads import Reads


class Target(NamedTuple):
    """A consumer as it is called."""

    row: Consumer  # with the limits of the function
    call: Callable[[Any], Any]  # takes a producer, or the object that `row` names
    then: Callable[[Any], Any] | None = None  # a function that takes the array `call` returned
    described: Callable[[Any], Any] | None = None  # in place of `call`: `Consumer.described`
    lasts: bool = False  # whether its name finds the consumer, so that it may be kept

    def for_narrow(self, reads: Reads) -> "Target":
        """Return the target for bfloat16 and float8."""
        return self._replace(call=_entry(self.row.package, self.row.narrow_entry, reads))

    def finish(self, array: Any) -> Any:
        """Pass the library's own array to its function; a class of such arrays has one already."""
        if isinstance(self.then, type) and isinstance(array, self.then):
            return array
        return array if self.then is None else self.then(array)


def find_consumer(consumer: Any, reads: Reads | None = None) -> Target:
    """Return how a consumer is called: a module, its name, or a callable.

    Everything that the answer depends on is added to `reads`.
    """
    reads = Reads() if reads is None else reads
    if isinstance(consumer, str):
        consumer = _module_named(consumer, reads)
    if isinstance(consumer, ModuleType):
        return _target_of_module(consumer, reads)
    if not callable(consumer):
        kind = type(consumer)
        raise TypeError(
            f"consumer is a {kind.__module__}.{kind.__qualname__}; pass a module with "
            "from_dlpack, a callable of one argument, or a device"
        )
    function: Any = consumer
    arguments: dict[str, Any] = {}
    while isinstance(function, functools.partial):
        function, arguments = function.func, {**function.keywords, **arguments}
    module = _module_of(function)
    package = _package_of(module)
    row = _row_of(package, reads)
    if row is None:
        name = getattr(function, "__qualname__", type(function).__qualname__)
        row = _unlisted(package or "?", f"{module}.{name}" if module else name)
        target = Target(row, consumer)
    else:
        target = _target_of_function(row, consumer, function, arguments, module, reads)
    own = getattr(consumer, "__module__", None)
    return target._replace(lasts=_is_found(consumer, (own, module, package), reads))


@functools.lru_cache(maxsize=64)
def _unlisted(package: str, called: str) -> Consumer:
    """Return the row of a function for which the table has none."""
    return Consumer(package, called=called, functions="producer", is_library=False, is_listed=False)


def _is_found(function: Any, modules: tuple[Any, ...], reads: Reads) -> bool:
    """Whether a function is an attribute of one of the modules, by its own name."""
    name = getattr(function, "__name__", None)
    if not isinstance(name, str) or "<" in getattr(function, "__qualname__", ""):
        return False  # "<lambda>", or in the "<locals>" of a function
    for module_name in dict.fromkeys(modules):
        module = reads.module(module_name) if isinstance(module_name, str) else None
        if module is not None and reads.attribute(module, name) is function:
            return True
    return False


def _row_of(package: str, reads: Reads) -> Consumer | None:
    """Return the row of a package in the version that is in use, if there is one."""
    in_use = reads.module(package)
    version = "" if in_use is None else reads.attribute(in_use, "__version__")
    return consumer_for(package, str(version))


def _target_of_module(module: ModuleType, reads: Reads) -> Target:
    name = getattr(module, "__name__", None)
    if not isinstance(name, str):
        raise TypeError(
            f"consumer is a module whose __name__ is {name!r}, which names no library; pass its "
            "function, as in exchange(x, module.from_dlpack)"
        )
    package = _package_of(name)
    row = _row_of(package, reads) or Consumer(package)
    call = reads.attribute(module, "from_dlpack")
    if row.takes != "producer" or not callable(call):
        call = _importing_function(row, reads)
    lasts = reads.module(name) is module
    return Target(row, call, described=row.described and row.described(call), lasts=lasts)


def _target_of_function(
    row: Consumer,
    consumer: Any,
    function: Any,
    arguments: Mapping[str, Any],
    module: str,
    reads: Reads,
) -> Target:
    """Return how a function of a library is called, which may be the inner one of a partial."""
    if getattr(function, "__name__", "") == "from_dlpack":
        return Target(_with_arguments(row, function, arguments), consumer)
    known = _known_function(function, row.package, reads)
    takes = row.functions
    if known is not None:
        takes = known.takes or takes
        row = replace(row, called=known.name.replace(":", "."), **known.limits)
    row = _with_arguments(row, function, arguments)
    if takes == "own array":
        call = _nearest_import(row, module, reads) or _importing_function(row, reads)
        return Target(row, call, consumer, row.described and row.described(call))
    if takes == "NumPy array":
        row = replace(row, memory="host", takes=takes, described=None, drops_stream=False)
    return Target(row, consumer)


def _with_arguments(row: Consumer, function: Any, arguments: Mapping[str, Any]) -> Consumer:
    """Return the row of a function with the arguments of a partial that say whether it copies."""
    changes: dict[str, Any] = {}
    if "copy" in arguments:
        changes["copies"] = ALL if arguments["copy"] is True else ()
    if arguments.get("order") in ("C", "F"):
        changes["keeps"] = arguments["order"]
    if arguments.get("dtype") is not None:
        changes["converts"] = _name_of_dtype(arguments["dtype"])
    if not changes:
        return row
    called = row.called or f"{row.package}.{getattr(function, '__name__', '')}"
    given = ", ".join(f"{name}={value!r}" for name, value in arguments.items())
    return replace(row, called=f"{called} with {given}", **changes)


def _name_of_dtype(dtype: Any) -> str:
    """Return the name of a dtype of any library, as in the dtype table."""
    try:
        return str(np.dtype(dtype).name)
    except (TypeError, ValueError):
        return str(dtype).removeprefix("torch.")


def _known_function(function: Any, package: str, reads: Reads) -> Function | None:
    """Return the row of a function. It is compared by identity: its ``__name__`` may differ."""
    for row in FUNCTIONS:
        module, _, path = row.name.partition(":")
        named: Any = reads.module(module) if _package_of(module) == package else None
        for name in path.split("."):
            named = None if named is None else reads.attribute(named, name)
        if named is not None and named is function:
            return row
    return None


def _module_named(name: str, reads: Reads) -> ModuleType:
    try:
        module = importlib.import_module(name)
    except (ModuleNotFoundError, ValueError, TypeError) as error:
        raise ValueError(
            f"consumer is {name!r}, which is neither a device such as 'gpu:0' nor a module "
            f"that can be imported ({error}); pass the name of an installed package, such as "
            "'numpy'"
        ) from error
    reads.module(name)
    return module


def _importing_function(row: Consumer, reads: Reads) -> Callable[[Any], Any]:
    """Return the function of a library that imports arrays."""
    if row.entry:
        return _entry(row.package, row.entry, reads)
    names = [f.name.replace(":", ".") for f in FUNCTIONS if f.name.startswith(f"{row.package}:")]
    such = f", such as {names[0]}" if names else ""
    raise TypeError(
        f"consumer {row.package} has no from_dlpack; pass one of its functions{such}: it gets a "
        "NumPy array"
    )


def _nearest_import(row: Consumer, name: str, reads: Reads) -> Any:
    """Return the ``from_dlpack`` of the innermost module around a function, if it takes producers.

    None: no module has one.
    """
    while name and row.takes == "producer":
        module = reads.module(name)
        function = None if module is None else reads.attribute(module, "from_dlpack")
        if function is not None:
            return function
        name = name.rpartition(".")[0]
    return None


def _entry(package: str, entry: str, reads: Reads) -> Callable[[Any], Any]:
    name, _, path = f"{package}{entry}".partition(":")
    try:
        named: Any = importlib.import_module(name)
        reads.module(name)
        for attribute in path.split("."):
            named = reads.attribute(named, attribute)
        if named is None:
            raise AttributeError(path)
    except (AttributeError, ImportError, ValueError):
        raise TypeError(
            f"consumer {package} has no {entry.lstrip('.:')}; use the array of "
            "exchange(x, numpy), or pass a module with from_dlpack or a callable"
        ) from None
    call: Callable[[Any], Any] = named
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
