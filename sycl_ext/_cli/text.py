# SPDX-License-Identifier: Apache-2.0
"""The one error of the command line.  Pure Python."""

from __future__ import annotations


class CommandError(Exception):
    """What was asked for cannot be done; the text names the thing, the value and the way out."""
