// SPDX-License-Identifier: Apache-2.0
#include "targets/bsp/detail/row.h"

#include <utility>

#include <fmt/format.h>

#include "arch/derive.h"
#include "base/option.h"
#include "construct/bsp/construct.h"
#include "construct/restrictions.h"
#include "lower/bsp/lower.h"
#include "lower/bsp/print.h"
#include "model/bsp/estimate.h"
#include "sim/bsp/simulate.h"
#include "targets/bsp/detail/verifier.h"
#include "targets/constructed_stage.h"
#include "targets/lowered.h"
#include "targets/search.h"
#include "tile/bsp/fit.h"
#include "tile/bsp/memory.h"
#include "tile/program.h"

namespace tilescope::targets::bsp {
namespace {

ConstructedStage construct(const expr::Expression& stage, const arch::ArchSpec& a, const SearchOptions& how,
                           std::size_t keep, const construct::Restrictions& given) {
  ConstructedStage out;
  if (how.search != Search::kRoller && how.search != Search::kPartition) {
    out.why = fmt::format("of chips of this class only {} roller and partition find programs", base::option("search"));
    return out;
  }
  base::Diagnostics diags;
  out.programs = construct::bsp::construct(
      stage, a, keep,
      {given.instruction, given.inputs_prearranged, given.dataflow, how.search == Search::kPartition,
       given.tensor_location == base::TensorLocation::kCores},
      diags);
  if (!diags.ok()) out.why = diags.sentences().front();
  return out;
}

std::string lowering_refusal(const arch::ComputeSpec& /*instruction*/, const arch::ArchSpec& /*a*/) { return {}; }

std::optional<tile::RProgram> retargeted_to(tile::RProgram p, const arch::ArchSpec& a, base::Diagnostics& diags,
                                            const tile::ProgramPlaces& at) {
  const auto* stages = std::get_if<std::vector<tile::BspStage>>(&p.nodes);
  if (stages == nullptr) {
    diags.error(at.program, "a program of threads; the cores of this chip exchange");
    return std::nullopt;
  }
  const std::size_t before = diags.count();
  for (std::size_t n = 0; n < stages->size(); ++n) tile::check_schedule((*stages)[n], a, diags, at.of(n));
  if (diags.count() == before) tile::check_memory(*stages, a, diags, at.of_tiles());
  if (diags.count() > before) return std::nullopt;
  return p;
}

Estimator estimator(const arch::ArchSpec& a) {
  return [&a](const tile::RProgram& p, base::Diagnostics* /*diags*/, const tile::ProgramPlaces& /*at*/) {
    return std::optional(model::bsp::estimate(p.bsp(), a));
  };
}

std::optional<Lowered> lowered(const tile::RProgram& p, const arch::ArchSpec& a, base::Diagnostics& diags,
                               const tile::ProgramPlaces& at) {
  auto program = lower::bsp::lower(p.bsp(), a, diags, at.program);
  if (!program) return std::nullopt;
  return Lowered{std::move(*program)};
}

std::string print(const Lowered& program) { return lower::bsp::print(program.supersteps()); }

base::Bytes core_bytes(const tile::RProgram& p, const arch::ArchSpec& a) { return {tile::core_bytes(p.bsp(), a)}; }

sim::SimReport simulate(const Lowered& program, const arch::ArchSpec& a, const sim::SimOptions& options) {
  return sim::bsp::simulate(program.supersteps(), a, options);
}

std::vector<std::string> ratios(const arch::ArchSpec& /*a*/) { return {"link.copy"}; }

constexpr const char* kNoSequence = "its cores have no cache in which a program could leave tensors for the next";

}  // namespace

const Target kRow = {.construct = &construct,
                     .same_programs = "its programs are constructed for each chip anew",
                     .search = "only construction finds programs of its cores",
                     .aligned = "only construction finds programs of its cores",
                     .fuse = "cores that exchange compute one stage at a time",
                     .lowering_refusal = &lowering_refusal,
                     .retargeted_to = &retargeted_to,
                     .lower = &lowered,
                     .print = &print,
                     .runs = "machine",
                     .statistics = "its construction does not count what it does",
                     .placement = "",
                     .core_bytes = &core_bytes,
                     .estimate = &estimator,
                     .estimate_sequence = kNoSequence,
                     .join = kNoSequence,
                     .ratios = &ratios,
                     .simulate = &simulate,
                     .count = "its cores run no kernels",
                     .scale_refusal = "no part of it stands for all of it",
                     .verify = &verifier,
                     .emit = "there is no text of its programs"};

}  // namespace tilescope::targets::bsp
