// SPDX-License-Identifier: Apache-2.0
#pragma once
// How messages name the options of a request: as the interface that took them spells them.

#include <string>
#include <string_view>

namespace tilescope::base {

// What stands before an option's name from now on, two dashes on a command line; nothing where no interface says. Call
// it once, before other threads are there.
void spell_options_with(std::string_view prefix);

// The name as the interface spells it: --mma on a command line.
std::string option(std::string_view name);

}  // namespace tilescope::base
