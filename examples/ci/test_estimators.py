# SPDX-License-Identifier: Apache-2.0
"""Test a project that does not use SYCL itself, on a runner without a GPU (docs/ci.md).

pip install ".[cpu]" dpnp scikit-learn pytest
SCIPY_ARRAY_API=1 pytest -p sycl_ext
"""

import dpnp
import numpy as np
import pytest
import sklearn
from sklearn.base import clone
from sklearn.decomposition import PCA
from sklearn.preprocessing import MinMaxScaler, StandardScaler

SAMPLES = np.random.default_rng(0).random((50, 3), dtype="float32")


@pytest.mark.parametrize("estimator", [StandardScaler(), MinMaxScaler(), PCA(2)], ids=repr)
def test_estimator_gives_the_result_of_numpy(estimator):
    with sklearn.config_context(array_api_dispatch=True):
        result = clone(estimator).fit_transform(dpnp.asarray(SAMPLES))
    assert isinstance(result, dpnp.ndarray)
    expected = clone(estimator).fit_transform(SAMPLES)
    np.testing.assert_allclose(abs(dpnp.asnumpy(result)), abs(expected), atol=1e-4)
