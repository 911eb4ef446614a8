// SPDX-License-Identifier: Apache-2.0
#include "runtime/sycl/runtimes.hpp"

#include <dlfcn.h>
#include <fnmatch.h>
#include <link.h>

#include <atomic>

#include "runtime/sycl/handles.hpp"

namespace sycl_ext {

std::uint32_t libsycl_major() noexcept { return __LIBSYCL_MAJOR_VERSION; }

std::string library_of(const void* address) {
  Dl_info info{};
  return dladdr(address, &info) && info.dli_fname ? info.dli_fname : "";
}

std::string file_name(const std::string& path) { return path.substr(path.rfind('/') + 1); }

bool names_libsycl(const std::string& path) {
  // auditwheel puts a hash into the name of a library in a wheel: libsycl-0123abcd.so.8
  constexpr const char* pattern = "libsycl?(-preview|-+([0-9a-f])).so*";
  return fnmatch(pattern, file_name(path).c_str(), FNM_EXTMATCH) == 0;
}

void* loaded_symbol(const char* library, const char* name) noexcept {
  void* const handle = dlopen(library, RTLD_LAZY | RTLD_NOLOAD);
  if (!handle) return nullptr;
  void* const address = dlsym(handle, name);
  dlclose(handle);
  return address;
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
  std::vector<std::string> paths{
      library_of(reinterpret_cast<const void*>(&sycl::device::get_devices))};
  for (const std::string& path : loaded_libraries()) {
    if (names_libsycl(path) && path != paths[0]) paths.push_back(path);
  }
  return paths;
}

bool has_other_libsycl() {
  static std::atomic<bool> has_other{false};
  static std::atomic<unsigned long long> loaded_then{0};  // the number of libraries at that time
  unsigned long long loaded = 0;
  dl_iterate_phdr(
      [](dl_phdr_info* info, std::size_t, void* data) {
        *static_cast<unsigned long long*>(data) = info->dlpi_adds;
        return 1;
      },
      &loaded);
  if (loaded != loaded_then) {
    has_other = loaded_libsycl().size() > 1;
    loaded_then = loaded;
  }
  return has_other;
}

}  // namespace sycl_ext
