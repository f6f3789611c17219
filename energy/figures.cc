// SPDX-License-Identifier: Apache-2.0
#include "energy/figures.h"

#include <cmath>
#include <string_view>

#include <fmt/format.h>

#include "arch/hierarchy.h"
#include "arch/numbers.h"
#include "energy/counts.h"
#include "energy/energy.h"
#include "energy/scaling.h"
#include "energy/technology.h"

namespace tilescope::energy {
namespace {

// A factor on a figure, and why.
struct Reason {
  double factor = 1;
  std::string rule, source;

  void add(double value, std::string why, std::string from) {
    factor *= value;
    rule += fmt::format("{}x {:.3g}: {}", rule.empty() ? "" : ", ", value, why);
    source += "; " + std::move(from);
  }
};

std::string bytes_text(arch::Bytes bytes) {
  const arch::Number number{"", static_cast<double>(bytes.n), base::Dimension::kBytes, true};
  return *arch::written(number, number.value).get_if<std::string>();
}

void add_process(const arch::ArchSpec& a, const std::optional<std::string>& held_node, Reason& to) {
  if (!held_node) return;
  const Technology& technology = Technology::own();
  to.add(process_factor(a, held_node), fmt::format("{} over {}, at equal speed", a.die->node, *held_node),
         technology.at(Table::kNodeEnergy, a.die->node).cited());
}

std::string geometry_text(arch::Bytes capacity, const arch::ScratchpadLevel* scratchpad, std::int64_t banks,
                          arch::Bytes width) {
  const std::string text = bytes_text(capacity);
  return scratchpad == nullptr ? text : fmt::format("{} in {} banks of {}", text, banks, bytes_text(width));
}

void add_geometry(const arch::Level& level, const arch::LevelEnergy& energy, Reason& to) {
  if (!energy.holds_for) return;
  const arch::HeldLevel& held = *energy.holds_for;
  const auto* scratchpad = std::get_if<arch::ScratchpadLevel>(&level);
  const std::int64_t banks = scratchpad == nullptr ? 1 : scratchpad->banks;
  const arch::Bytes width = scratchpad == nullptr ? arch::Bytes{} : scratchpad->bank_width;
  const arch::Bytes capacity = arch::spec_of(level).capacity;
  const Technology& technology = Technology::own();
  std::string source = technology.rows(Table::kCacheRead).front().cited();
  if (scratchpad != nullptr) source += "; " + technology.at(Table::kArray, "wire").cited();
  to.add(geometry_factor(level, energy),
         fmt::format("{} over {}", geometry_text(capacity, scratchpad, banks, width),
                     geometry_text(held.capacity.value_or(capacity), scratchpad, held.banks.value_or(banks),
                                   held.bank_width.value_or(width))),
         std::move(source));
}

// The name of the level whose energies the key is of; empty where it is of none.
std::string_view level_in(const arch::ArchSpec& a, std::string_view key) {
  constexpr std::string_view kLevels = "energy.levels.";
  if (!key.starts_with(kLevels)) return {};
  const std::string_view rest = key.substr(kLevels.size());
  for (const auto& [name, energy] : a.energy->levels)
    if (rest.starts_with(name + '.')) return name;
  return {};
}

Reason reason_of(const arch::ArchSpec& a, std::string_view key) {
  Reason out;
  out.source = key.starts_with("power.") ? a.power->source : a.energy->source;
  if (key == "power.leakage" || key == "power.clock_tree") add_process(a, a.power->node, out);
  if (key == "energy.instruction" || key == "energy.link" || key.starts_with("energy.operations."))
    add_process(a, a.energy->node, out);
  const std::string_view name = level_in(a, key);
  if (name.empty()) return out;
  const arch::Level& level = *arch::level_named(a, name);
  const bool is_dram = arch::kind_of(level) == arch::Kind::kDram;
  if (!is_dram) add_geometry(level, a.energy->levels.at(std::string(name)), out);
  if (!is_dram || key.ends_with(".chip")) add_process(a, a.energy->node, out);
  return out;
}

// Rounded to what a figure can mean.
double rounded(double value) {
  constexpr int kDigits = 6;
  return std::stod(fmt::format("{:.{}g}", value, kDigits));
}

std::string text_of(const arch::Number& n, double value) {
  const base::Value written = arch::written(n, rounded(value));
  const auto* text = written.get_if<std::string>();
  return text != nullptr ? *text : base::to_json(written);
}

}  // namespace

std::optional<EnergyFigures> figures_of(const arch::ArchSpec& a, base::Position chip, base::Diagnostics& diags) {
  const std::vector<std::string> missing = missing_keys(a, Counts{});
  for (const std::string& key : missing) diags.error(chip, key);
  if (!missing.empty()) return std::nullopt;
  const arch::PowerAtRest rest = *power_at_rest(a, a.clock);
  EnergyFigures out{static_cast<double>(a.clock.n) * 1e-6,
                    a.power->curve.at(a.clock)->v,
                    rest.board.v,
                    rest.leakage.v,
                    rest.clock_tree.v,
                    rest.sum().v,
                    a.power->limit ? std::optional(a.power->limit->v) : std::nullopt,
                    {}};
  for (const arch::Number& n : arch::numbers_of(a)) {
    if (!n.path.starts_with("power.") && (!n.path.starts_with("energy.") || n.path == "energy.residual")) continue;
    Reason reason = reason_of(a, n.path);
    out.figures.push_back({n.path, text_of(n, n.value), text_of(n, n.value * reason.factor), reason.factor,
                           std::move(reason.rule), std::move(reason.source)});
  }
  return out;
}

}  // namespace tilescope::energy
