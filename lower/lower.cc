#include "lower/lower.h"

#include <algorithm>

#include <fmt/format.h>

#include "arch/derive.h"
#include "lower/simt/lower_stage.h"
#include "tile/transfer/tma.h"
#include "tile/microkernel/wgmma.h"
#include "tile/fit.h"
#include "tile/microkernel/mma.h"

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
    if (why.size() == before) lower_stage(p, chip, names, module, why);
  }
  if (why.size() > before) return std::nullopt;
  return module;
}

namespace {

// The chip's instruction along the same axes.
tile::MicroKernel own_kernel(const tile::MatrixUnit& u, const arch::ComputeSpec& c, const arch::ArchSpec& chip) {
  tile::MatrixUnit along;
  along.rows = u.rows;
  along.columns = u.columns;
  along.depth = u.depth;
  return tile::micro_kernel_of(c, chip, along);
}

}  // namespace

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
  if (!p.matrix()) return why.size() == before;
  const tile::MatrixUnit& u = *p.matrix();
  const auto refuse = [&](const std::string& reason) {
    why.push_back(fmt::format("instruction {}: {}", u.instruction, reason));
  };
  const auto c = std::find_if(chip.compute.begin(), chip.compute.end(),
                              [&](const arch::ComputeSpec& each) { return each.name == u.instruction; });
  if (c == chip.compute.end()) {
    refuse(fmt::format("{} has none of that name", chip.name));
    return false;
  }
  std::string reason;
  const expr::Expression& e = p.space->expression;
  if (c->m != u.m || c->n != u.n || c->k != u.k)
    refuse(
        fmt::format("{} multiplies {}x{}x{} by it, the program {}x{}x{}", chip.name, c->m, c->n, c->k, u.m, u.n, u.k));
  else if (!(own_kernel(u, *c, chip) == p.micro_kernel))
    refuse(fmt::format("on {} other threads, columns or memories take part in it", chip.name));
  else if (!lowerable(*c, chip, reason))
    refuse(reason);
  if (c->dtype != e.dtype || c->accumulate != e.accumulate)
    refuse(fmt::format("it multiplies {} into {}, the stage {} into {}", base::name_of(c->dtype),
                       base::name_of(c->accumulate), base::name_of(e.dtype), base::name_of(e.accumulate)));
  for (std::size_t i = 0; i < p.space->inputs.size(); ++i)
    if (!p.operands[i].staged) refuse(fmt::format("{} is not staged", p.space->inputs[i].name));
  if (why.size() == before && p.in_core_matrices())
    if (const std::string staged = tile::core_matrices_refusal(p); !staged.empty()) refuse(staged);
  return why.size() == before;
}

std::optional<tile::StageProgram> taken_by(tile::StageProgram p, const arch::ArchSpec& chip,
                                           std::vector<std::string>& why) {
  if (!lowerable(p, chip, why)) return std::nullopt;
  if (p.matrix())
    for (const arch::ComputeSpec& c : chip.compute)
      if (c.name == p.matrix()->instruction) p.micro_kernel = own_kernel(*p.matrix(), c, chip);
  return p;
}

}  // namespace tilescope::lower
