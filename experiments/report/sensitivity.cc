// SPDX-License-Identifier: Apache-2.0
#include "experiments/report/sensitivity.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/fields.h"

namespace tilescope::experiments {
namespace {

using base::Diagnostics;
using base::List;
using base::Value;

constexpr std::string_view kHow = "tilescope sensitivity SPEC --objective OBJECTIVE --json > FILE writes one";

// The names of a sweep's axes as a sensitivity has them: tied ones as one.
std::vector<std::string> axis_names(const StoredSweep& sweep) {
  std::vector<std::string> out;
  std::optional<std::size_t> group;
  for (const StoredAxis& a : sweep.axes) {
    if (a.group && a.group == group && !out.empty())
      out.back() += ", " + a.name;
    else
      out.push_back(a.name);
    group = a.group;
  }
  return out;
}

class CheckedSensitivity {
 public:
  CheckedSensitivity(const StoredSweep& sweep, Diagnostics& diags) : names_(axis_names(sweep)), diags_(diags) {}

  void check(const Value& document) {
    if (document.find("objective") == nullptr || document.find("axes") == nullptr) {
      diags_.error(document.at, fmt::format("is no document of a sensitivity; {}", kHow));
      return;
    }
    base::as_text(document.find("objective"), "objective", diags_);
    for (const char* key : {"mean", "deviation", "points", "rows", "rows_lost"}) number(document, key);
    const List* axes = base::as_list(document.find("axes"), "axes", diags_);
    if (axes != nullptr && axes->empty()) diags_.error(document.at, "no axis has an index: no row has all its values");
    for (const Value& axis : axes == nullptr ? List() : *axes) check_axis(axis);
  }

 private:
  void check_axis(const Value& axis) {
    const auto name = base::as_text(require(axis, "axis"), "axis", diags_);
    if (name && std::find(names_.begin(), names_.end(), *name) == names_.end())
      diags_.error(axis.at, fmt::format("the sweep has no axis '{}'; its axes are {}", *name, fmt::join(names_, "; ")));
    for (const char* key : {"values", "first_order", "total"}) number(axis, key);
    if (const Value* e = axis.find("elasticity"); e != nullptr && !e->is_null())
      base::as_number(e, "elasticity", diags_);
    for (const char* key : {"first_order_interval", "total_interval"}) {
      const List* ends = base::as_list(require(axis, key), key, diags_);
      if (ends != nullptr && ends->size() != 2)
        diags_.error(axis.at, fmt::format("{}: expected two numbers, got {}", key, ends->size()));
      for (const Value& end : ends == nullptr ? List() : *ends) base::as_number(&end, key, diags_);
    }
  }

  const Value* require(const Value& from, const char* key) {
    const Value* v = from.find(key);
    if (v == nullptr) diags_.error(from.at, fmt::format("'{}' is missing; {}", key, kHow));
    return v;
  }
  void number(const Value& from, const char* key) { base::as_number(require(from, key), key, diags_); }

  std::vector<std::string> names_;
  Diagnostics& diags_;
};

}  // namespace

std::optional<List> sensitivities_of(const std::vector<std::string>& files, const StoredSweep& sweep,
                                     Diagnostics& diags) {
  List out;
  for (const std::string& file : files) {
    const base::SourceId source = diags.add_source(file);
    const auto text = base::read_file(file, source, diags);
    auto document = text ? base::read_json(*text, source, diags) : std::nullopt;
    if (!document) continue;
    CheckedSensitivity(sweep, diags).check(*document);
    out.push_back(*std::move(document));
  }
  return diags.ok() ? std::optional(std::move(out)) : std::nullopt;
}

}  // namespace tilescope::experiments
