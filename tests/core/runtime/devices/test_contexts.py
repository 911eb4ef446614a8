# SPDX-License-Identifier: Apache-2.0
"""The device table beyond the root devices: which entry is which, from any thread, at any size.

The exchange between entries is tested in ``environments/contexts``, which
``test_environments.py`` there runs.
"""

import json
import re
import textwrap
from concurrent.futures import ThreadPoolExecutor

import dpctl
import dpctl.memory
import numpy as np
import pytest

import environments
import sycl_ext as sx
from extensions import labs
from needs import needs
from sycl_ext._setup.hierarchy import VARIABLES, explain_hierarchy

pytestmark = pytest.mark.timeout(300)  # one of them builds four modules

# ---- sub-devices ---------------------------------------------------------------------------------


@needs("compute_units")
def test_equal_partitions_give_the_same_entries(root):
    units = root.sycl_device.max_compute_units
    for partition in (1, [1], [1, 1], (1, 1), np.int64(1), np.array([1, 1])):
        sub_devices = root.create_sub_devices(partition)
        count = len(sx.devices())
        assert root.create_sub_devices(partition) == sub_devices
        assert len(sx.devices()) == count
    assert len(root.create_sub_devices(1)) == units
    assert root.create_sub_devices([1, 1]) == root.create_sub_devices((1, 1))
    assert root.create_sub_devices(1) != root.create_sub_devices([1] * units)


@needs("compute_units")
def test_sub_devices_say_parent_partition_and_number(root):
    for number, sub_device in enumerate(root.create_sub_devices([1, 1])):
        assert (sub_device.kind, sub_device.partition) == ("sub_device", "counts 1 1")
        assert sub_device.partition_index == number
        assert sub_device.parent is root
        assert f"sub-device of device {root.id}: counts 1 1, number {number}" in repr(sub_device)
    assert (root.partition, root.partition_index) == ("", None)
    with pytest.raises(ValueError, match="partition is 'counts 1 1'"):
        root.create_sub_devices("counts 1 1")


@needs("compute_units")
def test_concurrent_partitions_give_one_entry(root):
    """200 calls of eight threads: the first ones find no entry yet."""
    with ThreadPoolExecutor(8) as pool:
        assert len(set(pool.map(lambda _: root.create_sub_devices([1]), range(200)))) == 1


@needs("compute_units")
def test_private_context_has_the_sub_devices_of_its_device(root, private):
    assert private.create_sub_devices(1) == root.create_sub_devices(1)


@needs("compute_units")
def test_partition_error_names_partitions_that_work(root):
    with pytest.raises(sx.SyclError) as caught:
        root.create_sub_devices(10**6)
    several, each = re.findall(r"\(such as (.*?)\)", str(caught.value))
    assert len(root.create_sub_devices(json.loads(several))) == 2
    assert len(root.create_sub_devices(json.loads(each))) >= 2
    (unit,) = root.create_sub_devices([1])
    with pytest.raises(sx.SyclError) as caught:
        unit.create_sub_devices(1)
    assert "such as" not in str(caught.value)


@needs("compute_units")
@pytest.mark.parametrize(
    ("partition", "error", "words"),
    [
        (
            "numa",
            sx.SyclError,
            "cannot be partitioned by 'numa'.*it can be partitioned by .*a number of compute units",
        ),
        (
            "cslice",
            sx.SyclError,
            "cannot be partitioned by 'cslice'.*a list of compute-unit counts",
        ),
        (10**6, sx.SyclError, "'equally 1000000'.*compute units"),
        ("L9_cache", ValueError, "partition is 'L9_cache'.*'numa'.*'L1_cache'.* or 'cslice'"),
        ([], ValueError, r"partition is \[\]"),
        ([1, 0], ValueError, r"partition is \[1, 0\].*compute unit"),
        (2**40, ValueError, "partition is"),
        (True, TypeError, "partition is True"),
        (b"numa", TypeError, "partition is b'numa'"),
        ([1.0], TypeError, "partition is"),
    ],
)
def test_impossible_partition_is_refused(root, partition, error, words):
    count = len(sx.devices())
    with pytest.raises(error, match=words):
        root.create_sub_devices(partition)
    assert len(sx.devices()) == count


