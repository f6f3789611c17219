// SPDX-License-Identifier: Apache-2.0
#pragma once
// The names of options in messages, as the interface that took them spells them.

#include <string>
#include <string_view>

namespace tilescope::base {

// Sets the prefix of option names: two dashes on a command line; empty by default. Call it once, before other threads
// start.
void spell_options_with(std::string_view prefix);

// The name as the interface spells it: --mma on a command line.
std::string option(std::string_view name);

}  // namespace tilescope::base
