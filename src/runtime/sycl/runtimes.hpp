// SPDX-License-Identifier: Apache-2.0
// The SYCL runtimes of this process: the libsycl that the core is linked to, and others.
//
// Two SYCL runtimes share no objects: a sycl::queue of one cannot be used with the other.  They
// share no USM either, unless one driver knows the memory of both (Level Zero).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace sycl_ext {

// The major version of the libsycl that the core is built against, which is in the name of its
// file.
std::uint32_t libsycl_major() noexcept;

// The file of the library that contains an address; empty: no library does.
std::string library_of(const void* address);
// The last part of a path.
std::string file_name(const std::string& path);
// Whether a file has the name of a SYCL runtime, of any version, in any kind of package.
bool names_libsycl(const std::string& path);

// The address of a function of a library that is already loaded, and stays so; nullptr if it is not
// loaded, or lacks the function.
void* loaded_symbol(const char* library, const char* name) noexcept;

// A function of the OpenCL loader, which the adapter of the runtime keeps loaded; nullptr: the
// loader has no such function.
template <class Function>
Function* opencl_function(const char* name) noexcept {
  return reinterpret_cast<Function*>(loaded_symbol("libOpenCL.so.1", name));
}

// The files of all libraries that are loaded, as the loader names them.
std::vector<std::string> loaded_libraries();
// The files of all SYCL runtimes that are loaded, ours first.
std::vector<std::string> loaded_libsycl();
// Whether a libsycl other than ours is loaded.  It searches the libraries again when another
// library was loaded.
bool has_other_libsycl();

}  // namespace sycl_ext
