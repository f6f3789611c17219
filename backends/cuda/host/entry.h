// SPDX-License-Identifier: Apache-2.0
#pragma once
// The description of a generated translation unit's kernels for the runtime. Needs no header, so that it compiles fast.

namespace tilescope::cuda::host {

// A pointer that converts to the type of any kernel parameter.
struct AnyPointer {
  void* at;
  template <class T>
  operator T*() const {
    return static_cast<T*>(at);
  }
};

struct KernelEntry {
  const char* name;
  long long blocks, cluster, threads, shared_bytes;  // blocks of a cluster; threads and bytes of a block
  int shared_granule;                                // bytes of the smallest element in shared memory
  int copies;                                        // of the kernel
  const int* copy_lines;                             // by copy, ascending
  int boxes;                                         // bulk copies
  const int* box_lines;                              // by bulk copy, ascending
  // `globals` and `scalars` are those of the module.
  void (*launch)(void* const* globals, const double* scalars);
};

struct ModuleEntry {
  const char* key;  // unique to its text
  int kernels;
  const KernelEntry* kernel;
};

// An object of this type at namespace scope registers its module.
struct Registration {
  explicit Registration(const ModuleEntry& module);
};

}  // namespace tilescope::cuda::host