@needs("compute_units")
def test_sub_device_of_a_third_party_is_known_by_its_handle(root):
    """OpenCL does not tell which part it is, so it is known by its handle."""
    sub_device = root.sycl_device.create_sub_devices(partition=1)[0]
    queue = dpctl.SyclQueue(sub_device)
    entry = sx.device(queue)
    assert (entry.kind, entry.parent, entry.partition_index) == ("sub_device", root, None)
    assert entry.sycl_context == queue.sycl_context
    assert sx.device(sub_device) is sx.device(queue) is entry
    assert sx.device(root.sycl_device.create_sub_devices(partition=1)[0]) is not entry

    another = sx.device(dpctl.SyclQueue(sub_device))  # dpctl makes it a new context
    assert (another.kind, another.parent) == ("context", entry)
    assert another.sycl_device == sub_device
    assert f"private context of device {entry.id}" in repr(another)
    assert sx.register_context(another.sycl_queue, entry) is another
    assert sx.device(sub_device) is entry


@needs("compute_units")
def test_sub_device_of_a_sub_device_has_both_parents(root):
    units = root.sycl_device.max_compute_units
    (whole,) = root.create_sub_devices([units])
    for sub_device in whole.create_sub_devices(1):
        assert (sub_device.kind, sub_device.root_id) == ("sub_device", root.id)
        assert (sub_device.parent, sub_device.parent.parent) == (whole, root)
        tensor = sx.zeros(3, device=sub_device)
        assert tensor.device is sub_device
        assert tensor.__dlpack_device__() == (14, root.id)
    inner = root.sycl_device.create_sub_devices(partition=[units])[0]
    inner = inner.create_sub_devices(partition=1)[0]
    of_queue = sx.device(dpctl.SyclQueue(inner))  # of somebody else
    assert (of_queue.root_id, of_queue.parent.parent) == (root.id, root)


# ---- (14, id) both ways --------------------------------------------------------------------------


def test_device_of_each_form_is_the_same_entry(root, private, halves):
    for entry in (root, private, *halves):
        assert entry.__dlpack_device__() == (14, entry.id)
        for spec in (entry.__dlpack_device__(), entry.id, entry.sycl_queue, entry):
            assert sx.device(spec) is entry
        assert sx.device(dpctl.SyclQueue(entry.sycl_context, entry.sycl_device)) is entry
        assert sx.register_context(entry.sycl_context, entry.sycl_device) is entry
    for entry in (root, *halves):
        assert sx.device(entry.sycl_device) is entry


def test_concurrent_registrations_give_one_entry_each(root):
    """Each of 50 contexts is registered twenty times, by eight threads."""
    contexts = [dpctl.SyclContext([root.sycl_device]) for _ in range(50)]
    before = len(sx.devices())
    with ThreadPoolExecutor(8) as pool:
        entries = list(pool.map(sx.register_context, contexts * 20))
    assert len(sx.devices()) == before + 50
    assert len(set(entries)) == 50
    assert entries[:50] * 20 == entries


# ---- a table of thousands ------------------------------------------------------------------------


def in_a_process(code, variables=None):
    """Run code with our modules at hand; what it prints last is JSON."""
    labs.build_all()
    code = "import json, sycl_ext as sx\nfrom extensions import labs\n" + textwrap.dedent(code)
    return json.loads(environments.python(code, variables).splitlines()[-1])


@pytest.mark.parametrize("entries", [2_000, pytest.param(10_000, marks=pytest.mark.long)])
def test_thousands_of_entries_and_eight_threads(entries):
    result = in_a_process(f"""
        table = labs.load("table_lab")
        before = len(sx.devices())
        result = table.stress(8, {entries}, 100_000)
        print(json.dumps([*result, len(sx.devices()) - before]))
    """)
    assert result == [entries, 0, entries]  # different entries, contradictions, new entries


