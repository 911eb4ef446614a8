# SPDX-License-Identifier: Apache-2.0
"""Any array to any consumer, and what that will do."""
