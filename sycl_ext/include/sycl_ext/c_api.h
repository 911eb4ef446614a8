/* SPDX-License-Identifier: Apache-2.0
 *
 * The C table of sycl_ext: the device table, views of memory, and the way back to Python.
 *
 * The module offers it as the capsule `sycl_ext._core._C_API`, so an extension that uses it links
 * against nothing of ours.  SYCL objects cross as addresses: a `const void*` to a sycl::device,
 * sycl::context or sycl::queue of the process's SYCL runtime.  C++ code takes the classes of
 * <sycl_ext/core.hpp> instead.
 *
 * Version: `major` changes when an entry changes; entries are appended, and `nbytes` grows with
 * them.  The name of the capsule and the first two entries stay as they are in every version.  A
 * consumer asks for its own major version, for at least the bytes that it knows, and, when it uses
 * SYCL, for the `libsycl_major` that it was built against.
 */
#pragma once

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct _object PyObject;

enum { sycl_ext_api_major = 1 };

enum sycl_ext_entry_kind {
  sycl_ext_root = 0,
  sycl_ext_sub_device = 1,
  sycl_ext_private_context = 2
};

enum sycl_ext_usm_kind {
  sycl_ext_usm_device = 0,
  sycl_ext_usm_shared = 1,
  sycl_ext_usm_host = 2,
  sycl_ext_usm_system = 3, /* host memory that the device of the entry reads */
};

/* Why a function failed, and what to raise for it. */
enum sycl_ext_error_kind {
  sycl_ext_buffer_error = 0,
  sycl_ext_copy_refused = 1,
  sycl_ext_type_error = 2,
  sycl_ext_value_error = 3,
  sycl_ext_index_error = 4,
  sycl_ext_memory_error = 5,
  sycl_ext_sycl_error = 6,
};

typedef struct {
  int32_t kind;       /* sycl_ext_error_kind */
  char message[1020]; /* terminated; the end of a longer one is cut off */
} sycl_ext_error;

/* One entry of the device table.  Entries are immortal, and so is everything they point to. */
typedef struct {
  int32_t id;
  int32_t root_id;         /* of the root device that it is, or is a part of */
  int32_t parent_id;       /* what it was cut from or registered for; -1: a root device */
  int32_t kind;            /* sycl_ext_entry_kind */
  int32_t default_context; /* bound to the default context of its platform */
  int32_t host_memory;     /* the host may read even its device USM */
  const void* device;      /* sycl::device */
  const void* context;     /* sycl::context */
} sycl_ext_entry;

/* A typed, strided view of memory that some entry's device can reach. */
typedef struct {
  void* data; /* the first element; NULL when there is none */
  const int64_t* shape;
  const int64_t* strides; /* in elements */
  int32_t ndim;
  uint8_t dtype_code; /* DLDataTypeCode of DLPack */
  uint8_t dtype_bits;
  uint16_t dtype_lanes; /* 1 */
  int32_t entry;        /* the entry that the memory is bound to */
  int32_t usm_kind;     /* sycl_ext_usm_kind */
  int32_t readonly;
  void* owner; /* keeps the memory, shape and strides alive: see release_owner */
} sycl_ext_view;

typedef struct {
  uint32_t major;  /* sycl_ext_api_major */
  uint32_t nbytes; /* of this struct */

  /* ---- The device table.  Any thread, with or without the GIL.  Where a function can fail it
   * returns -1 and fills `error`, which may be NULL. */
  int32_t (*entry_count)(void);
  int32_t (*root_count)(void);
  int32_t (*get_entry)(int32_t id, sycl_ext_entry* out, sycl_ext_error* error); /* 0 */
  int32_t (*default_entry)(sycl_ext_error* error);                              /* an id */
  /* The sycl::queue that everybody in the process shares for the device and context of the entry.
     It is out of order.  NULL: failed. */
  const void* (*queue_of_entry)(int32_t id, sycl_ext_error* error);
  /* Id of an entry, appended when it is new. */
  int32_t (*entry_of)(const void* device, const void* context, sycl_ext_error* error);
  int32_t (*entry_of_device)(const void* device, sycl_ext_error* error);
  int32_t (*entry_of_queue)(const void* queue, sycl_ext_error* error);
  /* Id of the entry that owns a pointer, and the kind of its memory; -1: plain host memory, or USM
   * of a private context that was not registered (sycl_ext.register_context), in no block that this
   * package holds; -2: failed, so that nobody knows. */
  int32_t (*entry_of_pointer)(const void* pointer, int32_t* usm_kind, sycl_ext_error* error);

  /* ---- Memory.  With the GIL.  NULL or -1: a Python exception is set. */
  /* What sycl_ext.as_tensor(object, device=(14, entry), copy=copy) returns, a new reference.
   * entry -1: where the memory is; copy -1: None. */
  PyObject* (*as_tensor)(PyObject* object, int32_t entry, int32_t copy);
  /* The view of a sycl_ext.Tensor.  The caller releases out->owner. */
  int32_t (*view_of)(PyObject* tensor, sycl_ext_view* out);
  /* A sycl_ext.Tensor over USM of somebody else.  Reads data, shape, strides (NULL: compact),
   * ndim, dtype, entry and readonly.  `queue` is the sycl::queue that work on it goes to (NULL: the
   * entry's).  Takes `owner`, which may be NULL, over, also when it fails: `release` (NULL: nothing
   * to do) is called once, on any thread, when the last view is gone and the queue is idle. */
  PyObject* (*wrap)(const sycl_ext_view* view, const void* queue, void* owner,
                    void (*release)(void* owner));
  /* A new sycl_ext.Tensor.  Reads shape, ndim, dtype, entry and usm_kind. */
  PyObject* (*make)(const sycl_ext_view* view, const void* queue);

  /* ---- Any thread, with or without the GIL. */
  /* The sycl::queue that work on the memory of a view goes to; it lives as long as the owner.  The
   * memory is not released, and not handed to anybody else, before that queue is idle. */
  const void* (*queue_of_owner)(void* owner);
  void (*release_owner)(void* owner);
  /* Drops a reference to a Python object; good as `release`. */
  void (*release_object)(void* object);

  /* The SYCL runtime whose objects these addresses are: 9 for libsycl.so.9.  The objects of another
   * one, and its functions on these, are undefined behaviour. */
  uint32_t libsycl_major;
} sycl_ext_api;

#ifdef __cplusplus
}
#endif
