# SPDX-License-Identifier: Apache-2.0
"""DLPack itself: its version, its types of devices, its protocol, capsules of C code."""

from sycl_ext._debug.introspection import VERSION, capsule_from_pointer
from sycl_ext._negotiation.dlpack import DeviceType, SupportsDLPack
from sycl_ext._setup.public import publish

__all__ = ["VERSION", "DeviceType", "SupportsDLPack", "capsule_from_pointer"]

publish(__name__, DeviceType, SupportsDLPack, capsule_from_pointer)
