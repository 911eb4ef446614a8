# SPDX-License-Identifier: Apache-2.0
"""Import and export of memory: DLPack, ``__sycl_usm_array_interface__``, buffers."""
