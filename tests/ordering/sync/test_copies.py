# SPDX-License-Identifier: Apache-2.0
"""A view copies nothing, and a plan with one copy makes one, as the runtime reports.

``SYCL_UR_TRACE=2`` prints each call of the runtime; `traced_routes.py` puts markers around the
routes.
"""

import os
import re
import subprocess
import sys
from collections import Counter

import numpy as np
import pytest

import environments
import sycl_ext as sx
from lab import HERE

CALL = re.compile(r"\s*---> (ur\w+)")
#: The effects of a route besides copying: order one queue after another, and wait.
ORDER = {
    "urEnqueueEventsWait",
    "urEnqueueEventsWaitWithBarrier",
    "urEnqueueEventsWaitWithBarrierExt",
    "urEnqueueTimestampRecordingExp",  # the mark behind work that was not done yet
}


@pytest.fixture(scope="module")
def traced():
    """Route -> calls of the runtime."""
    variables = {**os.environ, "SYCL_UR_TRACE": "2", "PYTHONPATH": f"{HERE}:{environments.HERE}"}
    calls: dict[str, Counter] = {}
    route = ""
    command = [sys.executable, "traced_routes.py"]
    with subprocess.Popen(
        command, env=variables, cwd=HERE, stdout=subprocess.PIPE, text=True, errors="replace"
    ) as process:
        for line in process.stdout:
            if line.startswith("=== "):
                route = line[4:].strip()
                calls.setdefault(route, Counter())
            elif route and (match := CALL.match(line)):
                calls[route][match[1]] += 1
    assert process.returncode == 0
    return calls


def commands(calls):
    """The commands that were enqueued, but for those that order and wait."""
    return {name: n for name, n in calls.items() if name.startswith("urEnqueue")}


def allocations(calls):
    return {name: n for name, n in calls.items() if re.fullmatch(r"urUSM\w*Alloc", name)}


def routes_claiming(traced, claim):
    """Route -> the commands that copy, how many were claimed, and calls that allocate."""
    copies_of_route = {}
    for route, calls in traced.items():
        if route.startswith(f"{claim} | "):
            copies = {name: n for name, n in commands(calls).items() if name not in ORDER}
            copies_of_route[route] = copies, int(route.rpartition(" | ")[2]), allocations(calls)
    assert copies_of_route
    return copies_of_route


def test_view_copies_nothing(traced):
    assert {
        route: copies
        for route, copies in routes_claiming(traced, "view").items()
        if copies[0] or copies[2]
    } == {}


def test_as_many_copies_as_are_claimed(traced):
    assert {
        route: copies
        for route, copies in routes_claiming(traced, "copies").items()
        if copies[0] != {"urEnqueueUSMMemcpy": copies[1]}
    } == {}


def test_copies_by_the_host(traced):
    """On a CPU device plain memcpy is faster than a command, so there is none."""
    assert {
        route: copies
        for route, copies in routes_claiming(traced, "copies by the host").items()
        if copies[0]
    } == {}


def test_trace_sees_allocations(traced):
    """The tests above could fail."""
    ((_, _, allocated),) = routes_claiming(traced, "allocation").values()
    assert allocated == {"urUSMDeviceAlloc": 1}


# ---- what explain says is what happens -----------------------------------------------------------


@pytest.mark.parametrize("device", ["cpu", "gpu"])
@pytest.mark.parametrize("usm_type", ["device", "shared", "host"])
@pytest.mark.parametrize("copy", [None, True])
def test_explain_counts_the_copies(bench, device, usm_type, copy):
    tensor = bench.tensor(usm_type, device=getattr(bench, device))
    before = bench.control.fakegpu_copies()
    array = sx.exchange(tensor, np, copy=copy)
    is_copy = array.ctypes.data != tensor.ptr
    assert sx.explain(tensor, np, copy=copy).copies == is_copy
    if device == "gpu" and usm_type == "device":
        assert bench.control.fakegpu_copies() - before == 1
