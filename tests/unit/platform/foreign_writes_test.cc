// SPDX-License-Identifier: Apache-2.0
// What a user's memory is asked for by a cache whose lines are written in parts: against a plain loop over bytes, each
// burst once, at its own address, and `partial` where it must be merged.

#include <map>
#include <set>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "sim/gpu/detail/machine.h"
#include "sim/memory/detail/device_memory.h"
#include "sim/memory/external_dram.h"
#include "tests/support/build.h"

namespace tilescope::sim {
namespace {

struct Burst {
  std::int64_t address = 0;
  bool write = false, partial = false;
  auto operator<=>(const Burst&) const = default;
};
using Bursts = std::multiset<Burst>;

// Notes what it is asked for and answers as it arrives.
class WriteRecorder final : public ForeignMemory<Clock> {
 public:
  WriteRecorder(Bursts& seen, std::int64_t burst) : seen_(seen), burst_(burst) {}
  void request(std::span<const ForeignRequest<Clock>> r) override {
    for (const ForeignRequest<Clock>& q : r) {
      for (std::int64_t a = q.address; a < q.address + q.bytes; a += burst_) seen_.insert({a, q.write, q.partial});
      due_.emplace(q.arrival, q.id);
    }
  }
  void advance(Clock until, std::size_t, std::vector<ForeignAnswer<Clock>>& answers) override {
    for (; !due_.empty() && due_.begin()->first < until; due_.erase(due_.begin()))
      answers.push_back({due_.begin()->second, due_.begin()->first, false});
  }

 private:
  Bursts& seen_;
  std::int64_t burst_;
  std::multimap<Clock, std::uint64_t> due_;
};

// A cache of one line, byte by byte.
class PlainCache {
 public:
  PlainCache(const MemorySpec& m) : m_(m) {}

  void access(std::int64_t line, std::int64_t begin, std::int64_t bytes, bool write) {
    if (line != line_) leave();
    line_ = line;
    const std::int64_t sector = m_.shape.sector;
    for (std::int64_t s = begin / sector; s * sector < begin + bytes; ++s) {
      const std::int64_t from = std::max(begin, s * sector), to = std::min(begin + bytes, (s + 1) * sector);
      const bool whole = from == s * sector && to == (s + 1) * sector;
      const bool fetched = m_.partial_write == arch::PartialWrite::kFetched && !whole && !valid_.contains(s);
      if ((!write && !knows(s)) || (write && fetched)) {
        read_.insert(s);
        know(s * sector, (s + 1) * sector);
      }
      valid_.insert(s);
      if (!write) continue;
      know(from, to);
      dirty_.insert(s);
    }
    for (const std::int64_t b : bursts_of(read_)) asked.insert({address(b), false, false});
    read_.clear();
  }
  // The line leaves: of dirty sectors all that is known is written.
  void leave() {
    for (const std::int64_t b : bursts_of(dirty_)) {
      bool written = false, merges = false;
      const std::int64_t granule = std::max<std::int64_t>(1, m_.write_granule);
      for (std::int64_t g = b * m_.burst_bytes; g < (b + 1) * m_.burst_bytes; g += granule) {
        bool any = false, all = true;
        for (std::int64_t byte = g; byte < g + granule; ++byte) {
          any = any || (known_.contains(byte) && dirty_.contains(byte / m_.shape.sector));
          all = all && known_.contains(byte);
        }
        written = written || any;
        merges = merges || (any && !all);
      }
      if (written) asked.insert({address(b), true, merges && m_.write_granule > 0});
    }
    known_.clear();
    valid_.clear();
    dirty_.clear();
  }

  Bursts asked;

 private:
  bool knows(std::int64_t sector) const {
    for (std::int64_t b = sector * m_.shape.sector; b < (sector + 1) * m_.shape.sector; ++b)
      if (!known_.contains(b)) return false;
    return true;
  }
  void know(std::int64_t from, std::int64_t to) {
    for (std::int64_t b = from; b < to; ++b) known_.insert(b);
  }
  std::set<std::int64_t> bursts_of(const std::set<std::int64_t>& sectors) const {
    std::set<std::int64_t> bursts;
    for (const std::int64_t s : sectors)
      for (std::int64_t b = s * m_.shape.sector; b < (s + 1) * m_.shape.sector; ++b) bursts.insert(b / m_.burst_bytes);
    return bursts;
  }
  std::int64_t address(std::int64_t burst) const { return line_ * m_.shape.line + burst * m_.burst_bytes; }

  const MemorySpec& m_;
  std::int64_t line_ = -1;
  std::set<std::int64_t> known_;  // bytes of the line
  std::set<std::int64_t> valid_, dirty_, read_;
};

RC_GTEST_PROP(ForeignWrites, AreAskedForAtTheirOwnAddressesOnce, ()) {
  MemorySpec m = machine_of(tests::v100()).memory;
  m.slices = 1;
  m.slice = {.lines = 1, .ways = 1};
  m.burst_bytes = *rc::gen::element<std::int64_t>(16, 32, 64);
  m.partial_write = *rc::gen::element(arch::PartialWrite::kMasked, arch::PartialWrite::kFetched);
  m.write_granule = *rc::gen::element<std::int64_t>(1, 8, 16);
  m.tlb.reset();
  Bursts seen;
  m.dram_model = [&] {
    return std::make_unique<ExternalDram>(std::make_unique<WriteRecorder>(seen, m.burst_bytes), "a memory",
                                          m.burst_bytes, m.map.channels, 1);
  };
  Statistics statistics;
  DeviceMemory memory(m, statistics);
  PlainCache plain(m);
  std::vector<MemoryReply> replies;
  Cycle now{};
  const auto access = [&](std::int64_t line, std::int64_t begin, std::int64_t bytes, bool write) {
    const std::vector<std::int64_t> address = {line * m.shape.line + begin};
    const std::vector<Touch> touches = touched_lines(address, bytes, m.shape);
    const std::vector<Written> written =
        write ? written_lines(address, bytes, m.shape, touches) : std::vector<Written>{};
    const MemoryRequest r{.write = write,
                          .line = line,
                          .sectors = touches.front().sectors,
                          .at = now,
                          .written = written.empty() ? Written{} : written.front()};
    memory.run({&r, 1}, {}, replies);
    plain.access(line, begin, bytes, write);
    for (std::size_t done = 0; memory.next(); ++done) {
      RC_ASSERT(done < 1000U);
      now = std::max(now, *memory.next()) + 1_cycles;
      memory.run({}, now, replies);
    }
    ++now;
  };
  for (int i = *rc::gen::inRange(1, 60); i > 0; --i) {
    const std::int64_t line = *rc::gen::inRange<std::int64_t>(0, 3), begin = *rc::gen::inRange<std::int64_t>(0, 128);
    access(line, begin, *rc::gen::inRange<std::int64_t>(1, 129 - begin), *rc::gen::inRange(0, 3) > 0);
  }
  access(100, 0, 128, false);  // what is dirty leaves
  RC_ASSERT(seen == plain.asked);
}

}  // namespace
}  // namespace tilescope::sim
