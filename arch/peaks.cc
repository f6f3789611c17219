// SPDX-License-Identifier: Apache-2.0
#include "arch/detail/peaks.h"

#include <cmath>
#include <string>
#include <type_traits>
#include <variant>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "arch/derive.h"
#include "arch/detail/places.h"

namespace tilescope::arch {
namespace {

constexpr double kTolerance = 0.02;

std::string text_of(BytesPerSecond rate) { return fmt::format("{:.4g} GB/s", rate.v / 1e9); }
std::string text_of(FlopsPerSecond rate) { return fmt::format("{:.4g} TFLOP/s", rate.v / 1e12); }

// The values that a level's bandwidth follows from.
std::vector<Path> causes_of(const Level& level) {
  const LevelSpec& l = spec_of(level);
  const auto own = [&l](std::string_view key) { return Path{"memory", l.name, key}; };
  if (kind_of(level) == Kind::kDram) return {own("clock"), own("rate"), own("channels"), own("width")};
  std::vector<Path> causes;
  const auto* cache = std::get_if<CacheLevel>(&level);
  if (kind_of(level) == Kind::kTensor)
    causes = {own("width")};
  else if (cache != nullptr)
    causes = {own("slices"), own("width")};
  else
    causes = {own("banks"), own("bank_width"), own("width"), own("load"), own("store")};
  causes.push_back(cache != nullptr && cache->clock ? own("clock") : Path{"clock"});
  if (l.scope == Scope::kCore) causes.push_back({"core", "count"});
  return causes;
}

// A level as what loads and stores reach by address; null of registers.
AddressedLevel* addressed(Level& level) {
  return std::visit(
      [](auto& l) -> AddressedLevel* {
        if constexpr (std::is_base_of_v<AddressedLevel, std::remove_cvref_t<decltype(l)>>)
          return &l;
        else
          return nullptr;
      },
      level);
}

class PeakJudge {
 public:
  PeakJudge(const Layers& layers, base::Diagnostics& diags) : layers_(layers), diags_(diags) {}

  // Compares the stated figure at `path` with the derived one, or drops it.
  template <class Rate>
  void settle(const Path& path, std::optional<Rate>& stated, Rate derived, const std::vector<Path>& causes) {
    if (!stated) return;
    const base::Value& peak = *find_at(layers_.chip, path);
    for (const Path& cause : causes) {
      const base::Value* value = find_at(layers_.chip, cause);
      if (value == nullptr || layers_.height_of(*value) <= layers_.height_of(peak)) continue;
      diags_.note(value->at, fmt::format("{} of {} is dropped: {} was changed, which makes it {}", arch::text_of(path),
                                         text_of(*stated), arch::text_of(cause), text_of(derived)));
      stated.reset();
      return;
    }
    if (std::abs(*stated / derived - 1) <= kTolerance) return;
    std::vector<std::string> names;
    for (const Path& cause : causes)
      if (find_at(layers_.chip, cause) != nullptr) names.push_back(arch::text_of(cause));
    diags_.error(peak.at, fmt::format("{}: {} is stated, but {} give {}", arch::text_of(path), text_of(*stated),
                                      fmt::join(names, ", "), text_of(derived)));
  }

 private:
  const Layers& layers_;
  base::Diagnostics& diags_;
};

}  // namespace

void settle_peaks(const Layers& layers, ArchSpec& a, base::Diagnostics& diags) {
  PeakJudge judge(layers, diags);
  for (Level& level : a.memory)
    if (AddressedLevel* l = addressed(level))
      judge.settle({"memory", l->name, "peak"}, l->peak, bandwidth_of(a, level), causes_of(level));
  for (ComputeSpec& c : a.compute)
    judge.settle({"compute", c.name, "peak"}, c.peak, peak_of(a, c),
                 {{"compute", c.name, "per_core"}, {"core", "count"}, {"clock"}});
}

}  // namespace tilescope::arch
