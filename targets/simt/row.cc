// SPDX-License-Identifier: Apache-2.0
#include "targets/simt/detail/row.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "backends/cuda/emit.h"
#include "construct/fuse.h"
#include "construct/search_inputs.h"
#include "lower/join.h"
#include "lower/lower.h"
#include "lower/print.h"
#include "model/simt/estimate.h"
#include "sim/simulate.h"
#include "targets/lowered.h"
#include "targets/simt/detail/construct.h"
#include "targets/simt/detail/verifier.h"
#include "tile/group.h"

namespace tilescope::targets::simt {
namespace {

// The stage's number where there are several.
std::string stage_name(const tile::RProgram& p, std::size_t stage) {
  return p.stages() > 1 ? fmt::format("node {}: ", stage + 1) : std::string();
}

std::optional<tile::RProgram> retargeted_to(tile::RProgram p, const arch::ArchSpec& a, base::Diagnostics& diags,
                                            const tile::ProgramPlaces& at) {
  const std::size_t before = diags.count();
  for (std::size_t s = 0; s < p.stages(); ++s) {
    base::Diagnostics of_stage;
    if (auto taken = lower::retargeted_to(std::move(p.simt()[s]), a, of_stage, at.at(s)))
      p.simt()[s] = std::move(*taken);
    for (const base::Diagnostic& d : of_stage.errors()) diags.error(d.at, stage_name(p, s) + d.text);
  }
  if (diags.count() == before)
    for (const tile::Group& group : tile::groups_of(p, a)) tile::layout_of(p, group, a, diags, at);
  if (diags.count() > before) return std::nullopt;
  return p;
}

std::optional<tile::RProgram> fuse(const expr::Expression& e, const tile::RProgram& unfused,
                                   const std::vector<base::Microseconds>& stage_times, const arch::ArchSpec& a,
                                   const construct::Restrictions& given, construct::KnownRuns* known) {
  std::vector<construct::Ranked> alone;
  for (std::size_t s = 0; s < unfused.stages(); ++s) alone.push_back({unfused.simt()[s], stage_times[s]});
  construct::Restrictions restrictions = given;
  restrictions.lowering_refusal = &lower::lowering_refusal;
  return construct::fuse(e, alone, model::make_machine(a), restrictions, known);
}

bool same_programs(const arch::ArchSpec& a, const arch::ArchSpec& b, base::Dtype dtype, base::Dtype accumulate) {
  return construct::SearchInputs(a).has_programs_of(construct::SearchInputs(b), dtype, accumulate);
}

Estimator estimator(const arch::ArchSpec& a) {
  return [machine = model::make_machine(a)](const tile::RProgram& p, base::Diagnostics* diags,
                                            const tile::ProgramPlaces& at) {
    auto estimate = model::estimate(p, machine);
    if (!estimate && diags != nullptr)
      for (const tile::Group& group : tile::groups_of(p, *machine.arch))
        tile::layout_of(p, group, *machine.arch, *diags, at);
    for (std::size_t s = 0; !estimate && diags != nullptr && s < p.stages(); ++s)
      if (const std::string none = no_instruction(p.space(s).expression, machine); !none.empty())
        diags->error(at.at(s).dtype, stage_name(p, s) + none);
    return estimate;
  };
}

std::vector<std::optional<model::Estimate>> estimate_sequence(std::span<const tile::RProgram> programs,
                                                              const arch::ArchSpec& a) {
  return model::estimate_sequence(programs, model::make_machine(a));
}

std::optional<Lowered> lowered(const tile::RProgram& p, const arch::ArchSpec& a, base::Diagnostics& diags,
                               const tile::ProgramPlaces& at) {
  auto module = lower::lower(p, a, diags, at);
  if (!module) return std::nullopt;
  return Lowered{std::move(*module)};
}

Lowered join(std::span<const Lowered> programs) {
  std::vector<lower::Module> modules;
  for (const Lowered& p : programs) modules.push_back(p.module());
  return Lowered{lower::joined(modules)};
}

std::string print(const Lowered& program) { return lower::print(program.module()); }

base::Bytes core_bytes(const tile::RProgram& p, const arch::ArchSpec& a) {
  base::Bytes most;
  base::Diagnostics refusals;
  for (const tile::Group& group : tile::groups_of(p, a))
    if (const auto layout = tile::layout_of(p, group, a, refusals)) most = std::max(most, layout->bytes);
  return most;
}

sim::SimReport simulate(const Lowered& program, const arch::ArchSpec& a, const sim::SimOptions& options) {
  return sim::simulate(program.module(), a, options);
}

std::vector<lower::KernelCounters> count(const Lowered& program, const arch::ArchSpec& a) {
  return sim::count(program.module(), a);
}

std::optional<cuda::Emitted> emit(const Lowered& program, std::string_view about, cuda::Dialect dialect,
                                  base::Diagnostics& diags, base::Position at) {
  const lower::Module& module = program.module();
  const std::vector<std::string> refusals = cuda::refusals(module, dialect);
  for (const std::string& w : refusals) diags.error(at, w);
  if (!refusals.empty()) return std::nullopt;
  return cuda::emit(module, about, dialect);
}

}  // namespace

const Target kRow = {.construct = &construct,
                     .same_programs = &same_programs,
                     .search = &search,
                     .aligned = &aligned,
                     .fuse = &fuse,
                     .lowering_refusal = &lower::lowering_refusal,
                     .retargeted_to = &retargeted_to,
                     .lower = &lowered,
                     .print = &print,
                     .runs = "kernel",
                     .statistics = "",
                     .placement = "its inputs lie in memory that all cores share",
                     .core_bytes = &core_bytes,
                     .estimate = &estimator,
                     .estimate_sequence = &estimate_sequence,
                     .join = &join,
                     .ratios = &model::ratios_read,
                     .simulate = &simulate,
                     .count = &count,
                     .scale_refusal = &sim::scale_refusal,
                     .verify = &verifier,
                     .emit = &emit};

}  // namespace tilescope::targets::simt
