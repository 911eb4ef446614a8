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
    None: the device of the data; for host memory the default device, as a view if that device can
    read host memory.  A list: the first of these devices with the fewest copies.
copy : bool, optional
    None: copy only if a view is impossible.  False: never copy.  True: always copy.

Returns
-------
Tensor
    Read-only if the producer's memory is.

Raises
------
BufferError
    If the device cannot use the memory, or the capsule is not valid; with ``copy=False``, if a copy
    is needed: `CopyRefusedError`, which is also a ValueError.
TypeError
    If `x` does not support DLPack.

Examples
--------
>>> import numpy as np, sycl_ext as sx
>>> a = np.arange(3)
>>> t = sx.from_dlpack(a)            # a view: the CPU device reads host memory
>>> t.ptr == a.ctypes.data
True
>>> sx.from_dlpack(t, device=["cpu", t.device]).ptr == t.ptr
True
)doc";

inline constexpr const char* as_tensor =
    R"doc(as_tensor(obj, /, *, device=None, copy=None, usm_type=None)
--

Return the memory of any object as a tensor, by the best protocol that it supports.

The protocols, best first: a tensor; ``__sycl_usm_array_interface__`` (dpctl.memory; it names the
queue and the sub-device); DLPack; the buffer protocol.  For dpnp arrays DLPack comes first, because
the other protocol waits for their queue.  Work on the tensor uses that queue in both cases.

Parameters
----------
obj : object
device, copy
    As for `from_dlpack`, which raises the same errors.
usm_type : {"device", "shared", "host"}, optional
    The kind of USM of the result. Memory of another kind is copied; with ``copy=False`` that is an
    error. None: any kind.

Returns
-------
Tensor

Raises
------
TypeError
    If `obj` supports none of these protocols.

Examples
--------
>>> import sycl_ext as sx
>>> sx.as_tensor(bytearray(b"abc")).to_numpy()
array([97, 98, 99], dtype=uint8)
>>> sx.as_tensor(bytearray(b"abc"), usm_type="shared").usm_type
'shared'
)doc";

inline constexpr const char* host_view = R"doc(host_view(x, /, *, copy=None)
--

Return a producer of host memory over `x`.

Parameters
----------
x : Tensor, or anything that `as_tensor` takes
copy : bool, optional
    None: a view if the host can access the memory and no stride is negative, otherwise one copy.
    True: always a copy.  False: never a copy.

Returns
-------
HostView
    A host view of a host view is that host view.

Raises
------
CopyRefusedError
    With ``copy=False``, if only a copy is possible.

Examples
--------
>>> import sycl_ext as sx
>>> memoryview(sx.host_view(sx.zeros(2, "uint8"))).tolist()
[0, 0]
)doc";

inline constexpr const char* exchange =
    R"doc(exchange(x, consumer, /, *, copy=None, host_copy=True, device=None, usm_type=None)
--

Pass an array to a consumer, in the best form that it accepts.

A library is handed the array itself first; if it refuses that, a host view, and then a copy. Its
importing function refuses by a ``BufferError``, ``TypeError``, ``ValueError``, ``RuntimeError`` or
``AttributeError``; any other exception propagates. A function of yours is called once, with a
`Tensor`, or a `HostView` of host memory, and its exception is its own.

Arrays that are known to crash a consumer, or to make it write to read-only memory, are never
passed to it.

Parameters
----------
x : Tensor, or anything that `as_tensor` takes
consumer : module, str, callable or device
    A module with ``from_dlpack`` (``numpy``, ``torch``, ``dpnp``, ``jax``, ...) or its name, a
    callable of one argument, or a device, for a `Tensor` on that device. A string that has the
    form of a device, such as ``"cpu"``, is a device. A list of devices is used as in
    `from_dlpack`. ``(1, 0)`` is the host, for a `HostView`.
copy : bool, optional
    What the consumer is handed. None: a copy only if a view is impossible. False: never a copy,
    and a library that copies is refused. True: always a copy.
host_copy : bool
    If False, refuse instead of copying to the host.
device : optional
    The device on which the library may get the data, or a list of acceptable devices: the first
    that needs no copy is used, otherwise the first with the fewest copies. ``(1, 0)`` or
    ``torch.device("cpu")`` is the host. None: any device that the library accepts.
usm_type : {"device", "shared", "host"}, optional
    With a device as the consumer: the kind of USM of the result, as in `as_tensor`. None: any.

Returns
-------
array
    The result of the consumer.

Raises
------
ExchangeError
    If the consumer refuses every form; its first exception is the ``__cause__``.
CopyRefusedError
    If a copy is needed, with ``copy=False`` or ``host_copy=False``.

