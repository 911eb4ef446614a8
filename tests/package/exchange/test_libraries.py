# SPDX-License-Identifier: Apache-2.0
"""Arrays of other libraries in pickles: they arrive as what they were."""

import copy
import pickle

import pytest

import environments
import sycl_ext as sx
from dpnp_layouts import LAYOUTS, assert_arrived, numbers
from needs import needs

dpnp = pytest.importorskip("dpnp")


@pytest.fixture(autouse=True)
def registered():
    sx.pickling.register("dpnp", "dpnp.tensor")


@needs("device_copies")
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("protocol", range(2, pickle.HIGHEST_PROTOCOL + 1))
def test_layout_survives_the_pickle(layout, protocol, usm_type):
    x = LAYOUTS[layout](numbers(usm_type))
    assert_arrived(pickle.loads(pickle.dumps(x, protocol)), x)


@needs("device_copies")
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize(
    "copied", [lambda x: pickle.loads(pickle.dumps(x)), copy.copy], ids=["pickle", "copy"]
)
def test_layout_of_usm_ndarray_survives(copied, layout, usm_type):
    x = LAYOUTS[layout](numbers(usm_type))
    array = copied(x.get_array())
    assert type(array) is type(x.get_array())
    assert_arrived(dpnp.ndarray._create_from_usm_ndarray(array), x)


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy])
@pytest.mark.parametrize("cls", ["ndarray", "usm_ndarray"])
def test_copy_of_an_array_has_its_own_memory(cls, copied):
    """``copy`` calls what is registered with ``copyreg`` for pickles."""
    x = dpnp.zeros(3) if cls == "ndarray" else dpnp.zeros(3).get_array()
    copied(x)[0] = 5
    assert sx.as_tensor(x).tolist() == [0, 0, 0]


def test_copy_has_the_order_of_the_array():
    x = dpnp.asfortranarray(dpnp.ones((2, 3))).get_array()
    assert copy.copy(x).strides == x.strides


def test_pickle_of_a_process_that_only_pickles_is_loaded_by_one_that_only_loads():
    """Neither of them uses a public function of the exchange."""
    data = environments.python("""
import pickle, dpnp
import sycl_ext as sx
sx.pickling.register("dpnp")
print(pickle.dumps(dpnp.arange(24)))
""")
    shown = environments.python(
        f"import pickle; x = pickle.loads({data.strip()}); print(type(x).__name__, int(x.sum()))",
        {"PYTHONWARNINGS": "ignore"},  # it may lack the device
    )
    assert shown.strip() == f"dpnp_array {sum(range(24))}"


@needs("device_copies")
def test_unpickling_needs_no_registration():
    data = pickle.dumps(numbers())
    shown = environments.python(
        f"import pickle; x = pickle.loads({data!r}); print(type(x).__name__, int(x.sum()))",
        {**environments.cpu(), "PYTHONWARNINGS": "ignore"},  # it may lack the device
    )
    assert shown.strip() == f"dpnp_array {sum(range(24))}"


def test_unknown_library_is_refused():
    with pytest.raises(ValueError, match="library is 'numpie'; it must be 'dpnp' or 'dpnp.tensor'"):
        sx.pickling.register("dpnp", "numpie")


def test_import_registers_no_pickles():
    shown = environments.python("""
import pickle, dpnp, sycl_ext
try:
    pickle.dumps(dpnp.zeros(3))
except TypeError as error:
    print(error)
""")
    assert "__reduce__" in shown
