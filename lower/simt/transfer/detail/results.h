// SPDX-License-Identifier: Apache-2.0
#pragma once
// How a block's results reach memory. One class an entry of tile/transfer/results.h: direct_store.h, row_store.h,
// tma_store.h. Those of a stage that others follow in the kernel stay inside: kept.h, or in registers.

#include <functional>
#include <memory>
#include <utility>

#include "lower/simt/detail/shared_reduction.h"

namespace tilescope::lower {

class ResultsLowering {
 public:
  ResultsLowering(Stage& stage, MicroKernelLowering& products)
      : s_(stage), products_(products), combining_(stage, products) {}
  virtual ~ResultsLowering() = default;
  ResultsLowering(const ResultsLowering&) = delete;
  ResultsLowering& operator=(const ResultsLowering&) = delete;

  // Adds the registers of results, the tile that they pass through, and the array that they leave for: the output, or
  // the parts of a split reduction.
  void add_registers();
  // Every accumulator before the first step, where the stage reduces.
  Body initial();
  // Behind the last step: what is left to compute of the accumulators, and the stores; then what goes on with the
  // results in registers.
  Body leave(const Sync& sync);
  void go_on_with(std::function<Body(const Sync&)> epilogues) { epilogues_ = std::move(epilogues); }

 protected:
  virtual void add_tile() {}
  virtual Body store(const Sync& sync) = 0;

  Stage& s_;
  MicroKernelLowering& products_;
  SharedReduction combining_;

 private:
  // target = nodes of the accumulator, for each of a thread's results.
  Body on_all(int target, std::vector<expr::Node> nodes);

  std::function<Body(const Sync&)> epilogues_;
};

std::unique_ptr<ResultsLowering> lowering_of_results(Stage& stage, MicroKernelLowering& products);

}  // namespace tilescope::lower
