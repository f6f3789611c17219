// SPDX-License-Identifier: Apache-2.0
#pragma once
// Names for contents: equal contents have equal names, and different ones practically never.

#include <string>
#include <string_view>

namespace tilescope::base {

// XXH3 with 128 bits as 32 hexadecimal digits; the same on every machine.
std::string content_hash(std::string_view content);

}  // namespace tilescope::base
