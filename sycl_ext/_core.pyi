# SPDX-License-Identifier: Apache-2.0
# Written by hand; tests/package/test_stub.py compares it with the docstrings of the module.
# It imports no module of the package, because they import the core.  A function that returns a
# Tensor or a HostView is declared here with their base class, and the module that makes it public
# declares the class.
"""The C++ core of sycl_ext: literal classes and functions for the package itself."""

from collections.abc import Sequence
from typing import Any, ClassVar, Literal, SupportsIndex, TypeVar

import numpy as np
from numpy.typing import NDArray
from typing_extensions import CapsuleType

_AnyTensor = TypeVar("_AnyTensor", bound=TensorBase)

class Queue:
    """A shared handle of a sycl::queue."""

    def _get_capsule(self) -> CapsuleType:
        """A new 'SyclQueueRef' capsule; other code can submit to the queue from now on."""

    def addressof_ref(self) -> int:
        """Address of the sycl::queue; other code can submit to the queue from now on."""

    def wait(self) -> None:
        """Blocks until all work submitted so far is done."""

class Entry:
    """An entry of the device table."""

    def context_capsule(self) -> CapsuleType:
        """A new 'SyclContextRef' capsule."""

    def free_memory(self) -> int | None:
        """Bytes that are free, from all processes; None: the driver cannot say."""

    def new_queue(self) -> Queue:
        """Another in-order queue of its device and context."""

    @property
    def backend(self) -> str: ...
    @property
    def default_context(self) -> bool: ...
    @property
    def composite(self) -> bool: ...
    @property
    def composite_device(self) -> Entry | None: ...
    @property
    def context_address(self) -> int: ...
    @property
    def device_address(self) -> int: ...
    @property
    def device_type(self) -> str: ...
    @property
    def driver_version(self) -> str: ...
    @property
    def uuid(self) -> bytes: ...
    @property
    def pci_address(self) -> str: ...
    @property
    def filter_string(self) -> str: ...
    @property
    def fp64(self) -> bool: ...
    @property
    def home(self) -> Entry: ...
    @property
    def host_memory(self) -> bool: ...
    @property
    def id(self) -> int: ...
    @property
    def kind(self) -> Literal["root", "sub_device", "context"]: ...
    @property
    def name(self) -> str: ...
    @property
    def parent(self) -> Entry | None: ...
    def reason_against_kernels(self) -> str: ...
    @property
    def partition_index(self) -> int: ...
    @property
    def partition(self) -> str: ...
    @property
    def queue(self) -> Any: ...
    @property
    def root_id(self) -> int: ...
    @property
    def total_memory(self) -> int: ...
    @property
    def usm_types(self) -> tuple[str, ...]: ...

