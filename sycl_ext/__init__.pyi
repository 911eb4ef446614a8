# SPDX-License-Identifier: Apache-2.0
# The table of `__init__.py` for type checkers; tests/package/setup/test_import.py compares them.

from sycl_ext import dlpack as dlpack
from sycl_ext import ipc as ipc
from sycl_ext import memory as memory
from sycl_ext import mpi as mpi
from sycl_ext import pickling as pickling
from sycl_ext._devices.device import Device as Device
from sycl_ext._devices.device import devices as devices
from sycl_ext._devices.placement import device as device
from sycl_ext._devices.placement import register_context as register_context
from sycl_ext._exchange.exchange import exchange as exchange
from sycl_ext._exchange.exchange import explain as explain
from sycl_ext._exchange.staging import staged as staged
from sycl_ext._negotiation.errors import CopyRefusedError as CopyRefusedError
from sycl_ext._negotiation.errors import ExchangeError as ExchangeError
from sycl_ext._negotiation.errors import SyclError as SyclError
from sycl_ext._negotiation.rules import Plan as Plan
from sycl_ext._negotiation.rules import Route as Route
from sycl_ext._setup.paths import get_cmake_dir as get_cmake_dir
from sycl_ext._setup.paths import get_include as get_include
from sycl_ext._setup.runtimes import TwoRuntimesWarning as TwoRuntimesWarning
from sycl_ext._tensor.creation import as_tensor as as_tensor
from sycl_ext._tensor.creation import empty as empty
from sycl_ext._tensor.creation import empty_like as empty_like
from sycl_ext._tensor.creation import from_dlpack as from_dlpack
from sycl_ext._tensor.creation import full as full
from sycl_ext._tensor.creation import ones as ones
from sycl_ext._tensor.creation import zeros as zeros
from sycl_ext._tensor.creation import zeros_like as zeros_like
from sycl_ext._tensor.host_view import HostView as HostView
from sycl_ext._tensor.host_view import host_view as host_view
from sycl_ext._tensor.tensor import Tensor as Tensor

__version__: str
