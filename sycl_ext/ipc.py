# SPDX-License-Identifier: Apache-2.0
"""Memory that several processes share."""

from sycl_ext._setup.public import lazily

TYPE_CHECKING = False
if TYPE_CHECKING:
    from sycl_ext._ipc.handles import Handle, empty, handle, open  # noqa: A004
    from sycl_ext._ipc.reductions import register_multiprocessing
else:
    __getattr__, __dir__ = lazily(
        __name__,
        {"_ipc.handles": "Handle empty handle open", "_ipc.reductions": "register_multiprocessing"},
    )

__all__ = ["Handle", "empty", "handle", "open", "register_multiprocessing"]
