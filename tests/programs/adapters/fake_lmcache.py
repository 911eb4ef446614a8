# SPDX-License-Identifier: Apache-2.0
"""LMCache's base class of wrappers, by its public interface (LMCache#3703), as a module of that
name.
"""

import pickle
import sys
from types import ModuleType

FIELDS = ("handle", "dtype", "shape", "stride", "storage_offset", "device_uuid")


class DeviceIPCWrapper:
    """Subclasses fill the fields; `Serialize` and `Deserialize` are the wire."""

    def to_tensor(self):
        raise NotImplementedError

    def close(self):
        return None

    def __eq__(self, other):
        if type(self) is not type(other):
            return False
        return all(getattr(self, name) == getattr(other, name) for name in FIELDS)

    @staticmethod
    def Serialize(obj):  # noqa: N802 (LMCache's name)
        return pickle.dumps(obj)

    @staticmethod
    def Deserialize(data):  # noqa: N802
        return pickle.loads(data)


module = ModuleType("lmcache.v1.platform.base.ipc_wrapper")
module.DeviceIPCWrapper = DeviceIPCWrapper
sys.modules[module.__name__] = module
