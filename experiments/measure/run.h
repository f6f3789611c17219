// SPDX-License-Identifier: Apache-2.0
#pragma once
// Tasks of a plan on this machine's GPU, and the rows that they become; for the .cc files of experiments/.

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

// The device of this machine, null in a dry run. Nothing after an error: kernels cannot be compiled for the chip here,
// or there is no device that their code runs on. Notes say in what the device differs from the chip.
std::optional<base::Value> device_for(const arch::ArchSpec& a, bool dry_run, base::Diagnostics& diags);

struct RunTasks {
  std::vector<std::optional<base::Map>> rows;  // by task, as they are kept
  std::optional<double> launch_us;             // of a kernel that does nothing
  bool finished = true;                        // false where the worker ended before all of them
};

// Writes the plan and runs what the file of rows lacks of the device (device_for); of a dry run only reads it again, as
// the worker does.
RunTasks run_tasks(std::vector<PlanTask> tasks, const arch::ArchSpec& a, const cuda::DeviceCompiler& compiler,
                   const base::Value& device, const MeasureOptions& options, const api::Progress& progress,
                   base::Diagnostics& diags);

}  // namespace tilescope::experiments
