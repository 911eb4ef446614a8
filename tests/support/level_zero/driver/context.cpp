// Contexts: they own nothing, as every pointer is known to the whole driver (compute-runtime does
// the same).
#include "handle.hpp"
#include "spec.hpp"

using namespace stand_in;

namespace {

struct Context : Object {};

Context the_default_context;

}  // namespace

ZE_API ze_context_handle_t zeDriverGetDefaultContext(ze_driver_handle_t) {
  return handle_of<ze_context_handle_t>(&the_default_context);
}

ZE_API ze_result_t zeContextCreate(ze_driver_handle_t, const ze_context_desc_t*,
                                   ze_context_handle_t* context) {
  *context = handle_of<ze_context_handle_t>(new Context);
  return ZE_RESULT_SUCCESS;
}

ZE_API ze_result_t zeContextDestroy(ze_context_handle_t context) {
  Context& ours = of<Context>(context);
  if (&ours != &the_default_context) delete &ours;
  return ZE_RESULT_SUCCESS;
}

ZE_API ze_result_t zeContextGetStatus(ze_context_handle_t) { return ZE_RESULT_SUCCESS; }

ZE_API ze_result_t zeContextMakeMemoryResident(ze_context_handle_t, ze_device_handle_t, void*,
                                               std::size_t) {
  return ZE_RESULT_SUCCESS;
}
