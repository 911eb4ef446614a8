# SPDX-License-Identifier: Apache-2.0
"""How fast sycl_ext is, compared with its peers.  ``python -m benchmarks --help``."""