class TensorBase:
    """A typed, strided view of memory; the base of Tensor and HostView."""

    __dlpack_c_exchange_api__: ClassVar[CapsuleType]

    @property
    def base(self) -> object:
        """The object this is a view of, or None."""

    @property
    def c_contiguous(self) -> bool:
        """Compact in C order."""

    @property
    def dtype(self) -> np.dtype[Any]:
        """The numpy.dtype of the elements."""

    @property
    def dtype_name(self) -> str:
        """Name of the dtype."""

    @property
    def f_contiguous(self) -> bool:
        """Compact in Fortran order."""

    @property
    def host_accessible(self) -> bool:
        """Whether the host can read it."""

    @property
    def is_host_copy(self) -> bool:
        """Whether it is a host copy that this package made."""

    @property
    def itemsize(self) -> int:
        """Bytes of one element."""

    @property
    def nbytes(self) -> int:
        """Bytes of all elements."""

    @property
    def ndim(self) -> int:
        """Number of axes."""

    @property
    def ptr(self) -> int:
        """Address of the first element."""

    @property
    def readonly(self) -> bool:
        """Whether writing through this view is forbidden."""

    @property
    def reversed(self) -> bool:
        """Whether a stride is negative."""

    @property
    def entry_id(self) -> int | None:
        """Entry of the device table, or None for the host."""

    @property
    def shape(self) -> tuple[int, ...]:
        """Lengths of the axes, in elements."""

    @property
    def size(self) -> int:
        """Number of elements."""

    @property
    def strides(self) -> tuple[int, ...]:
        """Steps along the axes, in elements."""

    @property
    def usm_type(self) -> str:
        """'device', 'shared', 'host' or 'system'."""

    def __buffer__(self, flags: int, /) -> memoryview:
        """Return a buffer over memory that the host can reach."""

    def to_numpy(self, copy: bool | None = None, *, wait: bool = True) -> Any:
        """Return the elements as a ``numpy.ndarray``."""

    def to_device(
        self,
        device: Any,
        /,
        *,
        stream: Any = None,
        copy: bool | None = None,
        usm_type: Literal["device", "shared", "host"] | None = None,
    ) -> TensorBase:
        """Return the tensor on another device."""

    def __dlpack__(
        self,
        *,
        stream: Any = None,
        max_version: tuple[int, int] | None = None,
        dl_device: tuple[int, int] | None = None,
        copy: bool | None = None,
    ) -> CapsuleType:
        """Return a DLPack capsule over this memory, or over a copy of it."""

    def __dlpack_device__(self) -> tuple[int, int]:
        """The pair (device type, device id) of DLPack."""

class Commands:
    """Commands that run while their caller continues."""

    def done(self) -> bool | None:
        """Whether wait() returns, or raises, at once."""

    def event_capsule(self) -> CapsuleType:
        """A new 'SyclEventRef' capsule of the command; waits if there is not exactly one."""

    def wait(self) -> None:
        """Blocks until they are done; raises their errors."""

class HostRegistration:
    """Host memory that is registered with drivers."""

    def __init__(self, tensor: TensorBase, /) -> None: ...
    @property
    def closed(self) -> bool: ...
    def is_known_to(self, entry: Entry, /) -> bool: ...
    def close(self, *, wait: bool) -> None: ...

class IpcExport:
    """An inter-process handle; keeps its memory alive."""

    def __init__(self, tensor: TensorBase, /) -> None: ...
    @property
    def data(self) -> bytes: ...
    @property
    def exposed(self) -> int: ...

def adopt(tensor: TensorBase, entry: Entry, /, *, queue: Queue | None = None) -> TensorBase:
    """The same host memory as 'system' USM of an entry."""

def of_kind(tensor: TensorBase, usm_type: str, /) -> TensorBase:
    """The tensor as this kind of USM, for an array without elements: its pointer does not tell."""

def on_queue(tensor: TensorBase, queue: Queue, /) -> TensorBase:
    """The same USM as a tensor of another queue, of the same device and context."""

def allocate(
    entry: Entry,
    usm_type: str,
    dtype: str,
    shape: Sequence[int],
    order: str,
    queue: Queue | None = None,
    zero: bool = False,
    dedicated: bool = False,
) -> TensorBase:
    """A new compact tensor; `dedicated`: in 'device' USM that can be shared with other processes."""

def as_ndarray(tensor: TensorBase, /, *, wait: bool) -> NDArray[Any]:
    """A numpy.ndarray over host-reachable memory, whose base is the tensor; without `wait` None if work may be pending."""

def borrow(
    pointer: SupportsIndex,
    dtype: str,
    shape: Sequence[int],
    strides: Sequence[int],
    /,
    readonly: bool,
    owner: object,
    entry: Entry | None = None,
    queue: Queue | None = None,
) -> TensorBase:
    """A view of memory that `owner` keeps alive: USM of the entry, or host memory without one; `pointer` is its first element."""

def as_usm(tensor: TensorBase, /, *, thorough: bool = False) -> TensorBase:
    """The USM that the host memory of a tensor is in, or the tensor unchanged; `thorough`: also USM of contexts that are only known from pointers."""

