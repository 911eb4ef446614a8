#include "faults.hpp"

#include "settings.hpp"

namespace stand_in {

Faults::Faults() : delay_us(settings().delay_us) {}

bool Faults::now() {
  ++calls;
  long left = fail_at;
  while (left > 0 && !fail_at.compare_exchange_weak(left, left - 1)) {
  }
  return left == 1;
}

// Never destroyed: the adapters call until the last moment of the process.
Faults& faults() {
  static auto* only = new Faults;
  return *only;
}

}  // namespace stand_in
