# SPDX-License-Identifier: Apache-2.0
# The public names of `dlpack.py`, for editors and type checkers; test_import.py compares them.

from sycl_ext._negotiation.dlpack import DeviceType as DeviceType
from sycl_ext._negotiation.dlpack import SupportsDLPack as SupportsDLPack
from sycl_ext._protocols.capsules import capsule_from_pointer as capsule_from_pointer

#: The newest version of DLPack that the package exports and imports, as (major, minor).
VERSION: tuple[int, int]
