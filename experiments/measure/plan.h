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

// One task before it is written: its lines beyond id, notes and remarks, in which the cubin is not yet named.
struct PlanTask {
  std::string id;
  PlanNotes notes;
  std::string cubin;  // empty where nothing of ours is launched
  std::string lines;
  PlanNotes remarks;
};

// "array ..." of all arrays of a module, inputs by seed_of.
std::string array_lines(const lower::Module& m);
// "launch ..." of all kernels: arrays, tensor maps, then scalars as lower/expected_values.h has them.
std::string launch_lines(const lower::Module& m, const cuda::Emitted& emitted);
// "check ..." and "expect ...".
std::string check_lines(const lower::Module& m, const std::vector<SampledOutput>& outputs);
// "time ...".
std::string timing_line(const MeasureTiming& t);
// "energy ..."; empty where no energy is read.
std::string energy_line(const MeasureTiming& t);

// The kernels that every plan has beside its own (plan.h, helpers), as CUDA C++.
std::string_view helper_text();

// The plan's file in the folder.
std::string plan_file(const std::string& folder);

// Writes plan and cubins into a folder, which it makes. Throws std::runtime_error where that cannot be written.
void write_plan(const std::string& folder, const PlanNotes& notes, const PlanNotes& remarks, const std::string& helpers,
                const std::vector<PlanTask>& tasks);

}  // namespace tilescope::experiments
