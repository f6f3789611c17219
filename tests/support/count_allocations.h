// SPDX-License-Identifier: Apache-2.0
#pragma once
// How often a test's program asks for memory: its operators new are replaced by count_allocations.cc.

#include <atomic>

namespace tilescope::tests {

extern std::atomic<long> allocations;

}  // namespace tilescope::tests
