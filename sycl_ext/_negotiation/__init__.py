# SPDX-License-Identifier: Apache-2.0
"""What an exchange will do: facts, requests and rules.  Pure Python: no core, no device."""
