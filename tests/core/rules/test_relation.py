# SPDX-License-Identifier: Apache-2.0
"""The rules: every cell of the relation of an array to a request, and that plans are carried out.

The table below is written from the rules of the exchange, not from ``rules.RULES``.
"""

import itertools

import dpctl
import numpy as np
import pytest

import sycl_ext as sx
from dlpack_conformance.structs import IS_COPIED, capsule_name, managed_in
from producers import as_strided
from sycl_ext import _core
from sycl_ext._negotiation import rules
from sycl_ext._negotiation.rules import Relation, Route, plan
from sycl_ext._protocols import exports
from sycl_ext._protocols.plans import plan_for

HOST = (1, 0)
ROOT, OWN, OTHER, NOBODY, CUDA = (14, 0), (14, 3), (14, 1), (14, 1_000_000), (2, 0)

# ---- the arrays ----------------------------------------------------------------------------------


def usm(kind, **fields):
    """USM of entry 0, a root device with its default context; the host reaches all but "device"."""
    return {"entry": 0, "root": 0, "usm_type": kind, "default_context": True,
            "host_reachable": kind != "device", **fields}  # fmt: skip


def elsewhere(kind, **fields):
    """USM of entry 3, a sub-device or private context of root device 0."""
    return usm(kind, entry=3, default_context=False, **fields)


HOST_MEMORY = usm("system", on_host=True, entry=None, root=None, default_context=False)
SYSTEM = usm("system", host_reachable=True)


def decide(array, device, copy, **request):
    """The relation of an array to a request, and the plan; device None: that of the array."""
    facts = _core.ArrayFacts(**array)
    wanted = device or (HOST if facts.on_host else ROOT)
    row = Relation[_core.relation(facts, _core.Request(wanted, **request))]
    return row, plan(row, copy, facts, wanted)


# ---- the table -----------------------------------------------------------------------------------

VIEW, COPY, HOST_VIEW, HOST_COPY = Route.VIEW, Route.COPY, Route.HOST_VIEW, Route.HOST_COPY
NO, VIA_HOST = Route.REFUSE, Route.VIA_HOST

#: Refused whatever `copy` is.
HOPELESS = (Relation.UNKNOWN, Relation.NO_USM)

#: Routes for memory that is read-only, which a legacy struct cannot say.
UNTOLD = {Relation.SAME: Relation.UNTOLD, Relation.REACHABLE: Relation.UNTOLD_ON_HOST}

