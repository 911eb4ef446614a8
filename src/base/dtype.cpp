// SPDX-License-Identifier: Apache-2.0
#include "base/dtype.hpp"

#include <algorithm>
#include <string>

#include "base/error.hpp"

namespace sycl_ext {

namespace {

std::string all_names() {
  std::string names;
  for (const DType& row : dtypes) names += (names.empty() ? "" : ", ") + std::string(row.name);
  return names;
}

// Rows by the two numbers of a DLDataType, since every import looks for one: row + 1, 0 for none.
constexpr std::size_t n_codes = 1 + kDLFloat8_e8m0fnu, n_bytes = 1 + 16;
constexpr auto rows = [] {
  std::array<std::array<std::uint8_t, n_bytes>, n_codes> found{};
  for (std::size_t i = 0; i < dtypes.size(); ++i) {
    found[dtypes[i].code][dtypes[i].itemsize()] = static_cast<std::uint8_t>(i + 1);
  }
  return found;
}();

}  // namespace

const DType* find_dtype(std::string_view name) noexcept {
  const auto* row = std::find_if(dtypes.begin(), dtypes.end(),
                                 [name](const DType& one) { return name == one.name; });
  return row == dtypes.end() ? nullptr : row;
}

const DType* find_dtype(DLDataType wanted) noexcept {
  const std::size_t nbytes = wanted.bits / 8u;
  if (wanted.lanes != 1 || wanted.bits % 8 != 0) return nullptr;
  if (wanted.code >= n_codes || nbytes >= n_bytes) return nullptr;
  const std::size_t row = rows[wanted.code][nbytes];
  return row == 0 ? nullptr : &dtypes[row - 1];
}

const DType& dtype_named(std::string_view name) {
  if (const DType* row = find_dtype(name)) return *row;
  fail(Error::Kind::value, "dtype '", name, "' is not exchanged; use one of ", all_names());
}

const DType& dtype_from_dlpack(DLDataType wanted) {
  if (const DType* row = find_dtype(wanted)) return *row;
  fail(Error::Kind::buffer, "the producer's DLPack dtype (code ", int{wanted.code}, ", bits ",
       int{wanted.bits}, ", lanes ", wanted.lanes,
       ") is not exchanged; convert it on the producer's side to one of ", all_names());
}

}  // namespace sycl_ext
