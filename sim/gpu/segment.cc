// SPDX-License-Identifier: Apache-2.0
#include "sim/gpu/detail/segment.h"

#include <algorithm>
#include <numeric>

#include "base/integer.h"

namespace tilescope::sim {
namespace {

using lower::AffineTerm;
using SegmentKind = SegmentNode::Kind;

constexpr std::int64_t kAnyAmount = 0;  // instead of a modulus

}  // namespace

void SegmentCost::add(const SegmentCost& o, std::int64_t times) {
  issue += o.issue * times;
  operands += o.operands * times;
  for (std::size_t p = 0; p < pipes.size(); ++p) pipes[p] += o.pipes[p] * times;
  computes = computes || o.computes;
  passes += o.passes * times;
  accesses += o.accesses * times;
  kept_passes += o.kept_passes * times;
  kept_accesses += o.kept_accesses * times;
  reads_scratchpad = reads_scratchpad || o.reads_scratchpad;
  for (const auto& [copy, count] : o.shared) {
    auto known = std::find_if(shared.begin(), shared.end(), [&, c = copy](const auto& s) { return s.first == c; });
    if (known == shared.end()) known = shared.insert(known, {copy, {}});
    lower::AccessCount& sum = known->second;
    sum.lane_accesses += count.lane_accesses * times;
    sum.requests += count.requests * times;
    sum.bytes += count.bytes * times;
    sum.passes += count.passes * times;
  }
  for (const Operations& more : o.operations) add(more, times);
}

void SegmentCost::add(const Operations& o, std::int64_t times) {
  if (o.number == 0) return;
  const auto known =
      std::find_if(operations.begin(), operations.end(), [&](const Operations& k) { return k.entry == o.entry; });
  if (known == operations.end())
    operations.push_back({o.entry, o.number * times});
  else
    known->number += o.number * times;
}

Segment::Segment(const KernelIndices& indices, std::vector<SegmentNode> nodes, std::int64_t bank_width)
    : indices_(indices),
      nodes_(std::move(nodes)),
      bank_width_(std::max<std::int64_t>(1, bank_width)),
      open_(indices.kernel().indices.size(), false) {
  collect(nodes_);
  for (const int l : loops_) open_[static_cast<std::size_t>(l)] = true;
  find_key_indices();
  last_.resize(static_cast<std::size_t>(indices_.warps()));
}

void Segment::collect(const std::vector<SegmentNode>& nodes) {
  for (const SegmentNode& n : nodes) {
    if (n.kind == SegmentKind::kLoop) loops_.push_back(n.index);
    if (n.kind == SegmentKind::kLoop && n.unrolled) gone_.push_back(n.index);
    if (n.kind == SegmentKind::kIf) ifs_.push_back(&n);
    if (n.kind == SegmentKind::kCopy) copies_.push_back(&n);
    collect(n.children);
  }
}

// --- what the cost depends on, seen from outside

bool Segment::open(int index) const {
  for (const int l : loops_)
    if (open_[static_cast<std::size_t>(l)] && indices_.depends(index, l)) return true;
  return false;
}

Holds Segment::holds_while_open(const LaneForm& f, std::int64_t bound, std::int64_t warp, const Uniforms& u) const {
  expr::Span s = f.lane_range[static_cast<std::size_t>(warp)];
  s = {s.low + f.constant, s.high + f.constant};
  const auto add = [&](const AffineTerm& t, const expr::Span& of) {
    s.low += t.coefficient * (t.coefficient > 0 ? of.low : of.high);
    s.high += t.coefficient * (t.coefficient > 0 ? of.high : of.low);
  };
  for (const AffineTerm& t : f.uniform) {
    const std::int64_t now = u[static_cast<std::size_t>(t.index)];
    add(t, open(t.index) ? indices_.index(t.index).range : expr::Span{now, now});
  }
  for (const AffineTerm& t : f.mixed) add(t, indices_.index(t.index).range);
  return decide(s, bound);
}

// By how much an argument of a derived index may change without changing coefficient * index modulo `modulus`; 0 where
// it may not.
std::int64_t Segment::period(const AffineTerm& t, std::int64_t modulus) const {
  const lower::Index& i = indices_.index(t.index);
  if (i.modulus != 0) return i.divisor * i.modulus;
  return modulus == kAnyAmount ? kAnyAmount : i.divisor * (modulus / std::gcd(modulus, t.coefficient));
}

// The form's value as far as it is settled outside, modulo `modulus` where that is not kAnyAmount, and likewise what
// its indices that depend on inside and outside, or on lanes and outside, are made of.
void Segment::push_outer(const LaneForm& f, const Uniforms& u, std::int64_t modulus) {
  std::int64_t outer = f.constant;
  for (const AffineTerm& t : f.uniform)
    if (!open(t.index)) outer += t.coefficient * u[static_cast<std::size_t>(t.index)];
  key_.push_back(modulus == kAnyAmount ? outer : base::floor_mod(outer, modulus));
  for (const AffineTerm& t : f.uniform) {
    const lower::Index& i = indices_.index(t.index);
    const bool shifts_all = modulus != kAnyAmount && t.coefficient % modulus == 0;
    if (!shifts_all && open(t.index) && i.kind == lower::IndexKind::kDerived)
      push_outer(indices_.form(i.of, 1), u, period(t, modulus));
  }
  // Lanes differ in these, so a multiple of `modulus` shifts one against the other too.
  for (const AffineTerm& t : f.mixed) push_outer(indices_.argument(t.index), u, period(t, modulus));
}

// All that push_outer may come to.
void Segment::add_settled_of(const LaneForm& f) {
  for (const AffineTerm& t : f.uniform) {
    if (!open(t.index)) {
      if (std::find(key_indices_.begin(), key_indices_.end(), t.index) == key_indices_.end())
        key_indices_.push_back(t.index);
    } else if (indices_.index(t.index).kind == lower::IndexKind::kDerived) {
      add_settled_of(indices_.form(indices_.index(t.index).of, 1));
    }
  }
  for (const AffineTerm& t : f.mixed) add_settled_of(indices_.argument(t.index));
}

void Segment::find_key_indices() {
  for (const SegmentNode* n : ifs_)
    for (const auto& g : n->guards) add_settled_of(g.value);
  for (const SegmentNode* n : copies_) {
    for (const auto& g : n->access->guards()) add_settled_of(g.value);
    add_settled_of(n->access->shared_bytes());
  }
}

void Segment::make_key(std::int64_t warp, const Uniforms& u) {
  key_.clear();
  key_.push_back(warp);
  const auto push_guard = [&](const LaneForm& f, std::int64_t bound) {
    const Holds h = holds_while_open(f, bound, warp, u);
    key_.push_back(static_cast<std::int64_t>(h));
    if (h == Holds::kSome) push_outer(f, u, 0);
  };
  for (const SegmentNode* n : ifs_)
    for (const auto& g : n->guards) push_guard(g.value, g.bound);
  for (const SegmentNode* n : copies_) {
    for (const auto& g : n->access->guards()) push_guard(g.value, g.bound);
    push_outer(n->access->shared_bytes(), u, bank_width_);
  }
}

const SegmentCost& Segment::at(std::int64_t warp, const Uniforms& u) {
  LastFound<const SegmentCost*>& last = last_[static_cast<std::size_t>(warp)];
  if (const auto* found = last.find(key_indices_, u, known_.forgotten())) return **found;
  make_key(warp, u);
  const SegmentCost* cost = known_.find(key_);
  if (cost == nullptr) {
    read_.clear();
    Uniforms inside = u;
    cost = &known_.insert(key_, walk(nodes_, warp, inside));
  }
  return *last.keep(key_indices_, u, known_.forgotten(), cost);
}

// --- whether iterations of a loop inside are alike

// Whether the form changes with the index, modulo `modulus` where that is not kAnyAmount.
bool Segment::moves(const LaneForm& f, int index, std::int64_t modulus) const {
  for (const AffineTerm& t : f.uniform)
    if (indices_.depends(t.index, index) && (modulus == kAnyAmount || t.coefficient % modulus != 0)) return true;
  for (const AffineTerm& t : f.mixed)
    if (indices_.depends(t.index, index)) return true;
  return false;
}

bool Segment::guard_alike(const LaneForm& f, std::int64_t bound, int index, std::int64_t warp,
                          const Uniforms& u) const {
  return !moves(f, index, kAnyAmount) || holds_while_open(f, bound, warp, u) != Holds::kSome;
}

bool Segment::alike_inside(const std::vector<SegmentNode>& nodes, int index, std::int64_t warp,
                           const Uniforms& u) const {
  for (const SegmentNode& n : nodes) {
    for (const auto& g : n.guards)
      if (!guard_alike(g.value, g.bound, index, warp, u)) return false;
    if (n.kind == SegmentKind::kCopy) {
      if (moves(n.access->shared_bytes(), index, bank_width_)) return false;
      for (const auto& g : n.access->guards())
        if (!guard_alike(g.value, g.bound, index, warp, u)) return false;
    }
    if (!alike_inside(n.children, index, warp, u)) return false;
  }
  return true;
}

bool Segment::alike(const SegmentNode& loop, std::int64_t warp, const Uniforms& u) const {
  return alike_inside(loop.children, loop.index, warp, u);
}

// --- costs of statements

SegmentCost Segment::walk(const std::vector<SegmentNode>& nodes, std::int64_t warp, Uniforms& u) {
  SegmentCost all;
  for (const SegmentNode& n : nodes) {
    const SegmentCost c = walk(n, warp, u);
    all.add(c, 1);
    all.latency = std::max(all.latency, c.latency);
  }
  return all;
}

SegmentCost Segment::walk(const SegmentNode& n, std::int64_t warp, Uniforms& u) {
  switch (n.kind) {
    case SegmentKind::kLoop:
      return walk_loop(n, warp, u);
    case SegmentKind::kCopy:
      return walk_copy(n, warp, u);
    case SegmentKind::kCompute: {
      SegmentCost c;
      c.issue = n.cost.issue;
      c.operands = n.cost.operands;
      c.pipes = n.cost.pipes;
      c.computes = n.cost.computes;
      c.passes = n.cost.passes;
      c.latency = n.cost.latency;
      for (const Operations& o : n.cost.operations) c.add(o, 1);
      return c;
    }
    case SegmentKind::kIf:
      for (const auto& g : n.guards)
        if (!g.holds(u)) return {};
      return walk(n.children, warp, u);
  }
  return {};
}

SegmentCost Segment::walk_loop(const SegmentNode& loop, std::int64_t warp, Uniforms& u) {
  const auto index = static_cast<std::size_t>(loop.index);
  const std::int64_t extent = loop.range.high - loop.range.low + 1;
  if (loop.unrolled) unrolled_.push_back(loop.index);
  const bool same = alike(loop, warp, u) && !(loop.unrolled && may_repeat(loop.children, loop.index));
  open_[index] = false;
  SegmentCost all;
  std::int64_t chain = 0;
  for (std::int64_t v = loop.range.low; v <= (same ? loop.range.low : loop.range.high); ++v) {
    indices_.set(u, loop.index, v);
    if (!loop.unrolled) read_.clear();
    const SegmentCost c = walk(loop.children, warp, u);
    const std::int64_t times = same ? extent : 1;
    all.add(c, times);
    chain = loop.accumulates ? chain + c.latency * times : std::max(chain, c.latency);
  }
  all.latency = chain;
  if (loop.unrolled)
    unrolled_.pop_back();
  else
    read_.clear();
  open_[index] = true;
  return all;
}

bool Segment::may_repeat(const std::vector<SegmentNode>& body, int loop) const {
  return std::any_of(body.begin(), body.end(), [&](const SegmentNode& n) {
    if (n.kind != SegmentKind::kCopy) return may_repeat(n.children, loop);
    const auto moves_with = [&](int l) { return moves(n.access->shared_bytes(), l, kAnyAmount); };
    return !moves_with(loop) || std::count_if(gone_.begin(), gone_.end(), moves_with) > 1;
  });
}

bool Segment::is_repeated(const SegmentNode& n, std::int64_t warp, const Uniforms& u) {
  if (unrolled_.empty()) return false;
  const LaneForm& form = n.access->shared_bytes();
  const std::vector<int> mixed = indices_.mixed_of(form);
  splits_.resize(indices_.kernel().indices.size());
  indices_.split(mixed, warp, u, splits_);
  std::vector<std::int64_t> place = {n.copy, form.common(u, splits_)};
  for (const int i : mixed) place.push_back(splits_[static_cast<std::size_t>(i)].rest);
  return !read_.insert(std::move(place)).second;
}

SegmentCost Segment::walk_copy(const SegmentNode& n, std::int64_t warp, const Uniforms& u) {
  const AccessPattern& p = *n.access->at(warp, u).pattern;
  SegmentCost c;
  c.issue = 1;
  if (p.count.shared.requests == 0) return c;
  c.passes = p.count.shared.passes;
  c.accesses = 1;
  const auto from = static_cast<std::size_t>(n.access->copy().from.buffer);
  c.reads_scratchpad = indices_.kernel().buffers[from].space == lower::Space::kShared;
  c.shared.emplace_back(n.copy, p.count.shared);
  if (!c.reads_scratchpad || !is_repeated(n, warp, u)) return c;
  c.issue = 0;
  c.kept_passes = c.passes;
  c.kept_accesses = c.accesses;
  return c;
}

}  // namespace tilescope::sim
