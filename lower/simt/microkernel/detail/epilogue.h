// SPDX-License-Identifier: Apache-2.0
#pragma once
// Stages that compute their results where threads hold those of an earlier one (tile/microkernel/epilogue.h): its other
// inputs are read into registers, each element that a thread's results need once, and the body follows for each result.

#include <memory>
#include <vector>

#include "lower/simt/microkernel/detail/lowering.h"

namespace tilescope::lower {

class EpilogueLowering final : public MicroKernelLowering {
 public:
  // `holder` says where results are, as of a stage with this one's program.
  EpilogueLowering(Stage& stage, std::unique_ptr<MicroKernelLowering> holder)
      : MicroKernelLowering(stage), holder_(std::move(holder)) {}

  void add_registers() override;
  Body finish(const Affine& step, const Affine& ring_stage) override;

  int fastest_result_axis() const override { return holder_->fastest_result_axis(); }
  std::vector<std::vector<AxisLoop>> result_loops(std::int64_t vector) override {
    return holder_->result_loops(vector);
  }
  Affine result_position(std::int64_t vector) override { return holder_->result_position(vector); }
  void add_lane(std::vector<Affine>& local) override { holder_->add_lane(local); }

 private:
  // The axes that an operand uses, the one along which results lie side by side last.
  std::vector<std::size_t> axes_of(const tile::Operand& o) const;
  // What a read takes of an operand: loops over a thread's results along the axes that the operand uses, `vector`
  // neighbours an iteration, and where in its registers and in the array they stand.
  struct Elements {
    std::vector<AxisLoop> loops;
    Affine place;
    Located from;
    bool together = true;  // neighbours of one access are all inside the array, or none
  };
  Elements elements_of(std::size_t read, std::int64_t vector);
  // Where in its registers the element is that a result is computed from.
  Affine place_of(std::size_t read);
  std::int64_t widest_read(std::size_t read);
  Statement load(std::size_t read);

  std::unique_ptr<MicroKernelLowering> holder_;
  std::vector<int> registers_;  // by read; equal ones share theirs
};

}  // namespace tilescope::lower
