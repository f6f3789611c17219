// SPDX-License-Identifier: Apache-2.0
#pragma once
// What a generated translation unit tells the runtime about its kernels. Needs no header, so that it compiles fast.

namespace tilescope::cuda::host {

// A pointer of whatever type a kernel's parameter has.
struct AnyPointer {
  void* at;
  template <class T>
  operator T*() const {
    return static_cast<T*>(at);
  }
};

struct KernelEntry {
  const char* name;
  long long blocks, threads, shared_bytes;
  int shared_granule;     // bytes of the smallest element in shared memory
  int copies;             // of the kernel
  const int* copy_lines;  // by copy, ascending
  int boxes;              // bulk copies
  const int* box_lines;   // by bulk copy, ascending
  // `globals` are those of the module, `scalars` too.
  void (*launch)(void* const* globals, const double* scalars);
};

struct ModuleEntry {
  const char* key;  // unique to its text
  int kernels;
  const KernelEntry* kernel;
};

// One of these at namespace scope makes its module known.
struct Registration {
  explicit Registration(const ModuleEntry& module);
};

}  // namespace tilescope::cuda::host
