# SPDX-License-Identifier: Apache-2.0
"""The registry: every public way into and out of the memory of a tensor, each of them once.

A row of `WAYS` says how something is done with a tensor, and what that gives.  A promise (new data,
read-only, a fault at any call, ...) is a loop over the rows that `select` finds by their results,
fields and tags, never by their names.  The rows are in five files by subject; `results` reads,
writes and looks at whatever a row gives, and `parts` has the functions of the rows.  A row's name
begins with the public name that it uses, and ``package/setup/test_ways.py`` compares these with the
package, so that none is forgotten.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Set
from types import ModuleType
from typing import Any

import sycl_ext as sx
from ways import dlpacks, hosts, libraries, tensors, writes
from ways.parts import V1, HandedOn, consumer, described, from_table, torch_knows
from ways.results import (
    Address,
    Described,
    address_of,
    content,
    is_within,
    is_writable,
    module,
    write,
)
from ways.way import COPY, EITHER, HOST, NEW, NOTHING, NUMBER, VIEW, WRITES, Tag, Way

__all__ = [
    "COPY",
    "EITHER",
    "HOST",
    "NEW",
    "NOTHING",
    "NUMBER",
    "V1",
    "VIEW",
    "WRITES",
    "Address",
    "Described",
    "HandedOn",
    "Tag",
    "Way",
    "address_of",
    "consumer",
    "content",
    "described",
    "from_table",
    "is_within",
    "is_writable",
    "module",
    "torch_knows",
    "write",
]

WAYS: dict[str, Way] = {
    **tensors.ROWS,
    **hosts.ROWS,
    **dlpacks.ROWS,
    **libraries.ROWS,
    **writes.ROWS,
}


def tagged(tag: Tag) -> dict[str, Way]:
    """The rows with this tag."""
    return {name: way for name, way in WAYS.items() if tag in way.tags}


def select(*gives: str, without: Set[Tag] = frozenset(), **fields: Any) -> dict[str, Way]:
    """The rows with one of these results, none of the tags, and these values of fields."""
    return {
        name: way
        for name, way in WAYS.items()
        if way.gives in (gives or (way.gives,))
        and not way.tags & without
        and all(getattr(way, field) == value for field, value in fields.items())
    }


#: Public names that are not ways into or out of a tensor -> the file that tests them.
ELSEWHERE = {
    "device devices register_context Device.create_sub_devices Device.host_accessible":
        "package/devices/test_device_table.py",
    "memory.cached memory.limit memory.release_cached memory.statistics":
        "package/devices/test_memory_use.py",
    "HostView.__copy__ HostView.__deepcopy__ HostView.__getitem__ HostView.__iter__ "
    "HostView.__reduce_ex__ HostView.as_readonly HostView.copy HostView.copy_from "
    "HostView.reshape HostView.squeeze HostView.to_device HostView.transpose "
    "HostView.wait":
        "package/tensor/test_host_view_methods.py",
    "AsyncCopy.__copy__ AsyncCopy.__deepcopy__ Device.__copy__ Device.__deepcopy__ "
    "HostRegistration.__copy__ HostRegistration.__deepcopy__ "
    "Handle.__copy__ Handle.__deepcopy__ Packed.__copy__ Packed.__deepcopy__":
        "package/tensor/test_identities.py",
    "memory.live_exports": "package/protocols/test_live_exports.py",
    "memory.advise memory.prefetch": "package/tensor/test_hints.py",
    "memory.register_host HostRegistration.close": "package/tensor/test_host_registration.py",
    "pickling.to_device": "package/tensor/test_pickle.py",
    "pickling.register": "package/exchange/test_libraries.py",
    "dlpack.capsule_from_pointer": "core/dlpack/test_dlpack_import.py",
    "ipc.empty ipc.handle ipc.open": "package/ipc/test_ipc.py",
    "ipc.pack Packed.open": "package/ipc/test_packing.py",
    "ipc.register_multiprocessing": "environments/stand_in_gpu/test_gpu_anybodys_memory.py",
    "Handle.to_bytes": "environments/stand_in_gpu/test_gpu_processes.py",
    "get_cmake_dir get_include": "package/setup/test_import.py",
    "Plan.check Plan.noting": "core/rules/test_relation.py",
    "AsyncCopy.done": "package/tensor/test_async_copy.py",
}  # fmt: skip

#: Protocols, which are public although their names begin with an underscore.
PROTOCOLS = re.compile(
    r"__(array|buffer|copy|deepcopy|dlpack|dlpack_c_exchange_api|getitem|iter|reduce_ex"
    r"|sycl_usm_array_interface|int|float|complex|index)__"
)


def public() -> Iterator[str]:
    """Every public function, and every public method but those that refuse to compute."""
    spaces = {
        name: namespace
        for name in sx.__all__
        if isinstance(namespace := getattr(sx, name), ModuleType)
    }
    for space, namespace in {"": sx, **spaces}.items():
        for name in namespace.__all__:
            value = getattr(namespace, name)
            if isinstance(value, type):
                yield from (f"{name}.{method}" for method in _methods(value))
            elif callable(value):
                yield f"{space}.{name}".lstrip(".")


def _methods(cls: type) -> set[str]:
    return {
        name
        for base in cls.__mro__
        if base.__module__.startswith("sycl_ext") and base is not sx.dlpack.SupportsDLPack
        for name, value in vars(base).items()
        if PROTOCOLS.fullmatch(name) or (callable(value) and not name.startswith("_"))
    }


def public_name(row: str) -> str:
    """The public name that a row begins with."""
    return re.match(r"[\w.]+", row)[0]
