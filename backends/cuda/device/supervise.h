// SPDX-License-Identifier: Apache-2.0
#pragma once
// A plan's tasks in a process of their own. A kernel that fails may leave a device that answers nothing more to the
// process that launched it, and one that hangs never ends: either loses its own row, and another process goes on.

#include <string>

#include "backends/cuda/device/plan.h"
#include "backends/cuda/device/rows.h"

namespace tilescope::cuda::device {

// Exit statuses of the program.
inline constexpr int kDone = 0;
inline constexpr int kNoDevice = 1;  // or rows that cannot be written
inline constexpr int kBadPlan = 2;
inline constexpr int kStopped = 3;  // in time, with tasks left

// Runs the tasks that `rows` lacks of this device, adds a row for each and prints it on stdout, the device before them.
// No task is begun after so many seconds.
int supervise(const Plan& plan, Rows& rows, double seconds);

// Runs the launches of every task once, in this process: what a profiler sees are the plan's kernels, in their order.
// Fails with the first task that does.
int run_once(const Plan& plan);

// Prints the device, or on stderr why there is none.
int show_device();

}  // namespace tilescope::cuda::device
