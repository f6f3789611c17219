// SPDX-License-Identifier: Apache-2.0
#pragma once
// Where in a chip's document something stands. A path names keys of maps and, in a list, the `name` of an item.

#include <string>
#include <string_view>
#include <vector>

#include "base/document.h"

namespace tilescope::arch {

using Path = std::vector<std::string_view>;

// `memory.smem.banks`.
std::string text_of(const Path& path);

// The name that a list's item bears, or null.
const std::string* name_in(const base::Value& item);

// The item of that name in a list, or null.
const base::Value* find_named(const base::List& list, std::string_view name);

// The value at the path, or null.
const base::Value* find_at(const base::Value& document, const Path& path);

// The place of the value at the path, or of the innermost one on the way to it.
base::Position place_of(const base::Value& document, const Path& path);

}  // namespace tilescope::arch
