// SPDX-License-Identifier: Apache-2.0
#pragma once
// Counts and cycles as the model's amounts.

#include <cstdint>
#include <optional>

#include "base/units.h"

namespace tilescope::model::bsp {

inline double of(std::int64_t n) { return static_cast<double>(n); }
inline double of(const std::optional<base::Cycles>& c) { return c ? of(c->n) : 0; }

}  // namespace tilescope::model::bsp
