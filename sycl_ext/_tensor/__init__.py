# SPDX-License-Identifier: Apache-2.0
"""`Tensor` and `HostView`, and the functions that make them."""

from sycl_ext._setup.startup import require_main_interpreter

require_main_interpreter()  # a pickle may be the first use of the package, and names a module here
