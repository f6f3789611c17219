// SPDX-License-Identifier: Apache-2.0
// What the bases of a sweep say at the paths of its axes and expressions.

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "arch/override.h"
#include "base/fields.h"
#include "base/plain_text.h"
#include "experiments/objectives/quantity.h"
#include "experiments/sweep/detail/spec.h"

namespace tilescope::experiments {
namespace {

// A text that a document of YAML reads back as it is, or in quotes.
std::string yaml_text(const base::Value& v) {
  const auto* text = v.get_if<std::string>();
  if (text == nullptr) return base::to_json(v);
  base::Diagnostics own;
  const auto again = base::read_yaml(*text, own.add_source("value"), own);
  const auto* same = again ? again->get_if<std::string>() : nullptr;
  return same != nullptr && *same == *text ? *text : base::to_json(v);
}

}  // namespace

const arch::Number* SweepBase::number(std::string_view at) const {
  const auto found = std::find_if(numbers.begin(), numbers.end(), [&](const auto& n) { return n.path == at; });
  return found == numbers.end() ? nullptr : &*found;
}

StoredValue SweepBase::value_at(std::string_view path) const {
  if (const arch::Number* n = number(path)) return value_of(*n, n->value);
  const base::Value* written = arch::value_at(path, source.document());
  return written == nullptr ? StoredValue{} : value_of(*written);
}

const arch::Number* number_at(std::string_view path, const std::vector<SweepBase>& bases) {
  for (const SweepBase& b : bases)
    if (const arch::Number* n = b.number(path)) return n;
  return nullptr;
}

// In the order of the bases, each once.
std::vector<std::string_view> number_paths(const std::vector<SweepBase>& bases) {
  std::vector<std::string_view> out;
  for (const SweepBase& b : bases)
    for (const arch::Number& n : b.numbers)
      if (std::find(out.begin(), out.end(), n.path) == out.end()) out.push_back(n.path);
  return out;
}

bool every_base_has(const Formula& formula, const std::vector<SweepBase>& bases, base::Diagnostics& diags) {
  bool everywhere = true;
  for (std::size_t p = 0; p < formula.paths().size(); ++p) {
    const std::string& path = formula.paths()[p];
    if (formula.reductions()[p] || quantity_of(path)) continue;
    for (const SweepBase& b : bases) {
      if (b.number(path) != nullptr) continue;
      everywhere = false;
      diags.error(formula.at(),
                  fmt::format("{} has no number above 0 at '{}'; expressions read what every base has", b.name, path));
    }
  }
  return everywhere;
}

std::optional<Formula> read_formula(const base::Value* text, std::string_view name, const std::vector<SweepBase>& bases,
                                    const SweepFile& file) {
  const auto written = base::as_text(text, name, file.diags);
  auto formula =
      written ? Formula::parse(*written, file.text_at(*text), number_paths(bases), file.diags) : std::nullopt;
  if (!formula || !every_base_has(*formula, bases, file.diags)) return std::nullopt;
  return formula;
}

StoredValue value_of(const arch::Number& n, double amount) {
  return {base::plain_text(arch::written(n, amount)), amount};
}

StoredValue value_of(const base::Value& v) {
  StoredValue out{yaml_text(v), std::nullopt};
  if (const auto* whole = v.get_if<std::int64_t>()) out.number = static_cast<double>(*whole);
  if (const auto* real = v.get_if<double>()) out.number = *real;
  return out;
}

}  // namespace tilescope::experiments
