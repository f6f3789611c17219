// SPDX-License-Identifier: Apache-2.0
#pragma once
// The loops of a warp's code: where an iteration begins and how a warp's uniform indices go on from one to the next.

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "sim/gpu/detail/kernel_indices.h"

namespace tilescope::sim {

// A loop from `low`, or from where another one stands, to `high`; a block may have a greater low and a lesser high.
struct CodeLoop {
  int slot = 0;  // of the uniforms: an index of the kernel, or one of the code's own
  bool own = false;
  std::int64_t low = 0, high = 0, stride = 1;
  int from = -1;  // slot whose value is the low, for `count` iterations; -1: a loop by itself
  std::int64_t count = 0;
  int inner = -1;             // index that moves along when this one jumps
  int first = -1, last = -1;  // numbers of a block's own ends; -1: those above

  // Of a loop by itself, at most.
  std::int64_t iterations() const { return (high - low) / stride + 1; }
  // The index of the kernel that its iterations advance.
  int index() const { return own ? inner : slot; }
};

class CodeLoops {
 public:
  explicit CodeLoops(const KernelIndices& indices) : indices_(indices) {}

  // Returns the loop's number, or the end's.
  int add(const CodeLoop& l);
  int add_end(LaneForm form);

  const CodeLoop& operator[](int number) const { return all_[static_cast<std::size_t>(number)]; }
  std::span<const CodeLoop> all() const { return all_; }
  // Whether blocks run loops from or to places of their own, so that one may be longer than another.
  bool uneven() const { return !ends_.empty(); }

  // Begins a loop; false where it has no iteration.
  bool enter(const CodeLoop& l, Uniforms& u) const;
  // Goes on to the next iteration; false where there is none.
  bool next(const CodeLoop& l, Uniforms& u) const;
  // Iterations of a loop by itself: those from its low to the current one, those that follow it.
  static std::int64_t done(const CodeLoop& l, const Uniforms& u);
  std::int64_t remaining(const CodeLoop& l, const Uniforms& u) const;
  void jump(const CodeLoop& l, Uniforms& u, std::int64_t iterations) const;
  // To the place of every loop at which `u` is.
  void move_to(const Uniforms& u, Uniforms& out) const;

 private:
  void set(const CodeLoop& l, Uniforms& u, std::int64_t value) const;
  std::int64_t low(const CodeLoop& l, const Uniforms& u) const;
  std::int64_t high(const CodeLoop& l, const Uniforms& u) const;

  const KernelIndices& indices_;
  std::vector<CodeLoop> all_;
  std::vector<LaneForm> ends_;  // where blocks have their own
};

}  // namespace tilescope::sim
