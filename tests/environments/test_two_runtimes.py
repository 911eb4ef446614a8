# SPDX-License-Identifier: Apache-2.0
"""Two SYCL runtimes in one process: both are named, nothing of one is followed by the other.

The second one is ours under another name (``two_runtimes/build.py``);
``interop/test_older_runtime.py`` does the same with a real older one.
"""

import sys

import pytest

import environments
from two_runtimes.build import build

pytestmark = pytest.mark.timeout(300)
if not sys.platform.startswith("linux"):
    pytest.skip("libraries are named as on Linux", allow_module_level=True)

LAB = "from two_runtimes.lab import *\n"


@pytest.fixture(scope="module")
def other(tmp_path_factory):
    """The second libsycl, and a library that works with it."""
    return build(tmp_path_factory.mktemp("two_runtimes"))


@pytest.fixture
def run(other):
    def run(code, devices=None, **variables):
        environment = environments.cpu() if devices is None else devices
        named = {"TWO_RUNTIMES_PRODUCER": str(other[1]), **variables}
        return environments.python(LAB + code, {**environment, **named})

    return run


def test_first_use_warns_of_two_runtimes(run, other):
    """Once, with the names of both, and without a second runtime not at all."""
    names = repr(str(other[0]))
    run(f"""
import sys
for name in [name for name in sys.modules if name.partition(".")[0] == "sycl_ext"]:
    del sys.modules[name]  # the helpers have imported it
from sycl_ext import _core
from sycl_ext._setup import runtimes
import sycl_ext as sx
assert _core.loaded_libsycl() == _core.loaded_libsycl()[:1] and not _core.has_other_libsycl()
with warnings.catch_warnings():
    warnings.simplefilter("error")
    runtimes.warn_of_others()
library = load()
assert _core.has_other_libsycl() and _core.loaded_libsycl()[1:] == [{names}]
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    runtimes.warn_of_others()
    runtimes.warn_of_others()
(warning,) = caught
assert warning.category is sx.TwoRuntimesWarning and issubclass(warning.category, RuntimeWarning)
text = str(warning.message)
assert text.startswith("two SYCL runtimes are loaded in this process: "), text
assert {names} in text and os.path.normpath(_core.loaded_libsycl()[0]) in text, text
assert "a separate process" in text and "python -m sycl_ext doctor" in text, text
""")
    said = environments.python(
        f"""
import ctypes, warnings
import dpctl
dpctl.SyclQueue()
ctypes.CDLL({str(other[1])!r})
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    import sycl_ext as sx
    assert not caught
    sx.zeros
assert [warning.category for warning in caught] == [sx.TwoRuntimesWarning]
assert caught[0].filename == "<string>", caught[0].filename
print(sx.zeros(3).to_numpy())
"""
    )
    assert said.strip() == "[0. 0. 0.]"


@pytest.mark.parametrize(
    "way",
    [
        "sx.from_dlpack(x)",
        "sx.as_tensor(x)",
        "sx.exchange(x, np)",
        'sx.zeros(4096, "uint8").copy_from(x)',
        "sx.from_dlpack(with_table(Table(stream=x.queue))(sx.zeros(3, usm_type='shared')))",
    ],
)
def test_first_exchange_warns_of_a_runtime_loaded_later(run, way):
    """Once, at the line of the caller."""
    run(f"""
import sycl_ext as sx
from producers import Table, with_table
library = load()
x = Array(library, "an int")
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    {way}
    {way}
told = [warning for warning in caught if warning.category is sx.TwoRuntimesWarning]
assert [warning.filename for warning in told] == ["<string>"], told
""")


def test_queue_of_the_other_runtime_is_refused_by_name(run, other):
    run(f"""
library = load()
sx, _ = imported()
array = Array(library)
ours = sx._core.loaded_libsycl()[0]
t = sx.zeros(3, usm_type="shared")
class Stream:
    sycl_queue = array.queue
context = new_capsule(library.make_context(array.queue), b"SyclContextRef")
streams = [show(array.queue) for name, show in SHOWS.items() if name != "nothing"]
for call in (
    *(lambda stream=stream: t.__dlpack__(stream=stream) for stream in [*streams, Stream()]),
    lambda: sx.register_context(context),
):
    try:
        call()
    except ValueError as error:
        text = str(error)
        assert "belongs to libsycl.so.8 ({other[0]})" in text, text
        assert f"sycl_ext uses libsycl.so.9 ({{ours}})" in text, text
    else:
        raise AssertionError(call)
assert t.to_numpy().tolist() == [0, 0, 0]  # and nothing happened
""")


