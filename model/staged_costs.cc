#include "model/staged_costs.h"

#include <algorithm>

#include "arch/derive.h"

namespace tilescope::model {
namespace {

StagedAccess cost_of(const WarpAccess& access, double accesses, double instructions, const StagingChip& chip) {
  StagedAccess out{bank_use(access, chip.banks, chip.bank_width), 0, accesses, instructions};
  const bool together = chip.uniform_groups > 1 && out.use.groups > 1 && neighbours_agree(access);
  out.served = together ? bank_use(access, chip.banks, chip.bank_width, chip.uniform_groups).passes : out.use.passes;
  return out;
}

std::uint64_t hash_of(const std::vector<std::int64_t>& words) {
  std::uint64_t hash = 0;
  for (const std::int64_t w : words) {
    hash = (hash ^ static_cast<std::uint64_t>(w)) * 0x9e3779b97f4a7c15U;
    hash ^= hash >> 32;
  }
  return hash;
}

constexpr std::size_t kFirstPlaces = 4096;  // a power of two, and so are those after it

}  // namespace

StagingChip::StagingChip(const arch::ArchSpec& a) : warp(a.core.warp), max_access(arch::widest_access_of(a)) {
  const arch::LevelSpec* scratchpad = arch::scratchpad_of(a);
  if (scratchpad == nullptr) return;
  banks = scratchpad->banks;
  bank_width = scratchpad->bank_width.n;
  uniform_groups = scratchpad->uniform_groups;
}

StagedCost staged_cost(const tile::StageProgram& p, std::size_t operand, const StagingChip& chip) {
  const StagedUse use = staged_use(p, operand, chip.warp, chip.max_access);
  return {cost_of(use.write, use.writes, use.writes, chip), cost_of(use.read, use.reads, use.read_instructions, chip)};
}

StagedCosts::StagedCosts(const arch::ArchSpec& a) : chip_(a), places_(kFirstPlaces) {}

void StagedCosts::read_key(const tile::StageProgram& p, std::size_t operand) {
  const tile::OperandPlan& plan = p.operands[operand];
  key_.clear();
  const auto add = [&](auto... words) { (key_.push_back(static_cast<std::int64_t>(words)), ...); };
  add(reinterpret_cast<std::intptr_t>(p.space.get()), operand, plan.padding, plan.swizzle, plan.vector, plan.chunked,
      plan.box);
  for (const tile::AxisMapping& m : p.mapping) add(m.virtual_threads, m.threads, m.serial);
  for (const int axis : p.thread_order) add(axis);
  for (std::size_t a = p.space->spatial; a < p.space->axes.size(); ++a) add(p.block[a], p.thread[a], p.points_along(a));
  if (!p.matrix) return;
  const tile::MatrixUnit& u = *p.matrix;
  add(u.rows, u.columns, u.depth, u.m, u.n, u.k, u.lanes, u.most_columns, u.factors_staged);
}

void StagedCosts::grow() {
  places_.assign(places_.size() * 2, 0);
  for (std::size_t e = 0; e < entries_.size(); ++e) {
    std::size_t at = entries_[e].hash & (places_.size() - 1);
    while (places_[at] != 0) at = (at + 1) & (places_.size() - 1);
    places_[at] = static_cast<std::uint32_t>(e + 1);
  }
}

const StagedCost& StagedCosts::of(const tile::StageProgram& p, std::size_t operand) {
  read_key(p, operand);
  const std::uint64_t hash = hash_of(key_);
  std::size_t at = hash & (places_.size() - 1);
  for (; places_[at] != 0; at = (at + 1) & (places_.size() - 1)) {
    const Entry& e = entries_[places_[at] - 1];
    if (e.hash == hash &&
        std::equal(key_.begin(), key_.end(), words_.data() + e.begin, words_.data() + e.begin + e.size))
      return e.cost;
  }
  places_[at] = static_cast<std::uint32_t>(entries_.size() + 1);
  entries_.push_back({hash, words_.size(), key_.size(), staged_cost(p, operand, chip_)});
  words_.insert(words_.end(), key_.begin(), key_.end());
  if (2 * entries_.size() > places_.size()) grow();
  return entries_.back().cost;
}

}  // namespace tilescope::model
