// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "arch/derive.h"
#include "arch/detail/checks.h"
#include "arch/detail/complaints.h"
#include "arch/dram_mapping.h"
#include "arch/hierarchy.h"
#include "arch/key.h"

namespace tilescope::arch {
namespace {

Factor factor(const LevelSpec& l, std::string_view key, std::int64_t value) { return {{"memory", l.name, key}, value}; }
Factor factor(const LevelSpec& l, std::string_view key, Bytes value) { return factor(l, key, value.n); }

Factor clock_factor(const ArchSpec&, const DramLevel& l) { return factor(l, "clock", l.clock.n); }
Factor clock_factor(const ArchSpec& a, const CacheLevel& l) {
  return l.clock ? factor(l, "clock", l.clock->n) : Factor{{"clock"}, a.clock.n};
}
Factor clock_factor(const ArchSpec& a, const ScratchpadLevel&) { return {{"clock"}, a.clock.n}; }
Factor clock_factor(const ArchSpec& a, const TensorLevel&) { return {{"clock"}, a.clock.n}; }

// How many there are of a level.
Factor instances(const ArchSpec& a, const LevelSpec& l) {
  return {{"core", "count"}, l.scope == Scope::kCore ? a.core.count : 1};
}

// Timings that no memory has. What a file does not name agrees with everything, and a window may be too short to be
// noticed: four activates of GDDR6 take longer than its faw as it is.
class TimingJudge {
 public:
  TimingJudge(const DramLevel& l, Complaints& complaints) : level_(l), complaints_(complaints) {}

  // `why`: what a shorter one would mean.
  void at_least(const char* name, const char* other, const char* why = "") const {
    if (known(name, other) && cycles(name) < cycles(other))
      complain(name, fmt::format("less than {}, {} cycles{}{}", other, cycles(other), why, advice(cycles(other))),
               {other});
  }
  void whole_row_cycle() const {
    const std::int64_t ras = cycles("ras"), rp = cycles("rp");
    if (known("rc", "ras") && rp > 0 && cycles("rc") - ras < rp)
      complain("rc", fmt::format("less than ras + rp, {} + {} cycles{}", ras, rp, advice(base::checked_add(ras, rp))),
               {"ras", "rp"});
  }
  // Between two refreshes a row is opened, read and closed, or a queue never empties.
  void leaves_time_for_a_row(const char* name) const {
    const std::int64_t row = cycles("rcd") + cycles("cl") + cycles("rp");
    if (known(name, "refi") && cycles("refi") - cycles(name) <= row)
      complain(name,
               fmt::format("too many of refi, {} cycles, for a row to be opened, read and closed between refreshes, {} "
                           "cycles; fewer would agree",
                           cycles("refi"), row),
               {"refi"});
  }

 private:
  std::int64_t cycles(const char* name) const {
    const auto found = level_.timing.find(name);
    return found == level_.timing.end() ? 0 : found->second.n;
  }
  bool known(const char* name, const char* other) const { return cycles(name) > 0 && cycles(other) > 0; }
  void complain(const char* name, const std::string& text, std::initializer_list<const char*> others) const {
    std::vector<Path> paths;
    for (const char* other : others) paths.push_back({"memory", level_.name, "timing", other});
    complaints_.add({"memory", level_.name, "timing", name}, fmt::format("{} cycles are {}", cycles(name), text),
                    paths);
  }
  static std::string advice(std::optional<std::int64_t> least) {
    return least ? fmt::format("; {} or more would agree", *least) : "";
  }

