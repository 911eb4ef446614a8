# SPDX-License-Identifier: Apache-2.0
# The public names of `ipc.py`, for editors and type checkers; test_import.py compares them.

from sycl_ext._ipc.handles import Handle as Handle
from sycl_ext._ipc.handles import empty as empty
from sycl_ext._ipc.handles import handle as handle
from sycl_ext._ipc.handles import open as open  # noqa: A004
from sycl_ext._ipc.packing import Packed as Packed
from sycl_ext._ipc.packing import pack as pack
from sycl_ext._ipc.reductions import register_multiprocessing as register_multiprocessing