#: array, requested device, facts about it -> relation; routes for copy=None, False, True
TABLE = {
    # USM of the default context
    "default, unaware consumer": (usm("device"), None, {}, Relation.SAME, (VIEW, VIEW, COPY)),
    "default, own root": (usm("device"), ROOT, {}, Relation.SAME, (VIEW, VIEW, COPY)),
    "default, shared": (usm("shared"), ROOT, {}, Relation.SAME, (VIEW, VIEW, COPY)),
    "default, host kind": (usm("host"), ROOT, {}, Relation.SAME, (VIEW, VIEW, COPY)),
    "default, other entry, direct": (usm("device"), OTHER, {}, Relation.DIRECT, (COPY, NO, COPY)),
    "default, other entry, indirect": (usm("device"), OTHER, {"direct": False}, Relation.INDIRECT,
        (NO, NO, VIA_HOST)),
    "default tile": (usm("device", entry=3), None, {}, Relation.SAME, (VIEW, VIEW, COPY)),
    "default tile, by its own id": (usm("device", entry=3), OWN, {}, Relation.SAME,
        (VIEW, VIEW, COPY)),
    # USM under a device type of CUDA or ROCm
    "another kind": (usm("shared"), ROOT, {"right_kind": False}, Relation.OTHER_KIND,
        (COPY, NO, COPY)),
    "another kind, elsewhere": (usm("shared"), OTHER, {"right_kind": False}, Relation.DIRECT,
        (COPY, NO, COPY)),
    "another kind, private": (elsewhere("device"), ROOT, {"right_kind": False},
        Relation.OTHER_CONTEXT, (COPY, NO, COPY)),
    # a kind of USM that was asked for
    "kind, has it": (usm("shared"), ROOT, {"ours": True, "usm_type": "shared"}, Relation.SAME,
        (VIEW, VIEW, COPY)),
    "kind, another": (usm("shared"), ROOT, {"ours": True, "usm_type": "host"},
        Relation.OTHER_USM_TYPE, (COPY, NO, COPY)),
    "kind, another, own entry": (elsewhere("host"), OWN, {"ours": True, "usm_type": "device"},
        Relation.OTHER_USM_TYPE, (COPY, NO, COPY)),
    "kind, another, elsewhere": (usm("shared"), OTHER, {"ours": True, "usm_type": "host"},
        Relation.DIRECT, (COPY, NO, COPY)),
    "kind, host memory that the device reads": (HOST_MEMORY, ROOT,
        {"ours": True, "system_usm": True, "usm_type": "shared"}, Relation.HOST_ONLY,
        (COPY, NO, COPY)),
    # USM of another context
    "private, unaware consumer": (elsewhere("device"), None, {}, Relation.OTHER_CONTEXT,
        (COPY, NO, COPY)),
    "private, its root": (elsewhere("device"), ROOT, {}, Relation.OTHER_CONTEXT, (COPY, NO, COPY)),
    "private, own entry": (elsewhere("device"), OWN, {}, Relation.SAME, (VIEW, VIEW, COPY)),
    "private, other entry, direct": (elsewhere("device"), OTHER, {}, Relation.DIRECT,
        (COPY, NO, COPY)),
    "private, other entry, indirect": (elsewhere("device"), OTHER, {"direct": False},
        Relation.INDIRECT, (NO, NO, VIA_HOST)),
    # host memory that a device reads: no other library takes it for USM
    "system, unaware consumer": (SYSTEM, None, {}, Relation.HOST_ONLY, (COPY, NO, COPY)),
    "system, its root": (SYSTEM, ROOT, {}, Relation.HOST_ONLY, (COPY, NO, COPY)),
    "system, other entry": (SYSTEM, OTHER, {}, Relation.DIRECT, (COPY, NO, COPY)),
    "system, to the host": (SYSTEM, HOST, {}, Relation.REACHABLE,
        (HOST_VIEW, HOST_VIEW, HOST_COPY)),
    # a host view hands over its memory by the same rules
    "host view of default, its root": (usm("shared", on_host=True), ROOT, {}, Relation.SAME,
        (VIEW, VIEW, COPY)),
    "host view of default tile, its root": (usm("shared", on_host=True, entry=3), ROOT, {},
        Relation.SAME, (VIEW, VIEW, COPY)),
    "host view of default tile, own entry": (usm("shared", on_host=True, entry=3), OWN, {},
        Relation.SAME, (VIEW, VIEW, COPY)),
    "host view of system, its root": (usm("system", on_host=True), ROOT, {}, Relation.HOST_ONLY,
        (COPY, NO, COPY)),
    "host view of system, other entry": (usm("system", on_host=True), OTHER, {}, Relation.DIRECT,
        (COPY, NO, COPY)),
    "host view of private, its root": (elsewhere("shared", on_host=True), ROOT, {},
        Relation.OTHER_CONTEXT, (COPY, NO, COPY)),
    "host view of private, own entry": (elsewhere("shared", on_host=True), OWN, {}, Relation.SAME,
        (VIEW, VIEW, COPY)),
    # a consumer that takes only memory of root devices
    "default tile, its root, only roots": (usm("device", entry=3), ROOT, {"root_only": True},
        Relation.SUB_DEVICE, (COPY, NO, COPY)),
    "default tile, unaware, only roots": (usm("device", entry=3), None, {"root_only": True},
        Relation.SUB_DEVICE, (COPY, NO, COPY)),
    "default root, only roots": (usm("device"), None, {"root_only": True}, Relation.SAME,
        (VIEW, VIEW, COPY)),
    "private, only roots": (elsewhere("device"), None, {"root_only": True}, Relation.OTHER_CONTEXT,
        (COPY, NO, COPY)),
    # we ourselves know the entries
    "ours, system, own entry": (SYSTEM, ROOT, {"ours": True}, Relation.SAME, (VIEW, VIEW, COPY)),
    "ours, private, own entry": (elsewhere("device"), OWN, {"ours": True}, Relation.SAME,
        (VIEW, VIEW, COPY)),
    # to the host
    "device, to the host": (usm("device"), HOST, {}, Relation.UNREACHABLE,
        (HOST_COPY, NO, HOST_COPY)),
    "shared, to the host": (usm("shared"), HOST, {}, Relation.REACHABLE,
        (HOST_VIEW, HOST_VIEW, HOST_COPY)),
    "host kind, to the host": (usm("host"), HOST, {}, Relation.REACHABLE,
        (HOST_VIEW, HOST_VIEW, HOST_COPY)),
    "device of a CPU, to the host": (usm("device", host_reachable=True), HOST, {},
        Relation.REACHABLE, (HOST_VIEW, HOST_VIEW, HOST_COPY)),
    "private shared, to the host": (elsewhere("shared"), HOST, {}, Relation.REACHABLE,
        (HOST_VIEW, HOST_VIEW, HOST_COPY)),
    "private device, to the host": (elsewhere("device"), HOST, {}, Relation.UNREACHABLE,
        (HOST_COPY, NO, HOST_COPY)),
    # negative strides end the process of torch
    "reversed, to the host": (usm("shared", reversed=True), HOST, {}, Relation.REVERSED,
        (HOST_COPY, NO, HOST_COPY)),
    "reversed device, to the host": (usm("device", reversed=True), HOST, {}, Relation.UNREACHABLE,
        (HOST_COPY, NO, HOST_COPY)),
    "reversed, own root": (usm("shared", reversed=True), ROOT, {}, Relation.SAME,
        (VIEW, VIEW, COPY)),
    # from the host
    "host memory, unaware consumer": (HOST_MEMORY, None, {}, Relation.REACHABLE,
        (HOST_VIEW, HOST_VIEW, HOST_COPY)),
    "host memory, to the host": (HOST_MEMORY, HOST, {}, Relation.REACHABLE,
        (HOST_VIEW, HOST_VIEW, HOST_COPY)),
    "host memory, to a device that reads it": (HOST_MEMORY, ROOT, {"system_usm": True},
        Relation.SYSTEM_USM, (VIEW, VIEW, COPY)),
    "host memory, to a device that does not": (HOST_MEMORY, ROOT, {}, Relation.HOST_ONLY,
        (COPY, NO, COPY)),
    # a device without USM
    "device, to one without USM": (usm("device"), OTHER, {"has_usm": False}, Relation.NO_USM,
        (NO, NO, NO)),
    "host memory, to one without USM": (HOST_MEMORY, ROOT, {"has_usm": False}, Relation.NO_USM,
        (NO, NO, NO)),
    # no such device
    "no such entry": (usm("device"), NOBODY, {"known": False}, Relation.UNKNOWN, (NO, NO, NO)),
    "another kind of device": (usm("device"), CUDA, {"known": False}, Relation.UNKNOWN,
        (NO, NO, NO)),
    "host memory, no such entry": (HOST_MEMORY, NOBODY, {"known": False}, Relation.UNKNOWN,
        (NO, NO, NO)),
    "host memory, another kind": (HOST_MEMORY, CUDA, {"known": False}, Relation.UNKNOWN,
        (NO, NO, NO)),
}  # fmt: skip


