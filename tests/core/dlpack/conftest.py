# SPDX-License-Identifier: Apache-2.0
"""Both kinds of capsule."""

import pytest


@pytest.fixture(params=[True, False], ids=["versioned", "legacy"])
def versioned(request):
    return request.param
