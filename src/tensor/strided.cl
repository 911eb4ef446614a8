// SPDX-License-Identifier: Apache-2.0
// Strided copies by the device, in OpenCL C.
//
// `make kernels` compiles this once for each size of an element, with -DELEMENT=uint -DSIDE=32 and
// the like, and writes the SPIR-V to strided_spirv.hpp.  kernel_copy.cpp chooses the kernel, its
// loops and its work-groups.

// One loop of a copy; the steps count elements.  A launch reaches fewer than 2^31 of them on each
// side, so all arithmetic has 32 bits.
struct axis {
  int count, to, from;
};

// A kernel runs over the axes 0 and 1 with the items of its work-groups, and over the others, which
// have one step if they are not used, with the groups in the third dimension.
struct loops {
  struct axis axes[8];
};

// Adds the place of this work-group along the axes from 2 on.  It is the same for all items, so
// these divisions cost little.
static void enter_outer_axes(const struct loops *loops, __global ELEMENT **to,
                             __global const ELEMENT **from) {
  int rest = get_group_id(2);
  for (int k = 2; rest != 0; ++k) {
    const int next = rest / loops->axes[k].count;
    const int index = rest - next * loops->axes[k].count;
    *to += index * loops->axes[k].to;
    *from += index * loops->axes[k].from;
    rest = next;
  }
}

// One item for each element: axis 0 is the fast one of the target, and good for the source as well.
__kernel void copy_lines(__global ELEMENT *to, __global const ELEMENT *from,
                         const struct loops loops) {
  const struct axis a = loops.axes[0], b = loops.axes[1];
  const int i = get_global_id(0), j = get_global_id(1);
  enter_outer_axes(&loops, &to, &from);
  if (i < a.count && j < b.count) to[i * a.to + j * b.to] = from[i * a.from + j * b.from];
}

// The target is fast along axis 0, the source along axis 1.  A work-group of SIDE items by 256 /
// SIDE reads a square along axis 1 into local memory, and writes it along axis 0, so neighbouring
// items read and write neighbouring elements.
__kernel void copy_tiles(__global ELEMENT *to, __global const ELEMENT *from,
                         const struct loops loops) {
  __local ELEMENT tile[SIDE][SIDE + 1];  // one more column, so that its columns are in all banks
  const struct axis a = loops.axes[0], b = loops.axes[1];
  const int a0 = get_group_id(0) * SIDE, b0 = get_group_id(1) * SIDE;
  const int x = get_local_id(0), y = get_local_id(1), rows = get_local_size(1);
  enter_outer_axes(&loops, &to, &from);
  from += (b0 + x) * b.from;
  if (b0 + x < b.count) {
    const int end = min(SIDE, a.count - a0);
    for (int i = y; i < end; i += rows) tile[i][x] = from[(a0 + i) * a.from];
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  to += (a0 + x) * a.to;
  if (a0 + x < a.count) {
    const int end = min(SIDE, b.count - b0);
    for (int j = y; j < end; j += rows) to[(b0 + j) * b.to] = tile[x][j];
  }
}
