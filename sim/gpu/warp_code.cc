// SPDX-License-Identifier: Apache-2.0
#include "sim/gpu/detail/warp_code.h"

#include <algorithm>
#include <numeric>

#include "lower/counters.h"
#include "sim/gpu/detail/machine.h"
#include "sim/gpu/detail/warp_code_builder.h"

namespace tilescope::sim {

WarpCode::WarpCode(const lower::Kernel& kernel, const std::vector<std::int64_t>& bases, const IndexTables& tables,
                   const arch::ArchSpec& chip, const Machine& machine)
    : indices_(kernel, chip.core.warp), loops_(indices_) {
  if (machine.part) groups_.emplace(kernel.blocks, *machine.part);
  const AccessShapes shapes = access_shapes(machine);
  for (const lower::Copy* c : lower::copies_of(kernel)) accesses_.emplace_back(indices_, *c, bases, shapes, tables);
  WarpCodeBuilder(*this, kernel, bases, chip, machine).build();
  step_loop_ = step_loop_of(ops_, loops_.all(), roles_.size(), mbarrier_phases_, indices_);
  const auto has = [&](WarpOp::Kind kind) {
    return std::any_of(ops_.begin(), ops_.end(), [&](const WarpOp& op) { return op.kind == kind; });
  };
  fences_copies_ = has(WarpOp::Kind::kAsync) && has(WarpOp::Kind::kWgmma);
}

bool WarpCode::holds(int guards, const Uniforms& u) const {
  const auto& all = guards_[static_cast<std::size_t>(guards)];
  return std::all_of(all.begin(), all.end(), [&](const auto& g) { return g.holds(u); });
}

std::int64_t WarpCode::steps() const {
  if (step_loop() < 0 || loops_[step_loop()].from >= 0 || loops_.uneven()) return 0;
  std::vector<int> ends;  // of the loops around
  for (int n = 0; n < static_cast<int>(ops_.size()); ++n) {
    const WarpOp& op = ops_[static_cast<std::size_t>(n)];
    if (op.kind != WarpOp::Kind::kLoop) continue;
    while (!ends.empty() && ends.back() <= n) ends.pop_back();
    if (op.number == step_loop()) return ends.empty() ? loops_[step_loop()].iterations() : 0;
    ends.push_back(op.jump);
  }
  return 0;
}

std::int64_t WarpCode::step_period() const {
  constexpr std::int64_t kLongest = 16;
  if (step_loop() < 0) return 1;
  const CodeLoop& steps = loops_[step_loop()];
  std::int64_t period = 1;
  for (const lower::Index& i : indices_.kernel().indices)
    for (const lower::AffineTerm& t : i.of.terms) {
      if (t.index != steps.index()) continue;
      const std::int64_t whole = i.modulus == 0 ? i.divisor : i.divisor * i.modulus;
      period = std::lcm(period, whole / std::gcd(whole, t.coefficient * steps.stride));
      if (period > kLongest) return 1;
    }
  return period;
}

Uniforms WarpCode::start(std::int64_t block) const {
  Uniforms u = indices_.start(groups_ ? groups_->running(block) : block);
  u.resize(u.size() + static_cast<std::size_t>(own_slots_), 0);
  return u;
}

void WarpCode::become(std::int64_t block, Uniforms& u) const {
  Uniforms fresh = start(block);
  loops_.move_to(u, fresh);
  u = std::move(fresh);
}

}  // namespace tilescope::sim
