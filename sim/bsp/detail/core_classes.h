// SPDX-License-Identifier: Apache-2.0
#pragma once
// Cores whose blocks have the same extents at every step of a stage: their parts are as long, and of slices that go
// round they begin with the same one.

#include <cstdint>
#include <vector>

#include "lower/bsp/supersteps.h"

namespace tilescope::sim::bsp {

struct CoreClass {
  std::int64_t first = 0;  // core of the class
  std::int64_t cores = 0;
};

class CoreClasses {
 public:
  explicit CoreClasses(const lower::bsp::Stage& s);

  const std::vector<CoreClass>& all() const { return all_; }
  std::size_t of(std::int64_t core) const { return of_[static_cast<std::size_t>(core)]; }

 private:
  std::vector<CoreClass> all_;
  std::vector<std::uint32_t> of_;  // by core
};

}  // namespace tilescope::sim::bsp
