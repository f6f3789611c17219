// SPDX-License-Identifier: Apache-2.0
#pragma once
// Quoting for commands that are printed for a shell.

#include <string>

namespace tilescope::experiments {

// The text quoted as one shell word.
std::string shell_word(const std::string& text);

}  // namespace tilescope::experiments
