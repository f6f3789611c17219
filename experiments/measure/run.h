// SPDX-License-Identifier: Apache-2.0
#pragma once
// Runs the tasks of a plan on this machine's GPU and returns their rows. For the .cc files of experiments/.

#include <optional>
#include <vector>

#include "api/common/progress.h"
#include "arch/spec.h"
#include "backends/cuda/nvrtc.h"
#include "base/diagnostics.h"
#include "base/document.h"
#include "experiments/measure/measure.h"
#include "experiments/measure/plan.h"

namespace tilescope::experiments {

// The device of this machine, null in a dry run. Returns nullopt after an error: kernels cannot be compiled for the
// chip here, or no device runs their code. Notes list the differences between the device and the chip.
std::optional<base::Value> device_for(const arch::ArchSpec& a, bool dry_run, base::Diagnostics& diags);

struct RunTasks {
  std::vector<std::optional<base::Map>> rows;  // by task, in the file's format
  std::optional<double> launch_us;             // time of a kernel that does nothing
  bool finished = true;                        // false where the worker ended before all of them
};

// Writes the plan, and runs the tasks for which the file of rows has no row of the device (device_for). A dry run only
// reads the plan again, as the worker does.
RunTasks run_tasks(std::vector<PlanTask> tasks, const arch::ArchSpec& a, const cuda::DeviceCompiler& compiler,
                   const base::Value& device, const MeasureOptions& options, const api::Progress& progress,
                   base::Diagnostics& diags);

}  // namespace tilescope::experiments
