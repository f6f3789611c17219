// SPDX-License-Identifier: Apache-2.0
#pragma once
// What the CPU's driver (driver.cc) calls in a shared object of emitted kernels: TILESCOPE_CPU_KERNEL(name, cluster)
// makes it, `cluster` being the blocks of a cluster.

#include <type_traits>

namespace tilescope::tests {

// A parameter as the driver's callers pass it: pointers by their value, tensor maps as what cuTensorMapEncodeTiled of
// driver.cc writes, the address of one.
template <class T>
T parameter_of(void* at) {
  using Plain = std::remove_cv_t<std::remove_reference_t<T>>;
  if constexpr (std::is_pointer_v<Plain>)
    return *static_cast<Plain*>(at);
  else
    return **static_cast<Plain**>(at);
}

template <class... A>
void call_kernel(void (*kernel)(A...), void** parameters) {
  int next = 0;
  [[maybe_unused]] const auto take = [&] { return parameters[next++]; };
  struct Call {  // whose braces evaluate in order
    Call(void (*f)(A...), A... a) { f(a...); }
  };
  Call{kernel, parameter_of<A>(take())...};
}

}  // namespace tilescope::tests

#define TILESCOPE_CPU_KERNEL(name, cluster)                      \
  extern "C" const long long tilescope_cluster_##name = cluster; \
  extern "C" void tilescope_cpu_##name(void** parameters) { tilescope::tests::call_kernel(&name, parameters); }