@pytest.mark.parametrize("readonly", [False, True], ids=["writable", "readonly"])
@pytest.mark.parametrize("versioned", [True, False], ids=["versioned", "legacy"])
@pytest.mark.parametrize("copy", [None, False, True])
@pytest.mark.parametrize("cell", TABLE)
def test_plan_of_each_cell_is_that_of_the_table(cell, copy, versioned, readonly):
    array, device, request, expected_relation, routes = TABLE[cell]
    array = {**array, "readonly": readonly}
    row, planned = decide(array, device, copy, versioned=versioned, **request)
    is_untold = readonly and not versioned and expected_relation in UNTOLD
    assert row is (UNTOLD[expected_relation] if is_untold else expected_relation)
    route = routes[(None, False, True).index(copy)]
    unspeakable = is_untold and route in (VIEW, HOST_VIEW)
    if unspeakable:
        route = NO
    assert planned.route is route
    assert (
        planned.copies == {VIEW: 0, HOST_VIEW: 0, COPY: 1, HOST_COPY: 1, VIA_HOST: 2, NO: 0}[route]
    )
    assert route.value in str(planned)
    assert planned.reason in str(planned)
    if route is not NO:
        assert planned.error is None
        assert planned.check() is planned
        return
    with pytest.raises(BufferError) as caught:
        planned.check()
    assert str(caught.value) == planned.reason
    # Only a refusal that another `copy` would lift is a ValueError as well.
    lifted = copy is False and not unspeakable and expected_relation not in HOPELESS
    assert isinstance(caught.value, ValueError) == lifted
    if unspeakable:
        assert "read-only" in planned.reason
        assert "max_version=(1, 0)" in planned.reason
    elif lifted:
        assert "copy=False" in planned.reason
        assert "pass copy=" in planned.reason
    elif expected_relation is Relation.NO_USM:
        assert "has no USM; choose another device" in planned.reason
    elif expected_relation is Relation.UNKNOWN:
        assert str(device) in planned.reason
    else:
        assert "pass copy=True" in planned.reason