def begin_copy(tensor: TensorBase, source: TensorBase, /) -> Commands:
    """Begins to copy all elements."""

def begin_copy_to_host(tensor: TensorBase, /) -> tuple[TensorBase, Commands]:
    """A compact host copy, and the commands that fill it."""

def capsule_from_pointer(address: SupportsIndex, /, *, versioned: bool) -> CapsuleType:
    """A capsule over a DLManagedTensor[Versioned]* that C code made; it takes ownership."""

def context_in_capsule(capsule: CapsuleType, /) -> int:
    """Address of the sycl::context in a 'SyclContextRef' capsule, checked."""

def copies_directly(source: Entry, target: Entry, /) -> bool:
    """Whether one queue command copies between device USM of two entries."""

def copy_elements(target: TensorBase, source: TensorBase, /) -> None:
    """Copies all elements."""

def copy_to_entry(
    tensor: TensorBase,
    entry: Entry,
    usm_type: str,
    order: str = "C",
    queue: Queue | None = None,
) -> TensorBase:
    """A compact copy on another entry, or on the same one."""

def copy_to_host(tensor: TensorBase, /) -> TensorBase:
    """A compact, page-aligned host copy."""

def create_sub_devices(entry: Entry, way: str, counts: Sequence[SupportsIndex], /) -> list[Entry]:
    """Entries of the sub-devices of a device, which are appended if they are new."""

def default_entry() -> Entry:
    """Entry of the device that SYCL's default selector chooses."""

def entry(id: SupportsIndex, /) -> Entry:
    """The entry with this id; ValueError if there is none."""

def entry_count() -> int:
    """Number of entries."""

def entry_in_context(pointer: SupportsIndex, context_address: SupportsIndex, /) -> Entry:
    """Entry of the device that a USM block of the context was allocated on."""

def entry_of_context(context_address: SupportsIndex, /, *, wanted: Entry | None = None) -> Entry:
    """Entry of the sycl::context at an address, which the caller guarantees to be valid, for the device of an entry; None: its only device."""

def entry_of_device(device_address: SupportsIndex, /) -> Entry:
    """Entry of the sycl::device at an address, which the caller guarantees to be valid."""

def entry_of_queue(queue: Queue, /) -> Entry:
    """Entry of the queue's device and context, which is appended if it is new."""

def has_ipc(entry: Entry, /) -> bool:
    """Whether other processes can open the device memory of an entry."""

def has_other_libsycl() -> bool:
    """Whether a SYCL runtime other than the package's own is loaded."""

def import_capsule(
    x: Any,
    capsule: object,
    device: tuple[int, int],
    /,
    never_copy: bool = False,
    readonly: bool = False,
    queue: Queue | None = None,
    base: object = None,
) -> TensorBase:
    """The memory in a capsule that a producer returned for a device.

    `never_copy`: CopyRefusedError if the producer says that it made a copy. `readonly`: the tensor
    is read-only, whatever the capsule says. `queue` is the producer's. `base` is that of the tensor.
    """

def consume_capsule(capsule: object, /) -> tuple[TensorBase, bool]:
    """The memory in a capsule, and whether it was made for this call."""

def import_through_table(x: object, /) -> tuple[TensorBase, bool] | None:
    """The memory from a producer's C exchange table, and whether it was made for this call."""

def facts_of_class(cls: type, /) -> int:
    """The cached bits of _protocols.producer_facts.facts_of_class."""

def as_host_view(tensor: TensorBase, /, *, source: object = None) -> TensorBase:
    """The same memory, exported as (kDLCPU, 0); BufferError if the host cannot access it.

    `source`: the object that it is a view of, or None. The base is its base, if it has one.
    """

class ExportMark:
    def __init__(self) -> None: ...
    @property
    def has_ended(self) -> bool:
        """Whether the deleter of the export has run."""

def limit_memory(entry: Entry, nbytes: SupportsIndex, /) -> None:
    """Limits the 'device' and 'shared' USM of a device; < 0: no limit."""

