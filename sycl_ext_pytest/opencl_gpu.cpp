// SPDX-License-Identifier: Apache-2.0
// A layer of the OpenCL loader: CPU devices of Intel's OpenCL runtime say that they are GPUs.
//
// The loader (libOpenCL.so, in the wheel intel-opencl-rt) loads it when OPENCL_LAYERS names it, and
// sends it each call that the table `ours` fills; all others go to the driver directly.
//
//     OPENCL_GPU_CPUS        so many platforms, the first ones, stay CPUs (default 0)
//     OPENCL_GPU_SYSTEM_USM  1: the GPUs reach all memory of the host, as with a driver that has
//                            system USM (default 0: their kernels could, but do not say so)
//     OPENCL_GPU_TILES       1: a GPU has a NUMA domain for each compute unit (default 0: none)
//     OPENCL_GPU_PAIR        1: a platform has two GPUs, each with half of the compute units
//                            (default 0: one)
//
// The layer itself:
// https://registry.khronos.org/OpenCL/specs/unified/html/OpenCL_Ext.html#cl_loader_layers
#define CL_TARGET_OPENCL_VERSION 300
#include <CL/cl.h>
#include <CL/cl_ext.h>
#include <CL/cl_icd.h>
#include <CL/cl_layer.h>

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <vector>

#ifndef CL_LAYER_PROPERTIES_LIST_END  // in headers before 2026.2
using cl_layer_properties = cl_properties;
#endif

namespace {

const cl_icd_dispatch* driver;  // the calls of the loader below this layer
cl_icd_dispatch ours;           // a null pointer: that call passes this layer by

unsigned setting(const char* name) {
  const char* text = std::getenv(name);
  return text != nullptr ? static_cast<unsigned>(std::strtoul(text, nullptr, 10)) : 0;
}

bool is_gpu(cl_platform_id platform) {
  cl_uint count = 0;
  if (driver->clGetPlatformIDs(0, nullptr, &count) != CL_SUCCESS) {
    return false;
  }
  std::vector<cl_platform_id> platforms(count);
  driver->clGetPlatformIDs(count, platforms.data(), nullptr);
  for (cl_uint number = setting("OPENCL_GPU_CPUS"); number < count; ++number) {
    if (platforms[number] == platform) {
      return true;
    }
  }
  return false;
}

// Sub-devices belong to the platform of their parents, and are GPUs with them.
bool is_gpu(cl_device_id device) {
  cl_platform_id platform = nullptr;
  driver->clGetDeviceInfo(device, CL_DEVICE_PLATFORM, sizeof platform, &platform, nullptr);
  return is_gpu(platform);
}

// The two halves of a platform's device, made once: the runtime compares handles.
const std::vector<cl_device_id>& halves(cl_platform_id platform) {
  static std::mutex making;
  static std::map<cl_platform_id, std::vector<cl_device_id>> made;
  const std::lock_guard<std::mutex> lock(making);
  std::vector<cl_device_id>& devices = made[platform];
  if (devices.empty()) {
    cl_device_id whole = nullptr;
    cl_uint units = 0;
    driver->clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &whole, nullptr);
    driver->clGetDeviceInfo(whole, CL_DEVICE_MAX_COMPUTE_UNITS, sizeof units, &units, nullptr);
    const cl_device_partition_property half[] = {CL_DEVICE_PARTITION_EQUALLY,
                                                 static_cast<cl_int>(units / 2), 0};
    cl_device_id two[] = {nullptr, nullptr};
    if (driver->clCreateSubDevices(whole, half, 2, two, nullptr) == CL_SUCCESS) {
      devices.assign(two, two + 2);
    }
  }
  return devices;
}

