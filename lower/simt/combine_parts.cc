// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <utility>

#include "base/integer.h"
#include "lower/affine.h"
#include "lower/simt/detail/lower_stage.h"

namespace tilescope::lower {

Kernel combine_parts(const tile::StageProgram& p, const arch::ArchSpec& chip, const Module& module, int partial,
                     int output) {
  const Global& from = module.globals[static_cast<std::size_t>(partial)];
  const Global& to = module.globals[static_cast<std::size_t>(output)];
  Kernel k;
  k.name = "combine_" + p.space->output.name;
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
  if (mean)
    last = {{.kind = NodeKind::kRead, .index = 0},
            {.kind = NodeKind::kNumber, .number = static_cast<double>(p.space->reduced)},
            {.kind = NodeKind::kDivide, .left = 0, .right = 1}};
  k.body.push_back(assign(rounded, expr::Reducer::kNone, last, sum));
  Statement store;
  store.what = Copy{{1, element}, rounded, 1, when, {}};
  k.body.push_back(std::move(store));
  return k;
}

}  // namespace tilescope::lower
