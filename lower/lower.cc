#include "lower/lower.h"

#include <algorithm>

#include <fmt/format.h>

#include "arch/derive.h"
#include "base/integer.h"
#include "lower/stage_lowering.h"
#include "tile/boxes.h"
#include "tile/core_matrices.h"
#include "tile/fit.h"
#include "tile/fragment_read.h"

namespace tilescope::lower {

Kernel combine_parts(const std::string& name, const tile::StageProgram& p, const arch::ArchSpec& chip,
                     const Module& module, int partial, int output) {
  const Global& from = module.globals[static_cast<std::size_t>(partial)];
  const Global& to = module.globals[static_cast<std::size_t>(output)];
  Kernel k;
  k.name = name;
  k.threads = std::min(chip.core.warp * chip.core.partitions, chip.core.max_block_threads);
  k.warp = chip.core.warp;
  k.blocks = base::ceil_div(to.elements, k.threads);
  IndexMaker maker(k);
  const std::int64_t parts = from.elements / to.elements;
  const int part = maker.loop("part", parts - 1, 1);
  const Affine element = maker.block() * k.threads + maker.thread();
  std::vector<Guard> when;
  if (maker.range(element).high >= to.elements) when.push_back({element, to.elements});
  k.buffers = {{from.name, Space::kGlobal, from.dtype, from.elements, partial, 0},
               {to.name, Space::kGlobal, to.dtype, to.elements, output, 0},
               {to.name + "_part", Space::kRegister, from.dtype, 1, -1, 0},
               {to.name + "_sum", Space::kRegister, from.dtype, 1, -1, 0},
               {to.name + "_rounded", Space::kRegister, to.dtype, 1, -1, 0}};
  using expr::NodeKind;
  const expr::Reducer reducer = p.space->stage().reducer;
  const bool mean = reducer == expr::Reducer::kMean;
  const Access part_value{2, {}}, sum{3, {}}, rounded{4, {}};
  const auto load = [&](const Affine& part_number) {
    Statement s;
    s.what = Copy{part_value, {0, part_number * to.elements + element}, 1, {}, when};
    return s;
  };
  const auto assign = [](const Access& target, expr::Reducer r, std::vector<expr::Node> body, const Access& from_part) {
    Statement s;
    s.what = Compute{target, r, std::move(body), {from_part}};
    return s;
  };
  // The first part begins the sum, so that no identity is needed.
  const std::vector<expr::Node> read = {{.kind = NodeKind::kRead, .index = 0}};
  k.body.push_back(load(constant(0)));
  k.body.push_back(assign(sum, expr::Reducer::kNone, read, part_value));
  Loop others{part, 0, {}};
  others.body.push_back(load(maker.value(part)));
  others.body.push_back(assign(sum, mean ? expr::Reducer::kSum : reducer, read, part_value));
  k.body.push_back({std::move(others), "the other parts, in their order"});
  std::vector<expr::Node> last = read;
  if (mean) {
    last.push_back({.kind = NodeKind::kNumber, .number = static_cast<double>(p.space->reduced)});
    last.push_back({.kind = NodeKind::kDivide, .left = 0, .right = 1});
  }
  k.body.push_back(assign(rounded, expr::Reducer::kNone, last, sum));
  Statement store;
  store.what = Copy{{1, element}, rounded, 1, when, {}};
  k.body.push_back(std::move(store));
  return k;
}

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
    if (why.size() == before) StageLowering(p, chip, names, module, why).run();
  }
  if (why.size() > before) return std::nullopt;
  return module;
}

namespace {

// The chip's instruction along the same axes.
tile::MatrixUnit own_unit(const tile::MatrixUnit& u, const arch::ComputeSpec& c, const arch::ArchSpec& chip) {
  tile::MatrixUnit own = tile::unit_of(c, chip);
  own.rows = u.rows;
  own.columns = u.columns;
  own.depth = u.depth;
  return own;
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
  if (!p.matrix) return why.size() == before;
  const tile::MatrixUnit& u = *p.matrix;
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
  else if (const tile::MatrixUnit own = own_unit(u, *c, chip); !(own == u))
    refuse(fmt::format("on {} other threads, columns or memories take part in it", chip.name));
  else if (!lowerable(*c, chip, reason))
    refuse(reason);
  if (c->dtype != e.dtype || c->accumulate != e.accumulate)
    refuse(fmt::format("it multiplies {} into {}, the stage {} into {}", base::name_of(c->dtype),
                       base::name_of(c->accumulate), base::name_of(e.dtype), base::name_of(e.accumulate)));
  for (std::size_t i = 0; i < p.space->inputs.size(); ++i)
    if (!p.operands[i].staged) refuse(fmt::format("{} is not staged", p.space->inputs[i].name));
  if (why.size() == before && u.factors_staged)
    if (const std::string staged = tile::core_matrices_refusal(p); !staged.empty()) refuse(staged);
  return why.size() == before;
}

std::optional<tile::StageProgram> taken_by(tile::StageProgram p, const arch::ArchSpec& chip,
                                           std::vector<std::string>& why) {
  if (!lowerable(p, chip, why)) return std::nullopt;
  if (p.matrix)
    for (const arch::ComputeSpec& c : chip.compute)
      if (c.name == p.matrix->instruction) p.matrix = own_unit(*p.matrix, c, chip);
  return p;
}

}  // namespace tilescope::lower
