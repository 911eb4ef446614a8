// SPDX-License-Identifier: Apache-2.0
#include "runtime/runtimes.hpp"

#include <dlfcn.h>
#include <link.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>

#include "runtime/sycl_handles.hpp"

namespace sycl_ext {

namespace {

// A path without "..", that keeps the name under which the file was loaded.
std::string tidy(const std::string& path) {
  const std::string folder = path.substr(0, path.size() - file_name(path).size());
  char* const real = folder.empty() ? nullptr : realpath(folder.c_str(), nullptr);
  if (!real) return path;
  const std::string found = std::string(real) + "/" + file_name(path);
  std::free(real);
  return found;
}

// Something of our libsycl.
const void* own_address() { return reinterpret_cast<const void*>(&sycl::device::get_devices); }

}  // namespace

std::uint32_t libsycl_major() noexcept { return __LIBSYCL_MAJOR_VERSION; }

std::string library_of(const void* address) {
  Dl_info info{};
  return dladdr(address, &info) && info.dli_fname ? tidy(info.dli_fname) : "";
}

std::string file_name(const std::string& path) { return path.substr(path.rfind('/') + 1); }

bool names_libsycl(const std::string& file) {
  const auto at = [&](std::size_t place, const std::string& text) {
    return place <= file.size() && file.compare(place, text.size(), text) == 0;
  };
  if (!at(0, "libsycl")) return false;
  if (at(7, ".so") || at(7, "-preview.so")) return true;
  // As auditwheel names what it puts into a wheel: libsycl-0123abcd.so.8
  constexpr std::size_t hash = 8;
  return at(7, "-") && at(8 + hash, ".so") &&
         file.find_first_not_of("0123456789abcdef", 8) == 8 + hash;
}

std::vector<std::string> loaded_libraries() {
  std::vector<std::string> paths;
  dl_iterate_phdr(
      [](dl_phdr_info* info, std::size_t, void* data) {
        if (info->dlpi_name) {
          static_cast<std::vector<std::string>*>(data)->emplace_back(info->dlpi_name);
        }
        return 0;
      },
      &paths);
  return paths;
}

std::vector<std::string> loaded_libsycl() {
  std::vector<std::string> paths{library_of(own_address())};
  for (const std::string& path : loaded_libraries()) {
    if (names_libsycl(file_name(path))) paths.push_back(tidy(path));
  }
  const auto again = std::find(paths.begin() + 1, paths.end(), paths.front());
  if (again != paths.end()) paths.erase(again);
  return paths;
}

bool has_other_libsycl() noexcept {
  static std::atomic<unsigned long long> seen{0};  // how many libraries were loaded then
  static std::atomic<bool> found{false};
  unsigned long long loaded = 0;
  dl_iterate_phdr(
      [](dl_phdr_info* info, std::size_t, void* data) {
        *static_cast<unsigned long long*>(data) = info->dlpi_adds;
        return 1;
      },
      &loaded);
  if (loaded != seen) {
    try {
      found = loaded_libsycl().size() > 1;
      seen = loaded;
    } catch (...) {  // out of memory: the next call looks again
    }
  }
  return found;
}

}  // namespace sycl_ext
