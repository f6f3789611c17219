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

Lifetimes::Lifetimes(const lower::Kernel& k, Made made) : kernel_(k), of_(k.buffers.size()) {
  walk(k.body);
  if (made == Made::kInPlace) make_in_place();
}

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
  life.last = life.last_touched = now_;
}

void Lifetimes::walk(const std::vector<Statement>& body) {
  for (const Statement& s : body) {
    ++now_;
    if (const auto* l = std::get_if<lower::Loop>(&s.what)) {
      walk_loop(*l);
      continue;
    }
    lower::for_inner_bodies(s, [&](const std::vector<Statement>& inner) { walk(inner); });
    visit(s);
  }
}

// What was there before a loop, or is read before it is written in one, is held through all of it.
void Lifetimes::walk_loop(const lower::Loop& loop) {
  const std::int64_t begin = now_;
  loops_.push_back(loop.index);
  walk(loop.body);
  loops_.pop_back();
  const std::int64_t end = ++now_;
  for (Making& m : makings_)
    if (m.at > begin && m.depth <= loops_.size()) m.end = end;
  for (Life& life : of_) {
    if (life.last <= begin) continue;
    const bool carried = life.first > begin && life.read_first;
    if (carried) life.first = begin;
    if (carried || life.first <= begin) life.last = end;
  }
}

void Lifetimes::visit(const Statement& s) {
  if (is_barrier(s)) barriers_.push_back(now_);
  if (const auto* c = std::get_if<lower::Compute>(&s.what)) note_making(*c);
  lower::for_each_access(
      s, [&](const lower::Access& a, lower::AccessKind kind) { touch(a, kind != lower::AccessKind::kWrite); });
}

// Every element is made from the one in its own place, which is no smaller.
void Lifetimes::note_making(const lower::Compute& c) {
  const auto buffer = [&](const lower::Access& a) { return kernel_.buffers[static_cast<std::size_t>(a.buffer)]; };
  for (const lower::Access& from : c.operands)
    if (from.buffer != c.target.buffer && from.offset == c.target.offset &&
        base::size_of(buffer(c.target).dtype).n <= base::size_of(buffer(from).dtype).n)
      makings_.push_back({static_cast<std::size_t>(c.target.buffer), static_cast<std::size_t>(from.buffer),
                          outermost_over(c.target.offset), now_, now_});
}

// The depth of the outermost of the innermost loops that each go on to other elements.
std::size_t Lifetimes::outermost_over(const lower::Affine& elements) const {
  std::size_t depth = loops_.size();
  const auto goes_on = [&](int loop) {
    return std::any_of(elements.terms.begin(), elements.terms.end(),
                       [&](const lower::AffineTerm& t) { return t.index == loop && t.coefficient != 0; });
  };
  while (depth > 0 && goes_on(loops_[depth - 1])) --depth;
  return depth;
}

// Where nothing reads the one array later, the other one begins as it ends.
void Lifetimes::make_in_place() {
  for (const Making& m : makings_) {
    const Life& from = of_[m.from];
    Life& made = of_[m.made];
    const bool only_here = made.first == m.at && from.last_touched == m.at && from.last == m.end;
    if (in_registers(m.made) && in_registers(m.from) && only_here && made.last > m.end) made.first = m.end;
  }
}

}  // namespace tilescope::sim
