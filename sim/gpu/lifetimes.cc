// SPDX-License-Identifier: Apache-2.0
#include "sim/gpu/detail/lifetimes.h"

#include <algorithm>
#include <map>

#include "arch/spec.h"
#include "base/integer.h"
#include "lower/statement_parts.h"

namespace tilescope::sim {

using lower::Statement;

bool is_barrier(const Statement& s) {
  return std::visit(
      lower::Visitor{
          [](const lower::OneOf<lower::Barrier, lower::ClusterBarrier> auto& /*waits*/) { return true; },
          [](const lower::OneOf<lower::Loop, lower::If, lower::Copy, lower::Compute, lower::ReduceLanes,
                                lower::LoadMatrix, lower::Mma, lower::Wgmma, lower::WgmmaFence, lower::WgmmaCommitWait,
                                lower::ProxyFence, lower::Commit, lower::Wait, lower::WarpSpecialized,
                                lower::MbarrierArrive, lower::MbarrierWait, lower::TmaLoad, lower::TmaStore,
                                lower::Tcgen05Mma, lower::Tcgen05Commit, lower::Tcgen05Load> auto& /*goes on*/) {
            return false;
          }},
      s.what);
}

std::int64_t registers_of(const lower::Buffer& b) {
  return base::ceil_div(b.elements * base::size_of(b.dtype).n, arch::kRegisterBytes);
}

Lifetimes::Lifetimes(const lower::Kernel& k) : kernel_(k), of_(k.buffers.size()) { walk(k.body); }

bool Lifetimes::in_registers(std::size_t buffer) const {
  return kernel_.buffers[buffer].space == lower::Space::kRegister && of_[buffer].first >= 0;
}

bool Lifetimes::held(std::size_t buffer, std::int64_t barrier) const {
  const Life& life = of_[buffer];
  const std::int64_t at = barriers_[static_cast<std::size_t>(barrier)];
  return in_registers(buffer) && life.first < at && at < life.last;
}

std::int64_t Lifetimes::most(const std::function<bool(std::size_t)>& counts) const {
  std::map<std::int64_t, std::int64_t> change;
  for (std::size_t b = 0; b < of_.size(); ++b) {
    if (!in_registers(b) || !counts(b)) continue;
    change[of_[b].first] += registers_of(kernel_.buffers[b]);
    change[of_[b].last] -= registers_of(kernel_.buffers[b]);
  }
  std::int64_t now = 0, most = 0;
  for (const auto& [at, more] : change) most = std::max(most, now += more);
  return most;
}

void Lifetimes::touch(const lower::Access& a, bool reads) {
  Life& life = of_[static_cast<std::size_t>(a.buffer)];
  if (life.first < 0) {
    life.first = now_;
    life.read_first = reads;
  }
  life.last = now_;
}

void Lifetimes::walk(const std::vector<Statement>& body) {
  for (const Statement& s : body) {
    ++now_;
    if (const auto* l = std::get_if<lower::Loop>(&s.what)) {
      walk_loop(l->body);
      continue;
    }
    lower::for_inner_bodies(s, [&](const std::vector<Statement>& inner) { walk(inner); });
    visit(s);
  }
}

// What was there before a loop, or is read before it is written in one, is held through all of it.
void Lifetimes::walk_loop(const std::vector<Statement>& body) {
  const std::int64_t begin = now_;
  walk(body);
  const std::int64_t end = ++now_;
  for (Life& life : of_) {
    if (life.last <= begin) continue;
    const bool carried = life.first > begin && life.read_first;
    if (carried) life.first = begin;
    if (carried || life.first <= begin) life.last = end;
  }
}

void Lifetimes::visit(const Statement& s) {
  if (is_barrier(s)) barriers_.push_back(now_);
  lower::for_each_access(
      s, [&](const lower::Access& a, lower::AccessKind kind) { touch(a, kind != lower::AccessKind::kWrite); });
}

}  // namespace tilescope::sim
