# SPDX-License-Identifier: Apache-2.0
"""Functions of the real libraries as consumers: each is right, or refused with a call that works.

Those of a library are in a process of their own; ``support/conversions.py`` has the dtypes,
layouts and checks.
"""

import pytest

import conversions
import seen
from processes import alone

KIND = "functions"


@pytest.mark.parametrize(
    ("name", "function"),
    [
        pytest.param(library, function, id=function)
        for library, functions in conversions.OF_LIBRARY.items()
        for function in functions
    ],
)
def test_conversion_function_is_right_or_refused(name, function):
    outcome = seen.functions(name)[function]
    assert outcome["outcome"] == "right", outcome["text"]


def test_jax_is_given_aligned_memory():
    """It copies from other addresses without a word; a copy of ours is in the plan."""
    done = alone(
        """
        import jax, numpy as np, sycl_ext as sx
        block = sx.zeros(64, "float32", usm_type="shared")
        for x in (block, block[1:17], block[16:32]):
            aligned = x.ptr % 64 == 0
            for consumer in (jax, "jax", jax.dlpack.from_dlpack, jax.numpy.asarray):
                assert sx.explain(x, consumer).copies == (not aligned)
                for copy in (None, False):
                    try:
                        found = sx.exchange(x, consumer, copy=copy)
                    except sx.CopyRefusedError:
                        assert not aligned and copy is False
                        continue
                    assert (found.unsafe_buffer_pointer() == x.ptr) == aligned
        print("right")
        """
    )
    assert done.stdout.endswith("right\n"), done.stdout + done.stderr


def test_answer_of_copy_false_with_a_function_of_jax_does_not_depend_on_the_data():
    """As in ``test_unknown_functions.py`` for NumPy, torch and dpnp."""
    done = alone(
        """
        import jax.numpy as jnp, numpy as np, sycl_ext as sx
        names = "abs negative positive sqrt square sort cumsum copy array asarray ravel flip"
        data = [np.zeros(16, "float32"), np.arange(1, 17).astype("float32") / 3]

        def answer(x, function):
            try:
                sx.exchange(x, function, copy=False)
            except sx.CopyRefusedError:
                return "refused"
            return "called"

        for name in [*names.split(), "conj", "sign", "exp"]:
            function = getattr(jnp, name)
            of_user = lambda x: function(jnp.asarray(np.asarray(sx.host_view(x))))
            tensors = [sx.empty(16, usm_type="shared").copy_from(values) for values in data]
            expected = "refused" if name in ("copy", "array") else "called"
            assert {answer(x, function) for x in tensors} == {expected}, name
            assert {answer(x, of_user) for x in tensors} == {"called"}, name
        print("right")
        """
    )
    assert done.stdout.endswith("right\n"), done.stdout + done.stderr
