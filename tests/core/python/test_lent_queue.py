# SPDX-License-Identifier: Apache-2.0
"""A queue of ours as the ``stream`` of a producer that shows none: theirs until it is back."""

import threading

import dpctl
import pytest

import environments
import sycl_ext as sx
from sycl_ext import _core


class Producer:
    """Calls `use` with the stream."""

    def __init__(self, tensor, use):
        self.tensor, self.use = tensor, use

    def __dlpack_device__(self):
        return (14, self.tensor.device.id)

    def __dlpack__(self, *, stream, max_version):
        self.use(stream)
        here = self.__dlpack_device__()
        return self.tensor.__dlpack__(stream=-1, dl_device=here, max_version=max_version)


def private_device():
    return sx.register_context(dpctl.SyclContext([sx.device().sycl_device]))


class Loans:
    """Loans of the queue of a device that nobody has seen."""

    def __init__(self, device):
        self.tensor = sx.empty(4, "float32", device=device)
        self.lend(lambda stream: None)

    def lend(self, use):
        return sx.from_dlpack(Producer(self.tensor, use))

    def is_lent(self):
        """Whether others can submit to the queue; what they have submitted is waited for first."""
        queue = _core.queue_of(self.tensor)
        queue.wait()
        return queue.may_have_work


def keeps_the_object(loans):
    kept = []
    loans.lend(kept.append)
    return kept


def keeps_a_copy(loans):
    kept = []
    loans.lend(lambda stream: kept.append(dpctl.SyclQueue(stream._get_capsule())))
    return kept


def raises(loans):
    def refuse(stream):
        raise ZeroDivisionError("whose traceback has the stream")

    try:
        loans.lend(refuse)
    except sx.ExchangeError as error:
        return [error]
    raise AssertionError("it was not refused")


def keeps_it_in_a_nested_loan(loans):
    kept = []
    loans.lend(lambda stream: loans.lend(kept.append))
    return kept


def keeps_it_around_a_nested_loan(loans):
    kept = []
    loans.lend(lambda stream: (loans.lend(lambda inner: None), kept.append(stream)))
    return kept


KEEPING = [
    keeps_the_object,
    keeps_a_copy,
    raises,
    keeps_it_in_a_nested_loan,
    keeps_it_around_a_nested_loan,
]


def check_until_they_let_go(loans, keep):
    kept = keep(loans)
    assert loans.is_lent()
    loans.lend(lambda stream: None)
    assert loans.is_lent()
    kept.clear()
    assert not loans.is_lent()


@pytest.mark.parametrize("keep", KEEPING)
def test_others_have_it_until_they_let_go(keep):
    check_until_they_let_go(Loans(private_device()), keep)


def check_that_loans_end(loans):
    def lend(depth):
        loans.lend(lambda stream: lend(depth - 1) if depth else None)

    def lend_often():
        for _ in range(50):
            lend(3)

    threads = [threading.Thread(target=lend_often) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not loans.is_lent()


def test_nested_and_parallel_loans_end():
    check_that_loans_end(Loans(private_device()))


def test_the_queue_of_a_device():
    """Its object is kept between loans, so this needs a process in which nobody has the queue."""
    environments.python(
        "import test_lent_queue as lab, sycl_ext as sx\n"
        "loans = lab.Loans(sx.device())\n"
        "assert not loans.is_lent()\n"
        "for keep in lab.KEEPING:\n"
        "    lab.check_until_they_let_go(loans, keep)\n"
        "lab.check_that_loans_end(loans)\n",
        near=__file__,
    )