bool is_half(cl_device_id device) {
  cl_platform_id platform = nullptr;
  driver->clGetDeviceInfo(device, CL_DEVICE_PLATFORM, sizeof platform, &platform, nullptr);
  const std::vector<cl_device_id>& both = halves(platform);
  return std::find(both.begin(), both.end(), device) != both.end();
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

cl_int CL_API_CALL get_device_ids(cl_platform_id platform, cl_device_type type, cl_uint room,
                                  cl_device_id* devices, cl_uint* count) {
  if (!is_gpu(platform)) {
    return driver->clGetDeviceIDs(platform, type, room, devices, count);
  }
  if ((type & (CL_DEVICE_TYPE_GPU | CL_DEVICE_TYPE_DEFAULT)) == 0) {
    if (count != nullptr) {
      *count = 0;
    }
    return CL_DEVICE_NOT_FOUND;
  }
  if (setting("OPENCL_GPU_PAIR") == 0) {
    return driver->clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, room, devices, count);
  }
  const std::vector<cl_device_id>& both = halves(platform);
  if (count != nullptr) {
    *count = static_cast<cl_uint>(both.size());
  }
  if (devices != nullptr) {
    std::copy_n(both.begin(), std::min<std::size_t>(room, both.size()), devices);
  }
  return both.empty() ? CL_DEVICE_NOT_FOUND : CL_SUCCESS;
}

cl_int CL_API_CALL get_device_info(cl_device_id device, cl_device_info name, std::size_t room,
                                   void* out, std::size_t* size) {
  if (is_gpu(device)) {
    if (name == CL_DEVICE_TYPE) {
      const cl_device_type type = CL_DEVICE_TYPE_GPU;
      return answer(&type, sizeof type, room, out, size);
    }
    if (name == CL_DEVICE_PARENT_DEVICE && setting("OPENCL_GPU_PAIR") != 0 && is_half(device)) {
      const cl_device_id none = nullptr;
      return answer(&none, sizeof none, room, out, size);
    }
    if (name == CL_DEVICE_NAME) {
      static const char text[] = "Posing GPU (OpenCL CPU inside)";
      return answer(text, sizeof text, room, out, size);
    }
    if (name == CL_DEVICE_SHARED_SYSTEM_MEM_CAPABILITIES_INTEL &&
        setting("OPENCL_GPU_SYSTEM_USM") == 0) {
      const cl_device_unified_shared_memory_capabilities_intel none = 0;
      return answer(&none, sizeof none, room, out, size);
    }
    if (name == CL_DEVICE_PARTITION_PROPERTIES && setting("OPENCL_GPU_TILES") != 0) {
      const cl_device_partition_property ways[] = {CL_DEVICE_PARTITION_BY_AFFINITY_DOMAIN};
      return answer(ways, sizeof ways, room, out, size);
    }
    if (name == CL_DEVICE_PARTITION_AFFINITY_DOMAIN && setting("OPENCL_GPU_TILES") != 0) {
      const cl_device_affinity_domain domains =
          CL_DEVICE_AFFINITY_DOMAIN_NUMA | CL_DEVICE_AFFINITY_DOMAIN_NEXT_PARTITIONABLE;
      return answer(&domains, sizeof domains, room, out, size);
    }
  }
  return driver->clGetDeviceInfo(device, name, room, out, size);
}

cl_int CL_API_CALL create_sub_devices(cl_device_id device, const cl_device_partition_property* way,
                                      cl_uint room, cl_device_id* devices, cl_uint* count) {
  const cl_device_partition_property units[] = {CL_DEVICE_PARTITION_EQUALLY, 1, 0};
  const bool by_domain = way != nullptr && *way == CL_DEVICE_PARTITION_BY_AFFINITY_DOMAIN;
  return driver->clCreateSubDevices(device, by_domain && is_gpu(device) ? units : way, room,
                                    devices, count);
}

}  // namespace

extern "C" {

CL_API_ENTRY cl_int CL_API_CALL clGetLayerInfo(cl_layer_info name, std::size_t room, void* out,
                                               std::size_t* size) {
  static const char text[] = "opencl_gpu";
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

CL_API_ENTRY cl_int CL_API_CALL clInitLayer(cl_uint, const cl_icd_dispatch* target,
                                            cl_uint* entries, const cl_icd_dispatch** table) {
  driver = target;
  ours.clGetDeviceIDs = get_device_ids;
  ours.clGetDeviceInfo = get_device_info;
  ours.clCreateSubDevices = create_sub_devices;
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
