# SPDX-License-Identifier: Apache-2.0
"""The device table in Python: entries, queues and contexts."""
