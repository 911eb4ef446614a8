# SPDX-License-Identifier: Apache-2.0
"""The forms of ``stream=`` that name the queue of a consumer, each made of a queue of dpctl."""


class WithCapsule:
    """A queue of another package, which hands out capsules of it."""

    def __init__(self, queue):
        self._get_capsule = queue._get_capsule


class Stream:
    """A stream as PyTorch XPU has it: `sycl_queue` is the address of a queue."""

    def __init__(self, queue):
        self.sycl_queue = queue.addressof_ref()


FORMS = {
    "a dpctl.SyclQueue": lambda queue: queue,
    "a 'SyclQueueRef' capsule": lambda queue: queue._get_capsule(),
    "the address of a sycl::queue as an int": lambda queue: queue.addressof_ref(),
    "an object with _get_capsule()": WithCapsule,
    "an object with sycl_queue": Stream,
}
