# SPDX-License-Identifier: Apache-2.0
"""Error texts, by errno, for when the kernel refuses to open a file of another process.

Running out of file descriptors says nothing about the other process, so it is an error of its own.
"""

import errno
import os
import resource
from pathlib import Path

#: The limit of the machine: a number.
FILE_MAX = Path("/proc/sys/fs/file-max")
#: Shows that ``/proc`` is mounted, and is the one of this process.
PROC = Path("/proc/self")


class DescriptorError(OSError, BufferError):
    """No file descriptor is left in this process, or on the machine.

    It is an OSError with the ``errno`` of the kernel, and a BufferError: the memory cannot be
    shared now.
    """


def lives(process: int) -> bool:
    """Whether there is a process of that id, of any user, whether or not ``/proc`` shows it."""
    try:
        os.kill(process, 0)
    except PermissionError:  # it is another user's
        return True
    except (OSError, OverflowError):
        return False
    return process > 0  # the others are groups of processes


def raise_if_no_descriptor(error: OSError, what: str) -> None:
    """Raise a DescriptorError if the error says that no descriptor is left for `what`."""
    if error.errno not in (errno.EMFILE, errno.ENFILE):
        return
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if error.errno == errno.ENFILE:
        text = (
            f"this machine has reached its limit of open files, {FILE_MAX}, whatever `ulimit -n` "
            f"says ({soft} here); close files, or run: sudo sysctl fs.file-max=N"
        )
    elif soft == hard:
        text = (
            f"this process has {soft} open files, which is its limit (`ulimit -n`, RLIMIT_NOFILE; "
            "the hard limit is the same); drop tensors of sycl_ext.ipc, or as root raise it "
            f"before the process starts: ulimit -n {2 * soft}"
        )
    else:
        text = (
            f"this process has {soft} open files, which is its limit (`ulimit -n`, "
            "RLIMIT_NOFILE); drop tensors of sycl_ext.ipc, or before you start it run: ulimit -n "
            f"{'unlimited' if hard == resource.RLIM_INFINITY else hard}"
        )
    raise DescriptorError(error.errno, f"no file descriptor is left for {what}: {text}") from error


def refusal(process: int, error: OSError, keep: str) -> BufferError:
    """Return why a file of another process cannot be opened, and the way out: what to keep."""
    raise_if_no_descriptor(error, f"the memory that process {process} shares")
    if error.errno in (errno.EACCES, errno.EPERM):
        return BufferError(
            f"the memory that process {process} shares cannot be opened by process {os.getpid()} "
            f"of user {os.geteuid()}: {error}; that process belongs to another user, or "
            "cannot be traced; run both as the same user, in a container with --cap-add SYS_PTRACE"
        )
    if not PROC.exists():
        return BufferError(
            f"the memory that process {process} shares is opened through /proc, which is not "
            "mounted here; mount it: mount -t proc proc /proc"
        )
    if error.errno not in (errno.ENOENT, errno.ESRCH):
        return BufferError(f"the memory that process {process} shares cannot be opened: {error}")
    if lives(process):
        return BufferError(
            f"the memory that process {process} shares cannot be opened: that process has released "
            "it, or reuses the id of an earlier process that shared it, or is hidden from this "
            f"user (hidepid); keep {keep} there until it is opened here"
        )
    return BufferError(
        f"the memory that process {process} shares cannot be opened: there is no such process "
        "here; it has ended, or runs in another container or on another machine; keep it until "
        "the memory is opened, or send a copy: sycl_ext.ipc.pack(x, how='bytes')"
    )
