// SPDX-License-Identifier: Apache-2.0
// The docstrings of the public functions and methods that are written in C++, with their
// signatures. The tests run the examples.
#pragma once

namespace sycl_ext::docs {

inline constexpr const char* from_dlpack = R"doc(from_dlpack(x, /, *, device=None, copy=None)
--

Return the memory of any DLPack producer as a tensor.

Parameters
----------
x : object with ``__dlpack__``, or a DLPack capsule
    Versioned and legacy producers, of kDLOneAPI or host memory.
device : optional
    Where the tensor is wanted; None: where the data is.  Host memory goes to the default
    device: as a view where that device reads host memory, else as a copy.  A list: the first of
    these devices that takes no copy, else the first with the fewest copies.
copy : bool, optional
    None: only where a view is impossible.  False: never.  True: always.

Returns
-------
Tensor
    Read-only when the producer's memory is.

Raises
------
BufferError
    When producer and device do not go together, or the capsule contradicts itself.
CopyRefusedError
    When ``copy=False`` and a copy is needed (a BufferError and a ValueError).
TypeError
    When `x` speaks no DLPack.

Examples
--------
>>> import numpy as np, sycl_ext as sx
>>> a = np.arange(3)
>>> t = sx.from_dlpack(a)            # the CPU device reads host memory: a view
>>> t.ptr == a.ctypes.data
True
>>> sx.from_dlpack(t, device=["cpu", t.device]).ptr == t.ptr
True
)doc";

inline constexpr const char* as_tensor = R"doc(as_tensor(obj, /, *, device=None, copy=None)
--

Return the memory of anything that has some as a tensor, by the best protocol it offers.

The protocols, best first: a tensor; ``__sycl_usm_array_interface__`` (it names queue and
sub-device: dpctl.memory); DLPack; the buffer protocol.  An array of dpnp is asked for DLPack first,
because the other protocol waits for its queue; work on the tensor goes to that queue either way.

Parameters
----------
obj : object
device, copy
    As for `from_dlpack`.

Returns
-------
Tensor

Raises
------
TypeError
    When `obj` offers none of these.
BufferError, ValueError
    As for `from_dlpack`.

Examples
--------
>>> import sycl_ext as sx
>>> sx.as_tensor(bytearray(b"abc")).to_numpy()
array([97, 98, 99], dtype=uint8)
)doc";

inline constexpr const char* host_view = R"doc(host_view(x, /, *, copy=None)
--

Return a producer of host memory over `x`.

Parameters
----------
x : Tensor, or anything that `as_tensor` takes
    Host producers included.
copy : bool, optional
    None: a view where the host can reach the memory, else one copy, made when it is first
    needed.  True: always a copy, made now.  False: never a copy.

Returns
-------
HostView
    A host view of a host view is that host view.

Raises
------
CopyRefusedError
    With ``copy=False``, when the host cannot reach the memory.

Examples
--------
>>> import sycl_ext as sx
>>> memoryview(sx.host_view(sx.zeros(2, "uint8"))).tolist()
[0, 0]
)doc";

inline constexpr const char* to_numpy = R"doc(to_numpy($self, copy=None, *, wait=True)
--

Return the elements as a ``numpy.ndarray``.

Parameters
----------
copy : bool, optional
    None: a view where the host can reach the memory, else one copy.  True: always a copy.
    False: never a copy.
wait : bool
    False: return an `AsyncCopy` at once, whose ``result()`` is the array; the elements are those
    that the work submitted so far leaves behind.

Returns
-------
numpy.ndarray or AsyncCopy

Raises
------
CopyRefusedError
    With ``copy=False``, when the host cannot reach the memory.

Examples
--------
>>> import sycl_ext as sx
>>> t = sx.zeros(3, "int8")
>>> t.to_numpy()
array([0, 0, 0], dtype=int8)
>>> copy = t.to_numpy(wait=False)
>>> copy.result()
array([0, 0, 0], dtype=int8)
)doc";

inline constexpr const char* empty =
    R"doc(empty(shape, dtype="float32", *, usm_type="device", device=None, order="C")
--

Return a new tensor with arbitrary content.

Parameters
----------
shape : int or tuple of int
    Lengths of the axes, in elements.