def test_reasons_need_no_knowledge_of_sycl():
    """Only memory of a private context, which somebody made, is told about contexts."""
    for array, device, request, expected_relation, _ in TABLE.values():
        for copy in (None, False, True):
            reason = decide(array, device, copy, **request)[1].reason
            assert "system" not in reason
            assert ("context" in reason) <= (expected_relation is Relation.OTHER_CONTEXT)


def test_requested_copy_is_named_where_a_view_was_possible():
    for array, device, request, expected_relation, routes in TABLE.values():
        _, planned = decide(array, device, True, **request)
        if routes[0] in (VIEW, HOST_VIEW):
            assert planned.reason == rules.COPY_REQUESTED
        elif planned.route is not NO:
            assert planned.reason == expected_relation.value


def test_table_has_each_relation_and_route():
    relations = {row[3] for row in TABLE.values()} | {*UNTOLD.values()}
    assert relations == set(Relation) == {Relation[name] for name in _core.RELATIONS}
    assert {route for row in TABLE.values() for route in row[4]} == set(Route)


def test_advice_of_a_refusal_leads_to_the_data():
    """The advice of a refusal leads to the data."""
    for array, device, request, expected_relation, _ in TABLE.values():
        for copy in (None, False):
            _, planned = decide(array, device, copy, **request)
            if planned.route is NO and expected_relation not in HOPELESS:
                advice = True if "pass copy=True" in planned.reason else None
                assert decide(array, device, advice, **request)[1].route is not NO


# ---- the plan is carried out ---------------------------------------------------------------------


def shared():
    return sx.zeros((2, 3), usm_type="shared")