def is_capsule(x: object, /) -> bool:
    """Whether `x` is a capsule."""

def capsule_name(capsule: object, /) -> str:
    """The name of a capsule, which says what it contains; "" if it has none."""

def live_exports() -> int:
    """Managed tensors whose deleter has not run yet."""

def loaded_libraries() -> list[str]:
    """The files of all libraries that are loaded, as the loader names them."""

def loaded_libsycl() -> list[str]:
    """The files of all SYCL runtimes that are loaded, the package's own first."""

def make_capsule(
    tensor: TensorBase,
    /,
    *,
    versioned: bool,
    device: tuple[int, int],
    copied: bool = False,
    null_data: bool = True,
    mark: ExportMark | None = None,
    queue: Queue | None = None,
) -> CapsuleType:
    """A DLPack capsule over the tensor's memory; `queue`: of the consumer's work; `null_data`: NULL if there are no elements.  `mark` says when the export has ended."""

def extent_in_block(tensor: TensorBase, /) -> tuple[int, int]:
    """Bytes of the block, and where the first element is in them."""

def extent_of_elements(tensor: TensorBase, /) -> tuple[int, int]:
    """Bytes from the lowest element to the highest, and where the first element is in them."""

def memory_use() -> list[tuple[int | None, str, int, int, int, int, int]]:
    """Entry id (None: host memory), kind, bytes now and at most, blocks now and in all, cached bytes."""

def native_stream(entry: Entry, /) -> int:
    """The stream of CUDA or HIP behind the queue of an entry."""

def lease_of(tensor: TensorBase, /) -> Any:
    """The lease that `open_ipc` was given for the memory; None: it is not from there."""

def open_ipc(
    entry: Entry,
    handle: bytes,
    /,
    *,
    nbytes: SupportsIndex,
    offset: SupportsIndex,
    dtype: str,
    shape: Sequence[int],
    strides: Sequence[int],
    readonly: bool = False,
    lease: object = None,
) -> TensorBase:
    """A tensor in the block behind an inter-process handle of another process.

    `lease` is kept as long as the block.
    """

def open_own(
    own: TensorBase,
    /,
    *,
    nbytes: SupportsIndex,
    offset: SupportsIndex,
    dtype: str,
    shape: Sequence[int],
    strides: Sequence[int],
    readonly: bool = False,
) -> TensorBase:
    """What `open_ipc` returns for a handle of `own`, which is of this process: a view of it."""

def order_after(queue: Queue, tensor: TensorBase, /) -> None:
    """Orders later work on the queue after all work on the tensor that was submitted so far."""

def pending_commands(tensor: TensorBase, /) -> Commands:
    """Commands that are done as soon as the pending work on the tensor is done."""

def queue_at_untrusted(address: SupportsIndex, /) -> Queue:
    """The queue at an address; ValueError if there cannot be a queue there."""

def own_queue(tensor: TensorBase, /) -> Queue | None:
    """The tensor's own queue; None if it uses the queue of its device."""

def lend(tensor: TensorBase, /) -> tuple[int, TensorBase]:
    """The address of the first element, and another instance.  As long as that lives, other code may submit work on the tensor to the queue of its device."""

def show_queue(tensor: TensorBase, /) -> Any:
    """The queue of the tensor's device; None if the tensor has its own, or no device.  Records that other code may submit work on the tensor, to its queue or that of its device.  Later work there is ordered after the copies begun so far, and in an in-order queue after all work."""

def queue_of_capsule(capsule: CapsuleType, /) -> Queue:
    """The queue in a 'SyclQueueRef' capsule."""

def register_context_of(entry: Entry, /) -> None:
    """Adds the context of the entry to those in which bare pointers are looked up."""

def release_cached_memory() -> None:
    """Returns the cached blocks to the runtime."""

def no_device_advice() -> str:
    """The advice in errors if there is no device."""

def require_target(tensor: TensorBase, /) -> None:
    """Raises a BufferError unless a copy may write to it."""

