// SPDX-License-Identifier: Apache-2.0
#pragma once
// tilescope arch new: a chip from a data sheet.

#include <CLI/CLI.hpp>

namespace tilescope::cli {

// Adds `new` to the command `arch`.
void add_arch_new(CLI::App& arch, int& status);

}  // namespace tilescope::cli
