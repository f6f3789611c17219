#include "experiments/compile.h"

#include <algorithm>
#include <limits>
#include <mutex>
#include <time.h>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "arch/derive.h"
#include "construct/roller.h"
#include "construct/roller_osdi22.h"
#include "experiments/from_model.h"
#include "experiments/parallel.h"
#include "experiments/workload.h"
#include "expr/infer.h"
#include "tile/fit.h"
#include "tile/program_json.h"

namespace tilescope::experiments {
namespace {

struct NamedSearch {
  std::string_view name;
  Search search;
};
constexpr NamedSearch kSearches[] = {{"roller", Search::kRoller}, {"roller-osdi22", Search::kRollerOsdi22}};

double thread_cpu_ms() {
  timespec t{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) * 1e3 + static_cast<double>(t.tv_nsec) * 1e-6;
}

// Where a later stage reads what an earlier one writes, through the outermost level.
std::vector<tile::Edge> edges_of(const expr::Expression& e, const arch::ArchSpec& a) {
  std::vector<tile::Edge> out;
  for (std::size_t s = 0; s < e.stages.size(); ++s) {
    std::vector<int> seen;
    for (const expr::Read& r : e.stages[s].reads) {
      const expr::Tensor& t = e.tensors[static_cast<std::size_t>(r.tensor)];
      if (t.producer == expr::kInput || std::find(seen.begin(), seen.end(), r.tensor) != seen.end()) continue;
      seen.push_back(r.tensor);
      out.push_back({t.producer, static_cast<int>(s), t.name, a.memory.front().name});
    }
  }
  return out;
}

std::string joined(const tile::Extents& extents, std::size_t count) {
  std::string out;
  for (std::size_t i = 0; i < count; ++i) out += fmt::format("{}{}", i == 0 ? "" : "x", extents[i]);
  return out;
}

std::string axis_names(const tile::TileSpace& space) {
  std::vector<std::string_view> names;
  for (const tile::TileAxis& a : space.axes) names.push_back(a.name);
  return fmt::format("{}", fmt::join(names, " x "));
}

// What of a layout differs from the plain one: "A+4 serial 2" is padding and neighbours that one thread owns.
std::string layout_of(const tile::StageProgram& p) {
  std::vector<std::string> parts;
  bool staged = false;
  for (std::size_t i = 0; i < p.space->inputs.size(); ++i) {
    staged = staged || p.operands[i].staged;
    if (p.operands[i].padding != 0)
      parts.push_back(fmt::format("{}+{}", p.space->inputs[i].name, p.operands[i].padding));
  }
  if (!staged) parts.emplace_back("direct");
  if (p.mapping.back().serial > 1) parts.push_back(fmt::format("serial {}", p.mapping.back().serial));
  return parts.empty() ? "-" : fmt::format("{}", fmt::join(parts, " "));
}

CompiledProgram compiled_program(const tile::RProgram& p, const model::Estimate& e, const arch::ArchSpec& a) {
  const tile::StageProgram& first = p.stages.front();
  return {prediction_of(e.sum, a),
          p.stages.size(),
          axis_names(*first.space),
          joined(first.block, first.space->axes.size()),
          joined(first.thread, first.space->spatial),
          layout_of(first),
          first.threads(),
          tile::to_document(p, a)};
}

// One thread that computes one element a block: what exceeds a limit here exceeds it everywhere.
tile::StageProgram smallest_program(const expr::Expression& one_stage) {
  const auto space = tile::make_space(one_stage, tile::no_fusion(one_stage.stages.front()));
  base::FixedVector<tile::AxisMapping, tile::kMaxAxes> mapping;
  mapping.assign(space->spatial, {});
  return tile::make_stage_program(space, mapping, tile::Extents(space->axes.size(), 1), {});
}

// Compiles the operators of one chip; one per thread.
class Compiler {
 public:
  Compiler(const arch::ArchSpec& a, Search search, std::size_t keep)
      : arch_(a), machine_(model::make_machine(a)), search_(search), keep_(keep) {}

  CompiledOperator compile(const NamedExpression& op) const {
    CompiledOperator out;
    out.id = op.id;
    out.kind = op.kind;
    if (search_ == Search::kRollerOsdi22 && !arch_.baselines.roller_osdi22) {
      out.error = fmt::format("{} has no baselines.roller-osdi22", arch_.name);
      return out;
    }
    const double start_ms = thread_cpu_ms();
    const std::vector<tile::RProgram> programs = construct(op.expression, out);
    out.construct_ms = thread_cpu_ms() - start_ms;
    for (const tile::RProgram& p : programs) {
      const auto estimate = model::estimate(p, machine_);
      if (estimate)
        out.programs.push_back(compiled_program(p, *estimate, arch_));
      else
        out.error = no_instruction(arch_, op.expression.dtype, op.expression.accumulate);
    }
    return out;
  }

