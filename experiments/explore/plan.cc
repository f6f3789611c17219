// SPDX-License-Identifier: Apache-2.0
#include "experiments/explore/plan.h"

#include <utility>

namespace tilescope::experiments {
namespace {

class Listed : public Plan {
 public:
  explicit Listed(std::vector<std::size_t> designs) : designs_(std::move(designs)) {}
  std::vector<std::size_t> next(const std::vector<Merit>&) override { return std::exchange(designs_, {}); }

 private:
  std::vector<std::size_t> designs_;
};

}  // namespace

std::unique_ptr<Plan> listed(std::vector<std::size_t> designs) { return std::make_unique<Listed>(std::move(designs)); }

DesignNumbers::DesignNumbers(const DesignSpace& space) {
  for (std::size_t d = 0; d < space.designs.size(); ++d) numbers_.emplace(space.designs[d], d);
}

std::size_t DesignNumbers::of(const DesignIndex& index) const {
  const auto found = numbers_.find(index);
  return found == numbers_.end() ? numbers_.size() : found->second;
}

}  // namespace tilescope::experiments
