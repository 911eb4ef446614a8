# SPDX-License-Identifier: Apache-2.0
"""MPI: communicators that can use memory of a device, and requests over staged memory."""

from sycl_ext._setup.public import lazily

TYPE_CHECKING = False
if TYPE_CHECKING:
    from sycl_ext._exchange.mpi import Check, check
    from sycl_ext._exchange.staging import StagedRequest, staged_request
else:
    __getattr__, __dir__ = lazily(
        __name__,
        {"_exchange.mpi": "Check check", "_exchange.staging": "StagedRequest staged_request"},
    )

__all__ = ["Check", "StagedRequest", "check", "staged_request"]
