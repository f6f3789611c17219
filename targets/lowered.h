// SPDX-License-Identifier: Apache-2.0
#pragma once
// A lowered program. Its form depends on the class of the chip: kernels of threads, or supersteps of cores that
// exchange data.

#include <utility>
#include <variant>

#include "lower/bsp/supersteps.h"
#include "lower/kernel.h"

namespace tilescope::targets {

struct Lowered {
  std::variant<lower::Module, lower::bsp::Program> as;

  // Valid only for a chip of that class (checked by the variant).
  const lower::Module& module() const { return std::get<lower::Module>(as); }
  const lower::bsp::Program& supersteps() const { return std::get<lower::bsp::Program>(as); }
};

}  // namespace tilescope::targets
