# SPDX-License-Identifier: Apache-2.0
"""A library for whose functions `exchange` keeps its decisions."""

import sys
import types

import numpy as np
import pytest

NAME = "library_of_arrays"


@pytest.fixture
def library(monkeypatch):
    """A module that others find by its name, so that answers for it are kept."""
    module = types.ModuleType(NAME)
    module.from_dlpack = lambda x: np.from_dlpack(x)
    monkeypatch.setitem(sys.modules, NAME, module)
    return module
