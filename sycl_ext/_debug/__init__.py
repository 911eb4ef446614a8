# SPDX-License-Identifier: Apache-2.0
"""What an exchange did, and what is still in consumers' hands."""
