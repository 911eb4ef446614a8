# SPDX-License-Identifier: Apache-2.0
"""From {root, sub-device, private context} to everywhere: route, copies, address, entry and bytes.

The table is written from the rules of the exchange, not from the code.
"""

import numpy as np
import pytest

import sycl_ext as sx
import ways
from dlpack_conformance.structs import IS_COPIED, managed_in
from sycl_ext import Route, _core
from sycl_ext._protocols.plans import plan_for

HOST = (1, 0)
VALUES = np.arange(12, dtype="float32").reshape(3, 4)
COPIES = {Route.VIEW: 0, Route.COPY: 1, Route.HOST_VIEW: 0, Route.HOST_COPY: 1, Route.VIA_HOST: 2}

VIEW = (Route.VIEW, Route.VIEW, Route.COPY)
COPY = (Route.COPY, Route.REFUSE, Route.COPY)
FAR = (Route.REFUSE, Route.REFUSE, Route.VIA_HOST)
HOST_VIEW = (Route.HOST_VIEW, Route.HOST_VIEW, Route.HOST_COPY)
HOST_COPY = (Route.HOST_COPY, Route.REFUSE, Route.HOST_COPY)

SOURCES = ("root", "sub-device", "private")
REQUESTS = (
    "nothing",
    "same",
    "parent",
    "tile",
    "sibling",
    "private",
    "other device",
    "other platform",
    "host",
)


def expected_routes(places, source, requested, usm_type):
    """The rules: the routes for copy=None, False and True."""
    shareable = source == "root" or (
        source == "sub-device" and places.tiles_use_the_default_context
    )
    reachable = places.host_memory or usm_type != "device"
    if requested == "host":
        return HOST_VIEW if reachable else HOST_COPY
    across = COPY if reachable or places.across_contexts else FAR
    if requested in ("nothing", "parent"):
        return VIEW if shareable else across
    if requested == "same" or (source, requested) in (
        ("sub-device", "tile"),
        ("private", "private"),
    ):
        return VIEW
    if requested == "other device":
        return COPY if reachable or places.peers else FAR
    return COPY if requested == "other platform" else across


def requested_device(places, source, requested):
    entries = {
        "same": places.sources[source],
        "parent": places.root,
        "tile": places.tile,
        "sibling": places.sibling,
        "private": places.private,
        "other device": places.other_device,
        "other platform": places.other_platform,
    }
    if requested in ("nothing", "host"):
        return HOST if requested == "host" else None
    entry = entries[requested]
    return None if entry is None else entry.__dlpack_device__()


def tensor_on(places, source, usm_type):
    return sx.empty((3, 4), usm_type=usm_type, device=places.sources[source]).copy_from(VALUES)


CELLS = [
    pytest.param(source, requested, number, copy, id=f"{source}-{requested}-{copy}")
    for source in SOURCES
    for requested in REQUESTS
    for number, copy in enumerate((None, False, True))
]


def exists_here(places, requested):
    """Platforms of one device each have no other device on one platform."""
    return requested != "other device" or places.other_device is not None


