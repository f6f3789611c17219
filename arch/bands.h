// SPDX-License-Identifier: Apache-2.0
#pragma once
// Error bands, which hold only for the chip that they were measured on.

#include <optional>
#include <string_view>
#include <utility>

#include "base/document.h"
#include "base/dtype.h"

namespace tilescope::arch {

// Whether merging `over` into `under` changes or adds a value that times follow from. Names, sources of figures, and
// keys that no time follows from or that have a rule of their own (arch/layers.cc) do not count. `96 KiB` and `98304 B`
// are the same value.
bool changes_causes(const base::Value& under, const base::Value& over);

// The kind of operator in a band's name, and the element type if the name has one: "matmul f16".
std::pair<std::string_view, std::optional<base::Dtype>> kind_of_band(std::string_view name);

}  // namespace tilescope::arch
