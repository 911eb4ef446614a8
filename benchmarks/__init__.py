# SPDX-License-Identifier: Apache-2.0
"""Compare the speed of sycl_ext with that of other libraries.  ``python -m benchmarks --help``."""
