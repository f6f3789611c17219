// SPDX-License-Identifier: Apache-2.0
#pragma once
// `--evaluator`: who ranks the programs that were constructed, the model or the simulator.

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/common/progress.h"
#include "api/compile.h"
#include "api/search.h"
#include "arch/spec.h"
#include "base/diagnostics.h"

namespace tilescope::api {

struct RankedProgram;

struct Evaluator {
  std::size_t simulated = 0;  // programs of each operator that the model ranks first and the simulator ranks; 0: none
  std::string log;            // file in which simulated times are kept (api/simulate/kept_times.h); may be empty
};

// The number in "sim=8", 0 for "model"; nullopt for any other text. `kEvaluators` lists the accepted texts.
std::optional<std::size_t> parse_evaluator(std::string_view text);
extern const std::string kEvaluators;

// The length of the model's list from which the simulator's programs are chosen, and so the largest N of sim=N. The
// study experiments/studies/first_is_best lists as many.
inline constexpr std::size_t kListedForSimulator = 1000;

// Which programs of a list, best first, the simulator ranks: the first `count`, and as many others, in turn those with
// the most iterations in a step of a block, those with the most in all steps that the scratchpad holds, and an even
// spread over the list. Sorted.
std::vector<std::size_t> places_to_simulate(const std::vector<RankedProgram>& programs, std::size_t count);

// Like compile, but the programs are those that were simulated, by simulated time. An operator none of whose programs
// can be simulated has an error, and one that lost a simulation. Progress counts simulations. Returns nullopt also
// where the chip's class is not simulated. Throws std::runtime_error where the log cannot be written.
std::optional<std::vector<CompiledOperator>> compile_simulated(const Workload& workload, const arch::ArchSpec& a,
                                                               const SearchOptions& search, std::size_t keep,
                                                               const Evaluator& evaluator, int jobs,
                                                               const Progress& progress, base::Diagnostics& diags);

}  // namespace tilescope::api
