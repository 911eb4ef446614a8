# SPDX-License-Identifier: Apache-2.0
"""All random numbers of dask.array with the backend of dpnp, which are those of NumPy's."""

import inspect
import warnings

import numpy as np
import pytest

dpnp = pytest.importorskip("dpnp")
da = pytest.importorskip("dask.array")
dask = pytest.importorskip("dask")

SHAPE = {"size": (5, 4), "chunks": 3}

#: Method -> positional arguments; None: it takes no `size`.
ARGUMENTS = {
    "beta": (2, 3),
    "binomial": (9, 0.5),
    "chisquare": (3,),
    "choice": (7,),
    "exponential": (2,),
    "f": (3, 5),
    "gamma": (2, 3),
    "geometric": (0.3,),
    "gumbel": (1, 2),
    "hypergeometric": (9, 8, 7),
    "integers": (3, 90),
    "laplace": (1, 2),
    "logistic": (1, 2),
    "lognormal": (1, 2),
    "logseries": (0.5,),
    "multinomial": (20, [0.2, 0.3, 0.5]),
    "multivariate_hypergeometric": ([4, 5, 6], 7),
    "negative_binomial": (9, 0.5),
    "noncentral_chisquare": (3, 2),
    "noncentral_f": (3, 5, 2),
    "normal": (1, 2),
    "pareto": (3,),
    "permutation": (11,),
    "poisson": (3,),
    "power": (3,),
    "randint": (3, 90),
    "random": (),
    "random_integers": (3, 90),
    "random_sample": (),
    "rayleigh": (2,),
    "standard_cauchy": (),
    "standard_exponential": (),
    "standard_gamma": (2,),
    "standard_normal": (),
    "standard_t": (4,),
    "tomaxint": (),
    "triangular": (1, 2, 5),
    "uniform": (1, 2),
    "vonmises": (1, 2),
    "wald": (1, 2),
    "weibull": (2,),
    "zipf": (2,),
}

SOURCES = {
    "Generator": lambda: da.random.default_rng(7),
    "RandomState": lambda: da.random.RandomState(7),
    "functions": lambda: da.random.seed(7) or da.random,
}


def methods_of(source):
    """The public methods of a source of random numbers."""
    owner = da.random.Generator if source == "Generator" else da.random.RandomState
    names = [n for n, _ in inspect.getmembers(owner, inspect.isfunction) if n[0] != "_"]
    source_of_names = da.random if source == "functions" else owner
    return [name for name in names if name != "seed" and hasattr(source_of_names, name)]


CASES = [(source, name) for source in SOURCES for name in methods_of(source)]


def numbers(backend, call, source):
    """What a source makes with a backend, on the host; the type must be that of the backend."""
    with (
        dask.config.set({"array.backend": backend, "scheduler": "sync"}),
        warnings.catch_warnings(),
    ):
        warnings.simplefilter("ignore", DeprecationWarning)  # random_integers
        made = call(SOURCES[source]())
        numbers = made.compute()
    library = dpnp if backend == "dpnp" else np
    assert type(made._meta) is type(numbers) is library.ndarray
    assert made.dtype == numbers.dtype
    return dpnp.asnumpy(numbers)


def assert_same_numbers(call, source):
    result, expected = (numbers(backend, call, source) for backend in ("dpnp", "numpy"))
    assert result.dtype == expected.dtype
    assert np.array_equal(result, expected)


@pytest.mark.parametrize(("source", "name"), CASES)
def test_random_numbers_are_those_of_numpy(source, name):
    named = {} if name == "permutation" else SHAPE
    if name.startswith("multi"):
        named = {"size": 5, "chunks": 5}
    assert_same_numbers(lambda rng: getattr(rng, name)(*ARGUMENTS[name], **named), source)


SPECIAL = {
    "a number": lambda rng: rng.normal(),
    "no elements": lambda rng: rng.normal(size=0),
    "one of a row": lambda rng: rng.choice(da.arange(5, chunks=2), size=9, chunks=4),
    "weighted": lambda rng: rng.choice(3, size=9, p=[0.5, 0.25, 0.25], chunks=4),
    "weighted by an array": lambda rng: rng.choice(
        da.arange(4, chunks=2), size=9, p=da.full(4, 0.25, chunks=2), chunks=4
    ),
    "without repetitions": lambda rng: rng.choice(9, size=4, replace=False, chunks=4),
    "parameters in NumPy": lambda rng: rng.normal(np.arange(6.0), 0.1, size=(4, 6), chunks=3),
    "parameters in Dask": lambda rng: rng.normal(da.arange(6.0, chunks=2), 1, size=6, chunks=3),
    "rows in another order": lambda rng: rng.permutation(da.ones((5, 3), chunks=2).cumsum(axis=0)),
}


@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize("name", SPECIAL)
def test_random_numbers_of_special_arguments_are_those_of_numpy(name, source):
    assert_same_numbers(SPECIAL[name], source)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_random_numbers_have_the_requested_dtype(dtype):
    for call in (
        lambda rng: rng.random(**SHAPE, dtype=dtype),
        lambda rng: rng.standard_normal(**SHAPE, dtype=dtype),
        lambda rng: rng.standard_exponential(**SHAPE, dtype=dtype, method="inv"),
    ):
        assert_same_numbers(call, "Generator")
    assert_same_numbers(lambda rng: rng.integers(9, **SHAPE, dtype="int8"), "Generator")
