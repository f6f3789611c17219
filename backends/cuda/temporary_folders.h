#pragma once
// Temporary folders do not outlive their process: what Ctrl-C, SIGTERM or a hang-up ends takes its folders along.

#include <string>

namespace tilescope::cuda {

// Has a folder removed, with all that is in it, when one of these signals ends the process that says so; of signals
// that the process handles itself, or ignores, nothing is changed. A folder beyond the first 64, and one of a long
// path, stays.
void remove_on_signal(const std::string& folder);
// The folder is gone.
void forget_on_signal(const std::string& folder);

}  // namespace tilescope::cuda
