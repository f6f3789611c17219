// SPDX-License-Identifier: Apache-2.0
#pragma once
// Fast reading of the lines of a batch, by simdjson. Private to base/.

#include <optional>
#include <string_view>

#include "base/document.h"

namespace tilescope::base {

// The value of one line that is a JSON object, with the places of its values as columns from `begin`. Nullopt if the
// line is anything else or has a mistake, even one that only this reader sees; read_json's parser then reads the line
// again and says what is wrong and where.
std::optional<Value> read_object_fast(std::string_view line, Position begin, DocumentLimits limits);

}  // namespace tilescope::base