@pytest.mark.parametrize("usm_type", ["device", "shared"])
@pytest.mark.parametrize(("source", "requested", "number", "copy"), CELLS)
def test_export(places, count_copies, source, requested, number, copy, usm_type):
    if not exists_here(places, requested):
        assert not places.counted
        return
    route = expected_routes(places, source, requested, usm_type)[number]
    asked = requested_device(places, source, requested)
    tensor = tensor_on(places, source, usm_type)
    root = (14, places.root.id)
    assert tensor.__dlpack_device__() == root

    def export():
        return tensor.__dlpack__(max_version=(1, 0), dl_device=asked, copy=copy)

    if asked is not None:  # explain takes a device as we ourselves want it; the plan is the same
        planned = plan_for(_core.array_facts(tensor), asked, copy)
        assert planned.route is route
        assert planned.copies == COPIES.get(route, 0)
    count_copies()
    if route is Route.REFUSE:
        with pytest.raises(BufferError, match="pass copy=") as caught:
            export()
        assert isinstance(caught.value, sx.CopyRefusedError) == (copy is False)
        assert str(caught.value).startswith("the consumer requested") == (copy is False)
        assert count_copies() in (0, None)
        return
    capsule = export()
    managed = managed_in(capsule)
    dl = managed.dl_tensor
    copied = COPIES[route] > 0
    assert (dl.device.device_type, dl.device.device_id) == (asked or root)
    assert (dl.data == tensor.ptr) == (not copied)
    assert bool(managed.flags & IS_COPIED) == copied
    done = count_copies()
    if done is not None:  # a copy that the host can do is none of the GPU's
        reachable = usm_type != "device"
        by_host = reachable and requested in ("host", "other platform")
        assert done in ((0, COPIES[route]) if reachable or by_host else (COPIES[route],))

    taken = sx.from_dlpack(capsule)
    assert (taken.ptr == tensor.ptr) == (not copied)
    assert taken.to_numpy().tobytes() == VALUES.tobytes()
    if asked != HOST:
        entry = asked[1] if asked else places.root.id
        if not copied and entry == places.root.id and usm_type != "host":
            entry = tensor.device.id  # the default context knows on which tile it was allocated
        assert taken.device.id == entry
    tensor.copy_from(VALUES + 1)
    seen = VALUES if copied else VALUES + 1
    assert taken.to_numpy().tobytes() == seen.tobytes()


@pytest.mark.parametrize(("source", "requested", "number", "copy"), CELLS)
def test_move(places, count_copies, source, requested, number, copy):
    """The same through `to_device` and `from_dlpack`: we ourselves know the entries."""
    asked = requested_device(places, source, requested)
    if not exists_here(places, requested) or asked in (None, HOST):
        return
    route = expected_routes(places, source, requested, "device")[number]
    tensor = tensor_on(places, source, "device")
    for way in (
        lambda: tensor.to_device(asked, copy=copy),
        lambda: sx.from_dlpack(tensor, device=asked, copy=copy),
        lambda: sx.as_tensor(ways.described(tensor), device=asked, copy=copy),
        lambda: sx.exchange(tensor, sx.device(asked), copy=copy),
    ):
        planned = sx.explain(tensor, asked, copy=copy)
        assert (planned.route, planned.copies) == (route, COPIES.get(route, 0))
        count_copies()
        if route is Route.REFUSE:
            with pytest.raises(BufferError, match="pass copy="):
                way()
            continue
        moved = way()
        assert count_copies() in (COPIES[route], None)
        assert (moved.ptr == tensor.ptr) == (COPIES[route] == 0)
        assert moved.device.root_id == sx.device(asked).root_id
        # A view of a tile's memory under its root's id still is the tile's.
        assert moved.device.id == (asked[1] if COPIES[route] else tensor.device.id)
        assert moved.to_numpy().tobytes() == VALUES.tobytes()


@pytest.mark.parametrize("usm_type", ["device", "shared", "host"])
def test_bytes_arrive_between_each_pair_of_entries(places, usm_type):
    """Bytes arrive from each entry in each other one, strided sources and targets included."""
    entries = [*places.sources.values(), places.sibling, places.other_platform]
    entries += [places.other_device] if places.other_device else []
    for first in entries:
        tensor = sx.empty((3, 4), usm_type=usm_type, device=first).copy_from(VALUES)
        for other in entries:
            assert tensor.to_device(other, copy=True).to_numpy().tobytes() == VALUES.tobytes()
            target = sx.empty((4, 6), device=other).copy_from(np.zeros((4, 6), "float32"))
            target[:, ::2].copy_from(tensor.T)
            assert np.array_equal(target.to_numpy()[:, ::2], VALUES.T)
            assert not target.to_numpy()[:, 1::2].any()


def test_unaware_consumer_sees_root_devices_only(places):
    """Ids beyond the root devices are for those who ask for them by name."""
    for source, device in places.sources.items():
        tensor = sx.zeros(3, device=device)
        assert tensor.__dlpack_device__() == (14, places.root.id)
        with places.to_the_default_context(source):
            dl = managed_in(tensor.__dlpack__(max_version=(1, 0))).dl_tensor
            assert dl.device.device_id == places.root.id
        with pytest.raises(BufferError, match="no such device"):
            tensor.__dlpack__(dl_device=(14, len(sx.devices())))
