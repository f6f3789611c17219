#include "backends/cuda/host/shadow.h"

#include <string>

#include "backends/cuda/host/place.h"

namespace tilescope::cuda::host {
namespace {

constexpr std::int32_t kSeveralThreads = -1;

std::string who(std::int32_t thread) {
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
  return t.epoch == e.now && t.thread != place.thread;
}

void Shadow::check(const char* does, const char* did, const Touch& t, std::int64_t cell, const Epochs& e) const {
  if (!races(t, e)) return;
  const bool here = t.epoch >= e.block;
  fail("race: %s element %lld of %s, which %s%s %s%s", does, static_cast<long long>(cell), name_, who(t.thread).c_str(),
       here ? "" : " of another block", did, here ? " since the last barrier" : "");
}

void Shadow::read(std::int64_t offset, int bytes, const Epochs& e) {
  each_cell(offset, bytes, [&](std::int64_t at, Cell& c) {
    if (c.under_way.epoch >= e.block)
      fail("reads element %lld of %s, into which an asynchronous copy of thread %d is under way",
           static_cast<long long>(at), name_, c.under_way.thread);
    const bool written = kind_ == Kind::kInput || c.write.epoch >= (kind_ == Kind::kShared ? e.block : 1);
    if (!written) fail("reads element %lld of %s, which nobody wrote", static_cast<long long>(at), name_);
    check("reads", "wrote", c.write, at, e);
    const bool several = c.read.epoch == e.now && c.read.thread != place.thread;
    c.read = {e.now, several ? kSeveralThreads : place.thread};
  });
}

void Shadow::write(std::int64_t offset, int bytes, const Epochs& e) {
  each_cell(offset, bytes, [&](std::int64_t at, Cell& c) {
    if (c.under_way.epoch >= e.block)
      fail("writes element %lld of %s, into which an asynchronous copy of thread %d is under way",
           static_cast<long long>(at), name_, c.under_way.thread);
    check("writes", "wrote", c.write, at, e);
    check("writes", "read", c.read, at, e);
    c.write = {e.now, place.thread};
  });
}

void Shadow::begin_async(std::int64_t offset, int bytes, const Epochs& e) {
  write(offset, bytes, e);
  each_cell(offset, bytes, [&](std::int64_t, Cell& c) { c.under_way = {e.now, place.thread}; });
}

void Shadow::end_async(std::int64_t offset, int bytes, const Epochs& e) {
  each_cell(offset, bytes, [&](std::int64_t, Cell& c) {
    c.under_way = {};
    c.write = {e.now, place.thread};
  });
}

std::int64_t Shadow::unwritten() const {
  for (std::size_t c = 0; c < cells_.size(); ++c)
    if (cells_[c].write.epoch == 0) return static_cast<std::int64_t>(c);
  return -1;
}

}  // namespace tilescope::cuda::host
