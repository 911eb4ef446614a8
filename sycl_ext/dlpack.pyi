# SPDX-License-Identifier: Apache-2.0
# The public names of `dlpack.py`, for editors and type checkers; test_import.py compares them.

from sycl_ext._debug.introspection import capsule_from_pointer as capsule_from_pointer
from sycl_ext._negotiation.dlpack import DeviceType as DeviceType
from sycl_ext._negotiation.dlpack import SupportsDLPack as SupportsDLPack

#: The newest version of DLPack that the package exports and imports, as (major, minor).
VERSION: tuple[int, int]
