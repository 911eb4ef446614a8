// SPDX-License-Identifier: Apache-2.0
// The element types of the exchange: one table, looked up by name or by DLDataType.
#pragma once

#include <dlpack/dlpack.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

static_assert(DLPACK_MAJOR_VERSION == 1 && DLPACK_MINOR_VERSION >= 3,
              "an older dlpack.h was found first; the build needs DLPack 1.3 or newer");

namespace sycl_ext {

// The version of DLPack that this package writes and asks producers for.  A newer header does not
// change it: first, each new field must be written in src/dlpack/export.cpp and read in import.cpp.
inline constexpr DLPackVersion dlpack_version{1, 3};

// A row whose element copy_strided (tensor/strided.cpp) cannot copy does not compile there: it has
// loops for 1, 2, 4, 8 and 16 bytes.  More than 31 bytes have no DLDataType, whose bits are one
// byte.
struct DType {
  const char* name;           // NumPy's (or ml_dtypes') name
  std::uint8_t code;          // DLDataTypeCode
  std::uint8_t bits;          // of one element, in DLPack's type; lanes are always 1
  char kind;                  // the letter of an array-interface typestr: b i u f c V
  const char* buffer_format;  // PEP 3118 letter(s); nullptr: the buffer protocol has none

  constexpr std::size_t itemsize() const noexcept { return bits / 8u; }
  constexpr DLDataType dl() const noexcept { return {code, bits, 1}; }
};

inline constexpr std::array<DType, 23> dtypes{{
    {"bool", kDLBool, 8, 'b', "?"},
    {"int8", kDLInt, 8, 'i', "b"},
    {"int16", kDLInt, 16, 'i', "h"},
    {"int32", kDLInt, 32, 'i', "i"},
    {"int64", kDLInt, 64, 'i', sizeof(long) == 8 ? "l" : "q"},
    {"uint8", kDLUInt, 8, 'u', "B"},
    {"uint16", kDLUInt, 16, 'u', "H"},
    {"uint32", kDLUInt, 32, 'u', "I"},
    {"uint64", kDLUInt, 64, 'u', sizeof(long) == 8 ? "L" : "Q"},
    {"float16", kDLFloat, 16, 'f', "e"},
    {"float32", kDLFloat, 32, 'f', "f"},
    {"float64", kDLFloat, 64, 'f', "d"},
    {"complex64", kDLComplex, 64, 'c', "Zf"},
    {"complex128", kDLComplex, 128, 'c', "Zd"},
    {"bfloat16", kDLBfloat, 16, 'V', nullptr},
    {"float8_e3m4", kDLFloat8_e3m4, 8, 'V', nullptr},
    {"float8_e4m3", kDLFloat8_e4m3, 8, 'V', nullptr},
    {"float8_e4m3b11fnuz", kDLFloat8_e4m3b11fnuz, 8, 'V', nullptr},
    {"float8_e4m3fn", kDLFloat8_e4m3fn, 8, 'V', nullptr},
    {"float8_e4m3fnuz", kDLFloat8_e4m3fnuz, 8, 'V', nullptr},
    {"float8_e5m2", kDLFloat8_e5m2, 8, 'V', nullptr},
    {"float8_e5m2fnuz", kDLFloat8_e5m2fnuz, 8, 'V', nullptr},
    {"float8_e8m0fnu", kDLFloat8_e8m0fnu, 8, 'V', nullptr},
}};

// Returns the dtype.  If the table has no such dtype, throws an Error (value for a name, buffer for
// a DLDataType) that lists the dtypes of the table.
const DType& dtype_named(std::string_view name);
const DType& dtype_from_dlpack(DLDataType wanted);

}  // namespace sycl_ext
