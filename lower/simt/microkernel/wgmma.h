#pragma once
// Matrix instructions of several warps that read their operands from the scratchpad and run by themselves (PTX's
// wgmma): core matrices in the staged tiles, products that start and are awaited.

#include <vector>

#include "lower/simt/microkernel/lowering.h"
#include "lower/simt/microkernel/matrix_tile.h"

namespace tilescope::lower {

class WgmmaLowering final : public MicroKernelLowering {
 public:
  explicit WgmmaLowering(Stage& stage) : MicroKernelLowering(stage), tile_(stage) {}

  void add_registers() override { s_.block.kernel().matrix_instructions.push_back(tile_.instruction(false)); }
  Body start(const Affine& step, const Affine& slot) override;
  Body finish(const Affine& step, const Affine& slot) override;
  Body before_reads() const override;
  Affine in_slot(std::size_t operand, const std::vector<Affine>& at, const Affine& slot) override;
  bool reads_beyond_end() const override { return true; }
  int fastest_result_axis() const override { return static_cast<int>(tile_.unit().columns); }
  std::vector<std::vector<AxisLoop>> result_loops(std::int64_t vector) override { return tile_.result_loops(vector); }
  Affine result_position(std::int64_t vector) override { return tile_.result_position(vector); }
  void add_lane(std::vector<Affine>& local) override { tile_.add_lane(local); }

 private:
  StagedFactor factor(std::size_t operand, std::int64_t together, const StepPosition& at, const Affine& slot);

  MatrixTile tile_;
};

}  // namespace tilescope::lower
