# SPDX-License-Identifier: Apache-2.0
"""Memory that several processes share."""

from sycl_ext._setup import public as _public

#: The modules of the public names.  ``ipc.pyi`` lists them for editors and type checkers.
_PUBLIC = {
    "_ipc.handles": "Handle empty handle open",
    "_ipc.packing": "Packed pack",
    "_ipc.reductions": "register_multiprocessing",
}

__getattr__, __dir__ = _public.lazily(__name__, _PUBLIC)
__all__ = [*__dir__()]
