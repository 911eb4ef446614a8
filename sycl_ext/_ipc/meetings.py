# SPDX-License-Identifier: Apache-2.0
"""A place in shared memory where ranks wait for each other, and give each other bytes.

It is a block of shared host memory with one page for each rank, which only that rank writes. A rank
that waits reads the numbers of the others. It asks ``/proc`` whether those that are missing still
run, so a rank that has ended is an error within milliseconds, whoever started the ranks.
"""

from __future__ import annotations

import os
import time
import weakref
from collections.abc import Iterator, Sequence
from threading import BrokenBarrierError
from typing import TYPE_CHECKING

from sycl_ext._ipc.processes import has_ended, started
from sycl_ext._ipc.shared_memory import Block, BlockKey, make_block, open_block

if TYPE_CHECKING:
    import numpy as np

_PAGE = 4096
#: The words of a rank's page; the bytes that it gives follow.
_PROCESS, _START, _ARRIVED, _LEFT, _REMAINING = range(5)
#: Why a rank has left, although its process runs.
_DROPPED, _FAILED = 1, 2
_CHUNK_AT = 64
_CHUNK = _PAGE - _CHUNK_AT

#: A waiting rank looks a few times without a pause. It then sleeps between two looks, longer each
#: time, because another rank may need its processor: the first and the longest pause in seconds.
_SHORTEST, _LONGEST = 50e-6, 1e-3
_AT_ONCE = 20
#: Seconds between two questions whether the missing ranks still run.
_BETWEEN_QUESTIONS = 0.02


