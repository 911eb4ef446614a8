// The loader's part.  The adapters contain a static loader, which opens libze_loader.so.1 in
// ZEL_LIBRARY_PATH and asks it for the following, and then for every function by its name.  (The
// tables of functions, zeGet*ProcAddrTable, it also asks for, and overwrites: see ../build.py.)
#include <cstring>

#include "spec.hpp"

ZE_API ze_result_t zeLoaderInit() { return ZE_RESULT_SUCCESS; }
ZE_API void* zeLoaderGetTracingHandle() { return nullptr; }
ZE_API bool zelCheckIsLoaderInTearDown() { return false; }

ZE_API ze_result_t zelLoaderGetVersionsInternal(std::size_t* count,
                                                zel_component_version_t* versions) {
  if (versions && *count) {
    std::memset(versions, 0, sizeof *versions);
    std::strcpy(versions->component_name, "loader");
    versions->spec_version = ZE_MAKE_VERSION(1, 13);
    versions->component_lib_version = {1, 28, 0};
  }
  *count = 1;
  return ZE_RESULT_SUCCESS;
}

ZE_API ze_result_t zelLoaderGetVersions(std::size_t* count, zel_component_version_t* versions) {
  return zelLoaderGetVersionsInternal(count, versions);
}

ZE_API ze_result_t zelLoaderTranslateHandleInternal(int, void* in, void** out) {
  *out = in;
  return ZE_RESULT_SUCCESS;
}

ZE_API ze_result_t zelLoaderTranslateHandle(int type, void* in, void** out) {
  return zelLoaderTranslateHandleInternal(type, in, out);
}
