// SPDX-License-Identifier: Apache-2.0
#pragma once
// Products with scales (tile/microkernel/wgmma.h): a step's products are summed on their own, and each lane then adds
// them, times the scales of their rows and columns, to its results (DeepSeek-V3 report, section 3.3.2).

#include <vector>

#include "lower/simt/microkernel/detail/matrix_tile.h"

namespace tilescope::lower {

class Promotion {
 public:
  Promotion(Stage& stage, MatrixTile& tile) : s_(stage), tile_(tile) {}

  void add_registers();
  // The register buffer of a step's sums.
  int sums() const { return sums_; }
  // Reads the scales of a step.
  Body load(const StepPosition& at);
  // Adds the step's scaled sums to the results.
  Body add();

 private:
  struct Scale {
    std::size_t input = 0;
    int registers = -1;
    std::vector<std::size_t> axes = {};  // along which a lane's results have scales of their own
    std::int64_t elements = 1;           // of a lane
  };
  // Loops over a lane's scales, and which of them it is where they stand.
  std::vector<AxisLoop> loops(const Scale& scale);
  Affine place(const Scale& scale);
  Statement load(const Scale& scale, const StepPosition& at);
  // A scale that all results of a lane share times another one, once a scale.
  Statement multiply(const Scale& scale, const Scale& shared);

  Stage& s_;
  MatrixTile& tile_;
  int sums_ = -1;
  std::vector<Scale> scales_;  // those of most elements first
};

}  // namespace tilescope::lower
