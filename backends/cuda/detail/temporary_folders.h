// SPDX-License-Identifier: Apache-2.0
#pragma once
// Temporary folders do not outlive their process: what Ctrl-C, SIGTERM or a hang-up ends takes its folders along.

#include <string>

namespace tilescope::cuda {

// Makes a folder of a name that ends in XXXXXX, which are replaced (mkdtemp(3)), and has it removed, with all that is
// in it, when one of these signals ends the process; of signals that the process handles itself, or ignores, nothing is
// changed. A folder beyond the first 64, and one of a long path, stays. False where none was made.
bool make_folder(std::string& path);
// The folder is gone.
void forget_on_signal(const std::string& folder);

}  // namespace tilescope::cuda
