# SPDX-License-Identifier: Apache-2.0
# find_package(sycl_ext CONFIG): the headers for C++ extensions.
#
#   cmake -Dsycl_ext_DIR=$(python -m sycl_ext --cmakedir)
#
# Targets
#   sycl_ext::sycl_ext  our headers, with the SYCL headers and library that they need
#   sycl_ext::sycl      only the SYCL headers and library
# An extension needs no SYCL compiler as long as it has no kernels.
cmake_minimum_required(VERSION 3.20)

if(TARGET sycl_ext::sycl_ext)
  return()
endif()

# The wheels and conda packages of intel-sycl-rt put headers and library into the environment: the one
# that this package is installed in, or (editable installs) the one of the Python that is used.
set(sycl_ext_hints "${CMAKE_CURRENT_LIST_DIR}/../../../../../.." "$ENV{CONDA_PREFIX}" "$ENV{PREFIX}")
if(Python_EXECUTABLE)
  execute_process(
    COMMAND "${Python_EXECUTABLE}" -c "import sys; print(sys.prefix)"
    OUTPUT_VARIABLE sycl_ext_prefix
    OUTPUT_STRIP_TRAILING_WHITESPACE)
  list(APPEND sycl_ext_hints "${sycl_ext_prefix}")
endif()
find_path(sycl_ext_SYCL_INCLUDE_DIR sycl/queue.hpp HINTS ${sycl_ext_hints} PATH_SUFFIXES include)
find_library(sycl_ext_SYCL_LIBRARY sycl HINTS ${sycl_ext_hints} PATH_SUFFIXES lib)
if(NOT sycl_ext_SYCL_INCLUDE_DIR OR NOT sycl_ext_SYCL_LIBRARY)
  set(sycl_ext_FOUND FALSE)
  set(sycl_ext_NOT_FOUND_MESSAGE
      "the SYCL headers and library were not found: install intel-sycl-rt, and call \
find_package(Python) before find_package(sycl_ext), or set sycl_ext_SYCL_INCLUDE_DIR and \
sycl_ext_SYCL_LIBRARY")
  return()
endif()

# Seen with g++ 16, not with 12 to 15: `put` is ambiguous in C++20, which is its default.
set(sycl_ext_ipc "${sycl_ext_SYCL_INCLUDE_DIR}/sycl/ext/oneapi/experimental/ipc_event.hpp")
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU"
   AND CMAKE_CXX_COMPILER_VERSION VERSION_GREATER_EQUAL 16
   AND NOT CMAKE_CXX_STANDARD LESS 20
   AND EXISTS "${sycl_ext_ipc}"
   AND NOT sycl_ext_FIND_QUIETLY)
  file(STRINGS "${sycl_ext_ipc}" sycl_ext_ambiguous REGEX "return put\\(")
  if(sycl_ext_ambiguous)
    message(STATUS "sycl_ext: g++ ${CMAKE_CXX_COMPILER_VERSION} does not compile <sycl/sycl.hpp> of \
this intel-sycl-rt as C++20, its default: include only headers that you use, such as <sycl/queue.hpp> and \
<sycl/usm.hpp>, or set CMAKE_CXX_STANDARD to 17")
  endif()
endif()

add_library(sycl_ext::sycl INTERFACE IMPORTED)
set_target_properties(
  sycl_ext::sycl
  PROPERTIES INTERFACE_INCLUDE_DIRECTORIES "${sycl_ext_SYCL_INCLUDE_DIR}"
             INTERFACE_SYSTEM_INCLUDE_DIRECTORIES "${sycl_ext_SYCL_INCLUDE_DIR}"
             INTERFACE_LINK_LIBRARIES "${sycl_ext_SYCL_LIBRARY}")
# A module in site-packages, or in a package there, finds the library of its environment, whatever has
# been imported before it.
if(UNIX AND NOT APPLE)
  set_target_properties(
    sycl_ext::sycl PROPERTIES INTERFACE_LINK_OPTIONS
                              "LINKER:-rpath,\\$ORIGIN/../..:\\$ORIGIN/../../..:\\$ORIGIN/../../../..")
endif()

add_library(sycl_ext::sycl_ext INTERFACE IMPORTED)
set_target_properties(
  sycl_ext::sycl_ext
  PROPERTIES INTERFACE_INCLUDE_DIRECTORIES "${CMAKE_CURRENT_LIST_DIR}/.."
             INTERFACE_COMPILE_FEATURES cxx_std_17
             INTERFACE_LINK_LIBRARIES sycl_ext::sycl)
set(sycl_ext_FOUND TRUE)
