// SPDX-License-Identifier: Apache-2.0
#pragma once
// What a family of transfers says of a block's statements: how the tiles that an operand has in each step reach the
// scratchpad. One class an entry: per_thread.h, cp_async.h, tma.h.

#include <cstdint>
#include <memory>
#include <vector>

#include "lower/simt/detail/stage.h"
#include "lower/simt/microkernel/detail/lowering.h"

namespace tilescope::lower {

// Of one operand. The micro-kernel says where an element lies in a tile.
class TransferLowering {
 public:
  TransferLowering(Stage& stage, MicroKernelLowering& products, std::size_t operand)
      : s_(stage), products_(products), operand_(operand) {}
  virtual ~TransferLowering() = default;
  TransferLowering(const TransferLowering&) = delete;
  TransferLowering& operator=(const TransferLowering&) = delete;

  // Adds the tile to the block's scratchpad, and the registers that copies pass through.
  virtual void add_tile() = 0;
  // Starts the copies of the step at `at` into a stage, which land by themselves.
  virtual Body start(const StepPosition& at, const Affine& ring_stage);
  // The two halves of copies that pass through registers, of as many pieces as those hold; and all pieces, half by
  // half.
  virtual Body load(const StepPosition& at);
  virtual Body keep(const Affine& ring_stage);
  virtual Body copy(const StepPosition& at, const Affine& ring_stage);
  // Whether copies land by themselves; whether the registers hold all pieces of a step.
  virtual bool asynchronous() const = 0;
  virtual bool in_one_batch() const { return true; }

 protected:
  const tile::Operand& operand() const { return s_.space().inputs[operand_]; }
  const tile::OperandPlan& plan() const { return s_.p.operands[operand_]; }
  CachedTile& tile() { return s_.tiles[operand_]; }

  Stage& s_;
  MicroKernelLowering& products_;
  const std::size_t operand_;
};

// Those of all cached operands.
class Transfers {
 public:
  Transfers(Stage& stage, MicroKernelLowering& products);

  // Each for all operands that every step copies, in their order.
  Body start(const StepPosition& at, const Affine& ring_stage);
  Body load(const StepPosition& at);
  Body keep(const Affine& ring_stage);
  Body copy(const StepPosition& at, const Affine& ring_stage);
  // The tiles that are copied once: what lands by itself, and what passes through registers.
  Body copy_once(const StepPosition& at);
  bool any() const { return !each_.empty(); }
  bool any_asynchronous() const;
  bool in_one_batch() const;

 private:
  std::vector<std::unique_ptr<TransferLowering>> each_, once_;
};

}  // namespace tilescope::lower
