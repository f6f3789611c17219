#include "lower/lower.h"

#include <algorithm>

#include <fmt/format.h>

#include "arch/derive.h"
#include "lower/simt/lower_stage.h"
#include "lower/simt/microkernel/conditions.h"
#include "tile/fit.h"
#include "tile/microkernel/mma.h"
#include "tile/transfer/tma.h"

namespace tilescope::lower {

std::optional<Module> lower(const tile::RProgram& program, const arch::ArchSpec& chip, std::vector<std::string>& why) {
  const std::size_t before = why.size();
  for (const tile::Edge& e : program.edges)
    if (e.level != arch::dram_of(chip)->name)
      why.push_back(fmt::format("edge {}: tensors pass between stages in {} only, not in {}", e.tensor,
                                arch::dram_of(chip)->name, e.level));
  std::set<std::string> names;
  for (const tile::StageProgram& p : program.stages)
    for (const expr::Tensor& t : p.space->expression.tensors) names.insert(t.name);
  Module module;
  for (const tile::StageProgram& p : program.stages) {
    const std::vector<std::string> exceeded = tile::exceeded_limits(p, chip);
    why.insert(why.end(), exceeded.begin(), exceeded.end());
    if (why.size() == before && lowerable(p, chip, why)) lower_stage(p, chip, names, module, why);
  }
  if (why.size() > before) return std::nullopt;
  return module;
}

bool lowerable(const arch::ComputeSpec& c, const arch::ArchSpec& chip, std::string& why) {
  why = tile::matrix_refusal(c);
  const std::int64_t lanes = c.threads.value_or(chip.core.warp);
  if (why.empty() && (lanes % chip.core.warp != 0 || lanes > chip.core.max_block_threads))
    why = fmt::format("its {} threads are no whole warps of a block of {}", lanes, chip.core.max_block_threads);
  return why.empty();
}

bool lowerable(const tile::StageProgram& p, const arch::ArchSpec& chip, std::vector<std::string>& why) {
  const std::size_t before = why.size();
  if (!tile::fits(p, chip)) {
    const std::vector<std::string> exceeded = tile::exceeded_limits(p, chip);
    why.insert(why.end(), exceeded.begin(), exceeded.end());
  }
  if (const std::string reason = tile::boxes_refusal(p, chip); !reason.empty()) why.push_back(reason);
  std::visit([&](const auto& kernel) { add_refusals(kernel, p, chip, why); }, p.micro_kernel);
  return why.size() == before;
}

std::optional<tile::StageProgram> taken_by(tile::StageProgram p, const arch::ArchSpec& chip,
                                           std::vector<std::string>& why) {
  if (!lowerable(p, chip, why)) return std::nullopt;
  p.micro_kernel = std::visit([&](const auto& kernel) { return on_chip(kernel, chip); }, p.micro_kernel);
  return p;
}

}  // namespace tilescope::lower
