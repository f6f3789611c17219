// SPDX-License-Identifier: Apache-2.0
#include "api/compile.h"

#include <algorithm>
#include <mutex>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "api/common/parallel.h"
#include "api/constructed.h"
#include "api/detail/welder.h"
#include "api/from_model.h"
#include "api/instructions.h"
#include "api/kernels.h"
#include "api/layout_words.h"
#include "api/operator_kind.h"
#include "api/sequence.h"
#include "api/workload.h"
#include "base/option.h"
#include "expr/infer.h"
#include "expr/work.h"
#include "tile/bsp/document.h"
#include "tile/program_json.h"
#include "tile/transfer/document.h"

namespace tilescope::api {
namespace {

CompiledProgram compiled_program(const tile::RProgram& p, const model::Estimate& e, const arch::ArchSpec& a,
                                 UnderLimit limit) {
  if (const auto* stages = std::get_if<std::vector<tile::BspStage>>(&p.nodes)) {
    const tile::BspStage& first = stages->front();
    return {prediction_of(e, a, p, limit),
            p.stages(),
            axis_names(*first.space),
            joined(first.block, first.space->axes.size()),
            joined(first.grid, first.space->axes.size()),
            fmt::format("{}, {}", first.instruction, tile::in_words(first)),
            fmt::format("{}", fmt::join(kernels_of(p, a), ", ")),
            fmt::format("{}", fmt::join(edges_of(p), ", ")),
            a.core.max_block_threads,
            true,
            tile::to_document(p, a),
            {},
            {},
            {},
            {},
            {}};
  }
  const tile::StageProgram& first = p.simt().front();
  return {prediction_of(e, a, p, limit),
          p.stages(),
          axis_names(*first.space),
          joined(first.block, first.space->axes.size()),
          joined(first.thread, first.space->spatial),
          layout_of(first),
          fmt::format("{}", fmt::join(kernels_of(p, a), ", ")),
          fmt::format("{}", fmt::join(edges_of(p), ", ")),
          first.threads_with_producers(a.core.warp),
          false,
          tile::to_document(p, a),
          {},
          {},
          {},
          {},
          {}};
}

SearchStats stats_of(const construct::SearchStatistics& e) {
  SearchStats s{e.tiles, e.programs, e.pruned, e.cache_misses, e.cache_hits, {}, {}};
  if (e.ends) s.least_us = e.ends->least_us, s.gap = e.ends->gap();
  return s;
}

ConstructedOperator constructed(NamedExpression op, const ConstructOptions& options, const arch::ArchSpec& a) {
  ConstructedOperator out;
  // A published policy ranks configurations; stages that are fused have no programs yet.
  if (options.search.search == Search::kWelderOpen)
    out.configurations = welder_configurations(op.expression, a, options.keep);
  if (!out.configurations || op.expression.stages.size() == 1) out.found = construct(op.expression, a, options);
  out.op = std::move(op);
  return out;
}

CompiledOperator row_of(const ConstructedOperator& of, const SearchOptions& search, const arch::ArchSpec& a) {
  CompiledOperator out;
  out.id = of.op.id;
  out.kind = of.op.kind;
  out.dtypes = expr::dtypes_text(of.op.expression);
  out.count = of.op.count;
  out.operations = expr::operations_of(of.op.expression);
  out.construct_ms = of.found.construct_ms;
  out.rounds = of.found.rounds;
  if (of.found.statistics) out.stats = stats_of(*of.found.statistics);
  out.error = of.configurations && of.found.error.empty() ? of.configurations->error : of.found.error;
  out.configurations = of.configurations;
  for (const RankedProgram& p : of.found.programs) {
    const UnderLimit limit = out.programs.empty() ? UnderLimit::kJudged : UnderLimit::kLeftOut;
    CompiledProgram& compiled = out.programs.emplace_back(compiled_program(p.program, p.estimate, a, limit));
    compiled.simulated_us = p.simulated_us;
    if (search.pareto) compiled.core_bytes = core_bytes(p.program, a);
  }
  return out;
}

// Puts the first programs' times in the sequence into their rows, beside those of the programs alone.
void set_in_sequence(const Sequence& sequence, const std::vector<ConstructedOperator>& constructed,
                     const arch::ArchSpec& a, std::vector<CompiledOperator>& rows) {
  std::vector<const tile::RProgram*> programs;
  for (const ConstructedOperator& c : constructed)
    programs.push_back(c.found.programs.empty() ? nullptr : &c.found.programs.front().program);
  const auto estimates = sequence.estimates(programs, a);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    rows[i].inputs = sequence.inputs(i);
    if (!estimates[i]) continue;
    CompiledProgram& first = rows[i].programs.front();
    first.cold_us = first.prediction.predicted_us;
    // Alone at another clock it would meet cold caches.
    first.prediction = prediction_of(*estimates[i], a, *programs[i], UnderLimit::kLeftOut);
  }
}

}  // namespace

double us_of(const CompiledProgram& p) { return p.simulated_us.value_or(p.prediction.predicted_us); }

const CompiledProgram& best_of(const CompiledOperator& op) {
  return *std::min_element(op.programs.begin(), op.programs.end(),
                           [](const auto& a, const auto& b) { return us_of(a) < us_of(b); });
}

