// SPDX-License-Identifier: Apache-2.0
#include "import/nearest.h"

#include <cmath>
#include <limits>

#include <fmt/format.h>

#include "arch/hierarchy.h"
#include "arch/override.h"
#include "base/dtype.h"
#include "base/quantity.h"
#include "targets/target.h"

namespace tilescope::importers {
namespace {

// The amount that a file's value states, in its base unit.
std::optional<double> amount_of(const base::Value& v) {
  if (const auto* n = v.get_if<std::int64_t>()) return static_cast<double>(*n);
  if (const auto* x = v.get_if<double>()) return *x;
  const auto* text = v.get_if<std::string>();
  const auto quantity = text == nullptr ? std::nullopt : base::parse_quantity(*text);
  if (quantity) return quantity->value;
  return std::nullopt;
}

std::optional<double> amount_of(const std::string& text) {
  base::Diagnostics own;
  const auto v = base::read_yaml(text, own.add_source(text), own);
  return v ? amount_of(*v) : std::nullopt;
}

const arch::LevelSpec* level_of_role(const arch::ArchSpec& a, std::string_view role) {
  if (role == "dram") return arch::dram_of(a);
  if (role == "l2") return arch::device_cache_of(a);
  if (role == "l1") return arch::core_cache_of(a);
  if (role == "smem") return arch::scratchpad_of(a);
  if (role == "reg") return arch::registers_of(a);
  if (role == "local") {
    const arch::CacheLevel* l1 = arch::core_cache_of(a);
    if (l1 != nullptr && l1->shares) return l1;
    return arch::scratchpad_of(a);
  }
  return nullptr;
}

// The fastest matrix instruction on that type, or null.
const arch::ComputeSpec* matrix_of(const arch::ArchSpec& a, std::string_view dtype) {
  const arch::ComputeSpec* best = nullptr;
  for (const arch::ComputeSpec& c : a.compute)
    if (c.m * c.n > 1 && base::name_of(c.dtype) == dtype && (best == nullptr || c.per_core > best->per_core)) best = &c;
  return best;
}

Resolved nothing(const Base& base, std::string_view what) {
  return {std::nullopt, fmt::format("{} has no {}", base.name, what)};
}

Resolved resolve_level(const Base& base, std::string_view rest) {
  const std::size_t dot = rest.find('.');
  const std::string_view role = rest.substr(0, dot);
  const arch::LevelSpec* level = level_of_role(base.chip, role);
  if (level == nullptr) return nothing(base, fmt::format("level such as {}", role));
  return {fmt::format("memory.{}{}", level->name, rest.substr(dot)), {}};
}

Resolved resolve_unit(const Base& base, std::string_view rest) {
  const std::size_t dot = rest.rfind('.');
  const std::string_view entry = rest.substr(0, dot);
  if (entry.starts_with("MATRIX.")) {
    const arch::ComputeSpec* unit = matrix_of(base.chip, entry.substr(entry.find('.') + 1));
    if (unit == nullptr)
      return nothing(base, fmt::format("matrix instruction of {}", entry.substr(entry.find('.') + 1)));
    return {fmt::format("compute.{}{}", unit->name, rest.substr(dot)), {}};
  }
  for (const arch::ComputeSpec& c : base.chip.compute)
    if (c.name == entry) return {fmt::format("compute.{}", rest), {}};
  return nothing(base, fmt::format("instruction {}", entry));
}

}  // namespace

std::optional<Base> read_base(const std::string& name, base::Diagnostics& diags) {
  auto source = arch::ChipSource::read(name, diags);
  if (!source) return std::nullopt;
  base::Diagnostics own;
  auto chip = source->with({}, own);
  if (!chip) {
    for (const std::string& line : own.formatted_errors()) diags.error({}, line);
    return std::nullopt;
  }
  return Base{name, std::move(*source), std::move(*chip)};
}

Resolved resolve(const Base& base, std::string_view path) {
  constexpr std::string_view kMemory = "memory.", kCompute = "compute.", kLink = "link.";
  if (path.starts_with(kMemory)) return resolve_level(base, path.substr(kMemory.size()));
  if (path.starts_with(kCompute)) return resolve_unit(base, path.substr(kCompute.size()));
  if (path.starts_with(kLink) && !base.chip.link) return nothing(base, "link");
  return {std::string(path), {}};
}

std::optional<double> number_at(const Base& base, std::string_view path) {
  const Resolved to = resolve(base, path);
  const base::Value* v = to.path ? arch::value_at(*to.path, base.source.document()) : nullptr;
  return v == nullptr ? std::nullopt : amount_of(*v);
}

double distance_of(const Base& base, const std::vector<Figure>& figures) {
  double sum = 0;
  int count = 0;
  for (const Figure& f : figures) {
    const base::Value* own = arch::value_at(f.path, base.source.document());
    const auto mine = own == nullptr ? std::nullopt : amount_of(*own);
    const auto theirs = amount_of(f.value);
    if (!mine || !theirs || *mine <= 0 || *theirs <= 0) continue;
    sum += std::abs(std::log(*theirs / *mine));
    ++count;
  }
  return count == 0 ? std::numeric_limits<double>::infinity() : sum / count;
}

std::optional<Base> nearest(std::string_view target, std::string_view vendor,
                            const std::function<std::vector<Figure>(const Base&)>& figures_of, base::Position at,
                            base::Diagnostics& diags) {
  std::optional<Base> best;
  double least = 0;
  bool best_has_target = false;
  for (const arch::Device& d : arch::list_devices()) {
    base::Diagnostics own;
    auto candidate = read_base(d.name, own);
    if (!candidate || !targets::why_unsupported(candidate->chip, &targets::Target::emit).empty()) continue;
    if (!vendor.empty() && candidate->chip.vendor.value_or("") != vendor) continue;
    const bool has_target = !target.empty() && candidate->chip.target.value_or("").starts_with(target);
    if (best_has_target && !has_target) continue;
    const double distance = distance_of(*candidate, figures_of(*candidate));
    if (best && best_has_target == has_target && distance >= least) continue;
    if (!std::isfinite(distance)) continue;
    best = std::move(candidate);
    least = distance;
    best_has_target = has_target;
  }
  if (!best) {
    diags.error(at, "the file states no figure that a device of ours has too; nothing is near it");
    return std::nullopt;
  }
  if (!target.empty() && !best_has_target)
    diags.note(at, fmt::format("no device of ours has the instruction set {}; {} is nearest by its figures", target,
                               best->name));
  return best;
}

}  // namespace tilescope::importers
