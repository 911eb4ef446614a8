# SPDX-License-Identifier: Apache-2.0
"""The kernel's permissions to take file descriptors of another process.

A driver opens device memory of another process with a descriptor that it takes with
``pidfd_getfd``, which needs the permissions of a debugger. `require_descriptor` tries that before
the driver, because the driver's error does not mention it. `Permission` grants it to one process.
"""

import ctypes
import errno
import operator
import os
import weakref
from pathlib import Path
from typing import ClassVar, SupportsIndex

from sycl_ext._ipc.descriptors import lives, raise_if_no_descriptor

#: The setting of Linux's security module Yama: a number. Without Yama there is no such file.
PTRACE_SCOPE = Path("/proc/sys/kernel/yama/ptrace_scope")

_PIDFD_GETFD = 438  # the number of the system call, on every architecture
_SET_PTRACER = 0x59616D61  # PR_SET_PTRACER of <sys/prctl.h>

_ALLOW = "let process {maker} call sycl_ext.ipc.handle(t, peer={opener}), or start it from here"

#: Why a descriptor cannot be taken, and the way out, by error number and ptrace_scope (None: any).
_REASONS = {
    (errno.EPERM, 1): (
        "kernel.yama.ptrace_scope is 1, so a process may access only its descendants, and "
        "processes that allow it",
        _ALLOW + ", or run: sudo sysctl kernel.yama.ptrace_scope=0",
    ),
    (errno.EPERM, 2): (
        "kernel.yama.ptrace_scope is 2, so this requires CAP_SYS_PTRACE",
        "run: sudo sysctl kernel.yama.ptrace_scope=0",
    ),
    (errno.EPERM, 3): (
        "kernel.yama.ptrace_scope is 3, which forbids it until the next reboot",
        "set it to 0 in /etc/sysctl.d and reboot",
    ),
    (errno.EPERM, None): (
        "it runs as another user, or cannot be traced, or a filter of this container forbids it",
        "run both as the same user, in a container with --cap-add SYS_PTRACE",
    ),
    (errno.ENOSYS, None): (
        "the kernel is older than 5.6, or a filter of this container hides the call",
        "update the kernel, or the container runtime",
    ),
    (errno.ESRCH, None): ("it has ended", "keep it until the memory is opened"),
    (errno.EBADF, None): (
        "it has released the memory",
        "keep the handle there until the memory is opened",
    ),
}


def refusal(maker: int, opener: int, error: int, scope: int | None) -> str:
    """Return why one process cannot take a descriptor of another, and the solution. Pure."""
    unknown = os.strerror(error), "both must run on the same machine and as the same user"
    cause, cure = _REASONS.get((error, scope), _REASONS.get((error, None), unknown))
    return (
        f"process {opener} may not open the device memory of process {maker} (pidfd_getfd: "
        f"{errno.errorcode.get(error, error)}): {cause}; " + cure.format(maker=maker, opener=opener)
    )


def ptrace_scope(path: Path = PTRACE_SCOPE) -> int | None:
    """Return the setting of Yama; None: there is no Yama."""
    try:
        return int(path.read_text())
    except OSError as error:
        raise_if_no_descriptor(error, f"reading {path}")
        return None
    except ValueError:
        return None


def call_refused() -> str:
    """Return the name of the error with which the kernel refuses ``pidfd_getfd`` to every process.

    Empty: it does not. A process may take its own descriptors, so Yama and users do not matter
    here: a filter (seccomp) of a container forbids the call, or the kernel does not have it.
    """
    try:
        own = os.pidfd_open(os.getpid())
        try:
            os.close(_pidfd_getfd(own, own))
        finally:
            os.close(own)
    except OSError as error:
        raise_if_no_descriptor(error, "this process")
        return errno.errorcode.get(error.errno or 0, str(error.errno))
    return ""


def require_descriptor(process: int, descriptor: int) -> None:
    """Raise BufferError, with the cause, if a descriptor of a process cannot be taken."""
    if process == os.getpid():
        return
    try:
        descriptor_of_process = os.pidfd_open(process)
        try:
            os.close(_pidfd_getfd(descriptor_of_process, descriptor))
        finally:
            os.close(descriptor_of_process)
    except OSError as error:
        raise_if_no_descriptor(error, f"the device memory of process {process}")
        number = error.errno or 0
        message = refusal(process, os.getpid(), number, ptrace_scope())
        raise BufferError(message) from error


def obstacle(*, allowed: bool) -> str:
    """Return why other processes, or those that it allows, cannot take descriptors of this one."""
    if (scope := ptrace_scope()) is not None and scope > allowed:
        return f"kernel.yama.ptrace_scope is {scope}; " + (
            "pass peer=PID of the process that will open it"
            if scope == 1
            else "run: sudo sysctl kernel.yama.ptrace_scope=0"
        )
    if error := call_refused():
        return f"this process may not call pidfd_getfd ({error})"
    return ""


def _pidfd_getfd(process: int, descriptor: int) -> int:
    call = ctypes.CDLL(None, use_errno=True).syscall
    result = call(ctypes.c_long(_PIDFD_GETFD), process, descriptor, ctypes.c_uint(0))
    if result < 0:
        raise OSError(ctypes.get_errno(), "pidfd_getfd")
    return int(result)


def set_ptracer(process: int) -> None:
    zero = ctypes.c_ulong(0)
    call = ctypes.CDLL(None, use_errno=True).prctl
    if call(_SET_PTRACER, ctypes.c_ulong(process), zero, zero, zero) != 0:
        raise OSError(ctypes.get_errno(), "prctl(PR_SET_PTRACER)")


class Permission:
    """Lets one process and its descendants take descriptors of this one while the object exists.

    This is ``prctl(PR_SET_PTRACER)``, which also lets that process debug this one. The kernel
    allows only one such process, so a second one is refused.
    """

    #: For each permission the process that gives it, and the peer; oldest first. There is no lock,
    #: because the garbage collector or a fork can interrupt its holder at any place.
    _given: ClassVar[dict[object, tuple[int, int]]] = {}

    def __init__(self, peer: SupportsIndex) -> None:
        try:
            peer = operator.index(None if isinstance(peer, bool) else peer)  # type: ignore[arg-type]
        except TypeError:
            raise TypeError(f"peer is {peer!r}; it must be a process id") from None
        if not lives(peer):
            raise ValueError(f"peer is {peer}, but there is no such process")
        key = object()
        weakref.finalize(self, self._end, key)
        self._given[key] = os.getpid(), peer
        if (allowed := self._allowed()) != peer:
            self._end(key)
            raise BufferError(
                f"process {allowed} already has permission to open the device memory of this "
                "process, and the kernel permits only one process; drop its handles before you "
                f"permit process {peer}"
            )
        self._update_kernel()

    @classmethod
    def _allowed(cls) -> int:
        """Return the peer of the oldest permission of this process; 0: it gives none."""
        process = os.getpid()
        return next((peer for maker, peer in list(cls._given.values()) if maker == process), 0)

    @classmethod
    def _update_kernel(cls) -> None:
        current = None
        while ptrace_scope() == 1 and current != (allowed := cls._allowed()):
            set_ptracer(allowed)
            current = allowed  # another permission may have begun or ended meanwhile

    @classmethod
    def _end(cls, key: object) -> None:
        if cls._given.pop(key, None) and not cls._allowed():
            cls._update_kernel()
