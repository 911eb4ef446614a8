/* SPDX-License-Identifier: Apache-2.0
 *
 * The C table of sycl_ext: the device table, views of memory, and the way back to Python.
 *
 * The table is in the capsule `sycl_ext._C_API`, so an extension that uses it does not link
 * against sycl_ext.  SYCL objects are passed as addresses: a `const void*` to a sycl::device,
 * sycl::context or sycl::queue of the process's SYCL runtime.  In C++, use the classes of
 * <sycl_ext/core.hpp> instead.
 *
 * Versions: `major` changes when a member of the table changes.  New members are appended, and
 * `nbytes` grows with them.  The name of the capsule and the first two members are the same in
 * every version.  A consumer checks that `major` is the version that it was built for, that
 * `nbytes` is at least the size that it knows, and, if it uses SYCL, that `libsycl_major` is the
 * runtime that it was built against.
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

/* Why a function failed, which is also the class of the exception to raise. */
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
  char message[1020]; /* ends with a null byte; a longer message is cut off */
} sycl_ext_error;

/* One entry of the device table.  Entries, and the objects they point to, live until the process
 * ends. */
typedef struct {
  int32_t id;
  int32_t root_id;         /* its root device; a root device names itself */
  int32_t parent_id;       /* the entry it was partitioned from or registered for; -1: none */
  int32_t kind;            /* sycl_ext_entry_kind */
  int32_t default_context; /* bound to the default context of its platform */
  int32_t host_memory;     /* the host can read even its device USM */
  const void* device;      /* sycl::device */
  const void* context;     /* sycl::context */
} sycl_ext_entry;

/* A typed, strided view of memory that the device of an entry can access. */
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
  uint32_t nbytes; /* the size of this struct */

  /* ---- The device table.  Any thread may call these functions, with or without the GIL.  A
   * function that fails returns -1 and fills `error`, which may be NULL. */
  int32_t (*entry_count)(void);
  int32_t (*root_count)(void);
  int32_t (*get_entry)(int32_t id, sycl_ext_entry* out, sycl_ext_error* error); /* 0 */
  int32_t (*default_entry)(sycl_ext_error* error);                              /* an id */
  /* The sycl::queue that all extensions share for the entry.  It is in order.  NULL: failed. */
  const void* (*queue_of_entry)(int32_t id, sycl_ext_error* error);
  /* The id of an entry; the entry is appended to the table when it is new. */
  int32_t (*entry_of)(const void* device, const void* context, sycl_ext_error* error);
  int32_t (*entry_of_device)(const void* device, sycl_ext_error* error);
  int32_t (*entry_of_queue)(const void* queue, sycl_ext_error* error);
  /* The id of the entry that owns a pointer, and the kind of its memory.  -1: plain host memory, or
   * USM of a private context that was neither registered (sycl_ext.register_context) nor allocated
   * or viewed by sycl_ext.  -2: failed, so the owner is unknown. */
  int32_t (*entry_of_pointer)(const void* pointer, int32_t* usm_kind, sycl_ext_error* error);

  /* ---- Memory.  These functions need the GIL.  NULL or -1: a Python exception is set. */
  /* A new reference to the result of sycl_ext.as_tensor(object, device=(14, entry), copy=copy).
   * An entry of -1 leaves the memory where it is; a copy of -1 is None. */
  PyObject* (*as_tensor)(PyObject* object, int32_t entry, int32_t copy);
  /* Fills the view of a sycl_ext.Tensor.  The caller must release out->owner (release_owner). */
  int32_t (*view_of)(PyObject* tensor, sycl_ext_view* out);
  /* A new reference to a sycl_ext.Tensor over USM of the extension.  Reads data, shape, strides
   * (NULL: C order), ndim, dtype, entry and readonly.  `queue` is the sycl::queue for work on the
   * memory (NULL: the queue of the entry).  Takes ownership of `owner`, which may be NULL, even
   * when it fails: `release`, unless it is NULL, is called once, on any thread, when the last view
   * is gone and the queue is idle; not after the interpreter has ended.  A pending exception stays
   * set, and one that `release` sets is cleared. */
  PyObject* (*wrap)(const sycl_ext_view* view, const void* queue, void* owner,
                    void (*release)(void* owner));
  /* A new reference to a new sycl_ext.Tensor.  Reads shape, ndim, dtype, entry and usm_kind. */
  PyObject* (*make)(const sycl_ext_view* view, const void* queue);

  /* ---- Any thread may call these functions, with or without the GIL. */
  /* The sycl::queue for work on the memory of a view; it lives as long as the owner.  The memory is
   * not released, and no other library gets it, before that queue is idle. */
  const void* (*queue_of_owner)(void* owner);
  void (*release_owner)(void* owner);
  /* Drops a reference to a Python object; suits `release`. */
  void (*release_object)(void* object);

  /* The SYCL runtime of this process: 9 for libsycl.so.9.  It is undefined behaviour to pass
   * objects of another runtime, or to use these objects with another runtime. */
  uint32_t libsycl_major;
} sycl_ext_api;

#ifdef __cplusplus
}
#endif
