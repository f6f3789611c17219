// SPDX-License-Identifier: Apache-2.0
// A memory of DRAMsim3 (configs/*.ini). Source of what a key means: its src/configuration.cc and src/controller.cc.
//
// Ignores: its power and thermal models, self-refresh, and queues per rank.

#include <algorithm>

#include <fmt/format.h>

#include "base/parse_number.h"
#include "import/bits.h"
#include "import/formats.h"
#include "import/text_readers.h"

namespace tilescope::importers {
namespace {

constexpr std::string_view kDramsim3Controller = "fixed in its controller";
constexpr std::string_view kBound = "[E] a bound, for the last requests";

#define BANKS "dram_structure.bankgroups * dram_structure.banks_per_group"
#define ROW "dram_structure.columns * system.bus_width / 8"
#define RANKS "max(1, floor(system.channel_size * 1048576 / (dram_structure.rows * " BANKS " * " ROW ")))"
#define GROUPED "$grouped * min(1, dram_structure.bankgroups - 1) * "

constexpr FigureRow kDramsim3Figures[] = {
    {"memory.dram.capacity", "system.channels * " RANKS " * dram_structure.rows * " BANKS " * " ROW, "B",
     "whole ranks"},
    {"memory.dram.clock", "1000 / timing.tCK", "MHz"},
    {"memory.dram.rate", "$rate", ""},
    {"memory.dram.channels", "system.channels", ""},
    {"memory.dram.ranks", RANKS, ""},
    {"memory.dram.width", "system.bus_width", "bit"},
    {"memory.dram.burst", "dram_structure.BL", ""},
    {"memory.dram.bank_groups", GROUPED "dram_structure.bankgroups", "", {}, true},
    {"memory.dram.banks", BANKS, ""},
    {"memory.dram.queue_depth", "system.trans_queue_size", ""},
    {"memory.dram.per_bank_queue_depth", "$queues_per_bank * system.cmd_queue_size", "", {}, true},
    {"memory.dram.write_threshold", "8", "", kDramsim3Controller},
    {"memory.dram.write_idle", "50", "cycles", kBound},
    {"memory.dram.row_hit_cap", "4", "", kDramsim3Controller},
    {"memory.dram.max_age", "20000", "cycles", kBound},
    {"memory.dram.row", ROW, "B"},
    {"memory.dram.timing.cl", "timing.AL + timing.CL", "cycles"},
    {"memory.dram.timing.cwl", "timing.AL + timing.CWL", "cycles"},
    {"memory.dram.timing.rcd", "timing.tRCDRD", "cycles"},
    {"memory.dram.timing.rcd", "timing.tRCD", "cycles"},
    {"memory.dram.timing.rcd_wr",
     "min(1, max(timing.tRCDWR - timing.tRCDRD, timing.tRCDRD - timing.tRCDWR)) * timing.tRCDWR", "cycles",
     "where it is not tRCDRD", true},
    {"memory.dram.timing.rp", "timing.tRP", "cycles"},
    {"memory.dram.timing.ras", "timing.tRAS", "cycles"},
    {"memory.dram.timing.rc", "timing.tRAS + timing.tRP", "cycles"},
    {"memory.dram.timing.ccd_s", "timing.tCCD_S", "cycles"},
    {"memory.dram.timing.ccd_l", GROUPED "timing.tCCD_L", "cycles", {}, true},
    {"memory.dram.timing.rrd_s", "timing.tRRD_S", "cycles"},
    {"memory.dram.timing.rrd_l", GROUPED "timing.tRRD_L", "cycles", {}, true},
    {"memory.dram.timing.faw", "timing.tFAW", "cycles"},
    {"memory.dram.timing.aw32", "timing.t32AW", "cycles"},
    {"memory.dram.timing.rtp", "timing.tRTP", "cycles"},
    {"memory.dram.timing.wr", "timing.tWR", "cycles"},
    {"memory.dram.timing.wtr_s", "timing.tWTR_S", "cycles"},
    {"memory.dram.timing.wtr_l", GROUPED "timing.tWTR_L", "cycles", {}, true},
    {"memory.dram.timing.rtrs", "timing.tRTRS", "cycles", {}, true},
    {"memory.dram.timing.rtp", "0 * timing.CL + timing.tRTP", "cycles", "it reads tRTP alone"},
    {"memory.dram.timing.rtrs", "0 * timing.CL + timing.tRTRS", "cycles", "its default", true},
    {"memory.dram.timing.rfc", "timing.tRFC", "cycles"},
    {"memory.dram.timing.rfc_sb", "$refresh_per_bank * timing.tRFCb", "cycles", {}, true},
    {"memory.dram.timing.refi", "timing.tREFI", "cycles"},
};

#undef BANKS
#undef ROW
#undef RANKS
#undef GROUPED

// Transfers a clock, by the cycles of a burst.
constexpr WordRow kDramsim3Words[] = {
    {"dram_structure.protocol", "DDR3", "$rate", "2"},
    {"dram_structure.protocol", "DDR4", "$rate", "2"},
    {"dram_structure.protocol", "LPDDR", "$rate", "2"},
    {"dram_structure.protocol", "LPDDR3", "$rate", "2"},
    {"dram_structure.protocol", "LPDDR4", "$rate", "2"},
    {"dram_structure.protocol", "GDDR5", "$rate", "4"},
    {"dram_structure.protocol", "GDDR5X", "$rate", "8"},
    {"dram_structure.protocol", "GDDR6", "$rate", "16"},
    {"dram_structure.protocol", "HBM", "$rate", "2"},
    {"dram_structure.protocol", "HBM2", "$rate", "2"},
    {"dram_structure.protocol", "HBM", "memory.dram.dual_command_bus", "true"},
    {"dram_structure.protocol", "HBM2", "memory.dram.dual_command_bus", "true"},
    {"dram_structure.bankgroup_enable", "true", "$grouped", "1"},
    {"dram_structure.bankgroup_enable", "false", "$grouped", "0"},
    {"system.queue_structure", "PER_BANK", "$queues_per_bank", "1"},
    {"system.queue_structure", "PER_RANK", "$queues_per_bank", "0"},
    {"system.row_buf_policy", "OPEN_PAGE", "memory.dram.page_policy", "open"},
    {"system.row_buf_policy", "CLOSE_PAGE", "memory.dram.page_policy", "closed"},
    {"system.refresh_policy", "RANK_LEVEL_SIMULTANEOUS", "memory.dram.refresh", "all_banks"},
    {"system.refresh_policy", "RANK_LEVEL_STAGGERED", "memory.dram.refresh", "all_banks"},
    {"system.refresh_policy", "BANK_LEVEL_STAGGERED", "memory.dram.refresh", "per_bank"},
    {"system.refresh_policy", "BANK_LEVEL_STAGGERED", "$refresh_per_bank", "1"},
    {"system.unified_queue", "true", "memory.dram.queues", "shared"},
    {"system.unified_queue", "false", "memory.dram.queues", "read_write"},
};

// Of src/configuration.cc.
constexpr DefaultRow kDramsim3Defaults[] = {
    {"$grouped", 1},
    {"timing.AL", 0},
    {"timing.tRTP", 5},
    {"timing.tRTRS", 2},
    {"$rate", 2},
    {"system.channels", 1},
    {"system.channel_size", 1024},
    {"system.bus_width", 64},
    {"timing.tCK", 1},
};

constexpr MeaninglessRow kDramsim3Meaningless[] = {
    {"dram_structure.device_width dram_structure.num_dies", "counted by the width of the bus and the rows"},
    {"timing.tREFIb timing.tRFCb timing.tRFC2 timing.tRFC4", "a refresh that its `refresh_policy` does not choose"},
    {"timing.tRTP_S timing.tRTP_L", "it reads tRTP alone, 5 where absent"},
    {"timing.tRCD timing.tRCDRD timing.tRCDWR", "reads and writes have one, or each its own"},
    {"timing.tCCD_L timing.tRRD_L timing.tWTR_L", "bank groups are off"},
    {"timing.tRPRE timing.tWPRE timing.tPPD timing.tWR2 timing.tCCD_DLR timing.tRRD_DLR timing.tWTR_DLR "
     "timing.ideal_memory_latency timing.tRREFD",
     "no command waits for it here"},
    {"timing.tXS timing.tCKE timing.tCKESR timing.tCKSRE timing.tXP timing.tXPDLL timing.tXSDLL",
     "power-down and self-refresh; a memory here is always up"},
    {"power thermal", "its power and thermal models; ours has figures of its own (docs/energy.md)"},
    {"system.cmd_queue_size", "a queue per rank; here requests queue at their banks"},
    {"system.queue_size system.req_buffering_enabled system.write_buf_size", "a queue of an older version"},
    {"system.enable_self_refresh system.sref_threshold system.aggressive_precharging_enabled "
     "system.enable_hbm_dual_cmd",
     "a policy that a memory here does not have"},
    {"other", "what its simulator prints"},
};

// "rochrababgco", from the highest field to the lowest, as fields from the lowest bit up.
void add_mapping(Ledger& ledger, std::vector<Figure>& figures, base::Diagnostics& diags) {
  const Key* order = find_key(ledger.keys(), "system.address_mapping");
  const Key* rows = find_key(ledger.keys(), "dram_structure.rows");
  if (order == nullptr || rows == nullptr) return;
  const auto whole = [&](std::string_view name) { return whole_of(figures, "memory.dram." + std::string(name)); };
  const std::int64_t burst = whole("width").value_or(0) / 8 * whole("burst").value_or(0);
  const std::int64_t groups = whole("bank_groups").value_or(1), row = whole("row").value_or(0);
  const auto n_rows = base::parse_integer<std::int64_t>(rows->text);
  if (burst <= 0 || row < burst || !n_rows) return;
  struct Part {
    std::string_view name;
    std::int64_t count;
  };
  const Part parts[] = {{"ch", whole("channels").value_or(1)},
                        {"ra", whole("ranks").value_or(1)},
                        {"bg", groups},
                        {"ba", whole("banks").value_or(1) / groups},
                        {"ro", *n_rows},
                        {"co", row / burst}};
  int low = bits_of(burst);
  std::string text = fmt::format("off[0+{}]", low);
  std::string seen;
  for (std::size_t i = order->text.size(); i >= 2; i -= 2) {
    const std::string name = order->text.substr(i - 2, 2);
    const auto part = std::find_if(std::begin(parts), std::end(parts), [&](const Part& p) { return p.name == name; });
    if (part == std::end(parts) || seen.find(name) != std::string::npos) break;
    seen += name;
    if (bits_of(part->count) == 0) continue;
    text += fmt::format(" {}[{}+{}]", name, low, bits_of(part->count));
    low += bits_of(part->count);
  }
  if (seen.size() != 12 || order->text.size() != 12)
    return diags.error(order->at, fmt::format("system.address_mapping: expected ch, ra, bg, ba, ro and co in some "
                                              "order, got '{}'",
                                              order->text));
  ledger.take("system.address_mapping", "memory.dram.mapping: " + text);
  figures.push_back({"memory.dram.mapping", text, "system.address_mapping", order->at});
}

}  // namespace

std::optional<Imported> import_dramsim3(const Source& source, base::Diagnostics& diags) {
  std::vector<Key> keys = read_ini(source.text, source.id, diags);
  if (!diags.ok()) return std::nullopt;
  const Table table{{}, kDramsim3Figures, kDramsim3Words, kDramsim3Meaningless, kDramsim3Defaults};
  return memory_of(source, std::move(keys), table, add_mapping, diags);
}

}  // namespace tilescope::importers
