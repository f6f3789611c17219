#include <algorithm>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "arch/checks.h"
#include "arch/complaints.h"
#include "arch/derive.h"
#include "arch/dram_mapping.h"

namespace tilescope::arch {
namespace {

Factor factor(const LevelSpec& l, std::string_view key, std::int64_t value) { return {{"memory", l.name, key}, value}; }
Factor factor(const LevelSpec& l, std::string_view key, Bytes value) { return factor(l, key, value.n); }

Factor clock_of(const ArchSpec& a, const LevelSpec& l) {
  return l.clock ? factor(l, "clock", l.clock->n) : Factor{{"clock"}, a.clock.n};
}

// How many there are of a level.
Factor instances(const ArchSpec& a, const LevelSpec& l) {
  return {{"core", "count"}, l.scope == Scope::kCore ? a.core.count : 1};
}

void check_timing(const LevelSpec& l, Complaints& complaints) {
  const auto cycles = [&l](const char* name) {
    const auto found = l.timing.find(name);
    return found == l.timing.end() ? 0 : found->second.n;
  };
  const std::int64_t rc = cycles("rc"), ras = cycles("ras"), rp = cycles("rp");
  if (rc > 0 && ras > 0 && rp > 0 && rc - ras < rp)
    complaints.add({"memory", l.name, "timing", "rc"},
                   fmt::format("{} cycles are less than ras + rp, {} + {} cycles", rc, ras, rp));
  for (const auto& [shorter, longer] : {std::pair{"ccd_s", "ccd_l"}, {"rrd_s", "rrd_l"}, {"wtr_s", "wtr_l"}})
    if (cycles(longer) > 0 && cycles(longer) < cycles(shorter))
      complaints.add({"memory", l.name, "timing", longer},
                     fmt::format("{} cycles are less than {}, {} cycles", cycles(longer), shorter, cycles(shorter)));
}

void check_dram(const ArchSpec& a, const LevelSpec& l, Complaints& complaints) {
  if (l.bank_groups && !divides(*l.bank_groups, l.banks))
    complaints.add({"memory", l.name, "banks"},
                   fmt::format("{} banks are no multiple of {} bank groups", l.banks, *l.bank_groups));
  complaints.require_product({factor(l, "width", l.width), factor(l, "burst", l.burst)});
  complaints.require_product(
      {clock_of(a, l), factor(l, "rate", l.rate), factor(l, "channels", l.channels), factor(l, "width", l.width)});
  if (!base::checked_mul(l.width.n, l.burst)) return;
  const Bytes burst = transaction_of(l);
  if (l.row && !divides(burst, *l.row))
    complaints.add({"memory", l.name, "row"},
                   fmt::format("{} B are no multiple of a burst of {} B (width x burst)", l.row->n, burst.n));
  const LevelSpec* cache = device_cache_of(a);
  if (cache != nullptr && !divides(burst, cache->sector) && !divides(cache->sector, burst))
    complaints.add(
        {"memory", l.name, "burst"},
        fmt::format("a burst of {} B (width x burst) neither divides the sector of {}, {} B, nor is divided by it",
                    burst.n, cache->name, cache->sector.n));
  if (std::string why; l.mapping && !mapping_of(l, why)) complaints.add({"memory", l.name, "mapping"}, why);
  check_timing(l, complaints);
}

void check_cache_name(const LevelSpec& l, Complaints& complaints) {
  if (!l.shares) return;
  std::vector<std::string_view> names;
  for (const base::Entry& e : *complaints.map_at({"memory"}))
    if (e.key != l.name) names.push_back(e.key);
  if (std::find(names.begin(), names.end(), *l.shares) != names.end()) return;
  complaints.add({"memory", l.name, "shares"},
                 fmt::format("no other level is named '{}'{}", *l.shares, base::did_you_mean(*l.shares, names)));
}

void check_partitions(const LevelSpec& l, Complaints& complaints) {
  if (l.slices % l.partitions != 0)
    complaints.add({"memory", l.name, "partitions"},
                   fmt::format("{} partitions do not divide {} slices", l.partitions, l.slices));
  if (l.partitions > 1 && !l.far_latency)
    complaints.add({"memory", l.name, "partitions"}, "more than one partition needs far_latency");
  if (l.far_latency && l.latency && *l.far_latency < *l.latency)
    complaints.add({"memory", l.name, "far_latency"},
                   fmt::format("{} cycles are less than latency, {} cycles", l.far_latency->n, l.latency->n));
}

void check_cache(const ArchSpec& a, const LevelSpec& l, Complaints& complaints) {
  const auto granule = [&](std::string_view key, Bytes size, std::string_view outer, Bytes outer_size) {
    if (!divides(size, outer_size))
      complaints.add(
          {"memory", l.name, key},
          fmt::format("{} B do not divide the {} of {} B (access <= sector <= line)", size.n, outer, outer_size.n));
  };
  granule("sector", l.sector, "line", l.line);
  if (l.access) granule("access", *l.access, "sector", l.sector);
  if (!divides(l.line, l.capacity))
    complaints.add({"memory", l.name, "capacity"},
                   fmt::format("{} B are no multiple of the line of {} B", l.capacity.n, l.line.n));
  complaints.require_product(
      {clock_of(a, l), factor(l, "slices", l.slices), factor(l, "width", l.width), instances(a, l)});
  check_cache_name(l, complaints);
  check_partitions(l, complaints);
  if (!l.ways) return;
  const auto row = base::checked_mul(l.slices, *l.ways);  // one line of every way of every slice
  const auto set = row ? base::checked_mul(*row, l.line.n) : std::nullopt;
  if (!set || !divides(*set, l.capacity.n))
    complaints.add({"memory", l.name, "ways"},
                   fmt::format("{} slices x {} ways x {} B do not divide the capacity of {} B into whole sets",
                               l.slices, *l.ways, l.line.n, l.capacity.n));
}

void check_scratchpad(const ArchSpec& a, const LevelSpec& l, Complaints& complaints) {
  if (l.per_block && l.capacity.n > 0 && *l.per_block > l.capacity)
    complaints.add({"memory", l.name, "per_block"},
                   fmt::format("{} B are more than the capacity of {} B", l.per_block->n, l.capacity.n));
  if (l.banks > kMostBanks)
    complaints.add({"memory", l.name, "banks"}, fmt::format("{} banks are more than {}", l.banks, kMostBanks));
  complaints.require_product(
      {clock_of(a, l), factor(l, "banks", l.banks), factor(l, "bank_width", l.bank_width), instances(a, l)});
}

}  // namespace

void check_levels(const base::Value& document, const ArchSpec& a, base::Diagnostics& diags) {
  Complaints complaints(document, diags);
  for (const LevelSpec& l : a.memory) {
    complaints.require_product({factor(l, "capacity", l.capacity), instances(a, l)});
    switch (l.kind) {
      case Kind::kDram:
        check_dram(a, l, complaints);
        break;
      case Kind::kCache:
        check_cache(a, l, complaints);
        break;
      case Kind::kScratchpad:
        check_scratchpad(a, l, complaints);
        break;
      case Kind::kRegister:
        break;
    }
  }
}

}  // namespace tilescope::arch
