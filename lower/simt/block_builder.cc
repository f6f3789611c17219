// SPDX-License-Identifier: Apache-2.0
#include "lower/simt/detail/block_builder.h"

#include <algorithm>
#include <string>
#include <utility>

#include "base/check.h"

namespace tilescope::lower {

// Documents name arrays, so a kernel's differ.
int BlockBuilder::add(Buffer b) {
  const auto taken = [&](const std::string& name) {
    return std::any_of(kernel_.buffers.begin(), kernel_.buffers.end(), [&](const Buffer& x) { return x.name == name; });
  };
  const std::string wanted = b.name;
  for (int n = 2; taken(b.name); ++n) b.name = wanted + '_' + std::to_string(n);
  kernel_.buffers.push_back(std::move(b));
  return static_cast<int>(kernel_.buffers.size() - 1);
}

int BlockBuilder::memory(const std::string& tensor, base::Dtype dtype, std::int64_t elements, Role role,
                         const expr::IndexDistribution& indices) {
  const auto known =
      std::find_if(module_.globals.begin(), module_.globals.end(), [&](const Global& g) { return g.name == tensor; });
  const auto position = static_cast<int>(known - module_.globals.begin());
  if (known == module_.globals.end())
    module_.globals.push_back({tensor, dtype, elements, role});
  else if (known->role == Role::kOutput && role == Role::kInput)
    known->role = Role::kBetween;  // an earlier stage's result
  Global& g = module_.globals[static_cast<std::size_t>(position)];
  if (indices != expr::IndexDistribution{}) g.indices = indices;
  base::check(g.dtype == dtype && g.elements == elements, "stages agree about a tensor that they share");
  const auto same = std::find_if(kernel_.buffers.begin(), kernel_.buffers.end(),
                                 [&](const Buffer& b) { return b.space == Space::kGlobal && b.global == position; });
  if (same != kernel_.buffers.end()) return static_cast<int>(same - kernel_.buffers.begin());
  return add({tensor, Space::kGlobal, dtype, elements, position, 0});
}

int BlockBuilder::registers(const std::string& name, base::Dtype dtype, std::int64_t elements) {
  return add({name, Space::kRegister, dtype, elements, -1, 0});
}

int BlockBuilder::shared(const std::string& name, base::Dtype dtype, std::int64_t elements, base::Bytes begin,
                         base::Bytes swizzled_row) {
  return add({name, Space::kShared, dtype, elements, -1, begin.n, swizzled_row.n});
}

int BlockBuilder::tensor(const std::string& name, base::Dtype dtype, std::int64_t columns, std::int64_t begin) {
  return add({name, Space::kTensor, dtype, columns, -1, begin});
}

int BlockBuilder::instruction(const MatrixInstruction& i) {
  std::vector<MatrixInstruction>& all = kernel_.matrix_instructions;
  const auto known = std::find(all.begin(), all.end(), i);
  const auto position = static_cast<int>(known - all.begin());
  if (known == all.end()) all.push_back(i);
  return position;
}

int BlockBuilder::scalar(const std::string& name) {
  const auto known = std::find(module_.scalars.begin(), module_.scalars.end(), name);
  const auto position = static_cast<int>(known - module_.scalars.begin());
  if (known == module_.scalars.end()) module_.scalars.push_back(name);
  return position;
}

std::string BlockBuilder::unused_name(std::string name) const {
  while (names_.contains(name)) name += '_';
  return name;
}

void BlockBuilder::finish(Body body) {
  kernel_.body = std::move(body);
  drop_unused_indices(kernel_);
  module_.kernels.push_back(std::move(kernel_));
}

}  // namespace tilescope::lower