class Meeting:
    """The place of a group of ranks, of which this process is one.

    A barrier that ends with an error (time, Ctrl-C) is completed by the next one.
    """

    def __init__(self, block: Block, rank: int, size: int, what: str) -> None:
        self.block, self.rank, self.size = block, rank, size
        self._what = what  #: in messages
        self._pages: np.ndarray[tuple[int, int], np.dtype[np.uint64]]
        self._pages = block.words().reshape(size, _PAGE // 8)
        self._process = os.getpid()
        self._completed = 0  #: barriers; a call that Ctrl-C ends can be repeated
        self._gathering = False
        mine = self._pages[rank]
        if mine[_PROCESS]:
            raise ValueError(
                f"rank {rank} of this {what} was joined before, by an object of process "
                f"{mine[_PROCESS]}; keep that object for further calls, or make a new {what}"
            )
        mine[_START] = started(self._process)
        mine[_PROCESS] = self._process
        weakref.finalize(self, _leave, mine, self._process).atexit = False

    @classmethod
    def open(cls, key: BlockKey, rank: int, size: int, what: str) -> Meeting:
        """Join a meeting that another process has made."""
        return cls(open_block(key, _PAGE * size, readonly=False), rank, size, what)

    def barrier(self, timeout: float) -> None:
        """Wait until all ranks have called it.

        Raises
        ------
        BrokenBarrierError
            If one of them has ended, or has dropped its object.
        TimeoutError
            If one of them does not come.
        """
        self._require_usable()
        self._meet(timeout)

    def all_gather(self, data: bytes, timeout: float) -> list[bytes]:
        """Return the bytes of all ranks, by rank. Raises as `barrier` does."""
        self._require_usable()
        self._gathering = True
        gathered, rest, unread = [b""] * self.size, data, True
        try:
            while unread:
                self._write(rest)
                self._meet(timeout)
                chunks = [self._read(rank) for rank in range(self.size)]
                gathered = [g + chunk for g, (chunk, _) in zip(gathered, chunks, strict=True)]
                unread, rest = any(more for _, more in chunks), rest[_CHUNK:]
                self._meet(timeout)  # nobody writes before all have read
        except BaseException:  # Ctrl-C as well; the others do not wait for a rank that cannot come
            self._pages[self.rank, _LEFT] = _FAILED
            raise
        self._gathering = False
        return gathered

    def _require_usable(self) -> None:
        """Raise BrokenBarrierError in a forked child, and after an `all_gather` that failed."""
        if os.getpid() != self._process:
            raise BrokenBarrierError(
                f"process {os.getpid()} was forked from rank {self.rank} (process {self._process}) "
                f"of the {self._what}, and is not a rank itself; start the ranks by 'spawn'"
            )
        if self._gathering:
            raise BrokenBarrierError(
                f"an all_gather of the {self._what} ended with an error, so its ranks may be at "
                "different places; make a new one"
            )

    def _write(self, data: bytes) -> None:
        chunk = data[:_CHUNK]
        self._pages[self.rank, _REMAINING] = len(data)
        self.block.write(chunk, at=_PAGE * self.rank + _CHUNK_AT)

    def _read(self, rank: int) -> tuple[bytes, bool]:
        remaining = int(self._pages[rank, _REMAINING])
        begin = _PAGE * rank + _CHUNK_AT
        return self.block.read(begin, begin + min(remaining, _CHUNK)), remaining > _CHUNK

    def _meet(self, timeout: float) -> None:
        round_ = self._completed + 1
        self._pages[self.rank, _ARRIVED] = round_
        begin = asked = time.monotonic()
        for pause in _pauses():
            if (self._pages[:, _ARRIVED] >= round_).all():
                break
            now = time.monotonic()
            if now - asked >= _BETWEEN_QUESTIONS:
                self._require_all(round_)
                asked = now
            if now - begin >= timeout:
                raise TimeoutError(
                    f"{self._ranks(self._missing(round_))} did not come to the barrier of the "
                    f"{self._what} within {timeout:g} s; find out what it does, or pass a longer "
                    "timeout"
                )
            time.sleep(pause)
        self._completed = round_

    def _missing(self, round_: int) -> list[int]:
        arrived = self._pages[:, _ARRIVED].tolist()
        return [rank for rank, count in enumerate(arrived) if count < round_]

    def _require_all(self, round_: int) -> None:
        """Raise BrokenBarrierError if a rank that is missing can never come."""
        gone = [rank for rank in self._missing(round_) if self._is_gone(rank)]
        gone = [rank for rank in gone if rank in self._missing(round_)]  # it came, and ended
        if gone:
            failed = all(self._pages[rank, _LEFT] == _FAILED for rank in gone)
            why = "has had an error in an all_gather of" if failed else "has ended or dropped"
            raise BrokenBarrierError(
                f"{self._ranks(gone)} {why} the {self._what}, and will not come to the barrier; "
                "end the other ranks, or make a new one without it"
            )

    def _is_gone(self, rank: int) -> bool:
        process, start, _, left = map(int, self._pages[rank, : _LEFT + 1])
        return bool(left) or (process != 0 and has_ended(process, start))

    def _ranks(self, ranks: Sequence[int]) -> str:
        processes = self._pages[:, _PROCESS].tolist()
        return " and ".join(
            f"rank {rank} ({f'process {processes[rank]}' if processes[rank] else 'not joined'})"
            for rank in ranks
        )


def make_meeting(size: int) -> Block:
    """Return the block of a new meeting; `Meeting` or `Meeting.open` joins it."""
    return make_block(_PAGE * size)


def all_have_joined(block: Block, size: int) -> bool:
    """Whether each rank has joined the meeting of a block."""
    return bool((block.words().reshape(size, -1)[:, _PROCESS] != 0).all())


def _leave(page: np.ndarray[tuple[int], np.dtype[np.uint64]], process: int) -> None:
    if os.getpid() == process:  # a forked child is not the rank
        page[_LEFT] = _DROPPED


def _pauses() -> Iterator[float]:
    for _ in range(_AT_ONCE):
        yield 0
    pause = _SHORTEST
    while True:
        yield pause
        pause = min(2 * pause, _LONGEST)