std::optional<SearchStats> total_stats(const std::vector<CompiledOperator>& operators) {
  std::optional<SearchStats> all;
  for (const CompiledOperator& op : operators) {
    if (!op.stats) continue;
    if (!all) all.emplace();
    all->tiles += op.stats->tiles;
    all->evaluated += op.stats->evaluated;
    all->pruned += op.stats->pruned;
    all->cache_misses += op.stats->cache_misses;
    all->cache_hits += op.stats->cache_hits;
  }
  return all;
}

TimedOperator timed(const CompiledOperator& op) {
  TimedOperator out{op.count, {}, op.operations, {}};
  if (op.programs.empty()) return out;
  out.us = us_of(best_of(op));
  out.bound_by = best_of(op).prediction.bottleneck;
  return out;
}

void check(const Workload& workload, base::Diagnostics& diags) { expressions_of(workload, diags); }

std::optional<std::vector<ConstructedOperator>> construct_operators(std::vector<NamedExpression> operators,
                                                                    const Workload& workload, const arch::ArchSpec& a,
                                                                    const SearchOptions& search, std::size_t keep,
                                                                    int jobs, const Progress& progress,
                                                                    base::Diagnostics& diags) {
  const construct::Restrictions given = restrictions_of(workload, operators, a, diags);
  if (!workload.instruction.empty() && search.search != Search::kRoller)
    diags.error({diags.add_source(base::option("mma"))},
                fmt::format("only {} roller constructs for a matrix instruction", base::option("search")));
  if (!diags.ok()) return std::nullopt;
  note_instructions(operators, a, diags);
  const ConstructOptions options{search, keep, given};
  std::vector<ConstructedOperator> out(operators.size());
  std::mutex one_at_a_time;
  std::size_t done = 0;
  const auto one = [&](std::size_t i) {
    out[i] = constructed(std::move(operators[i]), options, a);
    const std::lock_guard lock(one_at_a_time);
    progress(++done, out.size());
  };
  parallel_for(out.size(), jobs, [&] { return one; });
  for (const ConstructedOperator& c : out)
    if (!c.found.programs.empty()) note_instructions(c.found.programs.front().program, a, diags);
  return out;
}

std::vector<CompiledOperator> rows_of(const std::vector<ConstructedOperator>& operators, const SearchOptions& search,
                                      const arch::ArchSpec& a) {
  std::vector<CompiledOperator> out;
  for (const ConstructedOperator& op : operators) out.push_back(row_of(op, search, a));
  return out;
}

std::optional<std::vector<CompiledOperator>> compile(const Workload& workload, const arch::ArchSpec& a,
                                                     const SearchOptions& search, std::size_t keep, int jobs,
                                                     const Progress& progress, base::Diagnostics& diags) {
  auto operators = expressions_of(workload, diags);
  if (!operators) return std::nullopt;
  std::optional<Sequence> sequence;
  if (workload.sequence) sequence = Sequence::of(*operators, a, diags);
  const auto constructed =
      construct_operators(std::move(*operators), workload, a, search, sequence ? 1 : keep, jobs, progress, diags);
  if (!constructed) return std::nullopt;
  std::vector<CompiledOperator> rows = rows_of(*constructed, search, a);
  if (sequence) set_in_sequence(*sequence, *constructed, a, rows);
  return rows;
}

base::Value to_document(const std::vector<CompiledOperator>& operators, bool stats) {
  base::List rows;
  for (const CompiledOperator& op : operators) {
    base::List programs;
    for (std::size_t r = 0; r < op.programs.size(); ++r) {
      base::Map row = {{"rank", r}};
      base::append(row, to_entries(op.programs[r]));
      programs.emplace_back(std::move(row));
    }
    base::Map row = {{"id", op.id},
                     {"kind", op.kind},
                     {"dtype", op.dtypes},
                     {"count", op.count},
                     {"operations", op.operations},
                     {"construct_ms", op.construct_ms}};
    if (!op.rounds.empty()) {
      base::List rounds;
      for (const auto& [eps, n] : op.rounds) rounds.emplace_back(base::List{eps, n});
      row.push_back({"rounds", std::move(rounds)});
    }
    if (stats && op.stats) row.push_back({"search", to_entries(*op.stats)});
    if (op.configurations && op.configurations->error.empty())
      row.push_back({"welder_open", op.configurations->document});
    if (!op.inputs.empty()) row.push_back({"inputs", op.inputs});
    row.push_back({"programs", std::move(programs)});
    if (!op.error.empty()) row.push_back({"error", op.error});
    rows.emplace_back(std::move(row));
  }
  Totals total = totals_of(timed_operators(operators));
  total.simulated = std::any_of(operators.begin(), operators.end(), [](const CompiledOperator& op) {
    return !op.programs.empty() && op.programs.front().simulated_us.has_value();
  });
  return base::Map{{"operators", std::move(rows)}, {"total", to_entries(total)}};
}

std::vector<ProgramToWrite> programs_to_write(const std::vector<CompiledOperator>& operators) {
  std::vector<ProgramToWrite> out;
  for (const CompiledOperator& op : operators)
    for (std::size_t r = 0; r < op.programs.size(); ++r)
      out.push_back({fmt::format("{}.{}", op.id, r), op.id, op.count, op.programs[r].document});
  return out;
}

std::string batch_of(const std::vector<ProgramToWrite>& programs) {
  std::string out;
  for (const ProgramToWrite& p : programs) {
    base::Map line = {{"id", p.id}, {"group", p.group}, {"count", p.count}};
    base::append(line, *p.document.get_if<base::Map>());
    out += base::to_json(std::move(line)) + '\n';
  }
  return out;
}

}  // namespace tilescope::api
