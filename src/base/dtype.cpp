// SPDX-License-Identifier: Apache-2.0
#include "base/dtype.hpp"

#include <string>

#include "base/error.hpp"

namespace sycl_ext {

namespace {

std::string all_names() {
  std::string names;
  for (const DType& dtype : dtypes) names += (names.empty() ? "" : ", ") + std::string(dtype.name);
  return names;
}

}  // namespace

const DType& dtype_named(std::string_view name) {
  for (const DType& dtype : dtypes) {
    if (name == dtype.name) return dtype;
  }
  fail(Error::Kind::value, "dtype '", name, "' is not supported; use one of ", all_names());
}

const DType& dtype_from_dlpack(DLDataType wanted) {
  for (const DType& dtype : dtypes) {
    if (wanted.code == dtype.code && wanted.bits == dtype.bits && wanted.lanes == 1) return dtype;
  }
  const char* bytes =
      wanted.bits < 8 ? "pass its bytes, such as tensor.view(torch.uint8) in torch, or " : "";
  fail(Error::Kind::buffer, "the producer's DLPack dtype (code ", int{wanted.code}, ", bits ",
       int{wanted.bits}, ", lanes ", wanted.lanes, ") is not supported; ", bytes,
       "convert it in the producer's library to one of ", all_names());
}

}  // namespace sycl_ext
