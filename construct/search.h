// SPDX-License-Identifier: Apache-2.0
#pragma once
// Searches that evaluate many programs one after the other, which construction claims to avoid: every aligned program,
// uniformly random programs, Tensor Comprehensions' genetic search and AutoTVM's annealing over a learned cost. All
// evaluate programs of the same space by a cost model and return the evaluation log in order: a trace.
//
// Deterministic: the same trace for the same space, cost model, budget and seed.

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "arch/spec.h"
#include "construct/cost_model.h"

namespace tilescope::construct {

class SearchSpace;

// The times of several programs, in order; infinite where the cost model cannot tell. It may evaluate them in parallel.
using BatchCostModel = std::function<std::vector<base::Microseconds>(std::span<const tile::RProgram>)>;

// A batch cost model that asks a cost model for one program after the other.
BatchCostModel one_by_one(CostModel cost_model);

struct SearchBudget {
  std::size_t programs = 500;  // the most that the cost model evaluates
  std::uint64_t seed = 1;
};

// The evaluated programs in order, each once. Shorter than the budget where the space has no more.
using Trace = std::vector<Ranked>;

// Draws a way to collapse loops and then one of its programs, each uniformly; no program twice.
Trace random_search(const SearchSpace& space, const BatchCostModel& cost_model, const SearchBudget& budget);

// Tensor Comprehensions (Vasilache et al. 2018, arXiv 1802.04730): generations of 100, of which 10 survive unchanged.
// Each of the others is, with probability 80 %, a crossover of three parents drawn by fitness (the reciprocal of time),
// every knob from any one of them; else it is one parent. Then every knob mutates with probability 7 %. Rates as in the
// flags of its repository (facebookresearch/TensorComprehensions, tc/core/flags.cc, tc/autotuner/genetic_search.cc).
Trace genetic_search(const SearchSpace& space, const BatchCostModel& cost_model, const SearchBudget& budget);

// AutoTVM (Chen et al. 2018, arXiv 1805.08166; defaults of apache/tvm, python/tvm/autotvm/tuner): batches of 64, the
// first one random. Then gradient boosted trees learn to rank the evaluated programs, and 128 chains of simulated
// annealing, which continue from batch to batch, look for the programs that the trees rank first. 5 % of a batch are
// random.
Trace anneal_search(const SearchSpace& space, const BatchCostModel& cost_model, const SearchBudget& budget);

// Why this build cannot anneal; empty where it can. anneal_search throws it as std::runtime_error.
std::string why_no_annealing();

// Evaluates every one of the programs, which are all for the chip `a` (construct/aligned_programs.h), in order.
Trace exhaustive_search(const std::vector<tile::StageProgram>& programs, const arch::ArchSpec& a,
                        const BatchCostModel& cost_model);

}  // namespace tilescope::construct
