#include "arch/unheard_keys.h"

#include <algorithm>
#include <array>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "arch/derive.h"
#include "arch/key.h"

namespace tilescope::arch {
namespace {

bool is_bsp(const ArchSpec& a) { return a.chip_class == ChipClass::kBsp; }
bool is_memory(const ArchSpec& a) { return a.chip_class == ChipClass::kMemory; }

bool lacks_timing(const ArchSpec& a) {
  const LevelSpec* dram = dram_of(a);
  return dram != nullptr && dram->timing.empty();
}

// Whether commands to one bank group wait for each other no longer than those to two.
bool groups_alike(const ArchSpec& a) {
  const LevelSpec* dram = dram_of(a);
  if (dram == nullptr) return false;
  const auto cycles = [&](const char* name) {
    const auto found = dram->timing.find(name);
    return found == dram->timing.end() ? std::int64_t{0} : found->second.n;
  };
  return cycles("ccd_l") == cycles("ccd_s") && cycles("rrd_l") == cycles("rrd_s") && cycles("wtr_l") == cycles("wtr_s");
}

bool core_cache_shares(const ArchSpec& a) {
  const LevelSpec* cache = core_cache_of(a);
  return cache != nullptr && cache->shares.has_value();
}

constexpr std::array kUnheard = {
    UnheardKey{"", "no reader of programs knows them yet", "chips of class bsp", is_bsp},
    UnheardKey{"memory.<dram>.capacity", "a trace names addresses, whatever the capacity", "chips of class memory",
               is_memory},
    UnheardKey{"memory.<dram>.banks", "banks differ by their timing alone", "chips whose DRAM has no `timing`",
               lacks_timing},
    UnheardKey{"memory.<dram>.command_buses", "commands take no time without it", "chips whose DRAM has no `timing`",
               lacks_timing},
    UnheardKey{"memory.<dram>.bank_groups", "nothing is slower within a group than across",
               "chips whose timings are the same for both", groups_alike},
    UnheardKey{"memory.<cache>.slices", "its port is that of the scratchpad's banks",
               "caches of a core that share the scratchpad's memory", core_cache_shares},
    UnheardKey{"compute.dp4a.i8", "programs of i8 are widened to i32, or multiplied by matrix instructions"},
    UnheardKey{"compute.dot4.i8", "programs of i8 are widened to i32, or multiplied by matrix instructions"},
    UnheardKey{"compute.special.f32.shape", "a special function is of one element, whatever the file says"},
    UnheardKey{"calibration.<name>.residual", "says how well the ratio is known"},
    UnheardKey{"error_bands.<name>.rows", "says what the band is of"},
    UnheardKey{"baselines.roller-osdi22.smem_transaction", "the published policies do not read it"},
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
  for (const LevelSpec& l : a.memory) levels.emplace_back(l.name, fmt::format("<{}>", name_of_choice(l.kind)));
  for (const ComputeSpec& c : a.compute) units.emplace_back(c.name, "<name>");
  for (const auto& [name, ratio] : a.calibration) ratios.emplace_back(name, "<name>");
  for (const auto& [name, band] : a.error_bands) bands.emplace_back(name, "<name>");
  for (const auto& [prefix, names] :
       {std::pair{"memory.", &levels}, {"compute.", &units}, {"calibration.", &ratios}, {"error_bands.", &bands}})
    if (std::string out = generalized(path, prefix, *names); !out.empty()) return out;
  return std::string(path);
}

}  // namespace

std::span<const UnheardKey> unheard_keys() { return kUnheard; }

const UnheardKey* unheard_key(std::string_view path) {
  const auto found = std::find_if(kUnheard.begin(), kUnheard.end(),
                                  [&](const UnheardKey& key) { return !key.path.empty() && is_below(path, key.path); });
  return found == kUnheard.end() ? nullptr : &*found;
}

const UnheardKey* unheard_number(const ArchSpec& a, std::string_view path) {
  const std::string key = key_path(a, path);
  const auto found = std::find_if(kUnheard.begin(), kUnheard.end(), [&](const UnheardKey& entry) {
    const bool is_it = entry.path.empty() || is_below(path, entry.path) || is_below(key, entry.path);
    return is_it && (entry.of == nullptr || entry.of(a));
  });
  return found == kUnheard.end() ? nullptr : &*found;
}

}  // namespace tilescope::arch
