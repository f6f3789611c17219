// SPDX-License-Identifier: Apache-2.0
#pragma once
// Runs a plan's tasks in a process of their own. After a kernel that fails, the device may not answer that process any
// more, and a kernel that hangs never ends: either loses its own row only, and another process continues.

#include <string>

#include "backends/cuda/device/plan.h"
#include "backends/cuda/device/rows.h"

namespace tilescope::cuda::device {

// Exit statuses of the program.
inline constexpr int kDone = 0;
inline constexpr int kNoDevice = 1;  // or rows that cannot be written
inline constexpr int kBadPlan = 2;
inline constexpr int kStopped = 3;  // time is up, tasks are left

// Runs the tasks for which `rows` has no row of this device, adds a row for each and prints it on stdout, after a line
// about the device. No task begins after `seconds`. Returns the exit status.
int supervise(const Plan& plan, Rows& rows, double seconds);

// Runs the steps of every task once, in this process, so that a profiler sees the plan's kernels in their order. Stops
// at the first task that fails. Returns the exit status.
int run_once(const Plan& plan);

// Prints the device, or on stderr why there is none. Returns the exit status.
int show_device();

}  // namespace tilescope::cuda::device
