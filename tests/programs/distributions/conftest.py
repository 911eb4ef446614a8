# SPDX-License-Identifier: Apache-2.0
"""``make distributions`` runs these tests, in an environment without the integrations."""

collect_ignore = ["alone"]
