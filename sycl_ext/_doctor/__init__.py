# SPDX-License-Identifier: Apache-2.0
"""``python -m sycl_ext doctor``: why a device is missing, and the command that fixes it.

- ``machine``: the facts, each determined on first use
- ``probe``: imports, drivers and devices, tried in a process of its own because they may crash;
  ``self_test`` has the tests of a device; ``processes`` runs the process and reads its report
- ``checks``: all checks, one function for each thing that can be wrong, by subject in
  ``runtime_checks``, ``driver_checks``, ``gpu_checks`` and ``feature_checks``; ``finding``: what
  they yield
- ``report``: facts and findings as text and as JSON
"""
