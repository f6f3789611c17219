#pragma once
// How the results of a block leave it. One class an entry: today from registers (direct_store.cc).

#include <memory>

#include "lower/simt/microkernel/lowering.h"

namespace tilescope::lower {

class ResultsLowering {
 public:
  ResultsLowering(Stage& stage, MicroKernelLowering& products) : s_(stage), products_(products) {}
  virtual ~ResultsLowering() = default;
  ResultsLowering(const ResultsLowering&) = delete;
  ResultsLowering& operator=(const ResultsLowering&) = delete;

  // Adds the registers of results, and the array that they leave for: the output, or the parts of a split reduction.
  void add_registers();
  // Every accumulator before the first step, where the stage reduces.
  Body initial();
  // Behind the last step: what is left to compute of the accumulators, and the stores.
  Body leave();

 protected:
  virtual Body store() = 0;

  Stage& s_;
  MicroKernelLowering& products_;

 private:
  // target = nodes of the accumulator, for each of a thread's results.
  Body on_all(int target, std::vector<expr::Node> nodes);
};

std::unique_ptr<ResultsLowering> lowering_of_results(Stage& stage, MicroKernelLowering& products);

}  // namespace tilescope::lower
