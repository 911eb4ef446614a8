# SPDX-License-Identifier: Apache-2.0
"""Steps before the first use: the CPU driver, loading the core, two runtimes, no device."""
