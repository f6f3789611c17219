// SPDX-License-Identifier: Apache-2.0
#include "model/simt/cached_costs.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/integer.h"

namespace tilescope::model {
namespace {

std::uint64_t hash_of(const std::vector<std::int64_t>& words) {
  std::uint64_t hash = 0;
  for (const std::int64_t w : words) {
    hash = (hash ^ static_cast<std::uint64_t>(w)) * 0x9e3779b97f4a7c15U;
    hash ^= hash >> 32;
  }
  return hash;
}

constexpr std::size_t kFirstPlaces = 1024;  // a power of two, and so are those after it

}  // namespace

CachedAccess cached_access(const WarpAccess& access, double accesses, double instructions, const Geometry& g) {
  CachedAccess out{bank_use(access, g.banks, g.bank_width_bytes), 0, static_cast<double>(access.offset.size()),
                   accesses, instructions};
  const bool together = g.broadcast_groups > 1 && out.use.groups > 1 && neighbours_agree(access);
  out.served_passes =
      together ? bank_use(access, g.banks, g.bank_width_bytes, g.broadcast_groups).passes : out.use.passes;
  return out;
}

CachedCost cached_cost(const tile::StageProgram& p, std::size_t operand, const Geometry& g) {
  const CachedUse use = cached_use(p, operand, g.warp, g.max_access());
  return {cached_access(use.write, use.writes, use.writes, g),
          cached_access(use.read, use.reads, use.read_instructions, g)};
}

double cycles_of_access(const CachedAccess& access, const Machine& m) {
  const auto bytes = static_cast<double>(access.use.words * m.bank_width_bytes);
  return std::max({static_cast<double>(access.served_passes) * m.scratchpad_pass_cycles,
                   m.scratchpad_port_bytes > 0 ? std::ceil(bytes / m.scratchpad_port_bytes) : 0.0,
                   std::ceil(access.lanes / m.scratchpad_lanes)});
}

CachedCosts::CachedCosts(const Geometry& g) : geometry_(g), places_(kFirstPlaces) {}

void CachedCosts::read_words(const tile::StageProgram& p, std::size_t operand) {
  asked_.clear();
  const auto add = [&](auto... words) { (asked_.push_back(static_cast<std::int64_t>(words)), ...); };
  add(reinterpret_cast<std::intptr_t>(p.space.get()), operand, p.operands[operand].blocked);
  for (const tile::AxisMapping& m : p.mapping) add(m.vthread, m.threads, m.per_thread);
  for (const int axis : p.thread_order) add(axis);
  for (const int axis : p.reduction_order) add(axis);
  add(p.unroll);
  for (std::size_t a = 0; a < p.space->axes.size(); ++a) add(p.block[a]);
  for (std::size_t a = p.space->spatial; a < p.space->axes.size(); ++a) {
    // Of the part in which a reduction is split it matters alone at multiples of what it begins: vectors have to as
    // well.
    const std::int64_t part = p.split[a] > 1 ? base::ceil_div(p.space->axes[a].extent, p.split[a]) : 0;
    add(p.thread[a], p.iterations_along(a), p.reduction_threads[a], std::gcd(part, geometry_.max_access().n));
  }
  for (const std::int64_t word : tile::identity_of(p.micro_kernel)) add(word);
}

void CachedCosts::add_places() {
  places_.assign(places_.size() * 2, 0);
  for (std::size_t u = 0; u < uses_.size(); ++u) {
    std::size_t at = uses_[u].hash & (places_.size() - 1);
    while (places_[at] != 0) at = (at + 1) & (places_.size() - 1);
    places_[at] = static_cast<std::uint32_t>(u + 1);
  }
}

std::size_t CachedCosts::use_of(const tile::StageProgram& p, std::size_t operand) {
  read_words(p, operand);
  const std::uint64_t hash = hash_of(asked_);
  std::size_t at = hash & (places_.size() - 1);
  for (; places_[at] != 0; at = (at + 1) & (places_.size() - 1)) {
    const Use& u = uses_[places_[at] - 1];
    const std::int64_t* words = words_.data() + u.begin;
    if (u.hash == hash && std::equal(asked_.begin(), asked_.end(), words, words + u.size)) return places_[at] - 1;
  }
  uses_.push_back({hash, words_.size(), asked_.size(), 0});
  words_.insert(words_.end(), asked_.begin(), asked_.end());
  places_[at] = static_cast<std::uint32_t>(uses_.size());
  if (2 * uses_.size() > places_.size()) add_places();
  return uses_.size() - 1;
}

const CachedCost& CachedCosts::of(std::size_t use, const tile::StageProgram& p, std::size_t operand) {
  const tile::OperandPlan& plan = p.operands[operand];
  for (std::uint32_t n = uses_[use].first; n != 0; n = placed_[n - 1].next) {
    const Placed& placed = placed_[n - 1];
    if (placed.plan == plan) return placed.cost;
  }
  placed_.push_back({plan, cached_cost(p, operand, geometry_), uses_[use].first});
  uses_[use].first = static_cast<std::uint32_t>(placed_.size());
  return placed_.back().cost;
}

}  // namespace tilescope::model
