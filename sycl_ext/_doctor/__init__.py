# SPDX-License-Identifier: Apache-2.0
"""``python -m sycl_ext doctor``: finds out why there is no device, and says what cures it.

- ``machine``: facts, each found out when it is first asked for
- ``probe``: what can crash, done in a process of its own; ``processes`` starts them, and reads what
  comes back; ``self_test`` has the tests of a device
- ``checks``: a function for each thing that can be wrong
- ``report``: facts and findings as text and as JSON
"""
