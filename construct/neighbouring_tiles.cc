// SPDX-License-Identifier: Apache-2.0
#include "construct/detail/neighbouring_tiles.h"

#include <algorithm>
#include <optional>

#include "arch/derive.h"
#include "base/integer.h"
#include "construct/detail/tiles.h"
#include "construct/transfer/detail/knobs.h"
#include "tile/align.h"
#include "tile/microkernel/micro_kernel.h"

namespace tilescope::construct {
namespace {

using tile::AxisMapping;
using tile::Extents;
using tile::StageProgram;

class Neighbours {
 public:
  Neighbours(const StageProgram& p, const LayoutRules& rules, std::vector<StageProgram>& out)
      : p_(p),
        rules_(rules),
        out_(out),
        unit_(tile::unit_of(p.micro_kernel)),
        lanes_(tile::lanes_of(p.micro_kernel)),
        longest_(tile::longest_reduced_axis(*p.space)) {
    side_by_side_ = unit_ != nullptr || std::any_of(p.thread.begin() + static_cast<std::ptrdiff_t>(p.space->spatial),
                                                    p.thread.end(), [](std::int64_t n) { return n > 1; });
  }

  void along(std::size_t axis) {
    const AxisMapping own = p_.mapping[axis];
    for (const std::optional<AxisMapping>& registers : {std::optional(own), wider(axis), narrower(axis)}) {
      if (!registers) continue;
      const std::int64_t kept = registers->thread_extent(), block = own.block_extent();
      const Choices extents = extents_of(axis, kept);
      const auto next = std::upper_bound(extents.begin(), extents.end(), block);
      const auto last = std::lower_bound(extents.begin(), extents.end(), block);
      // The same block, the next smaller and larger ones, and as many threads.
      base::FixedVector<std::int64_t, 4> threads;
      const auto may_have = [&](std::int64_t n) {
        if (std::find(threads.begin(), threads.end(), n) == threads.end()) threads.push_back(n);
      };
      if (last != extents.begin()) may_have(*std::prev(last) / kept);
      if (last != next) may_have(block / kept);
      if (next != extents.end()) may_have(*next / kept);
      if (may_be(axis, *registers)) may_have(own.threads);
      for (const std::int64_t n : threads) {
        Mapping m = p_.mapping;
        m[axis] = *registers;
        m[axis].threads = n;
        if (m[axis] != own) add(m);
      }
    }
  }

  void between(std::size_t from, std::size_t to) {
    const std::optional<AxisMapping> less = narrower(from), more = wider(to);
    if (less && more && more->threads % 2 == 0) {
      Mapping m = p_.mapping;
      m[from] = *less;
      m[from].threads *= 2;
      m[to] = *more;
      m[to].threads /= 2;
      add(from, to, m);
    }
    if (p_.mapping[from].threads % 2 == 0) {
      Mapping m = p_.mapping;
      m[from].threads /= 2;
      m[to].threads *= 2;
      add(from, to, m);
    }
  }

 private:
  // Elements of a register tile that lie side by side where fragments or taps make it so, else those that threads
  // alternate over.
  std::optional<AxisMapping> wider(std::size_t axis) const {
    AxisMapping m = p_.mapping[axis];
    if (m.thread_extent() >= p_.space->axes[axis].extent || 2 * m.thread_extent() > kWidestRegisterExtent * least(axis))
      return std::nullopt;
    (side_by_side_ ? m.per_thread : m.vthread) *= 2;
    return m;
  }
  std::optional<AxisMapping> narrower(std::size_t axis) const {
    AxisMapping m = p_.mapping[axis];
    std::int64_t& first = side_by_side_ ? m.per_thread : m.vthread;
    std::int64_t& other = side_by_side_ ? m.vthread : m.per_thread;
    std::int64_t& halved = unit_ != nullptr || first % 2 == 0 ? first : other;
    if (halved % (2 * least(axis)) != 0) return std::nullopt;
    halved /= 2;
    return m;
  }
  std::int64_t least(std::size_t axis) const {
    if (unit_ != nullptr && axis == unit_->rows) return unit_->m;
    return unit_ != nullptr && axis == unit_->columns ? unit_->n : 1;
  }

