# SPDX-License-Identifier: Apache-2.0
"""Symmetric memory: a block of each rank of a group, which all ranks can read and write in place.

- ``memory``: `symmetric` and `SymmetricMemory`
- ``groups``: how ranks meet: MPI, torch.distributed, a store, or pipes of `multiprocessing`
- ``launcher``: the process from which all ranks descend
"""

from sycl_ext_symmetric.groups import PipeGroup, StoreGroup, groups
from sycl_ext_symmetric.memory import SymmetricMemory, symmetric

__all__ = ["PipeGroup", "StoreGroup", "SymmetricMemory", "groups", "symmetric"]

__version__ = "0.1.0"
