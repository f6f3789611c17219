// SPDX-License-Identifier: Apache-2.0
#include "experiments/accuracy/published.h"

#include <algorithm>
#include <filesystem>

#include <fmt/format.h>

#include "api/workload.h"
#include "base/document.h"
#include "base/fields.h"
#include "base/home.h"
#include "expr/infer.h"

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

// What the operators of a workload compute, by id; nothing after mistakes, which others tell.
std::map<std::string, std::string> operators_in(const api::Workload& workload) {
  Diagnostics unread;
  std::map<std::string, std::string> out;
  if (const auto operators = api::expressions_of(workload, unread))
    for (const api::NamedExpression& op : *operators) out.emplace(op.id, expr::text_of(op.expression));
  return out;
}

void leave_out_other_sizes(const api::Workload& workload, PublishedTimes& times) {
  api::Workload as_published;
  as_published.suite = workload.suite;
  as_published.dtype = workload.dtype;
  const auto published = operators_in(as_published), asked = operators_in(workload);
  std::erase_if(times.rows_us, [&](const auto& row) {
    const auto was = published.find(row.first), is = asked.find(row.first);
    return was == published.end() || is == asked.end() || was->second != is->second;
  });
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

std::optional<PublishedTimes> load_published(std::string_view device, const api::Workload& workload,
                                             Diagnostics& diags) {
  if (!workload.suite) return std::nullopt;
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
    if (!table || table->device != device || table->suite != *workload.suite) continue;
    if (!workload.sizes.empty() || workload.small) leave_out_other_sizes(workload, *table);
    return table;
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
