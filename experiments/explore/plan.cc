// SPDX-License-Identifier: Apache-2.0
#include "experiments/explore/plan.h"

namespace tilescope::experiments {

DesignNumbers::DesignNumbers(const DesignSpace& space) {
  for (std::size_t d = 0; d < space.designs.size(); ++d) numbers_.emplace(space.designs[d], d);
}

std::size_t DesignNumbers::of(const DesignIndex& index) const {
  const auto found = numbers_.find(index);
  return found == numbers_.end() ? numbers_.size() : found->second;
}

}  // namespace tilescope::experiments
