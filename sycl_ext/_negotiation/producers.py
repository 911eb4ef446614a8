# SPDX-License-Identifier: Apache-2.0
"""Known peculiarities of producers: one row each, with its reason. Pure Python.

A producer without a row is trusted. A row says where a library's arrays deviate from their
protocol.
"""

from collections.abc import Callable, Iterator
from itertools import repeat
from typing import Any, NamedTuple

from sycl_ext._negotiation.errors import REFUSALS


def _negated(tensor: Any) -> str | None:
    if not tensor.is_neg():
        return None
    return (
        "it has the negative bit set, so its memory holds the negated values; pass "
        "tensor.resolve_neg(), which can be exchanged"
    )


def _has_no_numbers(tensor: Any) -> str | None:
    dtype = tensor.dtype.name
    if dtype not in ("string", "resource", "variant"):
        return None
    return (
        f"its dtype is {dtype}, whose elements are TensorFlow objects, not numbers; convert it "
        "first, for example strings with tensorflow.io.decode_raw"
    )


class Producer(NamedTuple):
    """One producer library."""

    package: str  # its import name, or that of a package in it
    reason: str  # the observation, with the version and a link to the report
    immutable: bool = False  # its arrays are read-only, which a capsule of DLPack 0.x cannot say
    #: The second value of ``data`` in its ``__sycl_usm_array_interface__`` is True for writable.
    inverted_readonly: bool = False
    #: Returns why ``__dlpack__`` of an array must not be called, because it would end the
    #: process or export wrong numbers; None: it may be called.
    withheld: Callable[[Any], str | None] | None = None
    #: Reading ``__sycl_usm_array_interface__`` waits for the queue in a way that two threads must
    #: not.
    waits_in_description: bool = False


PRODUCERS: tuple[Producer, ...] = (
    Producer(
        "jax",
        "0.10: arrays are immutable, and exported as DLPack 0.x or without the read-only flag",
        immutable=True,
    ),
    Producer(
        "jaxlib",
        "0.10: the class of jax's arrays says that it is jaxlib's",
        immutable=True,
    ),
    Producer(
        "dpctl.memory",
        "0.22: the second value of ``data`` is documented as 'writable' "
        "(https://intelpython.github.io/dpctl/latest/api_reference/dpctl/"
        "sycl_usm_array_interface.html says read-only)",
        inverted_readonly=True,
    ),
    Producer(
        "onedal", "2026.2: the second value of ``data`` is is_mutable", inverted_readonly=True
    ),
    Producer(
        "torch",
        "2.13: ``__dlpack__`` refuses the conjugate bit and does not look at the negative bit, "
        "which ``torch.tensor([1 + 2j]).conj().imag`` has",
        withheld=_negated,
    ),
    Producer(
        "tensorflow",
        "2.21: ``__dlpack__`` ends the process (a failed CHECK) for strings, resources and "
        "variants",
        withheld=_has_no_numbers,
    ),
    Producer(
        "dpnp",
        "0.20: reading ``__sycl_usm_array_interface__`` calls ``SyclQueue.wait()``; two threads "
        "that do so with one out-of-order queue crash in libintelocl 2026.2 (docs/streams.md)",
        waits_in_description=True,
    ),
)


def class_name(x: object) -> str:
    """Return the name of the class of an array, with its library where this package has the name.

    Examples
    --------
    >>> class_name(bytearray())
    'bytearray'
    >>> class_name(type("Tensor", (), {"__module__": "torch"})())
    'torch.Tensor'
    """
    cls = type(x)
    library = cls.__module__.partition(".")[0]
    is_ambiguous = cls.__name__ == "Tensor" and library != "sycl_ext"
    return f"{library}.{cls.__name__}" if is_ambiguous else cls.__name__


#: The beginnings of the modules with a trait: a field of a row that is set.
_WITH_TRAIT = {
    trait: tuple(f"{row.package}." for row in PRODUCERS if getattr(row, trait))
    for trait in ("immutable", "inverted_readonly", "withheld", "waits_in_description")
}


def has_trait(cls: type, trait: str) -> bool:
    """Return whether the library that defines a class has a trait."""
    return f"{cls.__module__}.".startswith(_WITH_TRAIT[trait])


def inherits_trait(cls: type, trait: str) -> bool:
    """Return whether a class, or one of its bases, is of a library with a trait."""
    modules = [f"{base.__module__}." for base in cls.__mro__]
    return any(map(str.startswith, modules, repeat(_WITH_TRAIT[trait])))


def _defines(row: Producer, cls: type) -> bool:
    return f"{cls.__module__}.".startswith(f"{row.package}.")


def _rows_of(x: object) -> Iterator[Producer]:
    """Yield the rows of the libraries that the class of an object or one of its bases is from."""
    for row in PRODUCERS:
        if any(_defines(row, base) for base in type(x).__mro__):
            yield row


def definer(cls: type, *names: str) -> type | None:
    """Return the most derived class that defines one of the names; `object` does not count.

    This runs no code of the class, except comparisons of keys that are not strings.

    Examples
    --------
    >>> class Base:
    ...     def __dlpack__(self): ...
    >>> class Derived(Base): ...
    >>> definer(Derived, "__dlpack__").__name__
    'Base'
    """
    for base in cls.__mro__[:-1]:
        for name in names:
            try:
                if name in vars(base):
                    return base
            except REFUSALS:  # of a key that cannot be compared
                continue
    return None


def why_withheld(x: Any) -> str | None:
    """Return why `__dlpack__` of an array must not be called; None: it may be called."""
    for row in _rows_of(x):
        if row.withheld is not None:
            return row.withheld(x)
    return None
