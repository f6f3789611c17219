// SPDX-License-Identifier: Apache-2.0
#include "experiments/microbench/detail/stencil_kernel.h"

#include <utility>
#include <vector>

#include "base/integer.h"
#include "lower/kernel_builder.h"

namespace tilescope::experiments {
namespace {

using lower::Affine;
using lower::copy;
using lower::loop_over;
using lower::Statement;

constexpr std::int64_t kTaps = 15, kImage = 4096, kPitch = kImage + kTaps - 1;

}  // namespace

std::int64_t stencil_padding(const StencilTile& t) {
  constexpr std::int64_t kBanks = 32;  // of the kernel, whatever the chip has
  return (kBanks - (kTaps - 1 + t.block_x * (t.tile_x - 1)) % kBanks) % kBanks;
}

std::int64_t staged_bytes(const StencilTile& t, std::int64_t padding) {
  const std::int64_t row = t.block_x * t.tile_x + kTaps - 1 + padding;
  return (t.block_y * t.tile_y + kTaps - 1) * row * base::size_of(base::Dtype::kF32).n;
}

lower::Module stencil(const StencilTile& t, std::int64_t padding, const arch::ArchSpec& chip) {
  constexpr std::int64_t kBlocksOfACore = 16;
  lower::KernelBuilder b("stencil", kBlocksOfACore * chip.core.count, t.block_x * t.block_y);
  lower::IndexMaker& at = b.indices();
  const std::int64_t across = t.block_x * t.tile_x, down = t.block_y * t.tile_y;
  const std::int64_t width = across + kTaps - 1, height = down + kTaps - 1, row = width + padding;
  const Affine x = at.quotient(b.thread(), 1, t.block_x, "x"), y = at.quotient(b.thread(), t.block_x, 0, "y");
  const Affine block_x = at.quotient(b.block(), 1, kImage / across, "block_x");
  const Affine block_y = at.quotient(b.block(), kImage / across, kImage / down, "block_y");
  const int in = b.global("in", kPitch * kPitch);
  const int out = b.global("out", kImage * kImage, lower::Role::kOutput);
  const int staged = b.shared("staged", height * row), next = b.registers("next", 1);
  const int values = b.registers("values", t.tile_x * t.tile_y);
  const int sums = b.registers("sums", t.tile_x * t.tile_y);

  const int r = at.loop("r", base::ceil_div(height, t.block_y)), c = at.loop("c", base::ceil_div(width, t.block_x));
  const Affine staged_y = y + at.value(r) * t.block_y, staged_x = x + at.value(c) * t.block_x;
  const std::vector<lower::Guard> inside = {{staged_y, height}, {staged_x, width}};
  const Affine from = (block_y * down + staged_y) * kPitch + block_x * across + staged_x;
  b.add(loop_over(r,
                  {loop_over(c,
                             {copy({next, {}}, {in, from}, 1, inside),
                              copy({staged, staged_y * row + staged_x}, {next, {}}, 1, inside)},
                             1)},
                  1));
  b.add(lower::barrier());

  const int i = at.loop("i", kTaps), j = at.loop("j", kTaps), ty = at.loop("ty", t.tile_y),
            tx = at.loop("tx", t.tile_x);
  const Affine slot = at.value(ty) * t.tile_x + at.value(tx);
  const Affine tap = (y + at.value(i) + at.value(ty) * t.block_y) * row + x + at.value(j) + at.value(tx) * t.block_x;
  const std::vector<expr::Node> weighted = {{.kind = expr::NodeKind::kRead},
                                            {.kind = expr::NodeKind::kNumber, .number = 0.5},
                                            {.kind = expr::NodeKind::kMultiply, .left = 0, .right = 1}};
  const Statement add = {lower::Compute{{sums, slot}, expr::Reducer::kSum, weighted, {{values, slot}}}, {}};
  const auto over_tile = [&](Statement s) {
    return loop_over(ty, {loop_over(tx, {std::move(s)}, t.tile_x)}, t.tile_y);
  };
  b.add(loop_over(i, {loop_over(j, {over_tile(copy({values, slot}, {staged, tap}, 1)), over_tile(add)}, 1)}, 1));
  const Affine to =
      (block_y * down + y + at.value(ty) * t.block_y) * kImage + block_x * across + x + at.value(tx) * t.block_x;
  b.add(over_tile(copy({out, to}, {sums, slot}, 1)));
  return std::move(b).take();
}

}  // namespace tilescope::experiments
