# SPDX-License-Identifier: Apache-2.0
"""Exchange of any array with any consumer, and plans of exchanges."""
