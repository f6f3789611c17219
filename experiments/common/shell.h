// SPDX-License-Identifier: Apache-2.0
#pragma once
// Commands that are printed for a shell to take.

#include <string>

namespace tilescope::experiments {

// The text as one word of a shell.
std::string shell_word(const std::string& text);

}  // namespace tilescope::experiments
