// SPDX-License-Identifier: Apache-2.0
#pragma once
// A chip as it is described beside the device that is there; for the .cc files of experiments/ and for tests.

#include <string>
#include <vector>

#include "arch/spec.h"
#include "base/document.h"

namespace tilescope::experiments {

// Figures in which the device (backends/cuda/device/bench.h, Bench::device) is not as described, a sentence each.
std::vector<std::string> differences(const arch::ArchSpec& a, const base::Value& device);

// Why code for the chip's target does not run on a device of that capability ("9.0"), in a sentence; empty where it
// does. "sm_80" runs on every later device of its first digit, "sm_90a" on that one alone.
std::string target_refusal(const std::string& target, const std::string& capability);

}  // namespace tilescope::experiments
