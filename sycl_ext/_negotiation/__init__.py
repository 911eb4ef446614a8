# SPDX-License-Identifier: Apache-2.0
"""The decisions of an exchange: facts, requests and rules. Pure Python: no core, no device."""
