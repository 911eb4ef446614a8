# SPDX-License-Identifier: Apache-2.0
"""Logs of exchanges, and live exports."""
