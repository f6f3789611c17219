// SPDX-License-Identifier: Apache-2.0
#include "model/simt/cached_costs.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/integer.h"

namespace tilescope::model {
CachedAccess cached_access(const AccessPattern& access, double accesses, double instructions, const Geometry& g,
                           AccessTable* known) {
  const PortUse port = port_use_of(access, g, known);
  return {port.use, port.served_passes, static_cast<double>(access.lanes()), accesses, instructions};
}

namespace {

CachedCost cost_of(const CachedUse& use, const Geometry& g, AccessTable* known) {
  return {cached_access(use.write, use.writes, use.writes, g, known),
          cached_access(use.read, use.reads, use.read_instructions, g, known)};
}

}  // namespace

CachedCost cached_cost(const tile::StageProgram& p, std::size_t operand, const Geometry& g) {
  return cost_of(cached_use(p, operand, g.warp, g.max_access()), g, nullptr);
}

double cycles_of_access(const CachedAccess& access, const Machine& m) {
  const auto bytes = static_cast<double>(access.use.words * m.bank_width_bytes);
  return std::max({static_cast<double>(access.served_passes) * m.scratchpad_pass_cycles,
                   m.scratchpad_port_bytes ? std::ceil(bytes / *m.scratchpad_port_bytes) : 0.0,
                   std::ceil(access.lanes / m.scratchpad_lanes)});
}

CachedCosts::CachedCosts(const Geometry& g) : geometry_(g), accesses_(g) {}

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

std::size_t CachedCosts::use_of(const tile::StageProgram& p, std::size_t operand) {
  read_words(p, operand);
  const auto [use, fresh] = uses_.number_of(asked_);
  if (fresh) use_.push_back({step_reads(p, operand), 0});
  return use;
}

const CachedCost& CachedCosts::of(std::size_t use, const tile::StageProgram& p, std::size_t operand) {
  const tile::OperandPlan& plan = p.operands[operand];
  for (std::uint32_t n = use_[use].first; n != 0; n = placed_[n - 1].next) {
    const Placed& placed = placed_[n - 1];
    if (placed.plan == plan) return placed.cost;
  }
  const CachedUse of_plan = cached_use(p, operand, geometry_.warp, geometry_.max_access(), use_[use].reads);
  placed_.push_back({plan, cost_of(of_plan, geometry_, &accesses_), use_[use].first});
  use_[use].first = static_cast<std::uint32_t>(placed_.size());
  return placed_.back().cost;
}

}  // namespace tilescope::model
