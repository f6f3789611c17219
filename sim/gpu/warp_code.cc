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
    : indices_(kernel, chip.core.warp) {
  if (machine.part) groups_.emplace(kernel.blocks, *machine.part);
  const AccessShapes shapes = access_shapes(machine);
  for (const lower::Copy* c : lower::copies_of(kernel)) accesses_.emplace_back(indices_, *c, bases, shapes, tables);
  WarpCodeBuilder(*this, kernel, bases, chip, machine).build();
  step_loop_ = step_loop_of(ops_, loops_, roles_.size(), mbarrier_phases_, indices_);
  const auto has = [&](WarpOp::Kind kind) {
    return std::any_of(ops_.begin(), ops_.end(), [&](const WarpOp& op) { return op.kind == kind; });
  };
  fences_copies_ = has(WarpOp::Kind::kAsync) && has(WarpOp::Kind::kWgmma);
}

bool WarpCode::holds(int guards, const Uniforms& u) const {
  for (const auto& g : guards_[static_cast<std::size_t>(guards)]) {
    const std::int64_t v = indices_.common(g.value, u, {});
    if (v < 0 || v >= g.bound) return false;
  }
  return true;
}

std::int64_t WarpCode::steps() const {
  if (step_loop() < 0 || loop(step_loop()).from >= 0 || uneven()) return 0;
  std::vector<int> ends;  // of the loops around
  for (int n = 0; n < static_cast<int>(ops_.size()); ++n) {
    const WarpOp& op = ops_[static_cast<std::size_t>(n)];
    if (op.kind != WarpOp::Kind::kLoop) continue;
    while (!ends.empty() && ends.back() <= n) ends.pop_back();
    if (op.number == step_loop()) return ends.empty() ? iterations(loop(step_loop())) : 0;
    ends.push_back(op.jump);
  }
  return 0;
}

std::int64_t WarpCode::step_period() const {
  constexpr std::int64_t kLongest = 16;
  if (step_loop() < 0) return 1;
  const CodeLoop& steps = loop(step_loop());
  const int index = steps.own ? steps.inner : steps.slot;
  std::int64_t period = 1;
  for (const lower::Index& i : indices_.kernel().indices)
    for (const lower::AffineTerm& t : i.of.terms) {
      if (t.index != index) continue;
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

void WarpCode::set(const CodeLoop& l, Uniforms& u, std::int64_t value) const {
  if (l.own)
    u[static_cast<std::size_t>(l.slot)] = value;
  else
    indices_.set(u, l.slot, value);
}

std::int64_t WarpCode::low(const CodeLoop& l, const Uniforms& u) const {
  if (l.from >= 0) return u[static_cast<std::size_t>(l.from)];
  return l.first < 0 ? l.low : std::max(l.low, indices_.common(ends_[static_cast<std::size_t>(l.first)], u, {}));
}

std::int64_t WarpCode::high(const CodeLoop& l, const Uniforms& u) const {
  std::int64_t high = l.high;
  if (l.last >= 0) high = std::min(high, indices_.common(ends_[static_cast<std::size_t>(l.last)], u, {}));
  return l.from < 0 ? high : std::min(high, u[static_cast<std::size_t>(l.from)] + l.count - 1);
}

bool WarpCode::enter(const CodeLoop& l, Uniforms& u) const {
  const std::int64_t from = low(l, u);
  if (from > high(l, u)) return false;
  set(l, u, from);
  return true;
}

bool WarpCode::next(const CodeLoop& l, Uniforms& u) const {
  const std::int64_t value = u[static_cast<std::size_t>(l.slot)] + l.stride;
  if (value > high(l, u)) return false;
  set(l, u, value);
  return true;
}

void WarpCode::become(std::int64_t block, Uniforms& u) const {
  Uniforms fresh = start(block);
  for (const CodeLoop& l : loops_) set(l, fresh, u[static_cast<std::size_t>(l.slot)]);
  u = std::move(fresh);
}

std::int64_t WarpCode::done(const CodeLoop& l, const Uniforms& u) const {
  return (u[static_cast<std::size_t>(l.slot)] - l.low) / l.stride;
}

std::int64_t WarpCode::remaining(const CodeLoop& l, const Uniforms& u) const {
  return (high(l, u) - u[static_cast<std::size_t>(l.slot)]) / l.stride;
}

void WarpCode::jump(const CodeLoop& l, Uniforms& u, std::int64_t iterations) const {
  const std::int64_t by = iterations * l.stride;
  set(l, u, u[static_cast<std::size_t>(l.slot)] + by);
  if (l.inner >= 0) indices_.set(u, l.inner, std::min(l.high, u[static_cast<std::size_t>(l.inner)] + by));
}

}  // namespace tilescope::sim
