# SPDX-License-Identifier: Apache-2.0
"""Functions of array libraries that the package lacks, and their replacements."""

ELSEWHERE = {
    "arange": "sycl_ext.from_dlpack(numpy.arange(n))",
    "array": "sycl_ext.from_dlpack(numpy.array(values))",
    "asarray": "sycl_ext.as_tensor(x), or sycl_ext.from_dlpack(numpy.asarray(values))",
    "asnumpy": "x.to_numpy()",
    "float32": "sycl_ext.zeros(shape, 'float32')",
    "from_numpy": "sycl_ext.from_dlpack(array)",
    "frombuffer": "sycl_ext.as_tensor(buffer)",
    "full_like": "sycl_ext.empty_like(x).fill(value)",
    "ones_like": "sycl_ext.empty_like(x).fill(1)",
    "tensor": "sycl_ext.from_dlpack(numpy.array(values))",
    "to_dlpack": "x.__dlpack__()",
    "to_numpy": "x.to_numpy()",
    "zeroes": "sycl_ext.zeros(shape, dtype)",
}
