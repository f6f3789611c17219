// SPDX-License-Identifier: Apache-2.0
#pragma once
// Error bands hold for the chip that they were measured on, and for no other.

#include <optional>
#include <string_view>
#include <utility>

#include "base/document.h"
#include "base/dtype.h"

namespace tilescope::arch {

// Whether `over`, laid over `under`, says another thing of the chip: a value that it changes or adds, but for what the
// chip is called, where a figure stands, and what times do not follow from. `96 KiB` and `98304 B` are one value.
bool changes_causes(const base::Value& under, const base::Value& over);

// The kind of operator that a band's name says, and its element type where the name says that too: "matmul f16".
std::pair<std::string_view, std::optional<base::Dtype>> kind_of_band(std::string_view name);

}  // namespace tilescope::arch
