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
        {
            "Handle": "_ipc.handles",
            "empty": "_ipc.handles",
            "handle": "_ipc.handles",
            "open": "_ipc.handles",
            "register_multiprocessing": "_ipc.reductions",
        },
    )

__all__ = ["Handle", "empty", "handle", "open", "register_multiprocessing"]