def test_producer_of_the_other_runtime_is_never_handed_our_queue(run):
    """Its data is waited for by itself; memory that our driver does not know comes by the host."""
    run("""
library = load()
sx, _ = imported()
warnings.simplefilter("ignore", RuntimeWarning)
ways = {
    "from_dlpack": lambda x: sx.from_dlpack(x).to_numpy(),
    "from_dlpack to a device": lambda x: sx.from_dlpack(x, device=0).to_numpy(),
    "as_tensor": lambda x: sx.as_tensor(x).to_numpy(),
    "a copy": lambda x: sx.from_dlpack(x, copy=True).to_numpy(),
    "host_view": lambda x: np.from_dlpack(sx.host_view(x)),
    "exchange": lambda x: sx.exchange(x, np),
}
for shows in SHOWS:
    for name, way in ways.items():
        array = Array(library, shows)
        result = way(array)
        assert result.shape == (4096,) and (result == 7).all(), (name, shows)
        assert array.asked and all(stream is None for stream, _ in array.asked), (name, shows)
    array = Array(library, shows, moves=False)
    try:
        sx.from_dlpack(array)
    except BufferError as error:
        assert "shared" in str(error) or "USM" in str(error), error
    else:
        raise AssertionError
""")


def test_producers_of_ours_keep_their_queues(run):
    """The other runtime changes nothing for dpnp, dpctl and our own tensors."""
    run("""
library = load()
sx, _ = imported()
import dpnp
warnings.simplefilter("error")
class Shows:
    def __init__(self, show):
        self.array, self.streams = dpnp.arange(5, sycl_queue=dpctl.SyclQueue()), []
        self.sycl_queue = show(self.array.sycl_queue)
    def __dlpack_device__(self):
        return self.array.__dlpack_device__()
    def __dlpack__(self, *, stream=None, **how):
        self.streams.append(stream)
        return self.array.__dlpack__(**how)
for way in (sx.from_dlpack, sx.as_tensor):
    assert way(dpnp.arange(5)).to_numpy().tolist() == [0, 1, 2, 3, 4]
    for show in (lambda queue: queue, dpctl.SyclQueue.addressof_ref):
        shows = Shows(show)
        assert way(shows).to_numpy().tolist() == [0, 1, 2, 3, 4]
        assert shows.streams == [shows.sycl_queue]
t = sx.zeros(3)
assert sx.from_dlpack(t).ptr == t.ptr
""")


def test_producer_table_is_not_used_with_two_runtimes(run):
    """Nobody knows of which runtime the work stream is that it names."""
    run("""
library = load()
sx, _ = imported()
from producers import Table, with_table
warnings.simplefilter("ignore", RuntimeWarning)
array = Array(library)
table = Table(stream=array.queue)
made = with_table(table)(sx.zeros(3, usm_type="shared"))
assert sx.from_dlpack(made).ptr == made.array.ptr
assert [call["stream"] for call in made.calls] == [None]
assert len(table.made) == 1 and table.made[0].deleted == 1
# Host memory has no stream.
host = with_table(table)(np.arange(3.0))
assert sx.from_dlpack(host).to_numpy().tolist() == [0, 1, 2] and host.calls == []
""")


@pytest.mark.parametrize("adapter", ["level_zero_v1", "level_zero_v2"])
def test_on_level_zero_it_is_a_view(run, adapter, tmp_path):
    """The driver is one for both runtimes, and knows the memory of both."""
    run(
        """
library = load()
sx, _ = imported()
warnings.simplefilter("ignore", RuntimeWarning)
gpu = next(device for device in sx.devices() if device.device_type == "gpu")
array = Array(library, "an int", gpu=True, device=(ONE_API, gpu.id))
t = sx.from_dlpack(array)
assert t.ptr == array.data and t.usm_type == "shared" and t.device == gpu
assert array.asked == [(None, None)]
assert (sx.exchange(t, np) == 7).all()
""",
        environments.variables_of(adapter, tmp_path),
    )
