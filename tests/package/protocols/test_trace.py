# SPDX-License-Identifier: Apache-2.0
"""One line per exchange, with the route, in the logger ``"sycl_ext"``.

``SYCL_EXT_TRACE=1`` asks for the lines, or a logger that is enabled for DEBUG.
"""

import re

import pytest

import environments

LINE = re.compile(r"(?P<what>.+), (?P<nbytes>\d+) bytes, (?P<copies>\d+) copies, \d+\.\d us")
#: Code -> the first part of its line, and the number of copies; 24 bytes each.
EXCHANGES = {
    "sx.from_dlpack(t)": ("from_dlpack: a view of the same memory", 0),
    "sx.from_dlpack(t, copy=True)": ("from_dlpack: one copy on the device", 1),
    "sx.as_tensor(a)": ("as_tensor: a view of the same memory", 0),
    "sx.as_tensor(a, copy=True)": ("as_tensor: one copy on the device", 1),
    "sx.host_view(t)": ("host_view: a host view of the same memory", 0),
    "sx.host_view(t, copy=True)": ("host_view: one copy to the host", 1),
    "sx.exchange(t, np)": ("exchange: numpy, a host view of the same memory", 0),
    "sx.exchange(t, np, copy=True)": ("exchange: numpy, one copy to the host", 1),
    "sx.exchange(t[::-1], np)": ("exchange: numpy, one copy to the host", 1),
    "sx.exchange(a, sx.device())": ("exchange: a view of the same memory", 0),
    "sx.as_tensor(np.broadcast_to(a, (10**9, 3)))": ("as_tensor: a view of the same memory", 0),
    "sx.from_dlpack(np.broadcast_to(a, (10**9, 3)))": ("from_dlpack: a view of the same memory", 0),
    "t.__dlpack__(copy=True)": ("export: one copy on the device", 1),
    "np.from_dlpack(t, device='cpu')": ("export: a host view of the same memory", 0),
}
SCRIPT = f"""
import logging, sys
logging.basicConfig(stream=sys.stdout, format="%(name)s|%(levelname)s|%(message)s")
import numpy as np, sycl_ext as sx
t = sx.zeros((2, 3), "float32", usm_type="shared")
a = np.zeros(3)
for code in {list(EXCHANGES)}:
    logging.getLogger("marker").warning(code)
    eval(code)
try:
    sx.exchange(t[::-1], np, copy=False)
except BufferError:
    pass
"""


CONFIGURED = "logging.basicConfig("


def lines_of(script, level, variables):
    """Code -> its lines; and the refused object, under the last of them."""
    lines: dict[str, list[str]] = {}
    for line in environments.python(script, {**environments.cpu(), **variables}).splitlines():
        name, of_line, message = line.split("|")
        if name == "marker":
            lines[message] = []
        elif name == "sycl_ext":
            assert of_line == level
            list(lines.values())[-1].append(message)
    return lines


@pytest.fixture(scope="module", params=["variable", "logger"])
def lines(request):
    if request.param == "variable":
        return lines_of(SCRIPT, "INFO", {"SYCL_EXT_TRACE": "1"})
    return lines_of(SCRIPT.replace(CONFIGURED, CONFIGURED + "level=logging.DEBUG, "), "DEBUG", {})


@pytest.mark.parametrize("code", EXCHANGES)
def test_trace_line_says_route_bytes_and_copies(lines, code):
    what, copies = EXCHANGES[code]
    match = LINE.fullmatch(lines[code][0])
    assert match["what"] == what
    assert (int(match["nbytes"]), int(match["copies"])) == (24, copies)


def test_exchanges_have_a_trace_line_each(lines):
    assert [len(of_exchange) for of_exchange in lines.values()] == [1] * (len(EXCHANGES) - 1) + [2]


def test_refusal_has_a_trace_line(lines):
    match = LINE.fullmatch(list(lines.values())[-1][1])
    assert match["what"] == "exchange: refused"
    assert match["copies"] == "0"


@pytest.mark.parametrize("level", ["INFO", "WARNING"])
def test_silent_where_nobody_asked_for_lines(level):
    script = SCRIPT.replace(CONFIGURED, f"{CONFIGURED}level=logging.{level}, ")
    assert environments.python(script).count("sycl_ext|") == 0


def test_logger_that_is_configured_after_the_import():
    """Nothing but the first use of a public name reads the level."""
    said = environments.python(
        "import sycl_ext as sx, logging, sys\n"
        "logging.basicConfig(stream=sys.stdout)\n"
        "logging.getLogger('sycl_ext').setLevel('DEBUG')\n"
        "sx.host_view(sx.zeros(3, usm_type='shared'))\n"
    )
    assert said.startswith("DEBUG:sycl_ext:host_view: a host view of the same memory, 12 bytes")
