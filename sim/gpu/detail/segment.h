// SPDX-License-Identifier: Apache-2.0
#pragma once
// What a warp does between two points at which it meets others: register, scratchpad and arithmetic statements as one
// piece of work. Its cost is found by running through the statements once for every way in which guards and bank
// conflicts can fall; loops whose iterations are alike are multiplied. What an unrolled body reads twice from the
// scratchpad stays in registers from the first time on: nothing is written there meanwhile that another warp wrote.

#include <cstdint>
#include <memory>
#include <set>
#include <utility>
#include <vector>

#include "arch/spec.h"
#include "sim/gpu/detail/access_patterns.h"
#include "sim/gpu/detail/arithmetic.h"

namespace tilescope::sim {

struct SegmentCost {
  std::int64_t issue = 0;                                  // warp instructions
  std::int64_t operands = 0;                               // parts of cycles that they wait for registers of one bank
  PipeParts pipes{};                                       // that they hold
  bool computes = false;                                   // more than addresses and guards
  std::int64_t passes = 0;                                 // of the scratchpad
  std::int64_t accesses = 0;                               // warp instructions to the scratchpad
  std::int64_t kept_passes = 0, kept_accesses = 0;         // of these, what is in registers already
  bool reads_scratchpad = false;                           // something waits for what it gives
  std::int64_t latency = 0;                                // cycles of the longest chain of results
  std::vector<std::pair<int, lower::AccessCount>> shared;  // by copy of the kernel
  std::vector<Operations> operations;                      // of each entry once

  void add(const SegmentCost& o, std::int64_t times);
  void add(const Operations& o, std::int64_t times);
};

// One statement of a segment with what is known of it.
struct SegmentNode {
  enum class Kind : std::uint8_t { kLoop, kIf, kCopy, kCompute };
  Kind kind{};
  // kLoop
  int index = 0;
  expr::Span range;
  bool accumulates = false;  // a target inside does not move with the loop
  bool unrolled = false;     // a compiler leaves no loop
  // kIf
  struct UniformGuard {
    LaneForm value;
    std::int64_t bound = 0;
    bool holds(const Uniforms& u) const {
      const std::int64_t v = value.common(u, {});
      return v >= 0 && v < bound;
    }
  };
  std::vector<UniformGuard> guards;
  // kCopy
  int copy = 0;
  AccessPatterns* access = nullptr;
  // kCompute
  ArithmeticCost cost;
  std::vector<SegmentNode> children;
};

class Segment {
 public:
  Segment(const KernelIndices& indices, std::vector<SegmentNode> nodes, std::int64_t bank_width);

  const SegmentCost& at(std::int64_t warp, const Uniforms& u);

 private:
  using Guards = std::vector<const SegmentNode::UniformGuard*>;

  void collect(const std::vector<SegmentNode>& nodes);
  void find_key_indices();
  void add_settled_of(const LaneForm& f);
  void make_key(std::int64_t warp, const Uniforms& u);
  std::int64_t period(const lower::AffineTerm& t, std::int64_t modulus) const;
  void push_outer(const LaneForm& f, const Uniforms& u, std::int64_t modulus);
  bool open(int index) const;
  Holds holds_while_open(const LaneForm& f, std::int64_t bound, std::int64_t warp, const Uniforms& u) const;
  bool alike(const SegmentNode& loop, std::int64_t warp, const Uniforms& u) const;
  bool alike_inside(const std::vector<SegmentNode>& nodes, int index, std::int64_t warp, const Uniforms& u) const;
  bool guard_alike(const LaneForm& f, std::int64_t bound, int index, std::int64_t warp, const Uniforms& u) const;
  bool moves(const LaneForm& f, int index, std::int64_t modulus) const;

  SegmentCost walk(const std::vector<SegmentNode>& nodes, std::int64_t warp, Uniforms& u);
  SegmentCost walk(const SegmentNode& node, std::int64_t warp, Uniforms& u);
  SegmentCost walk_loop(const SegmentNode& loop, std::int64_t warp, Uniforms& u);
  SegmentCost walk_copy(const SegmentNode& copy, std::int64_t warp, const Uniforms& u);
  // Whether reads in the body of an unrolled loop may meet each other's addresses: they do not move with it, or with
  // another one that is unrolled too.
  bool may_repeat(const std::vector<SegmentNode>& body, int loop) const;
  // Whether the copy reads again what the unrolled body that is being walked has read.
  bool is_repeated(const SegmentNode& copy, std::int64_t warp, const Uniforms& u);

  const KernelIndices& indices_;
  std::vector<SegmentNode> nodes_;
  std::int64_t bank_width_;
  std::vector<int> loops_;  // inside, all of them
  std::vector<int> gone_;   // that are unrolled
  std::vector<bool> open_;  // by index of the kernel: a loop inside that is not being run
  std::vector<const SegmentNode*> ifs_, copies_;
  std::vector<std::int64_t> key_;
  PatternTable<SegmentCost> known_;
  std::vector<int> key_indices_;                     // whose values the key is made of
  std::vector<LastFound<const SegmentCost*>> last_;  // by warp
  std::vector<int> unrolled_;                        // loops that are being walked and leave none in the code
  std::set<std::vector<std::int64_t>> read_;         // by the unrolled body that is being walked: copy and place
  MixedSplits splits_;
};

}  // namespace tilescope::sim
