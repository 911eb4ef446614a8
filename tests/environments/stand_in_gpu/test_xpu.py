# SPDX-License-Identifier: Apache-2.0
"""``"xpu"``, the name of PyTorch, without a PyTorch that has GPUs: those of Level Zero in order."""

import pytest

import sycl_ext as sx


def test_gpus_of_level_zero_by_the_name_of_torch():
    roots = [device for device in sx.devices() if device.kind == "root"]
    gpus = [d for d in roots if (d.backend, d.device_type) == ("level_zero", "gpu")]
    assert [sx.device(f"xpu:{number}") for number in range(len(gpus))] == gpus
    if gpus:
        assert sx.device("xpu") is gpus[0]
    with pytest.raises(ValueError, match=f"'xpu:{len(gpus)}', but no root device matches"):
        sx.device(f"xpu:{len(gpus)}")
