// SPDX-License-Identifier: Apache-2.0
#include "tile/microkernel/detail/document.h"

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "arch/derive.h"
#include "tile/microkernel/mma.h"
#include "tile/microkernel/rules.h"

namespace tilescope::tile {
namespace {

// What the instruction multiplies, and whether the tiles are whole fragments of it.
void check_instruction(const StageProgram& p, const MatrixUnit& u, const arch::ComputeSpec& spec, base::Position at,
                       base::Diagnostics& diags) {
  if (const std::string refusal = dtypes_refusal(spec, *p.space); !refusal.empty())
    diags.error(at, fmt::format("mma: {} {}", spec.name, refusal));
  if (!is_matrix_product(*p.space, u.rows, u.columns, u.depth)) {
    diags.error(at,
                "mma: the node is no matrix product along m, n and k: expected m in the first tensor "
                "alone, n in the second alone, and k reduced and in both");
    return;
  }
  const auto whole = [&](std::size_t axis, std::int64_t extent, std::int64_t fragment) {
    if (extent % fragment != 0)
      diags.error(
          at, fmt::format("mma: {} along {} are no whole fragments of {}", extent, p.space->axes[axis].name, fragment));
  };
  whole(u.rows, p.mapping[u.rows].per_thread, u.m);
  whole(u.columns, p.mapping[u.columns].per_thread, u.n);
  whole(u.depth, p.iterations_along(u.depth), u.k);
}

}  // namespace

void read_micro_kernel(const NodeFields& node, bool tiles_known, StageProgram& p) {
  base::Diagnostics& diags = node.diags;
  const base::Value* v = node.fields.take("mma");
  if (base::as_map(v, "mma", diags) == nullptr) return;
  base::Fields f(*v, "mma", diags);
  std::vector<std::string_view> names;
  for (const arch::ComputeSpec& c : node.arch.compute)
    if (c.m > 1 && c.n > 1) names.push_back(c.name);
  const auto unit = base::as_choice(f.require("name"), "mma.name", names, diags);
  std::array<std::optional<std::size_t>, 3> axes;
  constexpr std::array<std::string_view, 3> kSides = {"m", "n", "k"};
  for (std::size_t s = 0; s < axes.size(); ++s) {
    const base::Value* name = f.require(kSides[s]);
    if (const auto text = base::as_text(name, kSides[s], diags)) axes[s] = node.axis_of({*text, {}, name->at}, "mma");
  }
  f.finish();
  if (!unit || !axes[0] || !axes[1] || !axes[2] || !tiles_known) return;
  const auto spec = std::find_if(node.arch.compute.begin(), node.arch.compute.end(),
                                 [&](const arch::ComputeSpec& c) { return c.name == names[*unit]; });
  MatrixUnit along;
  along.rows = *axes[0];
  along.columns = *axes[1];
  along.depth = *axes[2];
  MicroKernel kernel = micro_kernel_of(*spec, node.arch, along);
  const std::size_t before = diags.errors().size();
  if (const std::string why = matrix_refusal(*spec); !why.empty())
    diags.error(v->at, fmt::format("mma: {}: {}", spec->name, why));
  check_instruction(p, *unit_of(kernel), *spec, v->at, diags);
  if (diags.errors().size() == before)
    p = with_micro_kernel(std::move(p), std::move(kernel), arch::widest_access_of(node.arch));
}

std::optional<base::Value> micro_kernel_document(const StageProgram& p) {
  const MatrixUnit* unit = p.matrix();
  if (unit == nullptr) return std::nullopt;
  const auto name_of = [&](std::size_t axis) { return p.space->axes[axis].name; };
  return base::Map{{"name", unit->instruction},
                   {"m", name_of(unit->rows)},
                   {"n", name_of(unit->columns)},
                   {"k", name_of(unit->depth)}};
}

}  // namespace tilescope::tile
