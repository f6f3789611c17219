// SPDX-License-Identifier: Apache-2.0
#include "construct/roller_osdi22.h"

#include <algorithm>
#include <unordered_set>
#include <utility>

#include "base/check.h"
#include "construct/detail/osdi22_policy.h"

namespace tilescope::construct {
namespace {

using tile::Extents;

struct HashOfTiles {
  std::size_t operator()(const Osdi22Tiles& p) const {
    std::uint64_t h = 1469598103934665603U;  // FNV-1a over whole numbers
    const auto mix = [&](const Extents& t) {
      for (const std::int64_t n : t) h = (h ^ static_cast<std::uint64_t>(n)) * 1099511628211U;
    };
    mix(p.thread);
    mix(p.block);
    return h ^ (h >> 32);
  }
};

// One round: everything that wastes at most `eps` of an axis, depth first.
class RoundSearch {
 public:
  // `found` is of the whole run: whether any round has had a regular result.
  RoundSearch(const Osdi22Policy& policy, double eps, std::size_t keep, bool& found)
      : policy_(policy), eps_(eps), keep_(keep), found_(found) {}

  // What the round contributes: its results or, only where it has none, the last programs before a capacity was
  // exceeded.
  std::vector<Osdi22Tiles> run() {
    explore({}, policy_.register_steps(eps_));
    return std::move(results_.empty() ? border_ : results_);
  }

 private:
  struct Node {
    Osdi22Tiles program;
    base::FixedVector<std::size_t, tile::kMaxAxes> at;  // per axis, where in its list the program stands
    base::FixedVector<int, tile::kMaxAxes> order;       // of the axes to grow
    std::size_t grown = 0;                              // how many of them were
  };

  // All programs that grow from the first extents of `steps`: block tiles over `from`'s register tile, or register
  // tiles where `from` has none.
  void explore(const Osdi22Tiles& from, const Osdi22Steps& steps) {
    Node start;
    start.program = from;
    Extents first;
    for (const std::vector<std::int64_t>& list : steps) {
      if (list.empty()) return;
      first.push_back(list.front());
      start.at.push_back(0);
    }
    (from.thread.empty() ? start.program.thread : start.program.block) = first;
    if (!enter(nullptr, start.program)) return;
    start.order = policy_.axis_order(first);
    std::vector<Node> path = {start};
    while (!path.empty() && results_.size() < keep_) {
      Node& top = path.back();
      if (top.grown == top.order.size()) {
        path.pop_back();
        continue;
      }
      const auto axis = static_cast<std::size_t>(top.order[top.grown++]);
      if (top.at[axis] + 1 == steps[axis].size()) continue;
      Node next{top.program, top.at, {}, 0};
      next.program.current()[axis] = steps[axis][++next.at[axis]];
      if (!enter(&top.program, next.program)) continue;
      next.order = policy_.axis_order(next.program.current());
      path.push_back(next);
    }
  }

  // Notes what a program is good for; whether the search grows it further. `before` is the program it grew from.
  bool enter(const Osdi22Tiles* before, const Osdi22Tiles& p) {
    if (results_.size() >= keep_ || !visited_.insert(p).second) return false;
    if (!policy_.fits(p)) {
      if (before && policy_.fills_partitions(*before)) leave_border(*before);
      return false;
    }
    if (policy_.accepts(p)) {
      if (p.in_registers()) {
        descend(p);
      } else {
        results_.push_back(p);
        found_ = true;
      }
    }
    return true;
  }

  // A program that cannot grow any more. While the whole run has no result, even a poor register tile is tried.
  void leave_border(const Osdi22Tiles& p) {
    if (!p.in_registers()) {
      const bool noted = std::find(border_.begin(), border_.end(), p) != border_.end();
      if (!noted && border_.size() < keep_) border_.push_back(p);
    } else if (!found_) {
      descend(p);
    }
  }

  void descend(const Osdi22Tiles& p) { explore(p, policy_.block_steps(p.thread, eps_)); }

  const Osdi22Policy& policy_;
  double eps_;
  std::size_t keep_;
  bool& found_;
  std::vector<Osdi22Tiles> results_;
  std::vector<Osdi22Tiles> border_;
  std::unordered_set<Osdi22Tiles, HashOfTiles> visited_;
};

// Register elements are strided vthreads, so that neighbouring threads touch neighbouring elements. Register
// extents are powers of two that divide the block's, and halving both, until 1 is left, keeps it so: nothing is
// rounded.
tile::StageProgram stage_program(std::shared_ptr<const tile::TileSpace> space, const Osdi22Tiles& p,
                                 base::Bytes max_vector) {
  base::FixedVector<tile::AxisMapping, tile::kMaxAxes> mapping;
  for (std::size_t a = 0; a < space->spatial; ++a) {
    base::check(p.block[a] % p.thread[a] == 0, "a register tile divides its block tile");
    mapping.push_back({.vthread = p.thread[a], .threads = p.block[a] / p.thread[a], .per_thread = 1});
  }
  return tile::make_stage_program(std::move(space), mapping, p.block, max_vector);
}

}  // namespace

Osdi22Result roller_osdi22(const expr::Expression& one_stage, const arch::RollerBaseline& constants, int keep,
                           base::Bytes max_vector) {
  // The artifact's tile axes: implicit GEMM of a convolution, the flat loops of what runs through memory in order.
  const auto contraction = tile::contraction_collapse(one_stage);
  const auto space = tile::make_space(one_stage, contraction ? *contraction : tile::contiguous_collapse(one_stage));
  const Osdi22Policy policy(*space, constants);
  Osdi22Result out;
  out.io_dependent = policy.io_dependent();
  base::check(space->spatial > 0, "an output has an axis");

  const auto wanted = static_cast<std::size_t>(std::max(0, keep));
  std::vector<Osdi22Tiles> list;
  bool found = false;
  // The sum is left to round as the artifact's does: its fourth round allows 0.6000000000000001.
  for (double eps = 0; eps <= 1 && list.size() < wanted; eps += policy.eps_step()) {
    const std::vector<Osdi22Tiles> part = RoundSearch(policy, eps, wanted, found).run();
    if (!part.empty()) out.rounds.push_back({eps, static_cast<int>(part.size())});
    for (const Osdi22Tiles& p : part)
      if (std::find(list.begin(), list.end(), p) == list.end()) list.push_back(p);
  }
  if (list.size() > wanted) list.resize(wanted);
  for (const Osdi22Tiles& p : list) out.programs.push_back(stage_program(space, policy.shrunk(p), max_vector));
  return out;
}

}  // namespace tilescope::construct
