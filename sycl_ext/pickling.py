# SPDX-License-Identifier: Apache-2.0
"""Pickles: arrays of other libraries, and the device of unpickled arrays."""

from sycl_ext._setup.public import lazily

TYPE_CHECKING = False
if TYPE_CHECKING:
    from sycl_ext._exchange.libraries import register
    from sycl_ext._tensor.pickling import to_device
else:
    __getattr__, __dir__ = lazily(
        __name__, {"_exchange.libraries": "register", "_tensor.pickling": "to_device"}
    )

__all__ = ["register", "to_device"]
