// Objects of ours, and the opaque handles of the specification that stand for them.
#pragma once

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <vector>

namespace stand_in {

// A handle points to an object whose first word belongs to the loader ("DDI handles" extension).
struct Object {
  void* reserved = nullptr;
};

template <class T, class Handle>
T& of(Handle handle) {
  return *static_cast<T*>(reinterpret_cast<Object*>(handle));
}

template <class Handle>
Handle handle_of(Object* object) {
  return reinterpret_cast<Handle>(object);
}

// The two-call protocol of every "get": the number first, what is asked for then.
template <class Things, class Properties, class Fill>
void hand_out_each(const Things& from, std::uint32_t* count, Properties* to, Fill fill) {
  const auto available = static_cast<std::uint32_t>(std::size(from));
  if (!to || *count == 0) {
    *count = available;
    return;
  }
  *count = std::min(*count, available);
  for (std::uint32_t i = 0; i < *count; ++i) fill(from[i], to[i]);
}

// The same for handles.
template <class Handle, class T>
void hand_out(const std::vector<T*>& from, std::uint32_t* count, Handle* to) {
  hand_out_each(from, count, to, [](T* each, Handle& handle) { handle = handle_of<Handle>(each); });
}

// The same for properties of which there is one.
template <class Properties, class Fill>
void hand_out_one(std::uint32_t* count, Properties* to, Fill fill) {
  if (to && *count) fill(*to);
  *count = 1;
}

}  // namespace stand_in
