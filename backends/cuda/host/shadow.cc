// SPDX-License-Identifier: Apache-2.0
#include "backends/cuda/host/shadow.h"

#include <string>

#include "backends/cuda/host/place.h"

namespace tilescope::cuda::host {
namespace {

constexpr std::int32_t kSeveralThreads = -1, kBulkCopy = -2;

std::string who(std::int32_t thread) {
  if (thread == kBulkCopy) return "a bulk copy";
  return thread == kSeveralThreads ? "several threads" : "thread " + std::to_string(thread);
}

}  // namespace

Shadow::Shadow(const char* name, Kind kind, std::int64_t bytes, std::int64_t granule)
    : name_(name), kind_(kind), granule_(granule), cells_(static_cast<std::size_t>(bytes / granule)) {}

template <class Visit>
void Shadow::each_cell(std::int64_t offset, int bytes, Visit visit) {
  for (std::int64_t c = offset / granule_; c * granule_ < offset + bytes; ++c)
    visit(c, cells_[static_cast<std::size_t>(c)]);
}

bool Shadow::races(const Touch& t, const Epochs& e) const {
  if (t.epoch < begin(e)) return false;
  if (t.epoch < e.block) return true;
  if (t.thread != kBulkCopy && (t.epoch != e.now || t.thread == place.thread)) return false;
  return !e.clocks.active() || t.thread == kSeveralThreads || !e.clocks.knows(place.thread, t.time);
}

Shadow::Touch Shadow::touch(const Epochs& e) const {
  return {e.now, place.thread, e.clocks.active() ? e.clocks.now(place.thread) : Clocks::Time{}};
}

void Shadow::remember_warps(std::int64_t warps) {
  warps_ = warps;
  reads_.assign(cells_.size() * static_cast<std::size_t>(warps), 0);
}

void Shadow::check(const char* does, const char* did, const Touch& t, std::int64_t cell, const Epochs& e) const {
  if (!races(t, e)) return;
  const bool here = t.epoch >= e.block;
  const char* const since = !here               ? ""
                            : e.clocks.active() ? ", and no mbarrier said that it is over"
                                                : " since the last barrier";
  fail("race: %s element %lld of %s, which %s%s %s%s", does, static_cast<long long>(cell), name_, who(t.thread).c_str(),
       here ? "" : " of another block", did, since);
}

// Every thread that may still be reading is known to the running thread.
void Shadow::check_readers(std::int64_t cell, const Epochs& e) const {
  const Cell& c = cells_[static_cast<std::size_t>(cell)];
  if (warps_ == 0 || !e.clocks.active()) return check("writes", "read", c.read, cell, e);
  for (std::int64_t w = 0; w < warps_; ++w) {
    const std::uint32_t read = reads_[static_cast<std::size_t>(cell * warps_ + w)];
    if (read == 0 || e.clocks.knows(place.thread, {static_cast<std::int32_t>(w), read - 1})) continue;
    if (c.read.thread == place.thread && e.clocks.now(place.thread).of == w) continue;
    fail("race: writes element %lld of %s, which warp %lld may still be reading", static_cast<long long>(cell), name_,
         static_cast<long long>(w));
  }
}

void Shadow::check_writable(std::int64_t cell, const Epochs& e) const {
  const Cell& c = cells_[static_cast<std::size_t>(cell)];
  if (c.under_way.epoch >= e.block)
    fail("writes element %lld of %s, into which an asynchronous copy of thread %d is under way",
         static_cast<long long>(cell), name_, c.under_way.thread);
  check("writes", "wrote", c.write, cell, e);
  check_readers(cell, e);
}

void Shadow::read(std::int64_t offset, int bytes, const Epochs& e) {
  each_cell(offset, bytes, [&](std::int64_t at, Cell& c) {
    if (c.under_way.epoch >= e.block)
      fail("reads element %lld of %s, into which an asynchronous copy of thread %d is under way",
           static_cast<long long>(at), name_, c.under_way.thread);
    const bool written = kind_ == Kind::kInput || c.write.epoch >= (kind_ == Kind::kShared ? e.block : 1);
    if (!written) fail("reads element %lld of %s, which no thread wrote", static_cast<long long>(at), name_);
    check("reads", "wrote", c.write, at, e);
    const bool several = c.read.epoch == e.now && c.read.thread != place.thread;
    c.read = touch(e);
    if (several) c.read.thread = kSeveralThreads;
    if (warps_ > 0 && e.clocks.active())
      reads_[static_cast<std::size_t>(at * warps_ + c.read.time.of)] = c.read.time.count + 1;
  });
}

void Shadow::write(std::int64_t offset, int bytes, const Epochs& e) {
  each_cell(offset, bytes, [&](std::int64_t at, Cell& c) {
    check_writable(at, e);
    c.write = touch(e);
  });
}

void Shadow::begin_async(std::int64_t offset, int bytes, const Epochs& e) {
  write(offset, bytes, e);
  each_cell(offset, bytes, [&](std::int64_t, Cell& c) { c.under_way = touch(e); });
}

void Shadow::write_in_bulk(std::int64_t offset, int bytes, const void* mbarrier, const Epochs& e) {
  each_cell(offset, bytes, [&](std::int64_t at, Cell& c) {
    check_writable(at, e);
    c.write = {e.now, kBulkCopy, e.clocks.of_mbarrier(mbarrier)};
  });
}

void Shadow::end_async(std::int64_t offset, int bytes, const Epochs& e) {
  each_cell(offset, bytes, [&](std::int64_t, Cell& c) {
    c.under_way = {};
    c.write = touch(e);
  });
}

std::int64_t Shadow::unwritten() const {
  for (std::size_t c = 0; c < cells_.size(); ++c)
    if (cells_[c].write.epoch == 0) return static_cast<std::int64_t>(c);
  return -1;
}

}  // namespace tilescope::cuda::host
