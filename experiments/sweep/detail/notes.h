// SPDX-License-Identifier: Apache-2.0
#pragma once
// What the author of a sweep's file should know; for the .cc files of experiments/ alone.

#include "base/diagnostics.h"
#include "experiments/store/store.h"
#include "experiments/sweep/detail/plan.h"
#include "experiments/sweep/detail/spec.h"
#include "experiments/sweep/state.h"

namespace tilescope::experiments {

// Notes that the validation sample is all there is, and which operators the simulator cannot run, at the places in the
// file; none where the simulator has judged nothing yet.
void note_escalation(const Store& store, const SweepState& state, const SweepSpec& spec, base::Diagnostics& diags);

// Notes which instructions the chips of a plan lack for the operators.
void note_instructions(const SweepSpec& spec, const SweepPlan& plan, base::Diagnostics& diags);

// Notes that a grid would do where a plan chooses among few points.
void note_small_plan(const SweepSpec& spec, const SweepPlan& plan, base::Diagnostics& diags);

}  // namespace tilescope::experiments
