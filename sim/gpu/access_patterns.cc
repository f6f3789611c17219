// SPDX-License-Identifier: Apache-2.0
#include "sim/gpu/detail/access_patterns.h"

#include <algorithm>

#include "base/integer.h"

namespace tilescope::sim {
namespace {

lower::AccessCount counted(std::int64_t lanes, std::int64_t bytes) {
  lower::AccessCount c;
  c.lane_accesses = lanes;
  c.requests = lanes > 0 ? 1 : 0;
  c.bytes = lanes * bytes;
  return c;
}

}  // namespace

AccessPatterns::AccessPatterns(const KernelIndices& indices, const lower::Copy& copy,
                               const std::vector<std::int64_t>& bases, const AccessShapes& shapes,
                               const IndexTables& tables)
    : indices_(indices),
      copy_(copy),
      shapes_(shapes),
      line_(shapes.line.line),
      splits_(indices.kernel().indices.size()) {
  LaneForm* sides[] = {&memory_, &shared_};
  for (const lower::Access* side : {&copy.to, &copy.from}) {
    const lower::Buffer& b = indices.kernel().buffers[static_cast<std::size_t>(side->buffer)];
    if (b.space == lower::Space::kRegister) continue;
    const bool memory = b.space == lower::Space::kGlobal;
    const std::int64_t size = element_bytes_ = base::size_of(b.dtype).n;
    bytes_ = size * copy.elements;
    LaneForm& form = *sides[memory ? 0 : 1];
    form = indices.form(side->offset, size);
    form.constant += memory ? bases[static_cast<std::size_t>(b.global)] : b.offset_bytes;
    (memory ? has_memory_ : has_shared_) = true;
    if (memory) memory_is_source_ = side == &copy.from;
    if (!memory) scratchpad_ = &b;
  }
  std::vector<int> all;
  const auto need = [&](const LaneForm& f) {
    for (const int m : indices.mixed_of(f)) all.push_back(m);
  };
  if (const auto& g = copy.gather) {
    const lower::Buffer& table = indices.kernel().buffers[static_cast<std::size_t>(g->table.buffer)];
    gathered_.emplace();
    gathered_->entries = tables[static_cast<std::size_t>(table.global)];
    gathered_->at = indices.form(g->table.offset, 1);
    gathered_->stride_bytes = g->stride * element_bytes_;
    gathered_->kept.resize(kKept);
    need(gathered_->at);
  }
  need(memory_);
  need(shared_);
  for (const auto* guards : {&copy.when, &copy.inside})
    for (const lower::Guard& g : *guards) {
      guards_.push_back({indices.form(g.value, 1), g.bound, guards == &copy.inside});
      need(guards_.back().value);
    }
  std::sort(all.begin(), all.end());
  all.erase(std::unique(all.begin(), all.end()), all.end());
  mixed_ = std::move(all);
  guard_common_.resize(guards_.size());
  for (const GuardForm& g : guards_) g.value.add_uniforms_to(key_indices_);
  shared_.add_uniforms_to(key_indices_);
  for (const int m : mixed_) indices_.argument(m).add_uniforms_to(key_indices_);
  last_.resize(static_cast<std::size_t>(indices.warps()));
}

std::vector<int> AccessPatterns::block_indices() const {
  std::vector<int> of = key_indices_;
  memory_.add_uniforms_to(of);
  if (gathered_) gathered_->at.add_uniforms_to(of);
  std::erase_if(of, [&](int i) { return !indices_.depends(i, lower::kBlockIndex); });
  return of;
}

// Returns false where no lane does anything.
bool AccessPatterns::make_key(std::int64_t warp, const Uniforms& u) {
  indices_.split(mixed_, warp, u, splits_);
  key_.clear();
  key_.push_back(warp);
  for (const int m : mixed_) key_.push_back(splits_[static_cast<std::size_t>(m)].rest);
  bool some = true;
  for (std::size_t g = 0; g < guards_.size(); ++g) {
    const GuardForm& guard = guards_[g];
    const std::int64_t common = guard_common_[g] = guard.value.common(u, splits_);
    expr::Span span = guard.value.lane_span(warp, splits_);
    span = {span.low + common, span.high + common};
    const Holds holds = decide(span, guard.bound);
    if (holds == Holds::kNone && !guard.reads) some = false;
    key_.push_back(static_cast<std::int64_t>(holds));
    key_.push_back(holds == Holds::kSome ? common : 0);
  }
  if (!some) return false;
  if (has_shared_) {
    shared_common_ = shared_.common(u, splits_);
    // Places of swizzled pieces repeat after eight rows.
    const std::int64_t row = scratchpad_->swizzled_row, repeats = row > 0 ? 8 * row : shapes_.banks.width;
    key_.push_back(base::floor_mod(shared_common_, repeats));
  }
  return true;
}

AccessPatterns::Found AccessPatterns::at(std::int64_t warp, const Uniforms& u) {
  static const AccessPattern kNothing;
  if (gathered_) return found_by_gather(warp, u);
  LastFound<Last>& kept = last_[static_cast<std::size_t>(warp)];
  const Last* known = kept.find(key_indices_, u, known_.forgotten());
  if (known == nullptr) {
    const Last found = look_up(warp, u);
    known = &kept.keep(key_indices_, u, known_.forgotten(), found);
  }
  const Last& last = *known;
  if (last.places == nullptr) return {&kNothing, 0};
  if (!has_memory_) return {&begun_at(*last.places, 0), 0};
  const std::int64_t common = memory_.uniform_part(u) + last.memory;
  const std::int64_t line = line_.quotient(common);
  return {&begun_at(*last.places, common - line * shapes_.line.line), line};
}

AccessPatterns::Last AccessPatterns::look_up(std::int64_t warp, const Uniforms& u) {
  if (!make_key(warp, u)) return {};
  Places* places = known_.find(key_);
  if (places == nullptr) places = &known_.insert(key_, make(warp));
  return {places, memory_.mixed_part(splits_)};
}

AccessPatterns::Places AccessPatterns::make(std::int64_t warp) const {
  const auto patterns = indices_.lane_patterns(mixed_, warp, splits_);
  LaneAddresses shared, memory;
  shared.lanes = memory.lanes = indices_.lanes();
  shared.bytes = memory.bytes = bytes_;
  Places p;
  for (std::int64_t lane = 0; lane < indices_.threads_of(warp); ++lane) {
    bool when = true, inside = true;
    for (std::size_t g = 0; g < guards_.size(); ++g) {
      const std::int64_t v = guard_common_[g] + indices_.lane_part(guards_[g].value, warp, lane, patterns);
      if (v < 0 || v >= guards_[g].bound) (guards_[g].reads ? inside : when) = false;
    }
    if (has_memory_ && when && inside) {
      p.memory.push_back(indices_.lane_part(memory_, warp, lane, patterns));
      memory.active[static_cast<std::size_t>(lane)] = true;
      memory.at[static_cast<std::size_t>(lane)] = p.memory.back();
    }
    // What lies outside a tensor is written as zeros: the scratchpad's side of a copy from memory always happens.
    if (!has_shared_ || !when || (!inside && !has_memory_)) continue;
    shared.active[static_cast<std::size_t>(lane)] = true;
    const std::int64_t linear = shared_common_ + indices_.lane_part(shared_, warp, lane, patterns);
    shared.at[static_cast<std::size_t>(lane)] = lower::swizzled_byte(*scratchpad_, linear);
  }
  p.count.global = counted(static_cast<std::int64_t>(p.memory.size()), bytes_);
  if (has_shared_) {
    p.count.shared = counted(std::count(shared.active.begin(), shared.active.end(), true), bytes_);
    p.count.shared.passes = bank_passes(shared, shapes_.banks);
  }
  // Accesses are aligned to the words of banks or lie within one, so where the lanes begin changes no conflict.
  if (!p.memory.empty() && shapes_.cache_has_banks) {
    const std::int64_t width = shapes_.banks.width;
    const std::int64_t least = base::floor_div(*std::min_element(p.memory.begin(), p.memory.end()), width) * width;
    for (std::int64_t& a : memory.at) a -= least;
    p.cache_passes = bank_passes(memory, shapes_.banks);
  }
  p.by_begin.resize(static_cast<std::size_t>(has_memory_ ? shapes_.line.line / element_bytes_ : 1));
  return p;
}

const AccessPattern& AccessPatterns::begun_at(Places& p, std::int64_t in_line) const {
  std::unique_ptr<AccessPattern>& known =
      p.by_begin[has_memory_ ? static_cast<std::size_t>(in_line / element_bytes_) : 0];
  if (known) return *known;
  known = std::make_unique<AccessPattern>();
  known->count = p.count;
  known->cache_passes = p.cache_passes;
  std::array<std::int64_t, arch::kMaxLanes> at;
  std::transform(p.memory.begin(), p.memory.end(), at.begin(), [in_line](std::int64_t a) { return a + in_line; });
  known->touches = touched_lines(std::span(at).first(p.memory.size()), bytes_, shapes_.line);
  known->count.global.sectors = sectors_of(known->touches);
  if (shapes_.tells_written && has_memory_ && !memory_is_source_)
    known->written = written_lines(std::span(at).first(p.memory.size()), bytes_, shapes_.line, known->touches);
  return *known;
}

}  // namespace tilescope::sim
