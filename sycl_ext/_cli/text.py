# SPDX-License-Identifier: Apache-2.0
"""The one error of the command line.  Pure Python."""

from __future__ import annotations


class CommandError(Exception):
    """A command failed; the text names the object, the value and the way out."""
