# SPDX-License-Identifier: Apache-2.0
"""The kernel's permission to take descriptors of another process, and the message of a refusal."""

import errno
import os
import subprocess
import sys

import numpy as np
import pytest

import environments
import sycl_ext as sx
from sycl_ext._ipc import peers

#: In a process of its own, lets the kernel answer pidfd_getfd with an error, as a container's
#: filter does, and with the same error as Yama.
REFUSE = """
import ctypes, struct
def refuse(error, system_call=438):
    libc = ctypes.CDLL(None, use_errno=True)
    code = b"".join(struct.pack("<HBBI", *line) for line in [
        (0x20, 0, 0, 0),                 # the number of the call
        (0x15, 0, 1, system_call),
        (0x06, 0, 0, 0x00050000 | error),
        (0x06, 0, 0, 0x7FFF0000),        # allowed
    ])
    buffer = ctypes.create_string_buffer(code)
    program = struct.pack("<HxxxxxxQ", 4, ctypes.addressof(buffer))
    assert libc.prctl(38, 1, 0, 0, 0) == 0
    assert libc.prctl(22, 2, ctypes.create_string_buffer(program), 0, 0) == 0
"""


@pytest.fixture
def sleeper():
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as process:
        yield process.pid
        process.stdin.close()


@pytest.mark.parametrize(
    ("error", "scope", "cause", "cure"),
    [
        (errno.EPERM, 1, "ptrace_scope is 1", "let process 7 call sycl_ext.ipc.handle(t, peer=8)"),
        (errno.EPERM, 2, "CAP_SYS_PTRACE", "sysctl kernel.yama.ptrace_scope=0"),
        (errno.EPERM, 3, "until the next reboot", "/etc/sysctl.d"),
        (errno.EPERM, 0, "another user", "--cap-add SYS_PTRACE"),
        (errno.EPERM, None, "another user", "--cap-add SYS_PTRACE"),
        (errno.ENOSYS, 1, "older than 5.6", "update the kernel"),
        (errno.ESRCH, None, "has ended", "keep it"),
        (errno.EBADF, None, "released the memory", "keep the handle"),
        (errno.EIO, None, "Input/output error", "same machine and as the same user"),
    ],
)
def test_refusal_names_the_cause_and_the_way_out(error, scope, cause, cure):
    message = peers.refusal(7, 8, error, scope)
    assert message.startswith("process 8 may not open the device memory of process 7")
    assert errno.errorcode[error] in message
    assert cause in message
    assert cure in message


def test_descriptor_of_another_process_is_reached(sleeper):
    peers.require_descriptor(sleeper, 0)
    peers.require_descriptor(os.getpid(), 12345)  # nothing is taken within a process
    with pytest.raises(BufferError, match="EBADF.*keep the handle there"):
        peers.require_descriptor(sleeper, 12345)


def test_ended_process_is_refused():
    with subprocess.Popen([sys.executable, "-c", ""]) as process:
        process.wait(60)
    with pytest.raises(BufferError, match="ESRCH.*it has ended"):
        peers.require_descriptor(process.pid, 0)


@pytest.mark.parametrize(("error", "words"), [("EPERM", "cannot be traced"), ("ENOSYS", "5.6")])
def test_refusal_of_the_kernel_is_told(error, words, sleeper):
    """A real refusal: the kernel answers so from here on."""
    shown = environments.python(f"""{REFUSE}
import errno
from pathlib import Path
from sycl_ext._ipc import peers
peers.PTRACE_SCOPE = Path("/none")
peers.ptrace_scope = lambda: None
refuse(errno.{error})
try:
    peers.require_descriptor({sleeper}, 0)
except BufferError as refusal:
    print(refusal)
""")
    assert f"(pidfd_getfd: {error})" in shown
    assert words in shown


def test_ptrace_scope_is_a_number_or_none(tmp_path):
    assert peers.ptrace_scope(tmp_path / "none") is None
    (tmp_path / "scope").write_text("1\n")
    assert peers.ptrace_scope(tmp_path / "scope") == 1
    assert peers.ptrace_scope() in (None, 0, 1, 2, 3)


# ---- the permission for one process --------------------------------------------------------------


@pytest.fixture
def asked(monkeypatch):
    """The call to the kernel where Yama restricts, which this machine need not do."""
    calls = []
    monkeypatch.setattr(peers, "ptrace_scope", lambda: 1)
    monkeypatch.setattr(peers, "set_ptracer", calls.append)
    return calls


def test_permission_ends_with_the_last_object(asked, sleeper):
    first = peers.Permission(sleeper)
    second = peers.Permission(sleeper)
    del first
    with pytest.raises(
        BufferError, match=f"process {sleeper} already has permission .* permits only one"
    ):
        peers.Permission(os.getpid())
    del second
    peers.Permission(os.getpid())
    assert asked == [sleeper, sleeper, 0, os.getpid(), 0]


def test_process_id_may_be_any_integer(asked, sleeper):
    first, second = peers.Permission(np.int64(sleeper)), peers.Permission(sleeper)
    assert [(type(peer), peer) for peer in asked] == [(int, sleeper)] * 2
    del first, second
    for peer in (True, None, 1.0, np.float64(1), "1", np.zeros(1)):
        with pytest.raises(TypeError, match="a process id"):
            peers.Permission(peer)


def test_permission_may_end_while_another_begins(asked, sleeper, monkeypatch):
    first = [peers.Permission(sleeper)]
    monkeypatch.setattr(peers, "ptrace_scope", lambda: first.clear() or 1)
    second = peers.Permission(sleeper)
    assert asked[-1] == sleeper
    monkeypatch.setattr(os, "getpid", lambda: 7)  # a forked child gives none
    peers.Permission(os.getppid())
    assert asked[-2:] == [os.getppid(), 0]
    del second


def test_kernel_is_told_the_latest_permission(asked, sleeper, monkeypatch):
    def late(peer, kept=[]):  # noqa: B006
        kept or peer or kept.append(peers.Permission(sleeper))
        asked.append(peer)

    monkeypatch.setattr(peers, "set_ptracer", late)
    peers.Permission(sleeper)
    assert asked == [sleeper, sleeper, 0, sleeper]


@pytest.mark.parametrize("scope", [None, 0, 2, 3])
def test_kernel_is_asked_only_where_it_matters(scope, asked, sleeper, monkeypatch):
    monkeypatch.setattr(peers, "ptrace_scope", lambda: scope)
    peers.Permission(sleeper)
    assert asked == []


@pytest.mark.parametrize("peer", [0, -1, 1 << 40])
def test_missing_peer_is_refused(peer):
    with pytest.raises(ValueError, match="no such process"):
        sx.ipc.handle(sx.ipc.empty(3, device="cpu"), peer=peer)


def test_peer_of_shared_host_memory_needs_no_permission(sleeper, asked):
    """It needs no permission, so none is left."""
    handle = sx.ipc.handle(sx.ipc.empty(3, device="cpu"), peer=sleeper)
    assert sx.ipc.open(handle).shape == (3,)
    assert asked == [sleeper, 0]
