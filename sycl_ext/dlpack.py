# SPDX-License-Identifier: Apache-2.0
"""DLPack itself: version, device types, protocol, and capsules from C code."""

from sycl_ext._setup import public as _public

#: The modules of the public names.  ``dlpack.pyi`` lists them for editors and type checkers.
_PUBLIC = {
    "_negotiation.dlpack": "DeviceType SupportsDLPack",
    "_protocols.capsules": "VERSION capsule_from_pointer",
}

__getattr__, __dir__ = _public.lazily(__name__, _PUBLIC)
__all__ = [*__dir__()]
