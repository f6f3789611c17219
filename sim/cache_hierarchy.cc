// SPDX-License-Identifier: Apache-2.0
#include "sim/cache_hierarchy.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "arch/hierarchy.h"
#include "sim/gpu/detail/machine.h"
#include "sim/memory/detail/device_memory.h"
#include "sim/memory/detail/written_parts.h"

namespace tilescope::sim {
namespace {

Machine machine_with_caches(const arch::ArchSpec& chip, DramFactory dram) {
  if (arch::hierarchy_of(chip).device_caches.empty()) throw SimError(chip.name + ": has no cache of the device");
  Machine m = machine_of(chip);
  if (dram) m.memory.dram_model = std::move(dram);
  return m;
}

}  // namespace

struct CacheHierarchy::Parts {
  Parts(const arch::ArchSpec& chip, DramFactory dram)
      : machine(machine_with_caches(chip, std::move(dram))),
        spec(machine.memory),
        tells_written(spec.partial_write || spec.write_granule > 0),
        memory(spec, statistics) {}

  std::uint32_t sectors_of(std::int64_t begin, std::int64_t bytes) const {
    const std::int64_t first = begin / spec.shape.sector, last = (begin + bytes - 1) / spec.shape.sector;
    return ((std::uint32_t{2} << last) - 1) & ~((std::uint32_t{1} << first) - 1);
  }

  MemoryRequest request(const CacheRequest& r) const {
    MemoryRequest out{
        .core = r.core, .ticket = r.ticket, .write = r.write, .line = r.address / spec.shape.line, .at = r.at};
    add(r, out);
    return out;
  }
  // A piece of it.
  void add(const CacheRequest& r, MemoryRequest& to) const {
    const std::int64_t begin = r.address % spec.shape.line;
    to.sectors |= sectors_of(begin, r.bytes);
    if (!r.write || !tells_written) return;
    to.written.parts |= parts_between(spec.shape, begin, begin + r.bytes);
    to.written.partly = partly_written(spec.shape, to.sectors, to.written.parts);
  }

  int level_of(Stall from) const {
    const std::size_t caches = machine.device_cache_names.size();
    return static_cast<int>(
        from == Stall::kDram ? caches : static_cast<std::size_t>(from) - static_cast<std::size_t>(Stall::kL2));
  }

  Machine machine;
  const MemorySpec& spec;
  bool tells_written = false;
  Statistics statistics;
  DeviceMemory memory;
  std::vector<MemoryRequest> asked;
  std::vector<MemoryReply> fresh;
};

CacheHierarchy::CacheHierarchy(const arch::ArchSpec& chip, DramFactory dram)
    : parts_(std::make_unique<Parts>(chip, std::move(dram))) {}
CacheHierarchy::~CacheHierarchy() = default;

std::int64_t CacheHierarchy::cores() const { return parts_->spec.cores; }
std::int64_t CacheHierarchy::misses() const { return parts_->machine.misses; }
std::int64_t CacheHierarchy::line_bytes() const { return parts_->spec.shape.line; }

std::int64_t CacheHierarchy::moved_bytes(std::int64_t address, std::int64_t bytes) const {
  return std::popcount(parts_->sectors_of(address % line_bytes(), bytes)) * parts_->spec.shape.sector;
}

double CacheHierarchy::peak() const {
  const MemorySpec& m = parts_->spec;
  return static_cast<double>(m.slice_rate.units * m.slices) / static_cast<double>(m.slice_rate.cycles);
}

Cycle CacheHierarchy::turn() const { return parts_->memory.min_latency(); }
Cycle CacheHierarchy::next() const { return parts_->memory.next().value_or(kNever); }

// As in sim/gpu/gpu.cc.
void CacheHierarchy::run(std::vector<CacheRequest>& requests, Cycle end, std::vector<CacheReply>& replies) {
  Parts& p = *parts_;
  std::stable_sort(requests.begin(), requests.end(),
                   [](const CacheRequest& a, const CacheRequest& b) { return a.at < b.at; });
  p.asked.clear();
  for (const CacheRequest& r : requests)
    if (r.continues)
      p.add(r, p.asked.back());
    else
      p.asked.push_back(p.request(r));
  p.fresh.clear();
  p.memory.run(p.asked, end, p.fresh);
  for (const MemoryReply& r : p.fresh) replies.push_back({r.ticket, r.at, p.level_of(r.from)});
}

std::vector<LevelReport> CacheHierarchy::levels() const {
  const Machine& m = parts_->machine;
  std::vector<LevelReport> out = {{m.dram_name, parts_->statistics.level(LevelRole::kDram)}};
  for (std::size_t c = m.device_cache_names.size(); c-- > 0;)
    out.push_back({m.device_cache_names[c], parts_->statistics.level(role_of_device_cache(c))});
  return out;
}

std::int64_t CacheHierarchy::dirtied_bytes() const { return parts_->statistics.dirtied_bytes; }

}  // namespace tilescope::sim
