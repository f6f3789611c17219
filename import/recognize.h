// SPDX-License-Identifier: Apache-2.0
#pragma once
// What a file is, by the keys that it has, so that a reader that gets another format can name it.

#include <optional>
#include <string_view>

namespace tilescope::importers {

struct Recognized {
  std::string_view what;    // "a ZigZag mapping"
  std::string_view format;  // whose reader takes it; empty where none does
};

// The first kind of file that has all keys of one of its rows; nullopt where none has.
std::optional<Recognized> recognize(std::string_view text);

}  // namespace tilescope::importers
