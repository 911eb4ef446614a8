// SPDX-License-Identifier: Apache-2.0
// The docstrings of the public functions that are written in C++, with their signatures.  The tests
// run the examples.
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
    device: as a view where that device reads host memory, else as a copy.
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
)doc";

inline constexpr const char* as_tensor = R"doc(as_tensor(obj, /, *, device=None, copy=None)
--

Return the memory of anything that has some as a tensor, by the best protocol it offers.

The protocols, best first: a tensor; ``__sycl_usm_array_interface__`` (it names queue and
sub-device: dpnp, dpctl.memory); DLPack; the buffer protocol.

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

inline constexpr const char* to_numpy = R"doc(to_numpy($self, copy=None)
--

Return the elements as a ``numpy.ndarray``.

Parameters
----------
copy : bool, optional
    None: a view where the host can reach the memory, else one copy.  True: always a copy.
    False: never a copy.

Raises
------
CopyRefusedError
    With ``copy=False``, when the host cannot reach the memory.
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
    128; bfloat16 and the float8 family by name or from ml_dtypes.
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

}  // namespace sycl_ext::docs
