# SPDX-License-Identifier: Apache-2.0
"""Device memory shared between processes."""
