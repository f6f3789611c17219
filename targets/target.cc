// SPDX-License-Identifier: Apache-2.0
#include "targets/target.h"

#include <utility>
#include <variant>
#include <vector>

#include <fmt/format.h>

#include "arch/key.h"
#include "base/check.h"
#include "targets/bsp/detail/row.h"
#include "targets/simt/detail/row.h"
#include "tile/program.h"
#include "tile/stage_reader.h"
#include "tile/tile_loop.h"

namespace tilescope::targets {
namespace {

// The row of a class that no reader takes programs for.
constexpr Target refusing(const char* why) {
  return {.construct = why,
          .same_programs = why,
          .search = why,
          .aligned = why,
          .fuse = why,
          .lowering_refusal = why,
          .retargeted_to = why,
          .lower = why,
          .print = why,
          .runs = "",
          .statistics = why,
          .placement = why,
          .core_bytes = why,
          .estimate = why,
          .estimate_sequence = why,
          .join = why,
          .ratios = why,
          .simulate = why,
          .count = why,
          .scale_refusal = why,
          .verify = why,
          .emit = why};
}

constexpr Target kMemory = refusing("programs need one of class gpu");

}  // namespace

const Target& target_of(const arch::ArchSpec& a) {
  switch (a.chip_class) {
    case arch::ChipClass::kGpu:
      return simt::kRow;
    case arch::ChipClass::kBsp:
      return bsp::kRow;
    case arch::ChipClass::kMemory:
      return kMemory;
  }
  base::check(false, "every class of chips has a row");
  return kMemory;
}

std::optional<tile::RProgram> carried_to(const arch::ArchSpec& a, tile::RProgram p, base::Diagnostics& diags,
                                         const tile::ProgramPlaces& at) {
  if (auto* stages = std::get_if<std::vector<tile::StageProgram>>(&p.nodes))
    for (tile::StageProgram& stage : *stages) stage = tile::with_blocks_of(a, std::move(stage));
  return target_of(a).retargeted_to(std::move(p), a, diags, at);
}

std::string refused(const arch::ArchSpec& a, std::string_view refusal) {
  if (refusal.empty()) return {};
  return fmt::format("{} is a chip of class {}; {}", a.name, arch::name_of_choice(a.chip_class), refusal);
}

}  // namespace tilescope::targets
