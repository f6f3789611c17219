// SPDX-License-Identifier: Apache-2.0
#include "sim/gpu/detail/kernel_indices.h"

#include <algorithm>

#include "base/integer.h"

namespace tilescope::sim {
namespace {

using lower::AffineTerm;
using lower::Index;
using lower::IndexKind;

}  // namespace

Holds decide(const expr::Span& values, std::int64_t bound) {
  if (values.low >= 0 && values.high < bound) return Holds::kAll;
  return values.high < 0 || values.low >= bound ? Holds::kNone : Holds::kSome;
}

KernelIndices::KernelIndices(const lower::Kernel& kernel, std::int64_t warp_lanes)
    : kernel_(kernel),
      lanes_(warp_lanes),
      warps_(base::ceil_div(kernel.threads, warp_lanes)),
      derived_from_(kernel.indices.size()),
      lane_values_(kernel.indices.size()),
      arguments_(kernel.indices.size()) {
  for (const Index& i : kernel.indices) {
    const std::int64_t divisor = std::max<std::int64_t>(1, i.divisor), modulus = std::max<std::int64_t>(1, i.modulus);
    divisions_.push_back({base::Divisor(divisor), base::Divisor(modulus), base::Divisor(divisor * modulus)});
  }
  classify();
  tabulate_lanes();
  for (std::size_t i = 0; i < kernel.indices.size(); ++i)
    if (lane_[i] && block_or_loop_[i]) arguments_[i] = form(kernel.indices[i].of, 1);
}

void KernelIndices::classify() {
  const std::size_t n = kernel_.indices.size();
  depends_.assign(n * n, false);
  lane_.assign(n, false);
  block_or_loop_.assign(n, false);
  for (std::size_t i = 0; i < n; ++i) {
    const Index& index = kernel_.indices[i];
    depends_[i * n + i] = true;
    lane_[i] = index.kind == IndexKind::kThread;
    block_or_loop_[i] = index.kind == IndexKind::kBlock || index.kind == IndexKind::kLoop;
    if (index.kind != IndexKind::kDerived) continue;
    for (const AffineTerm& t : index.of.terms)
      for (std::size_t on = 0; on < i; ++on)
        if (depends_[pos(t.index) * n + on]) {
          depends_[i * n + on] = true;
          if (lane_[on]) lane_[i] = true;
          if (block_or_loop_[on]) block_or_loop_[i] = true;
        }
    if (lane_[i]) continue;
    for (std::size_t on = 0; on < i; ++on)
      if (depends_[i * n + on]) derived_from_[on].push_back(static_cast<int>(i));
  }
}

void KernelIndices::tabulate_lanes() {
  for (std::size_t i = 0; i < kernel_.indices.size(); ++i) {
    if (!lane_[i] || block_or_loop_[i]) continue;
    const Index& index = kernel_.indices[i];
    std::vector<std::int64_t>& values = lane_values_[i];
    values.assign(static_cast<std::size_t>(warps_ * lanes_), 0);
    for (std::size_t t = 0; t < static_cast<std::size_t>(kernel_.threads); ++t) {
      if (index.kind == IndexKind::kThread) {
        values[t] = static_cast<std::int64_t>(t);
        continue;
      }
      std::int64_t of = index.of.constant;
      for (const AffineTerm& term : index.of.terms) of += term.coefficient * lane_values_[pos(term.index)][t];
      values[t] = derived(i, of);
    }
  }
}

std::int64_t KernelIndices::threads_of(std::int64_t warp) const {
  return std::min(lanes_, kernel_.threads - warp * lanes_);
}

Uniforms KernelIndices::start(std::int64_t block) const {
  Uniforms u(kernel_.indices.size(), 0);
  for (std::size_t i = 0; i < u.size(); ++i) {
    if (lane_[i]) continue;
    const Index& index = kernel_.indices[i];
    if (index.kind == IndexKind::kBlock)
      u[i] = block;
    else if (index.kind == IndexKind::kLoop)
      u[i] = index.range.low;
    else {
      std::int64_t of = index.of.constant;
      for (const AffineTerm& t : index.of.terms) of += t.coefficient * u[pos(t.index)];
      u[i] = derived(i, of);
    }
  }
  return u;
}

void KernelIndices::set(Uniforms& u, int index, std::int64_t value) const {
  u[pos(index)] = value;
  for (const int d : derived_from_[pos(index)]) {
    const Index& i = kernel_.indices[pos(d)];
    std::int64_t of = i.of.constant;
    for (const AffineTerm& t : i.of.terms) of += t.coefficient * u[pos(t.index)];
    u[pos(d)] = derived(pos(d), of);
  }
}

LaneForm KernelIndices::form(const lower::Affine& a, std::int64_t scale) const {
  LaneForm f;
  f.constant = a.constant * scale;
  for (const AffineTerm& t : a.terms) {
    const AffineTerm scaled{t.index, t.coefficient * scale};
    if (!lane_[pos(t.index)])
      f.uniform.push_back(scaled);
    else if (block_or_loop_[pos(t.index)])
      f.mixed.push_back(scaled);
    else {
      f.lane.resize(static_cast<std::size_t>(warps_ * lanes_), 0);
      for (std::size_t i = 0; i < f.lane.size(); ++i) f.lane[i] += scaled.coefficient * lane_values_[pos(t.index)][i];
    }
  }
  f.lane_range.assign(static_cast<std::size_t>(warps_), {});
  for (std::int64_t w = 0; w < warps_ && !f.lane.empty(); ++w) {
    const auto first = f.lane.begin() + w * lanes_;
    const auto [low, high] = std::minmax_element(first, first + threads_of(w));
    f.lane_range[static_cast<std::size_t>(w)] = {*low, *high};
  }
  return f;
}

std::vector<int> KernelIndices::mixed_of(const LaneForm& f) const {
  std::vector<bool> needed(kernel_.indices.size(), false);
  for (const AffineTerm& t : f.mixed) needed[pos(t.index)] = true;
  for (std::size_t i = needed.size(); i-- > 0;)
    if (needed[i])
      for (const AffineTerm& t : arguments_[i].mixed) needed[pos(t.index)] = true;
  std::vector<int> out;
  for (std::size_t i = 0; i < needed.size(); ++i)
    if (needed[i]) out.push_back(static_cast<int>(i));
  return out;
}

void KernelIndices::split(const std::vector<int>& mixed, std::int64_t warp, const Uniforms& u, MixedSplits& out) const {
  for (const int m : mixed) {
    const auto& [divisor, modulus, period] = divisions_[pos(m)];
    const LaneForm& argument = arguments_[pos(m)];
    const bool cyclic = kernel_.indices[pos(m)].modulus != 0;
    const std::int64_t of = argument.common(u, out);
    const std::int64_t turns = period.quotient(of), rest = of - turns * period.value();
    const expr::Span lanes = argument.lane_span(warp, out);
    MixedSplit& s = out[pos(m)];
    // Where some lanes begin the next turn and others do not, values fall back to 0.
    if (cyclic && (rest + lanes.low < 0 || rest + lanes.high >= period.value())) {
      s = {0, rest, {0, modulus.value() - 1}};
      continue;
    }
    const std::int64_t first = divisor.quotient(rest + lanes.low), last = divisor.quotient(rest + lanes.high);
    s.quotient = (cyclic ? 0 : turns) + first;
    s.rest = first == last ? MixedSplit::kFlat : rest - first * divisor.value();
    s.pattern = {0, last - first};
  }
}

std::vector<std::vector<std::int64_t>> KernelIndices::lane_patterns(const std::vector<int>& mixed, std::int64_t warp,
                                                                    const MixedSplits& splits) const {
  std::vector<std::vector<std::int64_t>> out(kernel_.indices.size());
  for (const int m : mixed) {
    const LaneForm& f = arguments_[pos(m)];
    std::vector<std::int64_t>& values = out[pos(m)];
    values.resize(static_cast<std::size_t>(lanes_));
    if (splits[pos(m)].rest == MixedSplit::kFlat) continue;
    for (std::int64_t lane = 0; lane < lanes_; ++lane)
      values[static_cast<std::size_t>(lane)] = derived(pos(m), splits[pos(m)].rest + lane_part(f, warp, lane, out));
  }
  return out;
}

std::int64_t KernelIndices::lane_part(const LaneForm& f, std::int64_t warp, std::int64_t lane,
                                      const std::vector<std::vector<std::int64_t>>& patterns) const {
  std::int64_t sum = f.lane.empty() ? 0 : f.lane[static_cast<std::size_t>(warp * lanes_ + lane)];
  for (const AffineTerm& t : f.mixed) sum += t.coefficient * patterns[pos(t.index)][static_cast<std::size_t>(lane)];
  return sum;
}

}  // namespace tilescope::sim
