// SPDX-License-Identifier: Apache-2.0
#include "lower/lower.h"

#include <algorithm>

#include <fmt/format.h>

#include "arch/derive.h"
#include "lower/simt/detail/lower_stage.h"
#include "lower/simt/microkernel/detail/conditions.h"
#include "tile/fit.h"
#include "tile/microkernel/mma.h"
#include "tile/shared_reduction.h"
#include "tile/transfer/multicast.h"
#include "tile/transfer/tma.h"

namespace tilescope::lower {

std::optional<Module> lower(const tile::RProgram& program, const arch::ArchSpec& chip, base::Diagnostics& diags,
                            const tile::ProgramPlaces& at) {
  const std::size_t before = diags.count();
  std::set<std::string> names;
  for (const tile::StageProgram& p : program.simt())
    for (const expr::Tensor& t : p.space->expression.tensors) names.insert(t.name);
  Module module;
  for (std::size_t n = 0; n < program.stages(); ++n) check_lowerable(program.simt()[n], chip, diags, at.at(n));
  if (diags.count() > before) return std::nullopt;
  for (const tile::Group& group : tile::groups_of(program, chip))
    if (const auto layout = tile::layout_of(program, group, chip, diags, at); layout && diags.count() == before)
      lower_group(program, *layout, chip, names, module, diags, at.of(group.front()));
  if (diags.count() > before) return std::nullopt;
  return module;
}

std::string lowering_refusal(const arch::ComputeSpec& c, const arch::ArchSpec& chip) {
  if (std::string why = tile::matrix_refusal(c); !why.empty()) return why;
  const std::int64_t lanes = c.threads.value_or(chip.core.warp);
  if (lanes % chip.core.warp == 0 && lanes <= chip.core.max_block_threads) return {};
  return fmt::format("its {} threads are no whole warps of a block of {}", lanes, chip.core.max_block_threads);
}

bool check_lowerable(const tile::StageProgram& p, const arch::ArchSpec& chip, base::Diagnostics& diags,
                     const tile::NodePlaces& at) {
  const std::size_t before = diags.count();
  if (!tile::fits(p, chip)) tile::check_fit(p, chip, diags, at);
  if (std::string why = tile::tma_refusal(p, chip); !why.empty()) diags.error(at.copy, std::move(why));
  if (std::string why = tile::cluster_refusal(p, chip); !why.empty()) diags.error(at.copy, "cluster: " + why);
  if (std::string why = tile::sharing_refusal(p, chip); !why.empty()) diags.error(at.mapping, std::move(why));
  std::visit([&](const auto& kernel) { add_refusals(kernel, p, chip, diags, at.mma); }, p.micro_kernel);
  return diags.count() == before;
}

std::optional<tile::StageProgram> retargeted_to(tile::StageProgram p, const arch::ArchSpec& chip,
                                                base::Diagnostics& diags, const tile::NodePlaces& at) {
  if (!check_lowerable(p, chip, diags, at)) return std::nullopt;
  p.micro_kernel = std::visit([&](const auto& kernel) { return on_chip(kernel, chip); }, p.micro_kernel);
  return p;
}

}  // namespace tilescope::lower
