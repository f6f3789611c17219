// SPDX-License-Identifier: Apache-2.0
#include "arch/unused_keys.h"

#include <algorithm>
#include <array>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "arch/hierarchy.h"
#include "arch/key.h"

namespace tilescope::arch {
namespace {

bool is_bsp(const NumberPlace& n) { return n.chip.chip_class == ChipClass::kBsp; }
bool is_memory(const NumberPlace& n) { return n.chip.chip_class == ChipClass::kMemory; }

template <class Spec>
const Spec* level_of(const NumberPlace& n) {
  return n.level == nullptr ? nullptr : std::get_if<Spec>(n.level);
}

bool lacks_rows(const NumberPlace& n) {
  const auto* dram = level_of<DramLevel>(n);
  return dram != nullptr && dram->timing.empty() && !dram->row;
}

std::int64_t cycles_of(const DramLevel& dram, const char* timing) {
  const auto found = dram.timing.find(timing);
  return found == dram.timing.end() ? 0 : found->second.n;
}

// Whether commands to one bank group wait for each other no longer than those to two.
bool groups_alike(const NumberPlace& n) {
  const auto* dram = level_of<DramLevel>(n);
  const auto alike = [&](const char* within, const char* across) {
    return cycles_of(*dram, within) == cycles_of(*dram, across);
  };
  return dram != nullptr && alike("ccd_l", "ccd_s") && alike("rrd_l", "rrd_s") && alike("wtr_l", "wtr_s");
}

// Whether a burst holds the bus for so long that a doubled command hides behind it.
bool bursts_hide_commands(const NumberPlace& n) {
  const auto* dram = level_of<DramLevel>(n);
  return dram != nullptr && dram->rate > 0 && 2 * cycles_of(*dram, "ccd_s") <= dram->burst / dram->rate;
}

// Whether a load turns nothing: elements are of another size than it transposes, or a lane gets a single one anyhow.
bool cannot_transpose(const NumberPlace& n) {
  if (n.unit == nullptr || !n.unit->load || n.unit->operands) return false;
  const Bytes element = base::size_of(n.unit->dtype);
  return n.unit->load->transpose != element || n.unit->load->piece == element;
}

// Whether a core loads an instruction's operands for twice as long as it multiplies them, at least
// (sim/bsp/arithmetic.cc).
bool loads_longer(const NumberPlace& n) {
  const ScratchpadLevel* scratchpad = scratchpad_of(n.chip);
  if (!is_bsp(n) || n.unit == nullptr || n.unit->n * n.unit->k == 1 || scratchpad == nullptr || !scratchpad->load ||
      n.unit->weight_load_width)
    return false;
  const ComputeSpec& c = *n.unit;
  const std::int64_t bytes = (c.m + c.n) * c.k * base::size_of(c.dtype).n;
  return 2 * c.m * c.n * c.k * scratchpad->load->n <= bytes * c.per_core;
}

// Whether no load waits for a bank.
bool loads_from_any_bank(const NumberPlace& n) {
  const ScratchpadLevel* scratchpad = scratchpad_of(n.chip);
  return is_bsp(n) && scratchpad != nullptr && scratchpad->load && !scratchpad->interleaved;
}

// Nor is any tensor at home in a share of whole words of a bank.
bool has_homes_in_no_bank(const NumberPlace& n) { return loads_from_any_bank(n) && dram_of(n.chip) != nullptr; }

// Whether a warp's widest access fills the banks once at most; the workers of chips of class bsp load for themselves.
bool has_one_group(const NumberPlace& n) {
  if (is_bsp(n)) return true;
  const CoreSpec& c = n.chip.core;
  const auto* scratchpad = level_of<ScratchpadLevel>(n);
  return scratchpad != nullptr && c.max_access && *c.max_access * c.warp <= scratchpad->bank_width * scratchpad->banks;
}

constexpr std::array kUnused = {
    UnusedKey{"core.warp", "workers issue for themselves", "chips of class bsp", is_bsp},
    UnusedKey{"core.partitions", "a core has one call at a time", "chips of class bsp", is_bsp},
    UnusedKey{"core.max_threads", "a block has all workers of a core", "chips of class bsp", is_bsp},
    UnusedKey{"core.max_blocks", "a core runs one call at a time", "chips of class bsp", is_bsp},
    UnusedKey{"core.max_access", "what a core loads a cycle bounds it", "chips of class bsp", is_bsp},
    UnusedKey{"compute.<name>.latency", "a result is there at the worker's next turn", "chips of class bsp", is_bsp},
    UnusedKey{"memory.<scratchpad>.banks", "what a core loads a cycle bounds it, from any banks",
              "chips of class bsp whose scratchpad has `load` and not `interleaved`", loads_from_any_bank},
    UnusedKey{"memory.<scratchpad>.bank_width", "what a core loads a cycle bounds it, and homes are in the DRAM",
              "chips of class bsp with a DRAM whose scratchpad has `load` and not `interleaved`", has_homes_in_no_bank},
    UnusedKey{"memory.<scratchpad>.latency", "a result is there at the worker's next turn", "chips of class bsp",
              is_bsp},
    UnusedKey{"calibration.sram.read", "loads are counted bank by bank", "chips of class bsp", is_bsp},
    UnusedKey{"compute.<name>.per_core", "its operands are loaded for longer",
              "instructions of chips of class bsp that load twice as long as they multiply", loads_longer},
    UnusedKey{"baselines", "the published search is one for GPUs", "chips of class bsp", is_bsp},
    UnusedKey{"memory.<dram>.capacity", "a trace names addresses, whatever the capacity", "chips of class memory",
              is_memory},
    UnusedKey{"memory.<dram>.banks", "banks are told apart by their rows and timing",
              "chips whose DRAM has neither `row` nor `timing`", lacks_rows},
    UnusedKey{"memory.<dram>.dual_command_bus", "commands of rows are none without rows",
              "chips whose DRAM has neither `row` nor `timing`", lacks_rows},
    UnusedKey{"memory.<dram>.max_age", "every request finds its row open",
              "chips whose DRAM has neither `row` nor `timing`", lacks_rows},
    UnusedKey{"memory.<dram>.bank_groups", "nothing is slower within a group than across",
              "chips whose timings are the same for both", groups_alike},
    UnusedKey{"memory.<dram>.timing.ccd_s", "the bus is busy with a burst for longer",
              "chips whose bursts take twice as long", bursts_hide_commands},
    UnusedKey{"memory.<scratchpad>.broadcast_groups", "no access has a second group",
              "chips whose widest access of a warp fills the banks once", has_one_group},
    UnusedKey{"compute.<name>.load.transpose", "such elements are read one by one",
              "instructions whose elements are of another size, or come one to a lane", cannot_transpose},
    UnusedKey{"compute.dp4a.i8", "programs of i8 are widened to i32, or multiplied by matrix instructions"},
    UnusedKey{"compute.dot4.i8", "programs of i8 are widened to i32, or multiplied by matrix instructions"},
    UnusedKey{"compute.special.f32.shape", "a special function is of one element, whatever the file says"},
    UnusedKey{"graph_launch_overhead", "kernels of a network alone are launched as one graph (network --gaps graph)"},
    UnusedKey{"calibration.<name>.residual", "says how well the ratio is known"},
    UnusedKey{"energy.residual", "says how well the figures are known"},
    UnusedKey{"error_bands.<name>.rows", "says what the band is of"},
    UnusedKey{"baselines.roller-osdi22.smem_transaction", "the published policies do not read it"},
};

// `path` with the part of it behind `prefix` that is one of the names replaced by what stands for them.
template <class Names>
std::string generalized(std::string_view path, std::string_view prefix, const Names& names) {
  if (!path.starts_with(prefix)) return {};
  std::string_view best, stands;
  for (const auto& [name, instead] : names)
    if (path.substr(prefix.size()).starts_with(std::string(name) + '.') && name.size() > best.size()) {
      best = name;
      stands = instead;
    }
  if (best.empty()) return {};
  return fmt::format("{}{}{}", prefix, stands, path.substr(prefix.size() + best.size()));
}

bool is_below(std::string_view path, std::string_view key) {
  return path.starts_with(key) && (path.size() == key.size() || path[key.size()] == '.');
}

// The path by the table of keys: levels by their kinds, instructions and calibrations by `<name>`.
std::string key_path(const ArchSpec& a, std::string_view path) {
  using Names = std::vector<std::pair<std::string_view, std::string>>;
  Names levels, units, ratios, bands;
  for (const Level& l : a.memory) levels.emplace_back(spec_of(l).name, fmt::format("<{}>", name_of_choice(kind_of(l))));
  for (const ComputeSpec& c : a.compute) units.emplace_back(c.name, "<name>");
  for (const auto& [name, ratio] : a.calibration) ratios.emplace_back(name, "<name>");
  for (const auto& [name, band] : a.error_bands) bands.emplace_back(name, "<name>");
  for (const auto& [prefix, names] :
       {std::pair{"memory.", &levels}, {"compute.", &units}, {"calibration.", &ratios}, {"error_bands.", &bands}})
    if (std::string out = generalized(path, prefix, *names); !out.empty()) return out;
  return std::string(path);
}

}  // namespace

std::span<const UnusedKey> unused_keys() { return kUnused; }

const UnusedKey* unheard_key(std::string_view path) {
  const auto found = std::find_if(kUnused.begin(), kUnused.end(),
                                  [&](const UnusedKey& key) { return !key.path.empty() && is_below(path, key.path); });
  return found == kUnused.end() ? nullptr : &*found;
}

const UnusedKey* unheard_number(const ArchSpec& a, std::string_view path) {
  const std::string key = key_path(a, path);
  NumberPlace place{a};
  for (const Level& l : a.memory)
    if (is_below(path, fmt::format("memory.{}", spec_of(l).name))) place.level = &l;
  for (const ComputeSpec& c : a.compute)
    if (is_below(path, fmt::format("compute.{}", c.name))) place.unit = &c;
  const auto found = std::find_if(kUnused.begin(), kUnused.end(), [&](const UnusedKey& entry) {
    const bool is_it = entry.path.empty() || is_below(path, entry.path) || is_below(key, entry.path);
    return is_it && (entry.of == nullptr || entry.of(place));
  });
  return found == kUnused.end() ? nullptr : &*found;
}

}  // namespace tilescope::arch
