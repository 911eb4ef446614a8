# SPDX-License-Identifier: Apache-2.0
"""DLPack itself: version, device types, protocol, and capsules from C code."""

from sycl_ext._debug.introspection import VERSION, capsule_from_pointer
from sycl_ext._negotiation.dlpack import DeviceType, SupportsDLPack
from sycl_ext._setup.public import publish

__all__ = ["VERSION", "DeviceType", "SupportsDLPack", "capsule_from_pointer"]

publish(__name__, DeviceType, SupportsDLPack, capsule_from_pointer)
