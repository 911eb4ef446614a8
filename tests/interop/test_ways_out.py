# SPDX-License-Identifier: Apache-2.0
"""The advice for objects of real libraries, which are not arrays of numbers, works as it is."""

import pytest

from processes import alone

PROLOGUE = """
import re
import numpy
import sycl_ext as sx
sx.devices()  # before a library brings a driver of its own

def follow(x):
    "Return the elements of what the error for an object advises."
    for take in (sx.as_tensor, sx.host_view, lambda x: sx.exchange(x, numpy)):
        try:
            take(x)
        except (TypeError, BufferError) as error:
            text = str(error)
        else:
            raise AssertionError(f"{type(x)} was taken")
        code = re.search(r"pass (.*?)(?:, (?:which|its|the|or) | for |$)", text.rpartition("; ")[2])
        assert code, text
    return sx.as_tensor(eval(code[1])).tolist()

"""
OBJECTS = {
    "jax": """
import os
os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=2"
import jax, jax.numpy as jnp
assert follow(jax.new_ref(jnp.arange(3))) == [0, 1, 2]
assert follow(jax.ShapeDtypeStruct((2,), "float32")) == [0, 0]
assert follow(jax.random.key(7)) == [0, 7]
gone = jnp.arange(3)
gone.delete()
try:
    sx.as_tensor(gone)
except BufferError as error:
    assert "it was deleted, or donated to a function" in str(error)
mesh = jax.sharding.Mesh(numpy.array(jax.devices("cpu")), "x")
sharding = jax.sharding.NamedSharding(mesh, jax.sharding.PartitionSpec("x"))
sharded = jax.device_put(jnp.arange(4), sharding)
assert follow(sharded) == [0, 1, 2, 3]
assert sx.as_tensor(sharded.addressable_shards[1].data).tolist() == [2, 3]
""",
    "pyarrow": """
import datetime, decimal, pyarrow, pyarrow as pa
assert follow(pa.array([datetime.date(1970, 1, 2)])) == [1]
assert follow(pa.array([1], pa.timestamp("ns", "UTC"))) == [1]
assert follow(pa.array([1], pa.time32("s"))) == [1]
assert follow(pa.array([datetime.timedelta(microseconds=1)])) == [1]
assert follow(pa.array([[1.0, 2.0]], pa.list_(pa.float32(), 2))) == [1, 2]
assert follow(pa.array([[1, 2], [3]])) == [1, 2, 3]
assert follow(pa.array(["ab", "c"])) == [*b"abc"]
assert follow(pa.array([b"ab"], pa.large_binary())) == [*b"ab"]
assert follow(pa.array(["ab", "cd", "e"])[1:]) == [*b"cde"]
assert follow(pa.array([True, False])) == [True, False]
assert follow(pa.array([True, None])) == [True, False]
assert follow(pa.array([decimal.Decimal("1.5")])) == [1.5]
assert follow(pa.array([{"a": 1}, {"a": 2}])) == [1, 2]
assert follow(pa.array([3, 4]).dictionary_encode()) == [3, 4]
assert follow(pa.chunked_array([[1, 2], [3]])) == [1, 2, 3]
assert follow(pa.table({"a": [1, 2]})) == [[1], [2]]
assert follow(pa.scalar(3)) == 3
""",
    "scipy": """
import scipy.sparse
for kind in ("csr", "csc", "coo", "dia", "lil", "dok"):
    assert follow(scipy.sparse.eye_array(2, format=kind)) == [[1, 0], [0, 1]]
assert follow(scipy.sparse.eye(2).tocsr()) == [[1, 0], [0, 1]]
assert follow(scipy.sparse.coo_array(numpy.array([0, 1]))) == [0, 1]
""",
    "tensorflow": """
import tensorflow
assert follow(tensorflow.ragged.constant([[1], [2, 3]])) == [[1, 0], [2, 3]]
assert follow(tensorflow.sparse.from_dense([1, 0, 2])) == [1, 0, 2]
values, rows = tensorflow.ones((1, 2)), tensorflow.constant([1])
slices = tensorflow.IndexedSlices(values, rows, tensorflow.constant([2, 2]))
assert follow(slices) == [[0, 0], [1, 1]]
for dtype in ("qint8", "quint8", "qint32"):
    assert follow(tensorflow.cast(tensorflow.zeros(2), dtype)) == [0, 0]
""",
}


@pytest.mark.parametrize("library", OBJECTS)
def test_advice_for_an_object_of_a_library_works(library):
    done = alone(PROLOGUE + OBJECTS[library])
    assert done.returncode == 0, f"{done.stdout}{done.stderr}"
