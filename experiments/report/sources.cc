// SPDX-License-Identifier: Apache-2.0
#include "experiments/report/detail/sources.h"

#include <algorithm>
#include <filesystem>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "arch/figure_sources.h"
#include "arch/load.h"
#include "experiments/report/detail/chips.h"

namespace tilescope::experiments {
namespace {

using base::List;
using base::Map;
using base::Value;

// Levels and instructions are parts of a chip of their own; other keys belong to the first of their path.
std::size_t steps_of_part(const std::vector<std::string>& path) {
  const bool is_listed = path.front() == "memory" || path.front() == "compute";
  return std::min<std::size_t>(is_listed ? 2 : 1, path.size() - 1);
}

Map entry_of(const arch::FigureSource& f) {
  const auto middle = f.path.begin() + static_cast<std::ptrdiff_t>(steps_of_part(f.path));
  Map out{{"part", fmt::format("{}", fmt::join(f.path.begin(), middle, "."))},
          {"key", fmt::format("{}", fmt::join(middle, f.path.end(), "."))},
          {"value", f.value}};
  if (!f.mark.empty()) out.push_back({"mark", f.mark});
  if (!f.remark.empty()) out.push_back({"source", f.remark});
  out.push_back({"at", fmt::format("{}:{}", std::filesystem::path(f.file).filename().string(), f.line)});
  return out;
}

// The chip as its files state it today, if that is what the sweep has read.
bool is_as_swept(const std::string& file, const Value& swept) {
  base::Diagnostics diags;
  const auto chip = arch::load_arch(file, {}, diags);
  return chip && base::to_json(arch::to_document(*chip)) == base::to_json(swept);
}

Map base_entry(const Store& store, const StoredSweep& sweep, const StoredPoint& point, std::size_t place) {
  const Value chip = store.chip(point.chip);
  const std::string file = file_of_base(sweep, point.base);
  base::Diagnostics diags;
  List figures;
  for (const arch::FigureSource& f : arch::figure_sources(file, diags)) figures.emplace_back(entry_of(f));
  Map out{{"chip", place}, {"as_swept", is_as_swept(file, chip)}, {"figures", std::move(figures)}};
  for (const char* key : {"calibration", "error_bands"})
    if (const Value* stated = chip.find(key); stated != nullptr && stated->is_map()) out.push_back({key, *stated});
  return out;
}

}  // namespace

List bases_of(const Store& store, const StoredSweep& sweep, const SweepRows& rows) {
  List out;
  for (std::size_t p = 0; p < rows.points.size(); ++p)
    if (rows.points[p].is_base && !rows.points[p].chip.empty())
      out.emplace_back(base_entry(store, sweep, rows.points[p], p));
  return out;
}

}  // namespace tilescope::experiments
