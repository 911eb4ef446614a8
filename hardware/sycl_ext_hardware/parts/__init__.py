# SPDX-License-Identifier: Apache-2.0
"""The parts of the report: a module each, whose function `rows` yields names and functions."""