dtype : optional
    Anything that names a dtype of the table: bool, (u)int8 to 64, float16 to 64, complex64 and
    128; bfloat16 and the float8 family by name or from ml_dtypes; or an object with
    ``__dlpack_data_type__``, which returns (code, bits, lanes).
usm_type : {"device", "shared", "host"}
    Kind of USM.  The host reaches "shared" and "host" everywhere, and "device" on a CPU device.
device : optional
    Any form that `device` reads; a ``dpctl.SyclQueue`` becomes the tensor's queue.
order : {"C", "F"}

Returns
-------
Tensor

Raises
------
MemoryError
    When the device has no room; the message has size, kind and device.
BufferError
    When the device has no USM of that kind.
TypeError, ValueError
    When an argument is wrong.

Examples
--------
>>> import sycl_ext as sx
>>> sx.empty((2, 3), "float64", order="F").strides
(1, 2)
)doc";

inline constexpr const char* zeros =
    R"doc(zeros(shape, dtype="float32", *, usm_type="device", device=None, order="C")
--

Return a new tensor of zeros; the arguments are those of `empty`.

Examples
--------
>>> import sycl_ext as sx
>>> sx.zeros(3, "uint8").to_numpy()
array([0, 0, 0], dtype=uint8)
)doc";

inline constexpr const char* dlpack =
    R"doc(__dlpack__($self, /, *, stream=None, max_version=None, dl_device=None, copy=None)
--

Return a DLPack capsule over this memory, or over a copy of it.

Parameters
----------
stream : optional
    Where the consumer will use the data.  None: all pending work on the memory is waited for, and
    the data is safe when the call returns.  -1: nothing is waited for.  A queue (a
    ``dpctl.SyclQueue``, a ``"SyclQueueRef"`` capsule, an object with ``_get_capsule()`` or
    ``sycl_queue``, or the address of a ``sycl::queue`` as an int): what is submitted to it later
    comes after the pending work, and the host waits only where a barrier cannot say so, for an
    out-of-order queue or one of another context.
max_version : tuple of int, optional
    The newest DLPack version that the consumer reads.  None or less than (1, 0): the capsule is
    named ``"dltensor"`` and cannot say that the memory is read-only; else it is named
    ``"dltensor_versioned"``.
dl_device : tuple of int, optional
    Where the consumer wants the data: (14, id of a device table entry), or (1, 0) for the host.
    None: where `__dlpack_device__` says, which is the root device.
copy : bool, optional
    None: a copy only where no view is possible.  False: never a copy.  True: always a copy.

Returns
-------
capsule
    A view where the memory is bound to the context that the device stands for, or where the host can
    reach memory that is wanted on the host; else one copy, with the flag IS_COPIED.  A copy is
    finished when the call returns.  Strides are always written; ``byte_offset`` is 0.

Raises
------
BufferError
    A device that is not in the device table; a copy through the host, which takes ``copy=True``;
    read-only memory for a consumer of DLPack 0.x; ``stream`` together with ``dl_device=(1, 0)``; a
    queue of another SYCL runtime.  With ``copy=False``, where a copy is needed:
    `CopyRefusedError`, which is a ValueError, too.
TypeError
    Another keyword, or a value of another type.
MemoryError
    No room for the copy.
SyclError
    The SYCL runtime failed, also in work that was submitted earlier.

See Also
--------
explain : says what would be done, and why.

Notes
-----
The arguments are those of the array API standard [1]_; the struct is that of DLPack [2]_.

.. [1] https://data-apis.org/array-api/latest/API_specification/generated/array_api.array.__dlpack__.html
.. [2] https://dmlc.github.io/dlpack/latest/c_api.html

Examples
--------
>>> import sycl_ext as sx
>>> t = sx.zeros(3, usm_type="shared")
>>> t.__dlpack__(max_version=(1, 0))  # doctest: +ELLIPSIS
<capsule object "dltensor_versioned" at ...>
>>> t.as_readonly().__dlpack__()
Traceback (most recent call last):
    ...
BufferError: the tensor is read-only, and a consumer that asks for DLPack 0.x (max_version=None) cannot be told so; pass max_version=(1, 0) or copy=True
)doc";

}  // namespace sycl_ext::docs
