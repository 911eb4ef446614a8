# SPDX-License-Identifier: Apache-2.0
"""What is known about the class of a producer: which protocols to use, and how."""

import sys
from enum import IntFlag, auto
from typing import Any

import numpy as np

from sycl_ext import _core
from sycl_ext._devices import queues
from sycl_ext._negotiation.errors import REFUSALS
from sycl_ext._negotiation.producers import definer, has_trait, inherits_trait


class ProducerFacts(IntFlag):
    """The known facts of a producer's class. The core reads the first seven (``ProducerClass``)."""

    FROM_DLPACK = auto()  # the core may ask for a view by DLPack
    AS_TENSOR = auto()  # the same, where other protocols are allowed
    SHOWS_QUEUE = auto()  # `producer_queue` may find the queue that it works on
    HAS_LAZY_STATE = auto()  # it may need autograd, or have the conjugate or the negative bit set
    IS_BASE = auto()  # the array keeps its memory alive, and so is the base of a view
    HAS_TABLE = auto()  # its C exchange table is not older than its ``__dlpack__``
    IS_TENSOR = auto()  # of this package, with DLPack methods of this package
    DLPACK_FIRST = auto()  # before ``__sycl_usm_array_interface__``
    IMMUTABLE = auto()  # `Producer.immutable`
    MAY_WITHHOLD = auto()  # `Producer.withheld` has to be asked first
    DESCRIBES = auto()  # the description is not older than ``__dlpack__``
    IS_NDARRAY = auto()  # of NumPy, with DLPack methods of NumPy


#: Shortcuts past DLPack, which a class or an instance with DLPack methods of its own does not have.
_SHORTCUTS = (
    ProducerFacts.IS_BASE
    | ProducerFacts.HAS_TABLE
    | ProducerFacts.IS_TENSOR
    | ProducerFacts.DESCRIBES
    | ProducerFacts.IS_NDARRAY
)

#: The protocols of memory, and the methods by which a class defines each.
DLPACK_METHODS = ("__dlpack__", "__dlpack_device__")
TABLE_METHODS = ("__dlpack_c_exchange_api__",)
DESCRIPTION_METHODS = ("__sycl_usm_array_interface__", "__getattr__", "__getattribute__")


def facts_of_class(cls: type) -> int:
    """Return the known facts of a producer's class, as bits; the core caches the answer.

    A protocol is a shortcut past DLPack only where the class that defines it is not a base of the
    class that defines DLPack. So a subclass that overrides ``__dlpack__``, perhaps to refuse, is
    asked by DLPack, although it inherits the memory and the other protocols of its base.
    """
    dlpack = definer(cls, *DLPACK_METHODS)
    method = definer(cls, "__dlpack__")
    has_table = _is_not_overridden(cls, TABLE_METHODS, dlpack) and not _intercepts_torch(cls)
    describes = _is_not_overridden(cls, DESCRIPTION_METHODS, dlpack)
    is_ndarray = issubclass(cls, np.ndarray) and dlpack is np.ndarray
    immutable = inherits_trait(cls, "immutable")
    may_withhold = inherits_trait(cls, "withheld")
    # Not where a subclass describes its memory by a method of its own.
    owners = [definer(cls, name) for name in (*DLPACK_METHODS, DESCRIPTION_METHODS[0])]
    dlpack_first = all(owner and has_trait(owner, "waits_in_description") for owner in owners)
    shows_queue = definer(cls, "sycl_queue") is not None or queues.is_torch_class(cls)
    lazy = [name for name in ("requires_grad", "is_conj", "is_neg") if definer(cls, name)]
    from_dlpack = (
        (method is not None or has_table)
        and not immutable
        and (has_table or not may_withhold)
        and (cls is np.ndarray or not is_ndarray)
    )
    facts = {
        ProducerFacts.FROM_DLPACK: from_dlpack,
        ProducerFacts.AS_TENSOR: from_dlpack and (dlpack_first or not describes),
        ProducerFacts.SHOWS_QUEUE: shows_queue,
        ProducerFacts.HAS_LAZY_STATE: bool(lazy),
        ProducerFacts.IS_BASE: is_ndarray or dlpack_first,
        ProducerFacts.HAS_TABLE: has_table,
        ProducerFacts.IS_TENSOR: dlpack is _core.TensorBase,
        ProducerFacts.DLPACK_FIRST: dlpack_first,
        ProducerFacts.IMMUTABLE: immutable,
        ProducerFacts.MAY_WITHHOLD: may_withhold,
        ProducerFacts.DESCRIBES: describes,
        ProducerFacts.IS_NDARRAY: is_ndarray,
    }
    all_facts = 0
    for fact, is_so in facts.items():
        all_facts |= int(fact) if is_so else 0
    return all_facts


def facts_of(x: object) -> int:
    """Return the facts of a producer: those of its class, without what its own attributes hide."""
    facts = _core.facts_of_class(type(x))
    try:
        own = object.__getattribute__(x, "__dict__")  # runs no ``__getattribute__`` of the class
    except REFUSALS:
        return facts
    if not isinstance(own, dict):
        return facts
    if not own.keys().isdisjoint(DLPACK_METHODS):
        facts &= ~_SHORTCUTS
    return facts | ProducerFacts.DESCRIBES if DESCRIPTION_METHODS[0] in own else facts


def _is_not_overridden(cls: type, names: tuple[str, ...], by: type | None) -> bool:
    """Return whether a class defines a protocol at least as far from `object` as `by` is."""
    owner = definer(cls, *names)
    if owner is None or by is None:
        return owner is not None
    return cls.__mro__.index(owner) <= cls.__mro__.index(by)


def _intercepts_torch(cls: Any) -> bool:
    """Return whether calls of torch's methods go to a ``__torch_function__`` of a subclass.

    It may refuse ``__dlpack__``, and the C exchange table does not ask it.
    """
    if not queues.is_torch_class(cls):
        return False
    torch = sys.modules["torch"]
    disabled = torch._C._disabled_torch_function_impl
    is_own = definer(cls, "__torch_function__") is not torch.Tensor
    return is_own and cls.__torch_function__ is not disabled
