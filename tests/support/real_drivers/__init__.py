# SPDX-License-Identifier: Apache-2.0
"""Real drivers without a device: Intel's for its GPUs, and PoCL 7, from Debian sid."""
