# SPDX-License-Identifier: Apache-2.0
# The public names of `pickling.py`, for editors and type checkers; test_import.py compares them.

from sycl_ext._exchange.libraries import register as register
from sycl_ext._tensor.pickling import to_device as to_device
