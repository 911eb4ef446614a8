# SPDX-License-Identifier: Apache-2.0
"""DLPack itself: version, device types, protocol, and capsules from C code."""

from sycl_ext._setup.public import lazily

TYPE_CHECKING = False
if TYPE_CHECKING:
    from sycl_ext._debug.introspection import capsule_from_pointer
    from sycl_ext._negotiation.dlpack import DeviceType, SupportsDLPack

    #: The newest version of DLPack that the package exports and imports, as (major, minor).
    VERSION: tuple[int, int]
else:
    __getattr__, __dir__ = lazily(
        __name__,
        {
            "_debug.introspection": "VERSION capsule_from_pointer",
            "_negotiation.dlpack": "DeviceType SupportsDLPack",
        },
    )

__all__ = ["VERSION", "DeviceType", "SupportsDLPack", "capsule_from_pointer"]
