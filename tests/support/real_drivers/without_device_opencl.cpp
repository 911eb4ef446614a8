// SPDX-License-Identifier: Apache-2.0
// A layer of the OpenCL loader: what Intel's GPU driver cannot do without a device, the processor
// does.
//
// The driver copies and fills USM by kernels, and no device runs them. Here the processor writes
// what they would write where it reaches the memory: all but device USM. It does so at once, after
// what the command waits for. Each event is over when it is asked, as it is when it is waited for.
//
// The layer itself:
// https://registry.khronos.org/OpenCL/specs/unified/html/OpenCL_Ext.html#cl_loader_layers
#define CL_TARGET_OPENCL_VERSION 300
#include <CL/cl.h>
#include <CL/cl_ext.h>
#include <CL/cl_icd.h>
#include <CL/cl_layer.h>

#include <cstddef>
#include <cstring>

namespace {

const cl_icd_dispatch* driver;  // the calls of the loader below this layer
cl_icd_dispatch ours;           // a null pointer: that call passes this layer by

// Intel's driver for GPUs, whose functions of USM these are.
clEnqueueMemcpyINTEL_fn driver_memcpy;
clEnqueueMemFillINTEL_fn driver_fill;
clGetMemAllocInfoINTEL_fn driver_memory_info;

template <typename Function>
Function function_of(cl_platform_id platform, const char* name) {
  return reinterpret_cast<Function>(
      driver->clGetExtensionFunctionAddressForPlatform(platform, name));
}

bool is_gpu(cl_device_id device) {
  cl_device_type type = 0;
  return driver->clGetDeviceInfo(device, CL_DEVICE_TYPE, sizeof type, &type, nullptr) ==
             CL_SUCCESS &&
         type == CL_DEVICE_TYPE_GPU;
}

bool has_gpu(cl_platform_id platform) {
  cl_uint count = 0;
  return driver->clGetDeviceIDs(platform, CL_DEVICE_TYPE_GPU, 0, nullptr, &count) == CL_SUCCESS &&
         count > 0;
}

cl_context context_of(cl_command_queue queue) {
  cl_context context = nullptr;
  driver->clGetCommandQueueInfo(queue, CL_QUEUE_CONTEXT, sizeof context, &context, nullptr);
  return context;
}

bool is_processors(cl_context context, const void* memory) {
  cl_unified_shared_memory_type_intel kind = CL_MEM_TYPE_UNKNOWN_INTEL;
  driver_memory_info(context, memory, CL_MEM_ALLOC_TYPE_INTEL, sizeof kind, &kind, nullptr);
  return kind != CL_MEM_TYPE_DEVICE_INTEL;
}

// What the processor has done, as an event if one is wanted.
cl_int done(cl_context context, cl_event* event) {
  if (event == nullptr) {
    return CL_SUCCESS;
  }
  cl_int error = CL_SUCCESS;
  *event = driver->clCreateUserEvent(context, &error);
  return error != CL_SUCCESS ? error : driver->clSetUserEventStatus(*event, CL_COMPLETE);
}

cl_int CL_API_CALL copy(cl_command_queue queue, cl_bool blocking, void* to, const void* from,
                        std::size_t size, cl_uint count, const cl_event* waits_for,
                        cl_event* event) {
  const cl_context context = context_of(queue);
  if (!is_processors(context, to) || !is_processors(context, from)) {
    return driver_memcpy(queue, blocking, to, from, size, count, waits_for, event);
  }
  if (count != 0) {
    driver->clWaitForEvents(count, waits_for);
  }
  std::memmove(to, from, size);
  return done(context, event);
}

cl_int CL_API_CALL fill(cl_command_queue queue, void* to, const void* pattern, std::size_t length,
                        std::size_t size, cl_uint count, const cl_event* waits_for,
                        cl_event* event) {
  const cl_context context = context_of(queue);
  if (!is_processors(context, to)) {
    return driver_fill(queue, to, pattern, length, size, count, waits_for, event);
  }
  if (count != 0) {
    driver->clWaitForEvents(count, waits_for);
  }
  for (std::size_t at = 0; at < size; at += length) {
    std::memcpy(static_cast<char*>(to) + at, pattern, length);
  }
  return done(context, event);
}

void* CL_API_CALL extension_function(cl_platform_id platform, const char* name) {
  if (!has_gpu(platform)) {
    return driver->clGetExtensionFunctionAddressForPlatform(platform, name);
  }
  driver_memory_info = function_of<clGetMemAllocInfoINTEL_fn>(platform, "clGetMemAllocInfoINTEL");
  if (std::strcmp(name, "clEnqueueMemcpyINTEL") == 0) {
    driver_memcpy = function_of<clEnqueueMemcpyINTEL_fn>(platform, name);
    return reinterpret_cast<void*>(copy);
  }
  if (std::strcmp(name, "clEnqueueMemFillINTEL") == 0) {
    driver_fill = function_of<clEnqueueMemFillINTEL_fn>(platform, name);
    return reinterpret_cast<void*>(fill);
  }
  return driver->clGetExtensionFunctionAddressForPlatform(platform, name);
}

// No device writes that a command is over, but a wait for it returns.
cl_int CL_API_CALL event_info(cl_event event, cl_event_info name, std::size_t room, void* out,
                              std::size_t* size) {
  if (name == CL_EVENT_COMMAND_EXECUTION_STATUS && out != nullptr) {
    cl_command_queue queue = nullptr;
    cl_device_id device = nullptr;
    driver->clGetEventInfo(event, CL_EVENT_COMMAND_QUEUE, sizeof queue, &queue, nullptr);
    if (queue != nullptr) {
      driver->clGetCommandQueueInfo(queue, CL_QUEUE_DEVICE, sizeof device, &device, nullptr);
    }
    if (device != nullptr && is_gpu(device)) {
      driver->clWaitForEvents(1, &event);
    }
  }
  return driver->clGetEventInfo(event, name, room, out, size);
}

cl_int answer(const void* value, std::size_t size, std::size_t room, void* out,
              std::size_t* size_out) {
  if (out != nullptr && room < size) {
    return CL_INVALID_VALUE;
  }
  if (out != nullptr) {
    std::memcpy(out, value, size);
  }
  if (size_out != nullptr) {
    *size_out = size;
  }
  return CL_SUCCESS;
}

}  // namespace

extern "C" {

CL_API_ENTRY cl_int CL_API_CALL clGetLayerInfo(cl_layer_info name, std::size_t room, void* out,
                                               std::size_t* size) {
  static const char text[] = "without_device";
  const cl_layer_api_version version = CL_LAYER_API_VERSION_100;
  switch (name) {
    case CL_LAYER_API_VERSION:
      return answer(&version, sizeof version, room, out, size);
    case CL_LAYER_NAME:
      return answer(text, sizeof text, room, out, size);
    default:
      return CL_INVALID_VALUE;
  }
}

CL_API_ENTRY cl_int CL_API_CALL clInitLayerWithProperties(cl_uint, const cl_icd_dispatch* target,
                                                          cl_uint* entries,
                                                          const cl_icd_dispatch** table,
                                                          const cl_layer_properties*) {
  driver = target;
  ours.clGetExtensionFunctionAddressForPlatform = extension_function;
  ours.clGetEventInfo = event_info;
  *table = &ours;
  *entries = sizeof ours / sizeof ours.clGetPlatformIDs;
  return CL_SUCCESS;
}

CL_API_ENTRY cl_int CL_API_CALL clDeinitLayer(void) { return CL_SUCCESS; }
}
