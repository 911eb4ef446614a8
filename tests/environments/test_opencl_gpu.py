# SPDX-License-Identifier: Apache-2.0
"""The posing GPU does what `opencl_gpu/README.md` says."""

import pytest

import environments
from opencl_gpu.build import build, drivers, environment

DEVICES = """
import dpctl

def kinds():
    return [device.device_type.name for device in dpctl.get_devices()]
"""


@pytest.fixture
def run(tmp_path_factory):
    """Run a script in a process that sees such devices."""
    scratch = tmp_path_factory.getbasetemp()
    build(scratch)

    def script(code, **settings):
        environments.python(DEVICES + code, environment(scratch, **settings))

    return script


def test_it_is_alone_or_with_the_cpu_device(run):
    run("assert kinds() == ['gpu']", cpus=0)
    run("assert kinds() == ['cpu', 'gpu']")


def test_several_gpus_each_with_its_default_context(run):
    code = """
    import dpnp

    assert kinds() == ["cpu", "gpu", "gpu"]
    contexts = set()
    for device in dpctl.get_devices():
        array = dpnp.arange(1000, dtype="float32", device=device)
        contexts.add(array.sycl_context)
        assert array.sycl_device == device
        assert float(dpnp.sum(array * 2)) == 999_000  # kernels run
    assert len(contexts) == 3
    """
    run(code.replace("\n    ", "\n"), gpus=2)


@pytest.mark.parametrize("system_usm", [False, True])
def test_what_it_is(run, system_usm):
    code = f"""
    import sycl_ext as sx

    cpu, gpu = sx.devices()
    assert dpctl.SyclDevice("gpu") == gpu.sycl_device
    assert (gpu.filter_string, gpu.backend) == ("opencl:gpu:0", "opencl")
    reach = [gpu.host_accessible(kind) for kind in ("device", "shared", "host")]
    assert reach == [False, True, True]
    assert all(cpu.host_accessible(kind) for kind in ("device", "shared", "host"))
    assert cpu.sycl_device.has_aspect_usm_system_allocations
    assert gpu.sycl_device.has_aspect_usm_system_allocations == {system_usm}
    parts = gpu.create_sub_devices(1)
    assert len(parts) > 1
    assert all(part.device_type == "gpu" for part in parts)
    """
    run(code.replace("\n    ", "\n"), system_usm=system_usm)


def test_each_driver_is_a_file_of_its_own(tmp_path):
    found = drivers(3, tmp_path)
    assert len({path.stat().st_ino for path in found}) == 3
    assert drivers(3, tmp_path) == found
