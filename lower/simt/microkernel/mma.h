#pragma once
// Matrix instructions whose operands lie in the registers of a warp's lanes (PTX's mma, AMD's MFMA): fragments from the
// staged tiles into registers, and their products.

#include <vector>

#include "lower/simt/microkernel/lowering.h"
#include "lower/simt/microkernel/matrix_tile.h"

namespace tilescope::lower {

class MmaLowering final : public MicroKernelLowering {
 public:
  explicit MmaLowering(Stage& stage) : MicroKernelLowering(stage), tile_(stage) {}

  void add_registers() override;
  Body finish(const Affine& step, const Affine& slot) override;
  bool reads_beyond_end() const override { return true; }
  int fastest_result_axis() const override { return static_cast<int>(tile_.unit().columns); }
  std::vector<std::vector<AxisLoop>> result_loops(std::int64_t vector) override { return tile_.result_loops(vector); }
  Affine result_position(std::int64_t vector) override { return tile_.result_position(vector); }
  void add_lane(std::vector<Affine>& local) override { tile_.add_lane(local); }

 private:
  // Elements of a fragment of an operand that a lane holds.
  std::int64_t elements_of(std::size_t operand) const;
  // Loops over a lane's elements from bit `first` of their number on, the fastest one last; where they stand in the
  // lane's own count is added to `to`, where in the fragment to `place`.
  std::vector<AxisLoop> element_loops(std::size_t operand, std::size_t first, Affine& to, MatrixPlace& place);
  Statement load_fragments(std::size_t operand, const StepPosition& at, const Affine& slot);

  MatrixTile tile_;
  std::vector<int> registers_;  // by input: of its fragments
};

}  // namespace tilescope::lower