  const DramLevel& level_;
  Complaints& complaints_;
};

void check_timing(const DramLevel& l, Complaints& complaints) {
  const TimingJudge judge(l, complaints);
  judge.whole_row_cycle();
  judge.at_least("ras", "rcd", ": a row would close before it is read");
  judge.at_least("ras", "rcd_wr", ": a row would close before it is written");
  for (const auto& [shorter, longer] : {std::pair{"ccd_s", "ccd_l"}, {"rrd_s", "rrd_l"}, {"wtr_s", "wtr_l"}})
    judge.at_least(longer, shorter);
  judge.at_least("faw", "rrd_s", ": four activates would take less than two");
  judge.at_least("aw32", "faw", ": thirty-two activates would take less than four");
  for (const char* needed : {"refi", "rfc_sb"})
    if (l.refresh == Refresh::kPerBank && !l.timing.contains(needed))
      complaints.add({"memory", l.name, "refresh"}, fmt::format("per_bank, but timing.{} is missing", needed));
  if (l.refresh == Refresh::kAllBanks && l.timing.contains("rfc_sb"))
    complaints.add({"memory", l.name, "timing", "rfc_sb"}, "banks are refreshed one by one where refresh is per_bank");
  // Without rows nothing is opened, closed or refreshed.
  if (!l.row || l.banks == 0)
    for (const char* of_rows : {"rcd", "rcd_wr", "rp", "ras", "rc", "rrd_s", "rrd_l", "faw", "aw32", "rfc", "rfc_sb"})
      if (l.timing.contains(of_rows))
        complaints.add({"memory", l.name, "timing", of_rows}, "nothing hears it without `row` and `banks`");
  judge.leaves_time_for_a_row("rfc");
  judge.leaves_time_for_a_row("rfc_sb");
}

// A row holds whole bursts, and no less than what one miss of the cache before the DRAM asks for.
void check_row(const DramLevel& l, Bytes burst, const CacheLevel* cache, Complaints& complaints) {
  if (!l.row) return;
  if (burst > *l.row && l.row->n > 0)
    complaints.add(
        {"memory", l.name, "row"},
        fmt::format("a row of {} B is narrower than one access, a burst of {} B (width x burst); {} B or more "
                    "would do",
                    l.row->n, burst.n, burst.n),
        {{"memory", l.name, "width"}, {"memory", l.name, "burst"}});
  else if (!divides(burst, *l.row))
    complaints.add({"memory", l.name, "row"},
                   fmt::format("{} B are no multiple of a burst of {} B (width x burst); {} would be", l.row->n,
                               burst.n, multiples_near(l.row->n, burst.n)),
                   {{"memory", l.name, "width"}, {"memory", l.name, "burst"}});
  if (cache != nullptr && cache->sector > *l.row && burst <= *l.row)
    complaints.add({"memory", cache->name, "sector"},
                   fmt::format("an access of {} B is wider than a row of {}, {} B", cache->sector.n, l.name, l.row->n),
                   {{"memory", l.name, "row"}});
}

// What happens to parts of sectors is said of one cache and the DRAM behind it together.
void check_partial_writes(const ArchSpec& a, const DramLevel& l, Bytes burst, const Hierarchy& hierarchy,
                          Complaints& complaints) {
  if (!l.write_granule) return;
  const Path path = {"memory", l.name, "write_granule"};
  const CacheLevel* cache = hierarchy.device_caches.empty() ? nullptr : hierarchy.device_caches.front();
  if (a.chip_class == ChipClass::kBsp) complaints.add(path, "exchanges of a bsp chip write whole bursts");
  if (hierarchy.device_caches.size() > 1)
    complaints.add(path, "not with several caches of device scope, of which none says what it does with parts");
  else if (cache != nullptr && !cache->partial_write)
    complaints.add(path, fmt::format("what comes in parts is not said: {}.partial_write is missing", cache->name));
  if (!divides(*l.write_granule, burst))
    complaints.add(path, fmt::format("{} B do not divide a burst of {} B (width x burst)", l.write_granule->n, burst.n),
                   {{"memory", l.name, "width"}, {"memory", l.name, "burst"}});
  else if (cache != nullptr && !divides(*l.write_granule, cache->line))
    complaints.add(
        path, fmt::format("{} B do not divide the line of {}, {} B", l.write_granule->n, cache->name, cache->line.n),
        {{"memory", cache->name, "line"}});
}

void check_partial_write(const ArchSpec& a, const CacheLevel& l, Complaints& complaints) {
  if (!l.partial_write) return;
  const Path path = {"memory", l.name, "partial_write"};
  const Hierarchy hierarchy = hierarchy_of(a);
  if (hierarchy.device_caches.size() != 1 || hierarchy.device_caches.front() != &l)
    return complaints.add(path, "only the one cache of device scope before the DRAM says so");
  if (*l.partial_write == PartialWrite::kMasked && hierarchy.dram != nullptr && !hierarchy.dram->write_granule)
    complaints.add(path,
                   fmt::format("masked, but {}.write_granule is missing: what the DRAM does with a part of a burst",
                               hierarchy.dram->name));
}

// Kernels ask for parts of lines of the cache before the DRAM, which are looked for in one place.
void check_mapping(const ArchSpec& a, const DramLevel& l, Bytes burst, const CacheLevel* cache,
                   Complaints& complaints) {
  const bool countable = burst.n > 0 && l.bank_groups.value_or(1) > 0;  // what is not has been said already
  if (!l.mapping || !countable) return;
  base::Diagnostics of_mapping;
  const auto mapping = mapping_of(l, of_mapping);
  if (!mapping)
    return complaints.add({"memory", l.name, "mapping"}, of_mapping.sentences().front(),
                          {{"memory", l.name, "channels"},
                           {"memory", l.name, "pseudo_channels"},
                           {"memory", l.name, "ranks"},
                           {"memory", l.name, "bank_groups"},
                           {"memory", l.name, "banks"},
                           {"memory", l.name, "row"},
                           {"memory", l.name, "width"},
                           {"memory", l.name, "burst"},
                           {"memory", l.name, "capacity"}});
  if (a.chip_class == ChipClass::kGpu && cache != nullptr && mapping->bytes_together() < cache->line.n)
    complaints.add({"memory", l.name, "mapping"},
                   fmt::format("{} B lie together, in one row of one bank; less than a line of {}, {} B",
                               mapping->bytes_together(), cache->name, cache->line.n),
                   {{"memory", cache->name, "line"}});
}

// Writes that wait and never go.
void check_watermarks(const DramLevel& l, Complaints& complaints) {
  const auto path = [&](const char* key) { return Path{"memory", l.name, key}; };
  const auto &high = l.write_high_watermark, &low = l.write_low_watermark;
  if (low && !high) complaints.add(path("write_low_watermark"), "needs write_high_watermark");
  if (low && high && *low >= *high)
    complaints.add(path("write_low_watermark"),
                   fmt::format("{} writes are no fewer than write_high_watermark, {}: no write would go", *low, *high),
                   {path("write_high_watermark")});
  if (l.queues == RequestQueues::kReadWrite && high && l.queue_depth && *high > *l.queue_depth)
    complaints.add(path("write_high_watermark"),
                   fmt::format("{} writes are more than queue_depth, {}: never as many wait", *high, *l.queue_depth),
                   {path("queue_depth")});
}

void check_controller(const DramLevel& l, Complaints& complaints) {
  const auto path = [&](const char* key) { return Path{"memory", l.name, key}; };
  check_watermarks(l, complaints);
  if (l.queues == RequestQueues::kPerBank && !l.queue_depth)
    complaints.add(path("queues"), "per_bank, but queue_depth is missing");
  const bool times_out = l.page_policy == PagePolicy::kTimeout;
  if (times_out && !l.page_timeout) complaints.add(path("page_policy"), "timeout, but page_timeout is missing");
  if (l.page_policy != PagePolicy::kOpen && (!l.row || l.banks == 0))
    complaints.add(path("page_policy"), "nothing hears it without `row` and `banks`");
  // What a change of policy makes void, so that one key alone can be changed.
  const auto unused = [&](const char* key, bool given, const char* why, std::string_view policy) {
    if (given) complaints.note(path(key), fmt::format("not heard: {} {}", why, policy));
  };
  const bool in_one_order = l.queues != RequestQueues::kReadWrite;
  const char* const in_turn = "writes take their turn with reads where queues is";
  unused("write_high_watermark", in_one_order && l.write_high_watermark, in_turn, name_of_choice(l.queues));
  unused("write_threshold", in_one_order && l.write_threshold, in_turn, name_of_choice(l.queues));
  unused("write_idle", in_one_order && l.write_idle, in_turn, name_of_choice(l.queues));
  unused("per_bank_queue_depth", l.queues == RequestQueues::kPerBank && l.per_bank_queue_depth,
         "banks have the only queues where queues is", "per_bank");
  unused("row_hit_cap", l.page_policy == PagePolicy::kClosed && l.row_hit_cap,
         "a row serves one request where page_policy is", "closed");
  unused("page_timeout", !times_out && l.page_timeout, "rows close after a time where page_policy is", "timeout");
}

void check_dram(const ArchSpec& a, const DramLevel& l, Complaints& complaints) {
  if (l.bank_groups && !divides(*l.bank_groups, l.banks))
    complaints.add({"memory", l.name, "banks"},
                   fmt::format("{} banks are no multiple of {} bank groups; {} would be", l.banks, *l.bank_groups,
                               multiples_near(l.banks, *l.bank_groups)),
                   {{"memory", l.name, "bank_groups"}});
  if (!divides(l.pseudo_channels, l.channels))
    complaints.add({"memory", l.name, "channels"},
                   fmt::format("{} channels are no multiple of {} pseudo-channels; {} would be", l.channels,
                               l.pseudo_channels, multiples_near(l.channels, l.pseudo_channels)),
                   {{"memory", l.name, "pseudo_channels"}});
  if (a.chip_class == ChipClass::kBsp && l.pseudo_channels > 1)
    complaints.add({"memory", l.name, "pseudo_channels"}, "each channel of a bsp chip has a port and a controller");
  complaints.require_product({factor(l, "width", l.width), factor(l, "burst", l.burst)});
  complaints.require_product(
      {clock_factor(a, l), factor(l, "rate", l.rate), factor(l, "channels", l.channels), factor(l, "width", l.width)});
  if (!base::checked_mul(l.width.n, l.burst)) return;
  const Bytes burst = transaction_of(l);
  const Hierarchy hierarchy = hierarchy_of(a);
  const CacheLevel* cache = hierarchy.device_caches.empty() ? nullptr : hierarchy.device_caches.back();
  check_row(l, burst, cache, complaints);
  check_partial_writes(a, l, burst, hierarchy, complaints);
  if (cache != nullptr && !divides(burst, cache->sector) && !divides(cache->sector, burst))
    complaints.add(
        {"memory", l.name, "burst"},
        fmt::format("a burst of {} B (width x burst) neither divides the sector of {}, {} B, nor is divided by it",
                    burst.n, cache->name, cache->sector.n),
        {{"memory", l.name, "width"}, {"memory", cache->name, "sector"}});
  check_mapping(a, l, burst, cache, complaints);
  if (l.model && a.chip_class == ChipClass::kMemory)
    complaints.add({"memory", l.name, "model"},
                   "nothing hears it: a trace drives the channels that the file describes");
  check_timing(l, complaints);
  check_controller(l, complaints);
}

void check_cache_name(const CacheLevel& l, Complaints& complaints) {
  if (!l.shares) return;
  std::vector<std::string_view> names;
  for (const base::Entry& e : *complaints.map_at({"memory"}))
    if (e.key != l.name) names.push_back(e.key);
  if (std::find(names.begin(), names.end(), *l.shares) != names.end()) return;
  complaints.add({"memory", l.name, "shares"},
                 fmt::format("no other level is named '{}'{}", *l.shares, base::did_you_mean(*l.shares, names)));
}

void check_partitions(const CacheLevel& l, Complaints& complaints) {
  if (l.slices % l.l2_partitions != 0)
    complaints.add({"memory", l.name, "l2_partitions"},
                   fmt::format("{} partitions do not divide {} slices", l.l2_partitions, l.slices),
                   {{"memory", l.name, "slices"}});
  if (l.l2_partitions > 1 && !l.remote_latency)
    complaints.add({"memory", l.name, "l2_partitions"}, "more than one partition needs remote_latency");
  if (l.remote_latency && l.latency && *l.remote_latency < *l.latency)
    complaints.add({"memory", l.name, "remote_latency"},
                   fmt::format("{} cycles are less than latency, {} cycles", l.remote_latency->n, l.latency->n),
                   {{"memory", l.name, "latency"}});
  if (l.remote_width && l.l2_partitions == 1)
    complaints.add({"memory", l.name, "remote_width"}, "one partition takes nothing from others",
                   {{"memory", l.name, "l2_partitions"}});
  if (l.queue && l.scope != Scope::kDevice)
    complaints.add({"memory", l.name, "queue"},
                   fmt::format("requests queue at slices of a cache of device scope; this one has {} scope",
                               name_of_choice(l.scope)),
                   {{"memory", l.name, "scope"}});
}

// Slices hold as much as each other, in whole sets.
void check_sets(const CacheLevel& l, Complaints& complaints) {
  const auto row = base::checked_mul(l.slices, l.ways.value_or(1));  // one line of every way of every slice
  const auto set = row ? base::checked_mul(*row, l.line.n) : std::nullopt;
  if (set && divides(*set, l.capacity.n)) return;
  if (!l.ways && !divides(l.line, l.capacity)) return;  // said already
  const std::string ways = l.ways ? fmt::format(" x {} ways", *l.ways) : "";
  const std::string right = set ? fmt::format("; a capacity of {} B would do", multiples_near(l.capacity.n, *set)) : "";
  complaints.add({"memory", l.name, l.ways ? "ways" : "slices"},
                 fmt::format("{} slices{} x {} B do not divide the capacity of {} B into whole {}{}", l.slices, ways,
                             l.line.n, l.capacity.n, l.ways ? "sets" : "slices", right),
                 {{"memory", l.name, "slices"}, {"memory", l.name, "line"}, {"memory", l.name, "capacity"}});
}

void check_cache(const ArchSpec& a, const CacheLevel& l, Complaints& complaints) {
  const auto granule = [&](std::string_view key, Bytes size, std::string_view outer, Bytes outer_size) {
    if (!divides(size, outer_size))
      complaints.add(
          {"memory", l.name, key},
          fmt::format("{} B do not divide the {} of {} B (access <= sector <= line)", size.n, outer, outer_size.n),
          {{"memory", l.name, outer}});
  };
  granule("sector", l.sector, "line", l.line);
  if (l.access) granule("access", *l.access, "sector", l.sector);
  if (l.line.n > 0 && l.sector.n > 0 && l.line.n / l.sector.n > kMaxSectors)
    complaints.add({"memory", l.name, "sector"},
                   fmt::format("{} B make {} sectors of a line of {} B; {} are the most, so {} B or more would do",
                               l.sector.n, l.line.n / l.sector.n, l.line.n, kMaxSectors, l.line.n / kMaxSectors),
                   {{"memory", l.name, "line"}});
  if (!divides(l.line, l.capacity))
    complaints.add({"memory", l.name, "capacity"},
                   fmt::format("{} B are no multiple of the line of {} B; {} would be", l.capacity.n, l.line.n,
                               multiples_near(l.capacity.n, l.line.n)),
                   {{"memory", l.name, "line"}});
  complaints.require_product(
      {clock_factor(a, l), factor(l, "slices", l.slices), factor(l, "width", l.width), instances(a, l)});
  check_cache_name(l, complaints);
  check_partitions(l, complaints);
  check_partial_write(a, l, complaints);
  check_sets(l, complaints);
}

void check_scratchpad(const ArchSpec& a, const ScratchpadLevel& l, Complaints& complaints) {
  if (l.per_block && l.capacity.n > 0 && *l.per_block > l.capacity)
    complaints.add({"memory", l.name, "per_block"},
                   fmt::format("{} B are more than the capacity of {} B", l.per_block->n, l.capacity.n),
                   {{"memory", l.name, "capacity"}});
  else if (l.per_block && l.capacity.n > 0 && *l.per_block + l.reserved_per_block > l.capacity)
    complaints.add({"memory", l.name, "reserved_per_block"},
                   fmt::format("{} B beside a block of {} B are more than the capacity of {} B", l.reserved_per_block.n,
                               l.per_block->n, l.capacity.n),
                   {{"memory", l.name, "per_block"}, {"memory", l.name, "capacity"}});
  if (l.banks > kMaxBanks)
    complaints.add({"memory", l.name, "banks"}, fmt::format("{} banks are more than {}", l.banks, kMaxBanks));
  const Bytes pass = l.bank_width * l.banks;
  if (l.width && *l.width > pass)
    complaints.add({"memory", l.name, "width"},
                   fmt::format("{} B are more than a word of every bank, {} B", l.width->n, pass.n),
                   {{"memory", l.name, "banks"}, {"memory", l.name, "bank_width"}});
  else if (l.width && a.core.max_access && *l.width < *a.core.max_access)
    complaints.add(
        {"memory", l.name, "width"},
        fmt::format("{} B are less than one access, core.max_access of {} B", l.width->n, a.core.max_access->n),
        {{"core", "max_access"}});
  complaints.require_product(
      {clock_factor(a, l), factor(l, "banks", l.banks), factor(l, "bank_width", l.bank_width), instances(a, l)});
}

void check_registers(const RegisterLevel& l, Complaints& complaints) {
  if (l.granule && l.per_thread && *l.granule > *l.per_thread)
    complaints.add({"memory", l.name, "granule"},
                   fmt::format("{} registers are more than one thread may use, {}", *l.granule, *l.per_thread),
                   {{"memory", l.name, "per_thread"}});
}

void check_tensor(const ArchSpec& a, const TensorLevel& l, Complaints& complaints) {
  if (l.capacity.n % (l.lanes * kRegisterBytes) != 0 || !divides(l.granule, tensor_columns(l)))
    complaints.add(
        {"memory", l.name, "capacity"},
        fmt::format("{} B are no whole granules of {} columns of 4 B in {} lanes", l.capacity.n, l.granule, l.lanes),
        {{"memory", l.name, "lanes"}, {"memory", l.name, "granule"}});
  complaints.require_product({factor(l, "width", l.width), clock_factor(a, l), instances(a, l)});
}

// A chip whose readers have threads wait for loads says how long; what it says and could not be read is reported.
void require_latency(const ArchSpec& a, const Level& level, Complaints& complaints) {
  const std::string& name = spec_of(level).name;
  const base::Map* said = complaints.map_at({"memory", name});
  if (a.chip_class != ChipClass::kGpu || kind_of(level) == Kind::kRegister || said == nullptr) return;
  if (!standing_of(level, a.chip_class).role) return;
  if (std::none_of(said->begin(), said->end(), [](const base::Entry& e) { return e.key == "latency"; }))
    complaints.add({"memory", name}, "`latency` is missing: how long a load waits here");
}

}  // namespace

void check_levels(const Layers& layers, const ArchSpec& a, base::Diagnostics& diags) {
  Complaints complaints(layers, diags);
  for (const Level& level : a.memory) {
    const LevelSpec& l = spec_of(level);
    require_latency(a, level, complaints);
    complaints.require_product({factor(l, "capacity", l.capacity), instances(a, l)});
    if (const auto* dram = std::get_if<DramLevel>(&level)) check_dram(a, *dram, complaints);
    if (const auto* cache = std::get_if<CacheLevel>(&level)) check_cache(a, *cache, complaints);
    if (const auto* scratchpad = std::get_if<ScratchpadLevel>(&level)) check_scratchpad(a, *scratchpad, complaints);
    if (const auto* registers = std::get_if<RegisterLevel>(&level)) check_registers(*registers, complaints);
    if (const auto* tensor = std::get_if<TensorLevel>(&level)) check_tensor(a, *tensor, complaints);
  }
}

}  // namespace tilescope::arch
