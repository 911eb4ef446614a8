// SPDX-License-Identifier: Apache-2.0
// A layer of the OpenCL loader that writes a line when a queue is flushed.
#define CL_TARGET_OPENCL_VERSION 300
#include <CL/cl.h>
#include <CL/cl_icd.h>
#include <CL/cl_layer.h>
#include <unistd.h>

#include <cstring>

#ifndef CL_LAYER_PROPERTIES_LIST_END  // in headers before 2026.2
using cl_layer_properties = cl_properties;
#endif

namespace {

const cl_icd_dispatch* driver;  // the calls of the loader below this layer
cl_icd_dispatch ours;           // a null pointer: that call passes this layer by

cl_int CL_API_CALL flush(cl_command_queue queue) {
  static const char line[] = "---> clFlush\n";
  if (write(STDOUT_FILENO, line, sizeof line - 1) < 0) return CL_OUT_OF_RESOURCES;
  return driver->clFlush(queue);
}

}  // namespace

extern "C" {

CL_API_ENTRY cl_int CL_API_CALL clGetLayerInfo(cl_layer_info name, std::size_t room, void* out,
                                               std::size_t* size) {
  const cl_layer_api_version version = CL_LAYER_API_VERSION_100;
  if (name != CL_LAYER_API_VERSION) return CL_INVALID_VALUE;
  if (size) *size = sizeof version;
  if (out && room >= sizeof version) std::memcpy(out, &version, sizeof version);
  return CL_SUCCESS;
}

CL_API_ENTRY cl_int CL_API_CALL clInitLayer(cl_uint, const cl_icd_dispatch* target,
                                            cl_uint* entries, const cl_icd_dispatch** table) {
  driver = target;
  ours.clFlush = flush;
  *table = &ours;
  *entries = sizeof ours / sizeof ours.clGetPlatformIDs;
  return CL_SUCCESS;
}

// The loader of 2026.2 calls this one in place of that.
CL_API_ENTRY cl_int CL_API_CALL clInitLayerWithProperties(cl_uint count,
                                                          const cl_icd_dispatch* target,
                                                          cl_uint* entries,
                                                          const cl_icd_dispatch** table,
                                                          const cl_layer_properties*) {
  return clInitLayer(count, target, entries, table);
}

CL_API_ENTRY cl_int CL_API_CALL clDeinitLayer(void) { return CL_SUCCESS; }
}
