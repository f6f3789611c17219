// SPDX-License-Identifier: Apache-2.0
#pragma once
// The program that runs plans on this machine's GPU (backends/cuda/device/main.cc), started beside our own; for the .cc
// files of experiments/.

#include <functional>
#include <string>
#include <vector>

namespace tilescope::experiments {

// Runs it to its end and hands over every line of its output as it comes; what it says on stderr is the user's to read.
// Its exit status; one of failure where it cannot be started, which then is said on stderr too.
int run_gpu_worker(const std::vector<std::string>& arguments, const std::function<void(const std::string&)>& line);

}  // namespace tilescope::experiments
