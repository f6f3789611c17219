// SPDX-License-Identifier: Apache-2.0
#include "cli/compile_tables.h"

#include <algorithm>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "cli/energy_table.h"
#include "cli/table.h"
#include "cli/total_columns.h"

namespace tilescope::cli {
namespace {

using api::CompiledOperator;
using api::CompiledProgram;

void print_programs(const CompiledOperator& op) {
  const bool on_tiles = op.programs.front().on_tiles;
  std::vector<Column> columns = {{"#", true},
                                 {"axes", false, 4},
                                 {on_tiles ? "step tile" : "block tile"},
                                 {on_tiles ? "grid" : "thread tile"},
                                 {on_tiles ? "workers" : "threads", true, 2},
                                 {on_tiles ? "cores" : "blocks", true, 3},
                                 {on_tiles ? "steps" : "waves", true, 2},
                                 {"occupancy", true, 1},
                                 {"predicted", true}};
  const bool banded = std::any_of(op.programs.begin(), op.programs.end(),
                                  [](const CompiledProgram& p) { return p.prediction.band.has_value(); });
  if (banded) columns.push_back({"80 % interval", true, 1});
  const bool simulated = op.programs.front().simulated_us.has_value();
  if (simulated) columns.push_back({"simulated", true});
  const bool front = op.programs.front().core_bytes.has_value();
  if (front) columns.push_back({"KiB a core", true});
  columns.push_back({"bound by"});
  Table table(columns);
  for (std::size_t r = 0; r < op.programs.size(); ++r) {
    const CompiledProgram& c = op.programs[r];
    const api::Prediction& p = c.prediction;
    std::vector<std::string> row = {fmt::format("{}", r),
                                    c.axes,
                                    c.block_tile,
                                    c.thread_tile,
                                    fmt::format("{}", c.threads),
                                    fmt::format("{}", p.blocks),
                                    fmt::format("{:.2f}", p.waves),
                                    fmt::format("{:.0f} % {}", 100 * p.occupancy_ratio, p.occupancy_limit),
                                    time_text(p.predicted_us)};
    if (banded) row.push_back(p.band ? band_text(*p.band) : "");
    if (simulated) row.push_back(time_text(*c.simulated_us));
    if (front) row.push_back(fmt::format("{:.1f}", static_cast<double>(*c.core_bytes) / 1024));
    row.push_back(p.bottleneck);
    table.add(row);
  }
  table.print();
}

void print_layouts(const CompiledOperator& op) {
  Table table({{"#", true}, {"layout"}});
  for (std::size_t r = 0; r < op.programs.size(); ++r) table.add({fmt::format("{}", r), op.programs[r].layout});
  table.print();
}

void print_kernels(const CompiledOperator& op) {
  Table table({{"#", true}, {"kernels"}, {"edges", false, 1}});
  for (std::size_t r = 0; r < op.programs.size(); ++r)
    table.add({fmt::format("{}", r), op.programs[r].kernels.empty() ? "all in one stage" : op.programs[r].kernels,
               op.programs[r].edges});
  table.print();
}

// Why one program is slower than another: the terms of its time, and what the outermost level and the banks do.
void print_terms(const CompiledOperator& op) {
  const api::Prediction& first = op.programs.front().prediction;
  std::vector<Column> columns = {{"#", true}};
  for (const api::TermRow& t : first.terms) columns.push_back({t.name, true});
  columns.push_back({first.levels.front().name + " MB", true, 1});
  columns.push_back({first.levels.back().name + " conflicts", true, 1});
  Table table(columns);
  for (std::size_t r = 0; r < op.programs.size(); ++r) {
    const api::Prediction& p = op.programs[r].prediction;
    std::vector<std::string> row = {fmt::format("{}", r)};
    for (const api::TermRow& t : p.terms) row.push_back(time_text(t.us));
    row.push_back(fmt::format("{:.1f}", p.levels.front().bytes / 1e6));
    row.push_back(fmt::format("{:.2f}x", p.levels.back().conflict_ratio));
    table.add(row);
  }
  table.print();
}

}  // namespace

void print_configurations(const CompiledOperator& op, const arch::ArchSpec& a) {
  fmt::print("{} on {}: {} configurations of all stages as one group\n", op.id, a.name, op.configurations->rows.size());
  Table table({{"#", true},
               {"tile"},
               {"reduction steps", false, 2},
               {"threads", true, 2},
               {"blocks", true, 3},
               {"blocks a core", true, 3},
               {"waves", true},
               {"block's bytes", true},
               {"smem KiB", true},
               {"score", true}});
  std::size_t rank = 0;
  for (const api::ConfigurationRow& c : op.configurations->rows)
    table.add({fmt::format("{}", rank++), c.tile, c.steps, fmt::format("{}", c.threads), fmt::format("{}", c.blocks),
               fmt::format("{}", c.blocks_per_core), fmt::format("{}", c.waves), fmt::format("{:.0f}", c.traffic_bytes),
               fmt::format("{:.1f}", static_cast<double>(c.smem_bytes) / 1024), fmt::format("{:.0f}", c.score)});
  table.print();
}

void print_operator(const CompiledOperator& op, const arch::ArchSpec& a) {
  const std::size_t stages = op.programs.front().stages;
  fmt::print("{} on {}: {} {} in {:.1f} ms{}\n", op.id, a.name, op.programs.size(),
             op.programs.size() == 1 ? "program" : "programs", op.construct_ms,
             stages > 1 ? fmt::format("; tiles are of the first of {} nodes, times of all", stages) : "");
  print_programs(op);
  fmt::print("\nnon-default layout\n");
  print_layouts(op);
  if (std::any_of(op.programs.begin(), op.programs.end(), [](const CompiledProgram& p) { return p.stages > 1; })) {
    fmt::print("\nwhich stages share a kernel, and in which level tensors pass between them\n");
    print_kernels(op);
  }
  fmt::print("\nwhat each term would take alone\n");
  print_terms(op);
}

namespace {

bool any_program_has(const std::vector<CompiledOperator>& operators, std::optional<double> CompiledProgram::* us) {
  return std::any_of(operators.begin(), operators.end(), [&](const CompiledOperator& op) {
    return !op.programs.empty() && (op.programs.front().*us).has_value();
  });
}

// Which times the table has beside the predicted ones.
struct TimeColumns {
  explicit TimeColumns(const std::vector<CompiledOperator>& operators)
      : cold(any_program_has(operators, &CompiledProgram::cold_us)),
        simulated(any_program_has(operators, &CompiledProgram::simulated_us)) {}
  bool cold, simulated;
};

std::vector<std::string> best_row(const CompiledOperator& op, const TotalColumns& totals, std::size_t i,
                                  const TimeColumns& times) {
  std::vector<std::string> row = {op.id, op.kind};
  totals.add_count(row, i);
  if (op.programs.empty()) {
    row.insert(row.end(), {"-", "-", "-"});
    if (times.cold) row.insert(row.end(), {op.inputs, "-"});
    row.emplace_back("-");
    if (times.simulated) row.emplace_back("-");
    totals.add_rates(row, i);
    row.emplace_back("-");
    return row;
  }
  const CompiledProgram& best = api::best_of(op);
  row.insert(row.end(), {best.block_tile, best.thread_tile, best.layout});
  if (times.cold) row.insert(row.end(), {op.inputs, best.cold_us ? time_text(*best.cold_us) : "-"});
  row.push_back(time_text(best.prediction.predicted_us));
  if (best.simulated_us) row.push_back(time_text(*best.simulated_us));
  totals.add_rates(row, i);
  row.push_back(best.prediction.bottleneck);
  return row;
}

// Below the operators, what they take together.
std::vector<std::string> total_row(const TotalColumns& totals, const std::vector<CompiledOperator>& operators,
                                   const TimeColumns& times) {
  std::vector<std::string> row = {totals.name(), ""};
  if (totals.counted()) row.push_back(totals.count());
  row.insert(row.end(), {"", "", ""});
  double cold_us = 0, predicted_us = 0;
  bool all_cold = true;
  for (const CompiledOperator& op : operators) {
    if (op.programs.empty()) continue;
    const CompiledProgram& best = api::best_of(op);
    all_cold = all_cold && best.cold_us;
    cold_us += static_cast<double>(op.count) * best.cold_us.value_or(0);
    predicted_us += static_cast<double>(op.count) * best.prediction.predicted_us;
  }
  if (times.cold) row.insert(row.end(), {"", all_cold ? time_text(cold_us) : "-"});
  if (times.simulated) row.push_back(time_text(predicted_us));
  row.insert(row.end(), {time_text(totals.totals().us), "100 %", totals.rate(), totals.bound_by()});
  return row;
}

// The published time of an operator and how far its best program is off; both empty where there is none.
std::vector<std::string> published_cells(const CompiledOperator& op, const experiments::PublishedTimes& published) {
  const auto c = experiments::compared(op, published);
  if (!c) return {"", ""};
  return {time_text(c->published_us), percent_text(c->error_ratio)};
}

void print_errors(const std::vector<api::ErrorsOfKind>& kinds) {
  if (kinds.empty()) return;
  fmt::print("\nour best, predicted, against {} as published: mean of |error|, and of the error\n",
             experiments::kPublishedColumn);
  Table table({{"kind"}, {"operators", true}, {"mean |error|", true}, {"mean error", true}});
  for (const auto& [kind, e] : kinds)
    table.add({kind, fmt::format("{}", e.compared), share_text(e.mape_ratio), percent_text(e.bias_ratio)});
  table.print();
}

}  // namespace

void print_suite(const std::vector<CompiledOperator>& operators,
                 const std::optional<experiments::PublishedTimes>& published) {
  const bool compared = published && published->column(experiments::kPublishedColumn);
  const TotalColumns totals(operators);
  std::vector<Column> columns = {{"operator"}, {"kind", false, 3}};
  totals.add_count(columns);
  columns.insert(columns.end(), {{"block tile", false, 1}, {"thread tile", false, 2}, {"layout", false, 1}});
  const TimeColumns times(operators);
  if (times.cold) columns.insert(columns.end(), {{"inputs", false, 1}, {"predicted cold", true}});
  columns.push_back({"predicted", true});
  if (times.simulated) columns.push_back({"simulated", true});
  totals.add_rates(columns);
  columns.push_back({"bound by"});
  if (compared) columns.insert(columns.end(), {{std::string(experiments::kPublishedColumn), true}, {"error", true}});
  columns.push_back({"constructed", true, 4});
  Table table(columns);
  double construct_ms = 0;
  std::size_t compiled = 0;
  for (std::size_t i = 0; i < operators.size(); ++i) {
    const CompiledOperator& op = operators[i];
    construct_ms += op.construct_ms;
    compiled += op.programs.empty() ? 0 : 1;
    std::vector<std::string> row = best_row(op, totals, i, times);
    if (compared)
      for (std::string& cell : published_cells(op, *published)) row.push_back(std::move(cell));
    row.push_back(fmt::format("{:.1f} ms", op.construct_ms));
    table.add(row);
  }
  table.add(total_row(totals, operators, times));
  table.print();
  fmt::print("\n{} of {} operators, constructed and ranked in {:.0f} ms of CPU time\n", compiled, operators.size(),
             construct_ms);
  if (compared) print_errors(experiments::errors_by_kind(operators, *published));
}

void print_stats(const std::vector<CompiledOperator>& operators) {
  const std::optional<api::SearchStats> all = api::total_stats(operators);
  if (!all) return;  // no operator has a program
  fmt::print("\n");
  Table table({{"operator"},
               {"tiles", true},
               {"evaluated", true},
               {"pruned", true},
               {"cache misses", true},
               {"cache hits", true},
               {"roofline", true},
               {"gap", true}});
  const auto add = [&](const std::string& id, const api::SearchStats& s) {
    table.add({id, fmt::format("{}", s.tiles), fmt::format("{}", s.evaluated), fmt::format("{}", s.pruned),
               fmt::format("{}", s.cache_misses), fmt::format("{}", s.cache_hits),
               s.least_us ? time_text(*s.least_us) : "-", s.gap ? fmt::format("{:.1f} %", 100 * *s.gap) : "-"});
  };
  for (const CompiledOperator& op : operators)
    if (op.stats) add(op.id, *op.stats);
  if (operators.size() > 1) add("all", *all);
  table.print();
}

void print_energy(const std::vector<CompiledOperator>& operators) {
  EnergyTable table("operator", "predicted");
  for (const CompiledOperator& op : operators) {
    if (op.programs.empty()) continue;
    const api::Prediction& p = api::best_of(op).prediction;
    table.add(op.id, p.predicted_us, p.energy, p.no_energy);
  }
  table.print();
}

void print_usage(const std::vector<CompiledOperator>& operators) {
  Table table({{"operator"},
               {"#", true},
               {"target"},
               {"registers assumed", true},
               {"real", true},
               {"spilled bytes", true},
               {"shared bytes assumed", true},
               {"real", true}});
  std::size_t programs = 0, compiled = 0, without_spills = 0;
  for (const CompiledOperator& op : operators)
    for (std::size_t r = 0; r < op.programs.size(); ++r) {
      const CompiledProgram& p = op.programs[r];
      ++programs;
      if (!p.usage) continue;
      ++compiled;
      without_spills += p.usage->spill_bytes() == 0 ? 1 : 0;
      table.add({op.id, fmt::format("{}", r), p.usage->target, fmt::format("{}", p.prediction.registers_per_thread),
                 fmt::format("{}", p.usage->registers()), fmt::format("{}", p.usage->spill_bytes()),
                 fmt::format("{}", p.usage->assumed_shared_bytes), fmt::format("{}", p.usage->shared_bytes())});
    }
  if (compiled > 0) {
    fmt::print("\n");
    table.print();
  }
  fmt::print("\n{} of {} programs compiled, {} without spills\n", compiled, programs, without_spills);
}

}  // namespace tilescope::cli
