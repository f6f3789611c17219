// SPDX-License-Identifier: Apache-2.0
#pragma once
// Random programs of an operator for a machine of tiles that exchange, drawn with rapidcheck.

#include <algorithm>
#include <numeric>
#include <vector>

#include <fmt/format.h>

#include "tests/support/random_program.h"
#include "tile/bsp/fit.h"
#include "tile/bsp/schedule.h"

namespace tilescope::tests {

// Of a mesh: no DRAM, or one of some channels at some of its routers.
inline void set_any_dram(arch::ArchSpec& a) {
  if (any_of_range(0, 1) == 0) {
    std::erase_if(a.memory, [](const arch::Level& l) { return arch::kind_of(l) == arch::Kind::kDram; });
    return;
  }
  for (arch::Level& l : a.memory)
    if (auto* dram = std::get_if<arch::DramLevel>(&l)) {
      const std::int64_t cores = *a.link->rows * *a.link->columns,
                         ports = any_of_range(1, std::min<std::int64_t>(cores, 3));
      dram->channels = ports * any_of_range(1, 2);
      dram->interleave = base::Bytes{32 << any_of_range(0, 3)};
      dram->ports = "";
      for (std::int64_t p = 0; p < ports; ++p) {
        const std::int64_t core = p * cores / ports;
        *dram->ports += fmt::format("r{}c{} ", core / *a.link->columns, core % *a.link->columns);
      }
    }
}

// A chip of some cores, or of some rows and columns of them.
inline arch::ArchSpec any_chip_of_exchanging_cores() {
  arch::ArchSpec a = chip(any_of_range(0, 1) == 0 ? "ipu_gc2" : "wormhole_n150");
  if (a.link->kind == arch::LinkKind::kMesh) {
    a.link->rows = any_of_range(1, 4);
    a.link->columns = any_of_range(1, 5);
    a.core.count = *a.link->rows * *a.link->columns;
    a.link->torus = static_cast<arch::Torus>(any_of_range(0, 2));
    a.link->networks = any_of_range(1, 2);
    set_any_dram(a);
  } else {
    a.core.count = any_of_range(1, 20);
  }
  a.link->multicast = any_of_range(0, 1) == 0 ? arch::Multicast::kNone : arch::Multicast::kRectangle;
  if (a.link->kind == arch::LinkKind::kExchange && a.link->multicast != arch::Multicast::kNone)
    a.link->multicast = arch::Multicast::kAny;
  if (a.link->kind == arch::LinkKind::kExchange && a.core.count % 2 == 0) a.link->port_pairing = any_of_range(1, 2);
  a.link->overlap = any_of_range(0, 1) == 1;
  return a;
}

inline base::FixedVector<int, tile::kMaxAxes> any_order(std::size_t count) {
  std::vector<int> rest(count);
  std::iota(rest.begin(), rest.end(), 0);
  base::FixedVector<int, tile::kMaxAxes> out;
  while (!rest.empty()) {
    const auto i = static_cast<std::size_t>(any_of_range(0, static_cast<std::int64_t>(rest.size()) - 1));
    out.push_back(rest[i]);
    rest.erase(rest.begin() + static_cast<std::ptrdiff_t>(i));
  }
  return out;
}

inline std::int64_t any_divisor(std::int64_t n) {
  std::vector<std::int64_t> all;
  for (std::int64_t d = 1; d <= n; ++d)
    if (n % d == 0) all.push_back(d);
  return any_element(all);
}

// Any grid of the chip's cores, any blocks, loops and moves that are sound; an operand that cannot rotate as drawn is
// fetched, one that cannot be gathered as drawn is not.
inline tile::BspStage any_bsp_stage(const expr::Expression& e, const arch::ArchSpec& chip) {
  tile::BspStage s;
  s.space =
      tile::make_space(e, any_of_range(0, 1) == 0 ? tile::no_collapse(e.stages.front()) : tile::contiguous_collapse(e));
  const std::size_t axes = s.space->axes.size();
  std::int64_t cores = chip.core.count;
  s.grid.assign(axes, 1);
  for (const int axis : any_order(axes)) {
    const auto a = static_cast<std::size_t>(axis);
    s.grid[a] = any_of_range(1, std::min<std::int64_t>(cores, std::min<std::int64_t>(s.space->axes[a].extent, 6)));
    cores /= s.grid[a];
  }
  for (std::size_t a = 0; a < axes; ++a) s.block.push_back(any_of_range(1, s.part(a)));
  s.core_order = any_order(axes);
  s.loop_order = any_order(axes);
  s.folded = any_of_range(0, 1) == 1;
  const auto computes = std::find_if(chip.compute.begin(), chip.compute.end(), [&](const arch::ComputeSpec& c) {
    return tile::instruction_refusal(c, *s.space).empty();
  });
  // Values do not depend on it: where none computes the operator any will do.
  s.instruction = (computes == chip.compute.end() ? chip.compute.begin() : computes)->name;
  s.dataflow.assign(s.space->inputs.size(), {});
  for (std::size_t i = 0; i < s.dataflow.size(); ++i) {
    tile::OperandDataflow& m = s.dataflow[i];
    m.how = static_cast<tile::Dataflow>(any_of_range(0, 2));
    m.buffers = m.how == tile::Dataflow::kFetch ? any_of_range(1, 2) : 1;
    if (m.how != tile::Dataflow::kShift && any_of_range(0, 1) == 0) continue;
    const tile::OperandDataflow alone = m.how == tile::Dataflow::kShift ? tile::OperandDataflow{} : m;
    m.axis = static_cast<int>(any_of_range(0, static_cast<std::int64_t>(axes) - 1));
    m.ring = any_divisor(s.sharing(s.space->inputs[i]));
    base::Diagnostics diags;
    if ((m.ring == 1 && m.how != tile::Dataflow::kShift) || !tile::check_schedule(s, chip, diags)) m = alone;
  }
  return s;
}

}  // namespace tilescope::tests