  Choices extents_of(std::size_t axis, std::int64_t kept) const {
    return block_extents(p_.space->axes[axis].extent, kept, rules_.arch.core.max_block_threads / lanes_,
                         kEpsilons.back());
  }
  // Threads that cut the axis as growth may, and waste no more of it.
  bool may_be(std::size_t axis, const AxisMapping& m) const {
    const std::int64_t length = p_.space->axes[axis].extent;
    bool cuts = false;
    each_number_of_threads(base::ceil_div(length, least(axis)), [&](std::int64_t n) { cuts = cuts || n == m.threads; });
    return cuts && tile::wasted_ratio(length, m.block_extent()) <= kEpsilons.back();
  }

  void add(std::size_t from, std::size_t to, const Mapping& m) {
    if (may_be(from, m[from]) && may_be(to, m[to])) add(m);
  }
  void add(const Mapping& m) {
    Extents block = p_.block;
    std::int64_t threads = 1;
    double grown = 1;  // elements of a block beside those of the program's
    for (std::size_t a = 0; a < p_.space->spatial; ++a) {
      block[a] = m[a].block_extent();
      threads *= m[a].threads;
      grown *= static_cast<double>(block[a]) / static_cast<double>(p_.block[a]);
    }
    const std::int64_t warp = lanes_ > 1 ? 1 : rules_.arch.core.warp;
    if (threads * lanes_ > rules_.arch.core.max_block_threads ||
        !is_aligned(*p_.space, block, threads, warp, arch::device_transaction_of(rules_.arch)))
      return;
    const std::size_t place = out_.size();
    const bool made = add_remade(p_, m, block, rules_, out_);
    if (made) keep_block_order(out_[place]);
    if (!longest_ || grown == 1) return;
    if (made) {
      const std::int64_t parts = p_.split[*longest_];
      if (std::optional<StageProgram> q = split_into(out_[place], grown > 1 ? 2 * parts : parts / 2, rules_)) {
        keep_block_order(*q);
        out_.push_back(std::move(*q));
      }
    }
    if (grown > 1 && block[*longest_] % 2 == 0) {
      block[*longest_] /= 2;
      if (add_remade(p_, m, block, rules_, out_)) keep_block_order(out_.back());
    }
  }

  // The order of blocks as far as it is a choice of other blocks too, on chips of whatever number of cores the
  // program's groups are for.
  void keep_block_order(StageProgram& q) const {
    q.block_order = has_block_orders(q) ? p_.block_order : tile::BlockOrder::kRow;
    q.group_m = 1;
    const std::optional<std::size_t> grouped = q.grouped_axis();
    const bool enough = has_block_orders(q) && q.blocks() >= 2 * p_.group_m * p_.group_m;
    if (enough && grouped && q.blocks_along(*grouped) % p_.group_m == 0) q.group_m = p_.group_m;
    keep_clusters_that_fit(q, rules_.arch);
  }

  const StageProgram& p_;
  const LayoutRules& rules_;
  std::vector<StageProgram>& out_;
  const tile::MatrixUnit* unit_;
  std::int64_t lanes_;
  std::optional<std::size_t> longest_;
  bool side_by_side_ = false;
};

}  // namespace

void neighbouring_tiles(const StageProgram& p, const LayoutRules& rules, std::vector<StageProgram>& out) {
  if (p.sharers() > 1) return;
  Neighbours moves(p, rules, out);
  for (std::size_t a = 0; a < p.space->spatial; ++a) moves.along(a);
  for (std::size_t from = 0; from < p.space->spatial; ++from)
    for (std::size_t to = 0; to < p.space->spatial; ++to)
      if (from != to) moves.between(from, to);
}

}  // namespace tilescope::construct