 private:
  std::string why_none(const expr::Expression& e, std::size_t stage) const {
    if (!model::arithmetic_of(machine_, e.dtype, e.accumulate)) return no_instruction(arch_, e.dtype, e.accumulate);
    const std::string of_stage = e.stages.size() > 1 ? fmt::format(" of stage {}", stage + 1) : "";
    const std::vector<std::string> limits =
        tile::exceeded_limits(smallest_program(expr::single_stage(e, stage)), arch_);
    if (limits.empty()) return fmt::format("no aligned program{} was found for {}", of_stage, arch_.name);
    return fmt::format("no program{} fits {}: {}", of_stage, arch_.name, fmt::join(limits, "; "));
  }

  std::vector<tile::RProgram> construct(const expr::Expression& e, CompiledOperator& out) const {
    std::vector<std::vector<tile::StageProgram>> stages;
    std::size_t count = keep_;
    for (std::size_t s = 0; s < e.stages.size(); ++s) {
      stages.push_back(construct_stage(expr::single_stage(e, s), out));
      count = std::min(count, stages.back().size());
      if (stages.back().empty() && out.error.empty()) out.error = why_none(e, s);
    }
    std::vector<tile::RProgram> programs(count);
    for (std::size_t r = 0; r < count; ++r) {
      programs[r] = {arch_.name, {}, edges_of(e, arch_)};
      for (auto& stage : stages) programs[r].stages.push_back(std::move(stage[r]));
    }
    return programs;
  }

  std::vector<tile::StageProgram> construct_stage(const expr::Expression& stage, CompiledOperator& out) const {
    if (search_ == Search::kRollerOsdi22) {
      construct::Osdi22Result r = construct::roller_osdi22(stage, *arch_.baselines.roller_osdi22,
                                                           static_cast<int>(keep_), arch::widest_access_of(arch_));
      for (const construct::Round& round : r.rounds) out.rounds.emplace_back(round.eps, round.found);
      return std::move(r.programs);
    }
    const construct::Judge judge = [this](const tile::RProgram& p) {
      const auto e = model::estimate_stage(p.stages.front(), machine_);
      return base::Microseconds{e ? e->total_us : std::numeric_limits<double>::infinity()};
    };
    std::vector<tile::StageProgram> programs;
    for (construct::Ranked& r : construct::roller(stage, arch_, judge, keep_)) programs.push_back(std::move(r.program));
    return programs;
  }

  const arch::ArchSpec& arch_;
  model::Machine machine_;
  Search search_;
  std::size_t keep_;
};

}  // namespace

const CompiledProgram& best_of(const CompiledOperator& op) {
  return *std::min_element(op.programs.begin(), op.programs.end(), [](const auto& a, const auto& b) {
    return a.prediction.predicted_us < b.prediction.predicted_us;
  });
}

std::vector<std::string_view> search_names() {
  std::vector<std::string_view> names;
  for (const NamedSearch& s : kSearches) names.push_back(s.name);
  return names;
}

std::optional<Search> search_of(std::string_view name, base::Diagnostics& diags) {
  for (const NamedSearch& s : kSearches)
    if (s.name == name) return s.search;
  diags.error({diags.add_source("--search")},
              fmt::format("expected one of {}, got '{}'{}", fmt::join(search_names(), ", "), name,
                          base::did_you_mean(name, search_names())));
  return std::nullopt;
}

void check(const Workload& workload, base::Diagnostics& diags) { expressions_of(workload, diags); }

std::optional<std::vector<CompiledOperator>> compile(const Workload& workload, const arch::ArchSpec& a, Search search,
                                                     std::size_t keep, int jobs, const Progress& progress,
                                                     base::Diagnostics& diags) {
  const auto expressions = expressions_of(workload, diags);
  if (!expressions) return std::nullopt;
  const Compiler compiler(a, search, keep);
  std::vector<CompiledOperator> out(expressions->size());
  std::mutex one_at_a_time;
  std::size_t done = 0;
  const auto compile_one = [&](std::size_t i) {
    out[i] = compiler.compile((*expressions)[i]);
    const std::lock_guard lock(one_at_a_time);
    progress(++done, out.size());
  };
  parallel_for(out.size(), jobs, [&] { return compile_one; });
  return out;
}

base::Value to_document(const std::vector<CompiledOperator>& operators) {
  base::List rows;
  for (const CompiledOperator& op : operators) {
    base::List programs;
    for (std::size_t r = 0; r < op.programs.size(); ++r) {
      base::Map row = {{"rank", static_cast<std::int64_t>(r), {}}};
      for (base::Entry& e : to_entries(op.programs[r].prediction)) row.push_back(std::move(e));
      row.push_back({"program", op.programs[r].document, {}});
      programs.emplace_back(std::move(row));
    }
    base::Map row = {{"id", op.id, {}}, {"kind", op.kind, {}}, {"construct_ms", op.construct_ms, {}}};
    if (!op.rounds.empty()) {
      base::List rounds;
      for (const auto& [eps, n] : op.rounds) rounds.emplace_back(base::List{eps, n});
      row.push_back({"rounds", std::move(rounds), {}});
    }
    row.push_back({"programs", std::move(programs), {}});
    if (!op.error.empty()) row.push_back({"error", op.error, {}});
    rows.emplace_back(std::move(row));
  }
  return base::Map{{"operators", std::move(rows), {}}};
}

}  // namespace tilescope::experiments
