// SPDX-License-Identifier: Apache-2.0
#include "sim/memory/detail/foreign_caches.h"

#include <algorithm>

#include "sim/memory/detail/memory_spec.h"

namespace tilescope::sim {
namespace {

Cycle turn_of(const BehindCores& behind, bool late, const MemorySpec& spec) {
  if (!late) return behind.lookahead > 0_cycles ? behind.lookahead : fixed_latency_of(spec).least();
  // What is asked in one turn is answered in the next, of which cores hear at its end.
  return std::max(1_cycles, behind.lookahead / 2);
}

}  // namespace

ForeignCaches::ForeignCaches(const BehindCores& behind, const MemorySpec& spec, std::size_t caches)
    : requests_(behind.make(), behind.name, behind.hint),
      shape_(spec.shape),
      caches_(caches),
      turn_(turn_of(behind, requests_.memory().answers_late(), spec)) {}

// What leaves a core after the turn may want a line that is under way already: our caches tell of it as that comes.
void ForeignCaches::ask(const MemoryRequest& r, Cycle turn_end) {
  if (free_.empty()) {
    free_.push_back(accesses_.size());
    accesses_.emplace_back();
  }
  const std::size_t place = free_.back();
  free_.pop_back();
  Access& own = accesses_[place];
  own = {{r.core, r.ticket}};
  const bool in_parts = r.write && r.written.parts.any();
  const std::int64_t unit = in_parts ? bytes_of_part(shape_) : shape_.sector;
  const auto asked = [&](std::int64_t u) {
    return in_parts ? r.written.parts.test(static_cast<std::size_t>(u)) : (r.sectors >> u & 1U) != 0;
  };
  const std::int64_t units = shape_.line / unit;
  for (std::int64_t begin = 0, end = 0; begin < units; begin = end + 1) {
    end = begin;
    while (end < units && asked(end)) ++end;
    if (end == begin) continue;
    requests_.ask(place,
                  {.address = r.line * shape_.line + begin * unit,
                   .bytes = (end - begin) * unit,
                   .write = r.write,
                   .arrival = r.at,
                   .continues = own.left > 0,
                   .core = r.core},
                  std::min(r.at, turn_end));
    ++own.left;
  }
}

void ForeignCaches::run(std::span<const MemoryRequest> requests, Cycle end, std::vector<MemoryReply>& replies) {
  for (const MemoryRequest& r : requests) ask(r, end);
  if (end <= requests_.until()) return;
  requests_.run(end, end, answered_);
  for (const ForeignRequests<Cycle>::Answered& a : answered_) {
    Access& access = accesses_[a.asker];
    MemoryReply& reply = access.reply;
    reply.at = std::max({reply.at, a.answer.done, end});
    const std::size_t level = static_cast<std::size_t>(std::max(0, a.answer.level));
    reply.from = std::max(reply.from, level < caches_ ? stall_of_device_cache(level) : Stall::kDram);
    if (--access.left > 0) continue;
    replies.push_back(reply);
    free_.push_back(a.asker);
  }
}

}  // namespace tilescope::sim