def reshape(tensor: _AnyTensor, shape: Sequence[int], /) -> _AnyTensor | None:
    """The view of the same elements in another shape of equal size; None if that needs a copy."""

def resolve(
    type: SupportsIndex, id: SupportsIndex, /
) -> tuple[bool, bool, Entry | None, str | None]:
    """Whether a DLPack device is the host, or may be it; its entry; the kind of USM that a device type of CUDA or ROCm implies."""

def root_count() -> int:
    """Number of root devices."""

def set_no_device_advice(advice: bytes, driver: bytes, /) -> None:
    """Sets the advice in errors if there is no device; called once, at import."""

def begin_end() -> None:
    """Ends the calls of deleters of other code, and of compilers of drivers, in other threads; for `atexit`."""

def set_hooks(
    fields: dict[str, Any],
    /,
    *,
    rules: dict[str, tuple[str, ...]],
    trace: bool,
) -> None:
    """Sets the parts of the Python package that the core uses; called once, by the package."""

def set_exchange_hooks(fields: dict[str, Any], /) -> None:
    """Sets the functions that decide for `exchange`, and that carry a decision out; called once."""

def require_same_memory(array: Any, handed: Any, /) -> None:
    """Raises CopyRefusedError if a library's array is not at the address that it was handed."""

RELATIONS: tuple[str, ...]  # the names of the members of rules.Relation

class ArrayFacts:
    """The facts of an array that a decision of the exchange may depend on."""

    def __init__(
        self,
        *,
        entry: SupportsIndex | None = None,
        root: SupportsIndex | None = None,
        usm_type: str = "system",
        default_context: bool = False,
        on_host: bool = False,
        host_reachable: bool = False,
        readonly: bool = False,
        reversed: bool = False,
        c_contiguous: bool = True,
        f_contiguous: bool = True,
        empty: bool = False,
        own_queue: bool = False,
        dtype: str = "float32",
        ndim: SupportsIndex = 1,
        alignment: SupportsIndex = 64,
    ) -> None: ...
    @property
    def entry(self) -> int | None: ...
    @property
    def root(self) -> int | None: ...
    @property
    def usm_type(self) -> str: ...
    @property
    def default_context(self) -> bool: ...
    @property
    def on_host(self) -> bool: ...
    @property
    def host_reachable(self) -> bool: ...
    @property
    def readonly(self) -> bool: ...
    @property
    def reversed(self) -> bool: ...
    @property
    def c_contiguous(self) -> bool: ...
    @property
    def f_contiguous(self) -> bool: ...
    @property
    def empty(self) -> bool: ...
    @property
    def own_queue(self) -> bool: ...
    @property
    def dtype(self) -> str: ...
    @property
    def ndim(self) -> int: ...
    @property
    def alignment(self) -> int: ...

class Request:
    """What a consumer asks for, completed with what the device table knows of the device."""

    def __init__(
        self,
        device: tuple[int, int],
        /,
        *,
        ours: bool = False,
        versioned: bool = True,
        root_only: bool = False,
        any_strides: bool = False,
        usm_type: str | None = None,
        known: bool = True,
        has_usm: bool = True,
        direct: bool = True,
        system_usm: bool = False,
        right_kind: bool = True,
    ) -> None: ...
    @property
    def device(self) -> tuple[int, int]: ...

def array_facts(tensor: TensorBase, /) -> ArrayFacts:
    """The facts of a tensor."""

def request_for(
    facts: ArrayFacts,
    device: tuple[int, int] | None,
    /,
    *,
    ours: bool = False,
    versioned: bool = True,
    root_only: bool = False,
    any_strides: bool = False,
    usm_type: str | None = None,
) -> Request:
    """A request for memory on a DLPack device; None: on that of ``__dlpack_device__``."""

def relation(facts: ArrayFacts, request: Request, /) -> str:
    """The name of the relation of an array to a request."""

def synchronize(tensor: TensorBase, /) -> None:
    """Waits for the pending work on the tensor's queue."""

