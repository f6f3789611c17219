// SPDX-License-Identifier: Apache-2.0
#include "cli/explain_tables.h"

#include <algorithm>
#include <cmath>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/plain_text.h"
#include "cli/table.h"
#include "cli/total_columns.h"

namespace tilescope::cli {
namespace {

using api::Change;
using api::Elasticity;
using api::ExplainedOperator;
using api::MeanElasticity;
using api::Prediction;
using api::Refusal;
using api::TermRow;

std::string elasticity_text(double e) { return fmt::format("{:+.2f}", e); }

std::string elasticity_text(const std::optional<double>& e) { return e ? elasticity_text(*e) : "does not fit"; }

// "89 %", "3.4 %", or nothing of what is none.
std::string share_text(double ratio) {
  const double percent = 100 * ratio;
  if (percent < 0.05) return {};
  return fmt::format("{:.{}f} %", percent, percent < 9.95 ? 1 : 0);
}

// "arithmetic 89 %, issue 71 %": terms overlap, so their shares add up to more than the whole.
std::string terms_text(const Prediction& p) {
  std::vector<TermRow> terms = p.terms;
  std::stable_sort(terms.begin(), terms.end(), [](const TermRow& a, const TermRow& b) { return a.us > b.us; });
  std::vector<std::string> parts;
  for (const TermRow& t : terms)
    if (const std::string share = share_text(t.us / p.predicted_us); !share.empty())
      parts.push_back(fmt::format("{} {}", t.name, share));
  return fmt::format("{}", fmt::join(parts, ", "));
}

std::string number_of(std::size_t n, const char* one, const char* many) {
  return fmt::format("{} {}", n, n == 1 ? one : many);
}

void print_refused(const std::vector<Refusal>& refused) {
  if (refused.empty()) return;
  Table table({{"refused"}, {"changed to", true}, {"why"}});
  for (const Refusal& r : refused) {
    const std::string named = r.change.path + ": ";
    table.add({r.change.path, base::plain_text(r.change.changed),
               r.why.starts_with(named) ? r.why.substr(named.size()) : r.why});
  }
  fmt::print("\n");
  table.print();
}

// "core.count -0.97": of each number the strongest change alone.
std::vector<std::string> three_strongest(const ExplainedOperator& op) {
  std::vector<std::string> out;
  std::set<std::string> seen;
  for (const Elasticity& e : strongest(op))
    if (out.size() < 3 && std::abs(e.elasticity) >= api::kMinElasticity && seen.insert(e.change.path).second)
      out.push_back(fmt::format("{} {}", e.change.path, elasticity_text(e.elasticity)));
  out.resize(3);
  return out;
}

void print_means(const std::vector<ExplainedOperator>& operators) {
  Table table({{"path"}, {"value", true}, {"changed to", true}, {"mean elasticity", true}, {"program fixed", true}});
  for (const MeanElasticity& m : strongest_means(operators))
    table.add({m.change.path, base::plain_text(m.change.value), base::plain_text(m.change.changed),
               elasticity_text(m.elasticity), elasticity_text(m.elasticity_fixed)});
  table.print();
}

}  // namespace

void print_explained(const ExplainedOperator& op, const std::string& chip) {
  if (!op.prediction) return;
  const Prediction& p = *op.prediction;
  const std::vector<Elasticity> rows = strongest(op);
  fmt::print("{} on {}: {}, bound by {}, next {}\n", op.id, chip, time_text(p.predicted_us), p.bottleneck,
             op.next.empty() ? "nothing" : op.next);
  fmt::print("alone, of that time: {}\n", terms_text(p));
  const bool energies = std::any_of(rows.begin(), rows.end(), [](const Elasticity& e) { return e.energy.has_value(); });
  std::vector<Column> columns = {
      {"path"}, {"value", true}, {"changed to", true}, {"elasticity", true}, {"program fixed", true}};
  if (energies) columns.push_back({"energy's elasticity", true});
  columns.push_back({"then bound by"});
  Table table(columns);
  bool luck = false;
  for (const Elasticity& e : rows) {
    const bool lucky = is_luck(e, op);
    luck = luck || lucky;
    std::vector<std::string> cells = {
        e.change.path, base::plain_text(e.change.value), base::plain_text(e.change.changed),
        elasticity_text(e.elasticity) + (lucky ? "*" : " "), elasticity_text(e.elasticity_fixed)};
    if (energies) cells.push_back(e.energy ? elasticity_text(*e.energy) : "-");
    cells.push_back(e.bottleneck);
    table.add(cells);
  }
  table.print();
  if (luck) fmt::print("* what is constructed there is faster on {} too: in part search noise\n", chip);
  fmt::print("\n{} without effect, {} refused\n", number_of(op.elasticities.size() - rows.size(), "change", "changes"),
             op.refused.size());
  print_refused(op.refused);
}

void print_explained_suite(const std::vector<ExplainedOperator>& operators) {
  const TotalColumns totals(operators);
  std::vector<Column> columns = {{"operator"}, {"kind", false, 4}};
  totals.add_count(columns);
  columns.push_back({"predicted", true});
  totals.add_rates(columns);
  columns.insert(columns.end(),
                 {{"bound by"}, {"next", false, 2}, {"strongest"}, {"second", false, 2}, {"third", false, 3}});
  Table table(columns);
  for (std::size_t i = 0; i < operators.size(); ++i) {
    const ExplainedOperator& op = operators[i];
    std::vector<std::string> row = {op.id, op.kind};
    totals.add_count(row, i);
    row.push_back(op.prediction ? time_text(op.prediction->predicted_us) : "-");
    totals.add_rates(row, i);
    if (!op.prediction) {
      row.insert(row.end(), {"-", "-", "-", "-", "-"});
    } else {
      row.insert(row.end(), {op.prediction->bottleneck, op.next});
      for (std::string& cell : three_strongest(op)) row.push_back(std::move(cell));
    }
    table.add(row);
  }
  std::vector<std::string> total = {totals.name(), ""};
  if (totals.counted()) total.push_back(totals.count());
  total.insert(total.end(), {time_text(totals.totals().us), "100 %", totals.rate(), totals.bound_by()});
  table.add(total);
  table.print();
  const std::size_t explained = totals.totals().timed;
  const double sum_us = totals.totals().us;
  fmt::print("\n{} of {} operators, {} in all; the mean over them, weighted with their times\n", explained,
             operators.size(), time_text(sum_us));
  print_means(operators);
}

}  // namespace tilescope::cli
