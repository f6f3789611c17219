// SPDX-License-Identifier: Apache-2.0
#include "sim/cache_hierarchy.h"

#include <algorithm>
#include <bit>

#include "arch/hierarchy.h"
#include "sim/gpu/detail/machine.h"
#include "sim/memory/detail/device_memory.h"
#include "sim/memory/detail/written_parts.h"

namespace tilescope::sim {
namespace {

Machine machine_with_caches(const arch::ArchSpec& chip) {
  if (arch::hierarchy_of(chip).device_caches.empty()) throw SimError(chip.name + ": has no cache of the device");
  return machine_of(chip);
}

}  // namespace

struct CacheHierarchy::Parts {
  explicit Parts(const arch::ArchSpec& chip)
      : machine(machine_with_caches(chip)),
        spec(machine.memory),
        tells_written(spec.partial_write || spec.write_granule > 0),
        memory(spec, statistics) {}

  std::uint32_t sectors_of(std::int64_t begin, std::int64_t bytes) const {
    const std::int64_t first = begin / spec.shape.sector, last = (begin + bytes - 1) / spec.shape.sector;
    return ((std::uint32_t{2} << last) - 1) & ~((std::uint32_t{1} << first) - 1);
  }

  MemoryRequest request(const CacheRequest& r) const {
    const std::int64_t line = r.address / spec.shape.line, begin = r.address % spec.shape.line;
    MemoryRequest out{.core = r.core,
                      .ticket = r.ticket,
                      .write = r.write,
                      .line = line,
                      .sectors = sectors_of(begin, r.bytes),
                      .at = r.at};
    if (r.write && tells_written) {
      out.written.parts = parts_between(spec.shape, begin, begin + r.bytes);
      out.written.partly = partly_written(spec.shape, out.sectors, out.written.parts);
    }
    return out;
  }

  Machine machine;
  const MemorySpec& spec;
  bool tells_written = false;
  Statistics statistics;
  DeviceMemory memory;
  std::vector<MemoryReply> fresh;
};

CacheHierarchy::CacheHierarchy(const arch::ArchSpec& chip) : parts_(std::make_unique<Parts>(chip)) {}
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
  p.fresh.clear();
  p.memory.advance(end, p.fresh);
  for (const CacheRequest& r : requests) p.memory.accept(p.request(r), p.fresh);
  p.memory.send(end, p.fresh);
  for (const MemoryReply& r : p.fresh) replies.push_back({r.ticket, r.at});
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
