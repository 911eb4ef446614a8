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

}  // namespace

const DType* find_dtype(std::string_view name) noexcept {
  const auto* row = std::find_if(dtypes.begin(), dtypes.end(),
                                 [name](const DType& one) { return name == one.name; });
  return row == dtypes.end() ? nullptr : row;
}

const DType* find_dtype(DLDataType wanted) noexcept {
  const auto* row = std::find_if(dtypes.begin(), dtypes.end(), [wanted](const DType& one) {
    return wanted.code == one.code && wanted.bits == one.bits && wanted.lanes == 1;
  });
  return row == dtypes.end() ? nullptr : row;
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
