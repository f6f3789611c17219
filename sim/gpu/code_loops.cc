// SPDX-License-Identifier: Apache-2.0
#include "sim/gpu/detail/code_loops.h"

#include <algorithm>
#include <utility>

namespace tilescope::sim {

int CodeLoops::add(const CodeLoop& l) {
  all_.push_back(l);
  return static_cast<int>(all_.size() - 1);
}

int CodeLoops::add_end(LaneForm form) {
  ends_.push_back(std::move(form));
  return static_cast<int>(ends_.size() - 1);
}

void CodeLoops::set(const CodeLoop& l, Uniforms& u, std::int64_t value) const {
  if (l.own)
    u[static_cast<std::size_t>(l.slot)] = value;
  else
    indices_.set(u, l.slot, value);
}

std::int64_t CodeLoops::low(const CodeLoop& l, const Uniforms& u) const {
  if (l.from >= 0) return u[static_cast<std::size_t>(l.from)];
  return l.first < 0 ? l.low : std::max(l.low, ends_[static_cast<std::size_t>(l.first)].common(u, {}));
}

std::int64_t CodeLoops::high(const CodeLoop& l, const Uniforms& u) const {
  std::int64_t high = l.high;
  if (l.last >= 0) high = std::min(high, ends_[static_cast<std::size_t>(l.last)].common(u, {}));
  return l.from < 0 ? high : std::min(high, u[static_cast<std::size_t>(l.from)] + l.count - 1);
}

bool CodeLoops::enter(const CodeLoop& l, Uniforms& u) const {
  const std::int64_t from = low(l, u);
  if (from > high(l, u)) return false;
  set(l, u, from);
  return true;
}

bool CodeLoops::next(const CodeLoop& l, Uniforms& u) const {
  const std::int64_t value = u[static_cast<std::size_t>(l.slot)] + l.stride;
  if (value > high(l, u)) return false;
  set(l, u, value);
  return true;
}

std::int64_t CodeLoops::done(const CodeLoop& l, const Uniforms& u) {
  return (u[static_cast<std::size_t>(l.slot)] - l.low) / l.stride;
}

std::int64_t CodeLoops::remaining(const CodeLoop& l, const Uniforms& u) const {
  return (high(l, u) - u[static_cast<std::size_t>(l.slot)]) / l.stride;
}

void CodeLoops::jump(const CodeLoop& l, Uniforms& u, std::int64_t iterations) const {
  const std::int64_t by = iterations * l.stride;
  set(l, u, u[static_cast<std::size_t>(l.slot)] + by);
  if (l.inner >= 0) indices_.set(u, l.inner, std::min(l.high, u[static_cast<std::size_t>(l.inner)] + by));
}

void CodeLoops::move_to(const Uniforms& u, Uniforms& out) const {
  for (const CodeLoop& l : all_) set(l, out, u[static_cast<std::size_t>(l.slot)]);
}

}  // namespace tilescope::sim
