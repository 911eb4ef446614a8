# SPDX-License-Identifier: Apache-2.0
"""The adapters that come with the kit: a module for each library, which the worker imports."""