#: One tensor for each row of the export table, on the CPU device.
TENSORS = {
    "device": lambda private, half: sx.zeros((2, 3)),
    "shared": lambda private, half: shared(),
    "host": lambda private, half: sx.zeros((2, 3), usm_type="host"),
    "readonly": lambda private, half: shared().as_readonly(),
    "reversed": lambda private, half: shared()[::-1],
    "size 0": lambda private, half: sx.zeros((0, 3)),
    "strided": lambda private, half: as_strided(shared(), (3, 2), (1, 3)),
    "private": lambda private, half: sx.zeros((2, 3), device=private),
    "private, readonly": lambda private, half: sx.zeros((2, 3), device=private).as_readonly(),
    "sub-device": lambda private, half: sx.zeros((2, 3), device=half),
    "system": lambda private, half: sx.as_tensor(np.zeros((2, 3), "float32")),
    "host view": lambda private, half: sx.host_view(shared()),
    "host view of private": lambda private, half: sx.host_view(
        sx.zeros((2, 3), device=private, usm_type="shared")
    ),
    "host view of system": lambda private, half: sx.host_view(
        sx.as_tensor(np.zeros((2, 3), "float32"))
    ),
    "host view, readonly": lambda private, half: sx.host_view(shared().as_readonly()),
    "host view of an array": lambda private, half: sx.host_view(np.zeros((2, 3), "float32")),
}


def outcome(call):
    """The result of an export: an exception, or the content of the capsule."""
    try:
        capsule = call()
    except Exception as error:
        return type(error), str(error)
    managed = managed_in(capsule)
    versioned = capsule_name(capsule) == "dltensor_versioned"
    dl = managed.dl_tensor
    copied = bool(versioned and managed.flags & IS_COPIED)
    return {
        "versioned": versioned,
        "device": (dl.device.device_type, dl.device.device_id),
        "flags": managed.flags if versioned else None,
        "data": None if copied else dl.data,
        "copied": copied,
    }


@pytest.mark.parametrize("name", TENSORS)
def test_export_follows_the_plan(name, private, halves):
    """``__dlpack__`` makes plain views in C++, and everything else in Python."""
    tensor = TENSORS[name](private, halves[0])
    root, own = ROOT, (14, tensor.entry_id or 0)
    queue = dpctl.SyclQueue(property="in_order")
    streams = [None, -1, queue, queue.addressof_ref(), 7, "stream", True]
    versions = [None, (0, 8), (1, 0), (1, 3), (2, 0), (1,), "1.0", 1]
    devices = [None, HOST, root, own, (14, private.id), (14, 10**6), CUDA, (14,), "cpu"]
    copies = [None, True, False, 1, 0, "no"]
    for stream, version, device, copy in itertools.product(streams, versions, devices, copies):
        asked = {"stream": stream, "max_version": version, "dl_device": device, "copy": copy}
        result = outcome(lambda asked=asked: tensor.__dlpack__(**asked))
        wanted = outcome(lambda asked=asked: exports.export(tensor, *asked.values()))
        if isinstance(wanted, dict) and wanted["copied"] is False and not wanted["versioned"]:
            # A legacy capsule cannot say that it is a copy; whether it is one, the plan says.
            planned = plan_for(_core.array_facts(tensor), device, copy, versioned=False)
            if planned.copies:
                result["data"] = wanted["data"] = None
        assert result == wanted, asked
        if isinstance(result, dict):
            planned = plan_for(
                _core.array_facts(tensor), device, copy, versioned=result["versioned"]
            )
            assert planned.error is None, asked
            assert result["device"] == (device or tensor.__dlpack_device__()), asked
            assert result["versioned"] == (version is not None and version >= (1, 0)), asked
            if result["versioned"]:
                assert result["copied"] == (planned.copies > 0), asked
            if planned.copies == 0:
                assert result["data"] == (tensor.ptr if tensor.size else None), asked
        else:
            assert issubclass(result[0], (BufferError, TypeError, ValueError)), (asked, result)


def test_notes_are_added():
    _, result = decide(usm("shared"), None, None)
    assert result.noting("slow", None).notes == (*result.notes, "slow")
    assert str(result.noting("slow")).endswith("slow")


def test_copy_falls_back_to_a_usm_kind_of_the_device():
    assert rules.kind_of_copy("shared", ("device", "host", "system")) == "device"
    assert rules.kind_of_copy("shared", ("host", "system")) == "host"
    assert rules.kind_of_copy("host", ()) == "host"
