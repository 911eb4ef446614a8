# SPDX-License-Identifier: Apache-2.0
# The public names of `mpi.py`, for editors and type checkers; test_import.py compares them.

from sycl_ext._exchange.staging import StagedRequest as StagedRequest
from sycl_ext._exchange.staging import staged_request as staged_request
