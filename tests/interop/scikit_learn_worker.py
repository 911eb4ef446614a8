# SPDX-License-Identifier: Apache-2.0
"""Runs estimators of scikit-learn on arrays that came through sycl_ext; writes what it saw as JSON.

A process of its own, because SciPy reads the variable when it is imported.
"""

from __future__ import annotations

import json
import os
import sys

os.environ["SCIPY_ARRAY_API"] = "1"

import dpnp
import numpy as np
import sklearn
import torch
from sklearn.decomposition import PCA
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.linear_model import Ridge
from sklearn.preprocessing import MinMaxScaler, Normalizer, StandardScaler

import sycl_ext as sx

SAMPLES = np.random.default_rng(0).random((100, 4), dtype="float32")
TARGETS = SAMPLES @ np.array([1, 2, 3, 4], dtype="float32")
CLASSES = (TARGETS.mean() < TARGETS).astype("int64")

#: Estimator, and what it is fitted to.
ESTIMATORS = {
    "PCA": (PCA(2, svd_solver="full"), None),
    "StandardScaler": (StandardScaler(), None),
    "MinMaxScaler": (MinMaxScaler(), None),
    "Normalizer": (Normalizer(), None),
    "Ridge": (Ridge(solver="svd"), TARGETS),
    "LinearDiscriminantAnalysis": (LinearDiscriminantAnalysis(), CLASSES),
}
ADDRESS = {
    "dpnp": lambda x: x.__sycl_usm_array_interface__["data"][0],
    "torch": torch.Tensor.data_ptr,
}


def shared(numbers):
    return sx.empty(numbers.shape, numbers.dtype, usm_type="shared").copy_from(numbers)


def apply(estimator, samples, targets):
    fitted = sklearn.base.clone(estimator).fit(samples, *targets)
    return fitted.predict(samples) if targets else fitted.transform(samples)


def run(library, estimator, targets):
    """The result of an estimator for a tensor, and its distance from the result for NumPy."""
    tensors = [shared(numbers) for numbers in (SAMPLES, targets) if numbers is not None]
    samples, *more = (sx.exchange(tensor, library, copy=False) for tensor in tensors)
    with sklearn.config_context(array_api_dispatch=True):
        result = apply(estimator, samples, more)
    wanted = apply(estimator, SAMPLES, [] if targets is None else [targets])
    found = sx.exchange(result, np)
    return {
        "kind": type(result).__module__.partition(".")[0],
        "view": ADDRESS[library.__name__](samples) == tensors[0].ptr,
        "dtype": str(found.dtype) == str(wanted.dtype),
        "error": float(np.abs(np.abs(found) - np.abs(wanted)).max()),  # PCA: up to a sign
    }


if __name__ == "__main__":
    json.dump(
        {
            library.__name__: {name: run(library, *what) for name, what in ESTIMATORS.items()}
            for library in (dpnp, torch)
        },
        sys.stdout,
    )
