// SPDX-License-Identifier: Apache-2.0
#pragma once
// The indices of a kernel as a warp sees them: uniform ones have one value for all lanes, lane indices depend on the
// thread alone, mixed ones on both. An affine falls apart likewise, and most of what its lanes do is known before the
// kernel runs.

#include <algorithm>
#include <cstdint>
#include <limits>
#include <vector>

#include "base/divisor.h"
#include "lower/kernel.h"

namespace tilescope::sim {

// Values of a warp's uniform indices, by their positions in the kernel.
using Uniforms = std::vector<std::int64_t>;

// A mixed index of a warp at one moment: floor((U + lane)/d) = quotient + pattern(rest, lane), the modulus applied.
// Equal rests mean equal patterns; kFlat: 0 in all lanes.
struct MixedSplit {
  static constexpr std::int64_t kFlat = std::numeric_limits<std::int64_t>::min();
  std::int64_t quotient = 0;
  std::int64_t rest = 0;
  expr::Span pattern = {};  // no lane's lies outside
};
using MixedSplits = std::vector<MixedSplit>;  // by index of the kernel

// constant + uniform terms + mixed terms + what each lane adds.
struct LaneForm {
  std::int64_t constant = 0;
  std::vector<lower::AffineTerm> uniform, mixed;
  std::vector<std::int64_t> lane;      // by thread, warps filled up with zeros; empty where all are zero
  std::vector<expr::Span> lane_range;  // by warp, of its threads that exist

  // What all lanes have in common, the splits of its mixed indices being known.
  std::int64_t common(const Uniforms& u, const MixedSplits& splits) const {
    return uniform_part(u) + mixed_part(splits);
  }
  // Its two parts: what uniform indices give, and mixed ones.
  std::int64_t uniform_part(const Uniforms& u) const {
    std::int64_t sum = constant;
    for (const lower::AffineTerm& t : uniform) sum += t.coefficient * u[static_cast<std::size_t>(t.index)];
    return sum;
  }
  std::int64_t mixed_part(const MixedSplits& splits) const {
    std::int64_t sum = 0;
    for (const lower::AffineTerm& t : mixed) sum += t.coefficient * splits[static_cast<std::size_t>(t.index)].quotient;
    return sum;
  }
  // Adds its uniform indices that are not there yet.
  void add_uniforms_to(std::vector<int>& indices) const {
    for (const lower::AffineTerm& t : uniform)
      if (std::find(indices.begin(), indices.end(), t.index) == indices.end()) indices.push_back(t.index);
  }
  // Least and most that a lane of the warp adds to common(), the splits being the warp's.
  expr::Span lane_span(std::int64_t warp, const MixedSplits& splits) const {
    expr::Span s = lane_range[static_cast<std::size_t>(warp)];
    for (const lower::AffineTerm& t : mixed) {
      const expr::Span& of = splits[static_cast<std::size_t>(t.index)].pattern;
      s.low += t.coefficient * (t.coefficient > 0 ? of.low : of.high);
      s.high += t.coefficient * (t.coefficient > 0 ? of.high : of.low);
    }
    return s;
  }
};

class KernelIndices {
 public:
  KernelIndices(const lower::Kernel& kernel, std::int64_t warp_lanes);

  const lower::Kernel& kernel() const { return kernel_; }
  std::int64_t lanes() const { return lanes_; }
  std::int64_t warps() const { return warps_; }
  // Lanes of a warp that have a thread.
  std::int64_t threads_of(std::int64_t warp) const;

  // Uniforms of one block, its loops at their lows.
  Uniforms start(std::int64_t block) const;
  void set(Uniforms& u, int index, std::int64_t value) const;
  // Whether the index's value changes with the other one's.
  bool depends(int index, int on) const { return depends_[at(index, on)]; }
  bool uniform(int index) const { return !lane_[pos(index)]; }
  const lower::Index& index(int i) const { return kernel_.indices[pos(i)]; }

  // The affine times `scale`, in its parts.
  LaneForm form(const lower::Affine& a, std::int64_t scale) const;
  // The mixed indices that the form needs, each after those it needs itself.
  std::vector<int> mixed_of(const LaneForm& f) const;
  void split(const std::vector<int>& mixed, std::int64_t warp, const Uniforms& u, MixedSplits& out) const;

  // What the lanes of a warp add for these mixed indices: by index, then lane.
  std::vector<std::vector<std::int64_t>> lane_patterns(const std::vector<int>& mixed, std::int64_t warp,
                                                       const MixedSplits& splits) const;
  // What one lane adds to the form's common().
  std::int64_t lane_part(const LaneForm& f, std::int64_t warp, std::int64_t lane,
                         const std::vector<std::vector<std::int64_t>>& patterns) const;
  // The form of a mixed index's argument.
  const LaneForm& argument(int mixed_index) const { return arguments_[pos(mixed_index)]; }

 private:
  static std::size_t pos(int i) { return static_cast<std::size_t>(i); }
  std::size_t at(int index, int on) const { return pos(index) * kernel_.indices.size() + pos(on); }
  std::int64_t derived(std::size_t index, std::int64_t of) const {
    const std::int64_t v = divisions_[index].divisor.quotient(of);
    return kernel_.indices[index].modulus == 0 ? v : divisions_[index].modulus.rest(v);
  }
  void classify();
  void tabulate_lanes();

  const lower::Kernel& kernel_;
  std::int64_t lanes_, warps_;
  std::vector<bool> depends_;                           // index by index
  std::vector<bool> lane_, block_or_loop_;              // by index: what it depends on
  std::vector<std::vector<int>> derived_from_;          // by index: uniform derived ones that change with it, in order
  std::vector<std::vector<std::int64_t>> lane_values_;  // by lane index, then thread
  std::vector<LaneForm> arguments_;                     // of mixed indices
  // Of derived indices: what the argument is divided by, the result's modulus, and both multiplied; 1 elsewhere.
  struct Division {
    base::Divisor divisor, modulus, period;
  };
  std::vector<Division> divisions_;
};

// Whether guards hold for all lanes, for none, or one has to look.
enum class Holds : std::uint8_t { kAll, kNone, kSome };
Holds decide(const expr::Span& values, std::int64_t bound);

}  // namespace tilescope::sim
