# SPDX-License-Identifier: Apache-2.0
"""MPI: communicators that can use memory of a device, and requests over staged memory."""

from sycl_ext._exchange.mpi import Check, check
from sycl_ext._exchange.staging import StagedRequest, staged_request
from sycl_ext._setup.public import publish

__all__ = ["Check", "StagedRequest", "check", "staged_request"]

publish(__name__, Check, StagedRequest, check, staged_request)
