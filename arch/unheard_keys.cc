#include "arch/unheard_keys.h"

#include <algorithm>
#include <array>
#include <string>

#include <fmt/format.h>

#include "arch/key.h"

namespace tilescope::arch {
namespace {

constexpr std::array kUnheard = {
    UnheardKey{"", "no reader of chips of class bsp is built yet", ChipClass::kBsp},
    UnheardKey{"memory.<dram>.capacity", "traces name addresses, whatever the capacity", ChipClass::kMemory},
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

std::span<const UnheardKey> unheard_keys() { return kUnheard; }

const UnheardKey* unheard_key(std::string_view path) {
  const auto found = std::find_if(kUnheard.begin(), kUnheard.end(),
                                  [&](const UnheardKey& key) { return key.path == path && !key.only; });
  return found == kUnheard.end() ? nullptr : &*found;
}

const UnheardKey* unheard_number(const ArchSpec& a, std::string_view path) {
  const std::string key = key_path(a, path);
  const auto found = std::find_if(kUnheard.begin(), kUnheard.end(), [&](const UnheardKey& entry) {
    const bool is_it = entry.path.empty() || entry.path == path || entry.path == key;
    return is_it && (!entry.only || *entry.only == a.chip_class);
  });
  return found == kUnheard.end() ? nullptr : &*found;
}

}  // namespace tilescope::arch
