# SPDX-License-Identifier: Apache-2.0
"""The adapters of the kit: a module for each library, which the worker imports."""