def prefetch(tensor: TensorBase, /) -> None:
    """Tells the driver of the tensor's entry that the device will use the memory; does not wait."""

def advise(tensor: TensorBase, advice: SupportsIndex, /) -> None:
    """Hands an advice to the driver of the tensor's entry, as a number of its adapter."""

def view(
    tensor: _AnyTensor,
    offset: SupportsIndex,
    shape: Sequence[int],
    strides: Sequence[int],
    /,
    readonly: bool | None = None,
) -> _AnyTensor:
    """A view; `offset` and `strides` count elements. `readonly`: None: as the tensor is."""

# ---- public functions, whose docstrings are in src/python/docstrings.hpp

def as_tensor(
    obj: Any,
    /,
    *,
    device: Any = None,
    copy: bool | None = None,
    usm_type: Literal["device", "shared", "host"] | None = None,
) -> TensorBase:
    """Return the memory of any object as a tensor, by the best protocol that it supports."""

def empty(
    shape: Any,
    dtype: Any = "float32",
    *,
    usm_type: Literal["device", "shared", "host"] = "device",
    device: Any = None,
    order: Literal["C", "F"] = "C",
) -> TensorBase:
    """Return a new, uninitialised tensor."""

def find_memory(x: Any, /, *, copy: bool | None = None, dlpack_only: bool = False) -> TensorBase:
    """The memory of any object, where it is, by the best protocol that it supports, or only by DLPack."""

def exchange(
    x: Any,
    consumer: Any,
    /,
    *,
    copy: bool | None = None,
    host_copy: bool = True,
    device: Any = None,
    usm_type: Literal["device", "shared", "host"] | None = None,
) -> Any:
    """Pass an array to a consumer, in the best form that it accepts."""

def decide_exchange(
    x: Any, consumer: Any, copy: bool | None, host_copy: bool, device: Any, usm_type: Any, /
) -> Any:
    """The decision that `exchange` would carry out."""

def from_dlpack(x: Any, /, *, device: Any = None, copy: bool | None = None) -> TensorBase:
    """Return the memory of any DLPack producer as a tensor."""

def host_view(x: Any, /, *, copy: bool | None = None) -> TensorBase:
    """Return a producer of host memory over `x`."""

def zeros(
    shape: Any,
    dtype: Any = "float32",
    *,
    usm_type: Literal["device", "shared", "host"] = "device",
    device: Any = None,
    order: Literal["C", "F"] = "C",
) -> TensorBase:
    """Return a new tensor of zeros; the arguments are those of `empty`."""

DLPACK_VERSION: tuple[int, int]
DTYPES: tuple[tuple[str, str, int, int], ...]
ALLOCATED_KINDS: tuple[str, ...]  # the kinds of USM that the runtime allocates, by number
_C_API: CapsuleType

class _test:  # noqa: N801
    """A submodule: functions for the tests of the package."""

    @staticmethod
    def call_runtime_with_gil() -> None:
        """A call that check_gil must find."""

    @staticmethod
    def check_gil() -> None:
        """Has a breach of the rules of the GIL end the process from now on."""

    @staticmethod
    def deferred_frees() -> int:
        """Blocks that will be freed when the work on them is done."""

    @staticmethod
    def interrupted_waits() -> int:
        """The number of waits that a signal handler has ended so far."""

    @staticmethod
    def break_kernels() -> None:
        """Gives compilers of drivers the head of a module from now on, without kernels."""

    @staticmethod
    def set_staging_plan(
        block_bytes: SupportsIndex, blocks: SupportsIndex, threads: SupportsIndex
    ) -> None:
        """Has all copies go through such blocks of host memory; 0 bytes: the usual plan again."""

    @staticmethod
    def waits_of_main_thread() -> int:
        """The number of waits of the main thread that a signal may end now."""

    @staticmethod
    def live_allocations() -> int:
        """Blocks of memory that are held now, the package's own and borrowed ones."""
