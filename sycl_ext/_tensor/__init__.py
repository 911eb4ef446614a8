# SPDX-License-Identifier: Apache-2.0
"""`Tensor` and `HostView`, and the functions that make them."""
