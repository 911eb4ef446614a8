# SPDX-License-Identifier: Apache-2.0
"""dask.array with chunks of dpnp, or of tensors.  On a cluster: ``test_cluster.py``."""

import operator
import pickle

import numpy as np
import pytest

import environments
import sycl_ext as sx
from samples import halves

dpnp = pytest.importorskip("dpnp")
da = pytest.importorskip("dask.array")
dask = pytest.importorskip("dask")

NUMBERS = np.arange(24.0).reshape(6, 4) + 1

OPERATIONS = {
    "nothing": lambda x: x,
    "a number": lambda x: 2 * x + np.float64(1),
    "ufunc": da.exp,
    "sum": lambda x: x.sum(),
    "mean": lambda x: x.mean(axis=0),
    "std": lambda x: x.std(),
    "max": lambda x: x.max(axis=1),
    "matmul": lambda x: x @ x.T,
    "tensordot": lambda x: da.tensordot(x, x.T, axes=1),
    "einsum": lambda x: da.einsum("ij,kj->ik", x, x),
    "slice": lambda x: x[1:5:2, ::-1],
    "take": lambda x: x[[4, 0, 5]],
    "mask": lambda x: x[x > 5],
    "concatenate": lambda x: da.concatenate([x, x], axis=1),
    "rechunk": lambda x: x.rechunk((6, 1)),
    "where": lambda x: da.where(x > 3, x, -x),
    "cumsum": lambda x: x.cumsum(axis=0),
    "argmax": lambda x: x.argmax(axis=0),
    "unique": lambda x: da.unique(x // 3),
    "svd": lambda x: da.linalg.svd(x.rechunk((3, 4)))[1],
}


def chunked(array):
    return da.from_array(array, chunks=(3, 2), asarray=False)


@pytest.fixture(autouse=True)
def in_this_thread():
    with dask.config.set(scheduler="sync"):
        yield


@pytest.mark.parametrize("operation", ["matmul", "tensordot", "einsum", "dot", "vdot"])
@pytest.mark.parametrize("make", [da.ones, lambda *args, **named: da.full(*args, 2.0, **named)])
def test_products_of_repeated_elements(operation, make):
    """Dask makes one element and broadcasts it; dpnp's products refuse strides of 0."""
    more = {"dot": lambda x: x.dot(x.T), "vdot": lambda x: da.vdot(x.ravel(), x.ravel())}
    compute = {**OPERATIONS, **more}[operation]
    with dask.config.set({"array.backend": "dpnp"}):
        x = make((6, 4), chunks=(3, 2))
        result = compute(x).compute()
    assert type(result) is dpnp.ndarray
    assert np.allclose(dpnp.asnumpy(result), compute(make((6, 4), chunks=(3, 2))).compute())


@pytest.mark.parametrize("operation", OPERATIONS)
def test_dask_computes_with_dpnp(operation, usm_type):
    compute = OPERATIONS[operation]
    result = compute(chunked(dpnp.asarray(NUMBERS, usm_type=usm_type))).compute()
    assert (type(result) is dpnp.ndarray, result.usm_type) == (True, usm_type)
    assert np.allclose(dpnp.asnumpy(result), compute(chunked(NUMBERS)).compute())


def test_numpys_functions_become_those_of_dpnp():
    x = dpnp.asarray(NUMBERS)
    out = dpnp.empty_like(x)
    assert np.add(x, 1, out=out) is out
    assert np.allclose(dpnp.asnumpy(out), NUMBERS + 1)
    assert np.concatenate([x, x], 1).shape == (6, 8)  # an argument that dpnp takes by name only
    assert np.add.reduce(x, axis=0).shape == (4,)


@pytest.mark.parametrize("name", ["add", "multiply", "maximum", "minimum"])
@pytest.mark.parametrize("method", ["reduce", "accumulate"])
@pytest.mark.parametrize("named", [{}, {"axis": 1}, {"axis": -1}])
def test_reductions_of_ufuncs_are_along_the_axis_of_numpy(name, method, named):
    """Without one it is the first; the functions with other names take all axes."""
    reduction = getattr(getattr(np, name), method)
    if name in ("maximum", "minimum") and method == "accumulate":
        with pytest.raises(TypeError):
            reduction(dpnp.asarray(NUMBERS), **named)
        return
    result = reduction(dpnp.asarray(NUMBERS), **named)
    assert np.allclose(dpnp.asnumpy(result), reduction(NUMBERS, **named))


COMPARISONS = (operator.eq, operator.ne, operator.lt, operator.le, operator.gt, operator.ge)


@pytest.mark.parametrize("number", [np.float64(2), np.float32(2), np.int64(2), np.array(2.0)])
@pytest.mark.parametrize("compare", COMPARISONS, ids=lambda compare: compare.__name__)
def test_numbers_of_numpy_compare_from_the_left(compare, number):
    """NumPy asks with an array of 0 dimensions; without the protocols, dpnp compares."""
    result = compare(number, dpnp.asarray(NUMBERS))
    assert type(result) is dpnp.ndarray
    assert np.array_equal(dpnp.asnumpy(result), compare(number, NUMBERS))


def test_functions_take_numbers_in_arrays_of_numpy():
    """xarray fills missing values with an array of 0 dimensions."""
    x = dpnp.asarray(NUMBERS)
    for result in (
        np.where(x > 2, x, np.array(0.0)),
        da.where(da.from_array(x, asarray=False) > 2, x, np.array(0.0)).compute(),
    ):
        assert type(result) is dpnp.ndarray
        assert np.array_equal(dpnp.asnumpy(result), np.where(NUMBERS > 2, NUMBERS, 0))


def test_comparisons_with_numpy_stay_false():
    """NumPy answers so when it cannot convert an argument."""
    x = dpnp.asarray(NUMBERS)
    assert np.array_equal(x, x)
    for pair in ((x, NUMBERS), (NUMBERS, x)):
        assert np.array_equal(*pair) is False
        assert np.array_equiv(*pair) is False


@pytest.mark.parametrize(
    "call",
    [
        lambda x: np.add(x, NUMBERS),
        lambda x: np.concatenate([x, NUMBERS]),
        lambda x: NUMBERS * x,
        lambda x: np.percentile(x, 50),  # dpnp has none
        lambda x: np.multiply.outer(x, x),
        lambda x: np.empty_like(x, dtype=[("a", "f4")]),
    ],
)
def test_unsupported_dask_operation_stays_a_type_error(call):
    with pytest.raises(TypeError):
        call(dpnp.asarray(NUMBERS))


@pytest.mark.parametrize(
    "make",
    [
        lambda: da.ones((6, 4), chunks=2),
        lambda: da.zeros(6, chunks=2, dtype="int32"),
        lambda: da.full((6, 4), 3.5, chunks=2),
        lambda: da.arange(10, chunks=3),
        lambda: da.random.default_rng(1).normal(size=(6, 4), chunks=3),
        lambda: da.random.RandomState(1).poisson(3, size=(6, 4), chunks=3),
    ],
)
def test_dask_backend_makes_dpnp(make):
    expected = make()
    with dask.config.set({"array.backend": "dpnp"}):
        made = make()
        assert (made.dtype, made.chunks) == (expected.dtype, expected.chunks)
        result = made.compute()
    assert type(made._meta) is type(result) is dpnp.ndarray
    assert np.array_equal(dpnp.asnumpy(result), expected.compute())


def test_arrays_go_to_a_backend_and_back():
    there = chunked(NUMBERS).to_backend("dpnp")
    assert type((there + 1).compute()) is dpnp.ndarray
    assert there.to_backend("dpnp") is there
    assert np.array_equal((there * 2).to_backend("numpy").compute(), NUMBERS * 2)


def test_pickles_need_no_distributed():
    """Dask's scheduler of processes pickles what tasks return."""
    loaded = pickle.loads(pickle.dumps(dpnp.arange(3)))
    assert (type(loaded) is dpnp.ndarray, loaded.asnumpy().tolist()) == (True, [0, 1, 2])


@pytest.mark.parametrize("axis", [0, 1, -1])
def test_tensors_are_moved_and_cut(axis):
    tensor = sx.empty(NUMBERS.shape, "float64").copy_from(NUMBERS)
    x = chunked(tensor)
    result = da.concatenate([x, x], axis=axis).rechunk((5, 3))[1:, ::-1].compute()
    assert type(result) is sx.Tensor
    assert result.to_numpy().tolist() == np.concatenate([NUMBERS] * 2, axis)[1:, ::-1].tolist()
    host = x.to_backend("numpy").compute()
    assert type(host) is np.ndarray
    assert np.array_equal(host, NUMBERS)


@pytest.mark.parametrize(
    "imports",
    ["dask.array, dpnp", "dpnp, dask.array", "distributed, dask.array.core, dpnp"],
)
def test_order_of_imports_does_not_matter(imports):
    shown = environments.python(
        f"import sycl_ext, numpy as np, {imports}\nprint(np.exp(dpnp.zeros(2)).asnumpy())"
    )
    assert shown.strip() == "[1. 1.]"


QUESTIONS = {
    "find_spec": "assert importlib.util.find_spec('dpnp')",
    "find_spec, twice": "[importlib.util.find_spec('dpnp') for _ in range(2)]",
    "an import that fails": (
        "importlib.util.find_spec('dpnp').loader.get_source('dpnp')\n"
        "execute = importlib.machinery.SourceFileLoader.exec_module\n"
        "def fail(self, module): raise ImportError('not now')\n"
        "importlib.machinery.SourceFileLoader.exec_module = fail\n"
        "try: import dpnp\n"
        "except ImportError: pass\n"
        "importlib.machinery.SourceFileLoader.exec_module = execute"
    ),
    "the transports of Ray": (
        "import pkgutil\nassert 'dpnp' in {m.name for m in pkgutil.iter_modules()}"
    ),
    "an import in a thread": (
        "import threading\nt = threading.Thread(target=lambda: importlib.import_module('dpnp'))\n"
        "t.start()\nt.join()"
    ),
}


@pytest.mark.parametrize("question", QUESTIONS)
def test_find_spec_of_dpnp_keeps_the_registration(question):
    """It used to take the registration with dask.array away, without a word."""
    shown = environments.python(
        "import importlib.machinery, importlib.util, sys\n"
        f"import sycl_ext, numpy as np, dask.array as da\n{QUESTIONS[question]}\n"
        "import dpnp\n"
        "print(np.exp(dpnp.zeros(2)).asnumpy(), type(da.ones(2).to_backend('dpnp').compute()))\n"
        "print(type(dpnp.__loader__).__name__, dpnp.__spec__.loader is dpnp.__loader__)\n"
        "print('dpnp' in [getattr(finder, 'name', '') for finder in sys.meta_path])"
    )
    assert shown.splitlines() == [
        "[1. 1.] <class 'dpnp.dpnp_array.dpnp_array'>",
        "SourceFileLoader True",
        "False",
    ]


@pytest.mark.parametrize("imports", ["dask.base", "dask.array"])
def test_token_of_an_array_is_the_same_for_equal_arrays(imports):
    shown = environments.python(
        f"import sycl_ext, dpnp, {imports}\n"
        "from dask.base import tokenize\n"
        "a, b, c = dpnp.ones(3), dpnp.ones(3), dpnp.zeros(3)\n"
        "print(tokenize(a) == tokenize(a) == tokenize(b) != tokenize(c))\n"
        "print(tokenize(a))"
    ).split()
    assert shown == ["True", dask.base.tokenize(dpnp.ones(3))]


def test_token_of_an_array_names_its_memory():
    """Dask takes arrays with one token for one array, and computes with any of them."""
    first, second = halves()
    arrays = [
        dpnp.ones((2, 3)),
        dpnp.ones((2, 3), dtype="f4"),
        dpnp.ones((3, 2)),
        dpnp.asfortranarray(dpnp.ones((2, 3))),
        dpnp.ones((2, 3), usm_type="shared"),
        dpnp.ones((2, 3), usm_type="host"),
        *(dpnp.ones((2, 3), sycl_queue=half.sycl_queue) for half in (first, second)),
    ]
    tokens = [dask.base.tokenize(x) for x in arrays]
    assert len(set(tokens)) == len(arrays)
    assert tokens == [dask.base.tokenize(x.copy(order="K")) for x in arrays]


def test_arrays_of_dask_load_neither_dpnp_nor_the_runtime():
    shown = environments.python(
        "import sys, dask.array as da, sycl_ext\n"
        "da.ones((4, 4), chunks=2).rechunk(4).sum().compute()\n"
        "print([name for name in ('dpnp', 'dpctl', 'sycl_ext_dask.arrays') if name in sys.modules])"
    )
    assert shown.strip() == "[]"