Examples
--------
>>> import numpy, sycl_ext as sx
>>> sx.exchange(sx.zeros(3, "int32"), numpy)
array([0, 0, 0], dtype=int32)
)doc";

inline constexpr const char* to_numpy = R"doc(to_numpy($self, copy=None, *, wait=True)
--

Return the elements as a ``numpy.ndarray``.

Parameters
----------
copy : bool, optional
    As for `host_view`, and so are the errors; but negative strides need no copy.
wait : bool
    False: return an `AsyncCopy` at once; its ``result()`` is the array, after the work so far.

Returns
-------
numpy.ndarray or AsyncCopy

Examples
--------
>>> import sycl_ext as sx
>>> sx.zeros(3, "int8").to_numpy()
array([0, 0, 0], dtype=int8)
)doc";

inline constexpr const char* to_device =
    R"doc(to_device($self, device, /, *, stream=None, copy=None, usm_type=None)
--

Return the tensor on another device.

Parameters
----------
device : Device or any ``device=`` form
stream : optional
    A queue, in any form that ``__dlpack__`` takes. Work that was submitted to it is done
    before the copy, and later work on it sees the result. None and -1 name no queue.
copy : bool, optional
    None: a view if the memory is on that device already, otherwise one direct copy. True:
    always a copy; two copies, through the host, where necessary. False: never a copy.
usm_type : {"device", "shared", "host"}, optional
    The kind of USM of the result; memory of another kind is copied. None: any kind.

Raises
------
BufferError
    If the plan refuses; the message gives the reason, and the arguments to pass.

Examples
--------
>>> import sycl_ext as sx
>>> t = sx.zeros(3)
>>> t.to_device(0).ptr == t.ptr, t.to_device(0, copy=True).ptr == t.ptr
(True, False)
)doc";

inline constexpr const char* empty =
    R"doc(empty(shape, dtype="float32", *, usm_type="device", device=None, order="C")
--

Return a new, uninitialised tensor.

Parameters
----------
shape : int or tuple of int
    Lengths of the axes.
dtype : optional
    A dtype: bool, (u)int8 to 64, float16 to 64, complex64 or complex128; bfloat16 or a float8
    type, by name or from ml_dtypes; or an object with ``__dlpack_data_type__``, which returns
    (code, bits, lanes).
usm_type : {"device", "shared", "host"}
    The host can access "shared" and "host" USM, and "device" USM of a CPU device.
device : optional
    Any form that `device` reads; a ``dpctl.SyclQueue`` becomes the tensor's queue.
order : {"C", "F"}

Returns
-------
Tensor

Raises
------
MemoryError, BufferError
    If the device does not have enough memory, or does not support that kind of USM.
TypeError, ValueError
    If an argument is not valid.

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

The arguments are those of the `array API standard
<https://data-apis.org/array-api/latest/API_specification/generated/array_api.array.__dlpack__.html>`_.
`explain` describes the exchange in advance, with reasons.

Parameters
----------
stream : optional
    Where the consumer will use the data.  None: the call waits for all pending work on the memory.
    -1: it does not wait.  A queue (a ``dpctl.SyclQueue``, a ``"SyclQueueRef"`` capsule, an object
    with ``_get_capsule()`` or ``sycl_queue``, or the address of a ``sycl::queue`` as an int): work
    that is submitted to it later comes after the pending work.  The host waits only for an
    out-of-order queue, or a queue of another context.
max_version : tuple of int, optional
    The newest DLPack version that the consumer supports.  None or less than (1, 0): the capsule is
    named ``"dltensor"`` and has no read-only flag.  Otherwise it is a ``"dltensor_versioned"``.
dl_device : tuple of int, optional
    (14, id of a device table entry), or (1, 0) for the host.  None: that of `__dlpack_device__`.
copy : bool, optional
    None: copy only if a view is impossible.  False: never copy.  True: always copy.

Returns
-------
capsule
    A view if the memory is bound to the context of the requested device, or if the host is
    requested and can access the memory.  Otherwise one copy, complete, with the flag IS_COPIED.

Raises
------
BufferError
    A device that is not in the device table; a copy through the host without ``copy=True``;
    read-only memory for a consumer of DLPack 0.x; ``stream`` together with ``dl_device=(1, 0)``; a
    queue of another SYCL runtime.  With ``copy=False``, if a copy is needed:
    `CopyRefusedError`, which is also a ValueError.
TypeError, MemoryError, SyclError
    An unknown keyword or a value of a wrong type; not enough memory for the copy; the SYCL runtime
    failed, possibly in work that was submitted earlier.

Examples
--------
>>> import sycl_ext as sx
>>> sx.zeros(3).__dlpack__(max_version=(1, 0))  # doctest: +ELLIPSIS
<capsule object "dltensor_versioned" at ...>
)doc";

}  // namespace sycl_ext::docs
