// SPDX-License-Identifier: Apache-2.0
#include "experiments/accuracy/published.h"

#include <algorithm>
#include <filesystem>

#include <fmt/format.h>

#include "base/document.h"
#include "base/fields.h"
#include "base/home.h"

namespace tilescope::experiments {
namespace {

using base::Diagnostics;
using base::Value;

std::optional<PublishedTimes> read_table(const Value& v, Diagnostics& diags) {
  base::Fields f(v, "a table of published times", diags);
  PublishedTimes out;
  out.device = base::as_text(f.require("device"), "device", diags).value_or("");
  out.suite = base::as_text(f.require("suite"), "suite", diags).value_or("");
  base::as_choice(f.require("unit"), "unit", {"ms"}, diags);
  if (const base::List* columns = base::as_list(f.require("columns"), "columns", diags))
    for (const Value& c : *columns) out.columns.push_back(base::as_text(&c, "columns", diags).value_or(""));
  if (const base::Map* rows = base::as_map(f.require("rows"), "rows", diags)) {
    for (const base::Entry& e : *rows) {
      const base::List* times = base::as_list(&e.value, e.key, diags);
      if (times == nullptr) continue;
      if (times->size() != out.columns.size())
        diags.error(e.at, fmt::format("{}: expected {} times, got {}", e.key, out.columns.size(), times->size()));
      for (const Value& t : *times) out.rows_us[e.key].push_back(1e3 * base::as_number(&t, e.key, diags).value_or(0));
    }
  }
  f.finish();
  return out;
}

}  // namespace

std::optional<std::size_t> PublishedTimes::column(std::string_view name) const {
  const auto found = std::find(columns.begin(), columns.end(), name);
  if (found == columns.end()) return std::nullopt;
  return static_cast<std::size_t>(found - columns.begin());
}

std::optional<double> PublishedTimes::us_of(const std::string& id, std::string_view of) const {
  const auto of_column = column(of);
  const auto times = rows_us.find(id);
  return of_column && times != rows_us.end() ? std::optional(times->second[*of_column]) : std::nullopt;
}

std::optional<PublishedTimes> load_published(std::string_view device, std::string_view suite, Diagnostics& diags) {
  std::error_code none;
  std::vector<std::string> paths;
  for (const auto& file : std::filesystem::directory_iterator(base::home_path("experiments/data/published"), none))
    paths.push_back(file.path().string());
  std::sort(paths.begin(), paths.end());
  for (const std::string& path : paths) {
    const base::SourceId source = diags.add_source(path);
    const auto text = base::read_file(path, source, diags);
    const auto document = text ? base::read_yaml(*text, source, diags) : std::nullopt;
    auto table = document ? read_table(*document, diags) : std::nullopt;
    if (table && table->device == device && table->suite == suite) return table;
  }
  return std::nullopt;
}

std::optional<PublishedComparison> compared(const api::CompiledOperator& op, const PublishedTimes& published) {
  const auto us = published.us_of(op.id, kPublishedColumn);
  if (!us || op.programs.empty()) return std::nullopt;
  return PublishedComparison{*us, best_of(op).prediction.predicted_us / *us - 1};
}

std::vector<api::ErrorsOfKind> errors_by_kind(const std::vector<api::CompiledOperator>& operators,
                                              const PublishedTimes& published) {
  std::vector<api::ErrorOfKind> errors;
  for (const api::CompiledOperator& op : operators)
    if (const auto c = compared(op, published)) errors.push_back({op.kind, c->error_ratio});
  return errors_by_kind(errors);
}

}  // namespace tilescope::experiments
