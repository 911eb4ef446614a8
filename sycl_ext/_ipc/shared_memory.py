# SPDX-License-Identifier: Apache-2.0
"""Blocks of host memory that the processes of a machine share.

A block is an unnamed file in memory (``memfd_create``). Other processes open it through
``/proc/<process>/fd``, and the kernel frees it with its last process, even if that process crashes.
`multiprocessing.shared_memory` is not used: its names stay in ``/dev/shm`` when the processes are
killed, its resource tracker ends blocks that other processes still use (before Python 3.13), and
``/dev/shm`` has 64 MB in a container.
"""

import errno
import fcntl
import io
import itertools
import mmap
import os
import resource
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from sycl_ext._ipc.descriptors import raise_if_no_descriptor, refusal


class BlockKey(NamedTuple):
    """The information to open a block in another process: place and identity of its file."""

    process: int
    descriptor: int
    filesystem: int
    inode: int


class Block:
    """A block of shared memory; its file and its mapping are open as long as this object lives."""

    __slots__ = ("_descriptor", "_file", "_mapping", "nbytes")

    def __init__(self, opener: Callable[..., int], *arguments: Any) -> None:
        # C calls all three, so Ctrl-C cannot come while the descriptor has no owner.
        self._file = next(map(io.FileIO, itertools.starmap(opener, [arguments])))
        self._descriptor = self._file.fileno()

    def map(self, nbytes: int, *, readonly: bool) -> "Block":
        """Map the file, and return this object."""
        access = mmap.PROT_READ if readonly else mmap.PROT_READ | mmap.PROT_WRITE
        self._mapping = mmap.mmap(self._descriptor, nbytes, mmap.MAP_SHARED, access)
        self.nbytes = nbytes
        return self

    def __del__(self) -> None:
        if hasattr(self, "_file"):
            self._file.close()

    @property
    def pointer(self) -> int:
        """Address of the first byte."""
        return int(np.frombuffer(self._mapping, np.uint8).__array_interface__["data"][0])

    @property
    def key(self) -> BlockKey:
        """The information to open the block in another process, while this object lives."""
        status = os.fstat(self._descriptor)
        return BlockKey(os.getpid(), self._descriptor, status.st_dev, status.st_ino)

    def write(self, data: bytes, at: int = 0) -> None:
        """Write bytes."""
        self._mapping[at : at + len(data)] = data

    def read(self, begin: int = 0, end: int | None = None) -> bytes:
        """Return the bytes of a part; without arguments, of all."""
        return self._mapping[begin:end]

    def content(self) -> memoryview:
        """Return the bytes in place; they keep the mapping."""
        return memoryview(self._mapping)

    def lock(self, *, exclusive: bool) -> bool:
        """Lock the file (``flock``) until it is closed; False if another lock prevents it."""
        how = fcntl.LOCK_EX if exclusive else fcntl.LOCK_SH
        try:
            fcntl.flock(self._file, how | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True


def make_block(nbytes: int) -> Block:
    """Return a new block of zeros; its pages are taken when they are first written to.

    It is sealed: no process can shorten it, which would be a SIGBUS in the other processes.
    """
    if not hasattr(os, "memfd_create"):
        raise BufferError("this system has no memfd_create; sharing host memory needs Linux")
    room = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    if nbytes > room:
        raise MemoryError(f"{nbytes} bytes of shared memory exceed this machine's {room}")
    limit, _ = resource.getrlimit(resource.RLIMIT_FSIZE)
    if resource.RLIM_INFINITY != limit < nbytes:  # the CPU driver takes SIGXFSZ for a crash
        raise MemoryError(
            f"cannot allocate {nbytes} bytes of shared memory, because it is a file, and the "
            f"files of this process are limited to {limit} bytes (`ulimit -f`, RLIMIT_FSIZE); "
            "run `ulimit -f unlimited` before you start it"
        )
    try:
        block = Block(os.memfd_create, "sycl_ext", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
        os.truncate(block._descriptor, nbytes)
        fcntl.fcntl(block._descriptor, fcntl.F_ADD_SEALS, _SIZE_SEALS | fcntl.F_SEAL_SEAL)
        return block.map(nbytes, readonly=False)
    except OSError as error:
        raise_if_no_descriptor(error, f"{nbytes} bytes of shared memory")
        if error.errno in (errno.ENOMEM, errno.ENOSPC):
            raise MemoryError(
                f"cannot allocate {nbytes} bytes of shared memory: {error}"
            ) from error
        raise


_SIZE_SEALS = fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW


def open_block(
    key: BlockKey, nbytes: int, *, readonly: bool, keep: str = "the tensor or the handle"
) -> Block:
    """Return a block that another process has made; `keep` names there what keeps it."""
    path = f"/proc/{key.process}/fd/{key.descriptor}"
    try:
        _check_file(Path(path).stat(), key, nbytes)  # before opening: a pipe would block
        how = os.O_RDONLY if readonly else os.O_RDWR
        block = Block(os.open, path, how | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOCTTY)
        _check_file(os.fstat(block._descriptor), key, nbytes)
        if _seals(block) & _SIZE_SEALS != _SIZE_SEALS:
            raise BufferError(f"{path} is not shared memory of this package")
        return block.map(nbytes, readonly=readonly)
    except OSError as error:
        if error.errno == errno.ENOMEM:
            raise MemoryError(f"cannot map {nbytes} bytes of shared memory: {error}") from error
        raise refusal(key.process, error, keep) from error


def _seals(block: Block) -> int:
    try:
        return fcntl.fcntl(block._descriptor, fcntl.F_GET_SEALS)
    except OSError as error:
        if error.errno != errno.EINVAL:
            raise
        return 0  # a file of a kind that has none


def _check_file(status: os.stat_result, key: BlockKey, nbytes: int) -> None:
    same = (status.st_dev, status.st_ino) == (key.filesystem, key.inode)
    if not same or not stat.S_ISREG(status.st_mode):
        raise BufferError(f"process {key.process} no longer shares this memory")
    if status.st_size != nbytes:
        raise BufferError(f"the block has {status.st_size} bytes, but the handle says {nbytes}")
