# SPDX-License-Identifier: Apache-2.0
"""How memory comes in and goes out: DLPack, ``__sycl_usm_array_interface__``, buffers."""
