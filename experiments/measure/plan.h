// SPDX-License-Identifier: Apache-2.0
#pragma once
// Programs as tasks of a plan (backends/cuda/device/plan.h); for the .cc files of experiments/.

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "backends/cuda/emit.h"
#include "experiments/measure/measure.h"
#include "experiments/measure/sampled_outputs.h"
#include "lower/kernel.h"

namespace tilescope::experiments {

using PlanNotes = std::vector<std::pair<std::string, std::string>>;

// One task before it is written: its lines other than id, notes and remarks, without the name of the cubin.
struct PlanTask {
  std::string id;
  PlanNotes notes;
  std::string cubin;  // empty where no kernel of ours is launched
  std::string lines;
  PlanNotes remarks;
};

// "array ..." for all arrays of a module; inputs have the seeds of seed_of.
std::string array_lines(const lower::Module& m);
// "launch ..." for all kernels: arrays, tensor maps, then scalars as in lower/expected_values.h.
std::string launch_lines(const lower::Module& m, const cuda::Emitted& emitted);
// "check ..." and "expect ...".
std::string check_lines(const lower::Module& m, const std::vector<SampledOutput>& outputs);
// "time ...".
std::string timing_line(const MeasureTiming& t);
// "energy ..."; empty where no energy is read.
std::string energy_line(const MeasureTiming& t);

// CUDA C++ source of the helper kernels that every plan contains in addition to its own (plan.h, helpers).
std::string_view helper_text();

// Path of the plan's file in the folder.
std::string plan_file(const std::string& folder);

// Writes plan and cubins into a folder, and creates it where needed. Throws std::runtime_error where they cannot be
// written.
void write_plan(const std::string& folder, const PlanNotes& notes, const PlanNotes& remarks, const std::string& helpers,
                const std::vector<PlanTask>& tasks);

}  // namespace tilescope::experiments
