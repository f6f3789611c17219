// SPDX-License-Identifier: Apache-2.0
#pragma once
// Searches that try programs one after the other, what construction claims to do without: every aligned program,
// uniform chance, Tensor Comprehensions' genetic search and AutoTVM's annealing over a learned cost. All evaluate
// programs of the same space by a cost model and return what they evaluated, in that order: a trace.
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

// A cost model of single programs, asked one after the other.
BatchCostModel one_by_one(CostModel cost_model);

struct SearchBudget {
  std::size_t programs = 500;  // that the cost model evaluates, at most
  std::uint64_t seed = 1;
};

// In the order in which they were evaluated, no program twice. Shorter than the budget where the space has no more.
using Trace = std::vector<Ranked>;

// A way to collapse loops, then one of its programs, each as likely as the others; none twice.
Trace random_search(const SearchSpace& space, const BatchCostModel& cost_model, const SearchBudget& budget);

// Tensor Comprehensions (Vasilache et al. 2018, arXiv 1802.04730): generations of 100, of which 10 survive
// as they are; the others are bred with 80 % from three parents, drawn by fitness (the reciprocal of time), every knob
// from any one of them, else are one parent; then every knob mutates with 7 %. Rates as in the flags of its repository
// (facebookresearch/TensorComprehensions, tc/core/flags.cc, tc/autotuner/genetic_search.cc).
Trace genetic_search(const SearchSpace& space, const BatchCostModel& cost_model, const SearchBudget& budget);

// AutoTVM (Chen et al. 2018, arXiv 1805.08166; defaults of apache/tvm, python/tvm/autotvm/tuner): batches of 64, the
// first by chance; then gradient boosted trees learn to rank what was evaluated, and 128 chains of simulated annealing,
// which go on from batch to batch, look for the programs that the trees rank first. Of a batch 5 % are chosen by
// chance.
Trace anneal_search(const SearchSpace& space, const BatchCostModel& cost_model, const SearchBudget& budget);

// Why this build cannot anneal, which anneal_search throws as std::runtime_error; empty where it can.
std::string why_no_annealing();

// Every one of the programs, which are of one chip (construct/aligned_programs.h), in their order.
Trace exhaustive_search(const std::vector<tile::StageProgram>& programs, const arch::ArchSpec& a,
                        const BatchCostModel& cost_model);

}  // namespace tilescope::construct
