// SPDX-License-Identifier: Apache-2.0
#pragma once
// What the parts of a kernel are called in its text: their own names where those are identifiers that nothing else has.

#include <set>
#include <string>
#include <vector>

#include "lower/kernel.h"

namespace tilescope::cuda {

// Hands out every name once; keywords and the prelude's names are taken.
class NamePool {
 public:
  NamePool();
  // `wanted`, or something close to it.
  std::string take(const std::string& wanted);

 private:
  std::set<std::string> taken_;
};

struct KernelNames {
  std::vector<std::string> buffers;  // those of one global share its name
  std::vector<std::string> scalars;  // of the module
  std::vector<std::string> indices;
  std::vector<std::string> mbarriers;
  std::vector<std::string> maps;  // in the order of backends/cuda/detail/boxes.h
};

// `taken` are names that the kernel uses beside those.
KernelNames names_of(const lower::Module& module, const lower::Kernel& kernel, const std::vector<std::string>& taken);

// Names of the module's functions, in order.
std::vector<std::string> function_names(const lower::Module& module, NamePool& pool);

}  // namespace tilescope::cuda
