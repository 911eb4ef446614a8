# SPDX-License-Identifier: Apache-2.0
"""`sycl_ext/_core.pyi` is what its generator makes of the built module."""

import importlib.util
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent


@pytest.fixture(scope="module")
def make_stub():
    spec = importlib.util.spec_from_file_location("make_stub", ROOT / "tools" / "make_stub.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def fresh(make_stub):
    for tool in ("pybind11_stubgen", "ruff"):
        pytest.importorskip(tool)
    return make_stub.make_stub()


def test_the_stub_is_up_to_date(fresh, make_stub):
    assert make_stub.STUB.read_text() == fresh, "run tools/make_stub.py (make stub)"


def test_every_name_of_the_module_is_in_the_stub(fresh):
    names = [name for name in dir(sys.modules["sycl_ext._core"]) if not name.startswith("_")]
    assert len(names) > 30
    for name in names:
        assert any(
            line.startswith((f"def {name}(", f"class {name}:", f"{name}:"))
            for line in fresh.splitlines()
        ), name


def test_a_type_that_nobody_knows_is_an_error(make_stub, monkeypatch):
    monkeypatch.delitem(make_stub.TYPES, "view")
    with pytest.raises(SystemExit, match="view: add its types to TYPES"):
        make_stub.make_stub()


def test_an_attribute_without_a_type_is_an_error(make_stub, monkeypatch):
    monkeypatch.delitem(make_stub.ATTRIBUTES, "ndim")
    with pytest.raises(SystemExit, match="ndim"):
        make_stub.tensor_base()