def test_pointer_is_found_among_many_contexts():
    result = in_a_process("""
        import dpctl, dpctl.memory, numpy as np
        table = labs.load("table_lab")
        root = sx.device()
        contexts = [dpctl.SyclContext([root.sycl_device]) for _ in range(30)]
        entries = [sx.register_context(context) for context in contexts]
        wrong = []
        for entry in (*entries, root, *root.create_sub_devices(1)):
            for number, kind in enumerate((dpctl.memory.MemoryUSMDevice,
                                           dpctl.memory.MemoryUSMShared,
                                           dpctl.memory.MemoryUSMHost)):
                block = kind(1 << 20, queue=entry.sycl_queue)  # not ours: nobody has seen it
                for offset in (0, 0, 1 << 19, (1 << 20) - 1):
                    found = table.entry_of_pointer(block._pointer + offset)
                    if found != (entry.id, number):
                        wrong.append((entry.id, number, offset, found))
                del block
        host = np.zeros(1 << 20, "uint8")
        for _ in range(3):
            wrong += [] if table.entry_of_pointer(host.ctypes.data) == (-1, -1) else ["host"]
        wrong += [] if table.entry_of_pointer(0) == (-1, -1) else ["null"]
        print(json.dumps(wrong))
    """)
    assert result == []


# ---- the environment -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("environment", "words"),
    [
        ({}, ["not set; .* default to FLAT"]),
        ({"ZE_FLAT_DEVICE_HIERARCHY": "COMPOSITE"}, ["card is one root device"]),
        ({"ZE_FLAT_DEVICE_HIERARCHY": "flat"}, ["=FLAT: each tile"]),
        ({"ZE_FLAT_DEVICE_HIERARCHY": "COMBINED"}, ["=COMBINED: each tile"]),
        ({"ZE_FLAT_DEVICE_HIERARCHY": "tree"}, ["tree is not one of FLAT, COMPOSITE, COMBINED"]),
        ({"ZE_AFFINITY_MASK": "1,3"}, ["FLAT", "MASK=1,3 exposes only .*the first of them$"]),
        (
            {"ZE_AFFINITY_MASK": "0.1,1", "ZE_FLAT_DEVICE_HIERARCHY": "COMPOSITE"},
            ["COMPOSITE", "MASK=0.1,1 exposes only .* that tile is a root device"],
        ),
        ({"ZE_AFFINITY_MASK": "0.1"}, ["FLAT", "with a dot are for .*COMPOSITE"]),
        (
            {"ONEAPI_DEVICE_SELECTOR": "*:gpu"},
            ["FLAT", r"match \*:gpu; ids number the remaining devices"],
        ),
        ({"ONEAPI_DEVICE_SELECTOR": "*:cpu;!*:gpu"}, ["FLAT", r"match \*:cpu and hides .*\*:gpu"]),
        (
            {"ONEAPI_DEVICE_SELECTOR": "level_zero:0.*"},
            ["FLAT", "ids number", "sub-devices the root devices"],
        ),
        ({"ONEAPI_DEVICE_SELECTOR": "opencl:*"}, ["FLAT", "ids number", "warning: .*adapter"]),
        ({"ONEAPI_DEVICE_SELECTOR": "!level_zero:*"}, ["FLAT", "ids number", "warning: .*adapter"]),
        ({"ONEAPI_DEVICE_SELECTOR": "opencl:*;level_zero:*"}, ["FLAT", "ids number"]),
    ],
)
def test_hierarchy_variables_are_explained(environment, words):
    lines = explain_hierarchy(environment)
    assert len(lines) == len(words)
    for line, word in zip(lines, words, strict=True):
        assert re.search(word, line), line
    assert any(name in " ".join(lines) for name in VARIABLES)
    assert explain_hierarchy(environment, has_devices=True) == [
        x for x in lines if "warning" not in x
    ]
