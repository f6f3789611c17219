// SPDX-License-Identifier: Apache-2.0
#pragma once
// Kernels written by hand for tests of the simulator, and ways to run them.

#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "lower/kernel_builder.h"
#include "sim/simulate.h"
#include "tests/support/build.h"

namespace tilescope::tests {

using lower::Access;
using lower::Affine;
using lower::assign;
using lower::barrier;
using lower::copy;
using lower::Copy;
using lower::Guard;
using lower::loop_over;
using lower::multiply_add;
using lower::Statement;

inline Affine affine(std::vector<lower::AffineTerm> terms, std::int64_t constant = 0) {
  return {std::move(terms), constant};
}

// A kernel of which tests know the indices by their numbers: 0 is the block, 1 the thread.
struct HandKernel : lower::KernelBuilder {
  HandKernel(std::int64_t blocks, std::int64_t threads) : KernelBuilder("by_hand", blocks, threads) {
    kernel().warp = 32;
  }

  int loop(const std::string& name, std::int64_t extent) { return indices().loop(name, extent); }
  int derived(const std::string& name, Affine of, std::int64_t divisor, std::int64_t modulus) {
    const expr::Span r = range_of(kernel(), of);
    const expr::Span range = modulus > 0 ? expr::Span{0, modulus - 1} : expr::Span{r.low / divisor, r.high / divisor};
    kernel().indices.push_back({name, lower::IndexKind::kDerived, range, std::move(of), divisor, modulus});
    return static_cast<int>(kernel().indices.size() - 1);
  }
};

// One thread that reads `count` elements, `stride` elements apart, `passes` times, and waits for each.
inline lower::Module chase(std::int64_t count, std::int64_t stride, std::int64_t passes) {
  HandKernel k(1, 1);
  const int a = k.global("A", count * stride);
  const int r = k.registers("r", 1), s = k.registers("s", 1);
  const int pass = k.loop("pass", passes), i = k.loop("i", count);
  k.add(loop_over(pass, {loop_over(i, {copy({r, {}}, {a, affine({{i, stride}})}), assign({s, {}}, {r, {}})})}));
  return std::move(k).take();
}

// Every thread moves `each` pieces of four floats from one array to another, or only reads or only writes them.
enum class Stream { kRead, kWrite, kCopy };
inline lower::Module stream(std::int64_t blocks, std::int64_t threads, std::int64_t each, Stream kind) {
  HandKernel k(blocks, threads);
  const std::int64_t elements = blocks * threads * each * 4;
  const int a = k.global("A", elements), b = k.global("B", elements, lower::Role::kOutput);
  const int r = k.registers("r", each * 4), s = k.registers("s", 1);
  const int i = k.loop("i", each);
  const Affine at = affine({{0, threads * each * 4}, {1, 4}, {i, threads * 4}});
  if (kind != Stream::kWrite) k.add(loop_over(i, {copy({r, affine({{i, 4}})}, {a, at}, 4)}, each));
  if (kind == Stream::kRead) k.add(assign({s, {}}, {r, {}}));
  if (kind != Stream::kRead) k.add(loop_over(i, {copy({b, at}, {r, affine({{i, 4}})}, 4)}, each));
  return std::move(k).take();
}

// C[m,n] += A[m,k] * B[k,n] with tiles of 16 x 16 (steps of 16), one element a thread, A's rows padded. Sizes need not
// divide; `n` wide rows are guarded.
inline lower::Module tiled_product(std::int64_t m, std::int64_t n, std::int64_t steps, std::int64_t padding = 0) {
  constexpr std::int64_t kTile = 16;
  const std::int64_t across = (n + kTile - 1) / kTile, down = (m + kTile - 1) / kTile, depth = steps * kTile;
  HandKernel k(across * down, kTile * kTile);
  const int a = k.global("A", m * depth), b = k.global("B", depth * n), c = k.global("C", m * n, lower::Role::kOutput);
  const int a_tile = k.shared("A_tile", kTile * (kTile + padding)), b_tile = k.shared("B_tile", kTile * kTile);
  const int a_next = k.registers("A_next", 1), b_next = k.registers("B_next", 1);
  const int x = k.registers("x", 1), y = k.registers("y", 1), sum = k.registers("sum", 1);
  const int bx = k.derived("bx", affine({{0, 1}}), 1, across), by = k.derived("by", affine({{0, 1}}), across, 0);
  const int tx = k.derived("tx", affine({{1, 1}}), 1, kTile), ty = k.derived("ty", affine({{1, 1}}), kTile, 0);
  const int step = k.loop("step", steps), kk = k.loop("k", kTile);
  const Guard row{affine({{by, kTile}, {ty, 1}}), m}, column{affine({{bx, kTile}, {tx, 1}}), n};
  const std::int64_t pitch = kTile + padding;
  std::vector<Statement> body = {
      copy({a_next, {}}, {a, affine({{by, kTile * depth}, {tx, 1}, {ty, depth}, {step, kTile}})}, 1, {}, {row}),
      copy({b_next, {}}, {b, affine({{bx, kTile}, {tx, 1}, {ty, n}, {step, kTile * n}})}, 1, {}, {column}),
      barrier(),
      copy({a_tile, affine({{tx, 1}, {ty, pitch}})}, {a_next, {}}),
      copy({b_tile, affine({{tx, 1}, {ty, kTile}})}, {b_next, {}}),
      barrier(),
      loop_over(kk,
                {copy({x, {}}, {a_tile, affine({{ty, pitch}, {kk, 1}})}),
                 copy({y, {}}, {b_tile, affine({{tx, 1}, {kk, kTile}})}), multiply_add({sum, {}}, {x, {}}, {y, {}})},
                0)};
  k.add(loop_over(step, std::move(body)));
  k.add(copy({c, affine({{bx, kTile}, {by, kTile * n}, {tx, 1}, {ty, n}})}, {sum, {}}, 1, {row, column}));
  return std::move(k).take();
}

// A warp of each block has tiles of 64 rows of 32 floats brought, `stages` ahead of four that read every one of them.
// The blocks' tiles lie side by side.
inline lower::Module ring(std::int64_t blocks, std::int64_t steps, std::int64_t stages) {
  constexpr std::int64_t kRows = 64, kRow = 32, kWarps = 4;
  HandKernel k(blocks, 32 * (kWarps + 1));
  const int a = k.global("A", steps * kRows * blocks * kRow), r = k.registers("r", 1), sum = k.registers("sum", 1);
  const int tile = k.shared("tile", stages * kRows * kRow);
  k.kernel().mbarriers = {{"full", stages, 1, k.kernel().shared_bytes},
                          {"free", stages, kWarps, k.kernel().shared_bytes + 8 * stages}};
  const int step = k.loop("step", steps), row = k.loop("row", kRows);
  const int stage = k.derived("slot", affine({{step, 1}}), 1, stages),
            lane = k.derived("lane", affine({{1, 1}}), 1, kRow);
  const lower::BoxDim down{affine({{step, kRows}}), steps * kRows, blocks * kRow, kRows};
  const lower::BoxDim across{affine({{0, kRow}}), blocks * kRow, 1, kRow};
  const Affine begin = affine({{stage, kRows * kRow}}), phase = affine({{step, 1}});
  std::vector<Statement> work = {
      {lower::MbarrierWait{0, phase}, {}},
      loop_over(row, {copy({r, {}}, {tile, affine({{row, kRow}, {stage, kRows * kRow}, {lane, 1}})}),
                      multiply_add({sum, {}}, {r, {}}, {r, {}})}),
      {lower::MbarrierArrive{1, phase}, {}}};
  std::vector<Statement> bring = {{lower::MbarrierWait{1, affine({{step, 1}}, -stages)}, {}},
                                  {lower::MbarrierArrive{0, phase, kRows * kRow * 4}, {}},
                                  {lower::TmaLoad{{{tile, begin}, a, {down, across}}, 0, phase}, {}}};
  lower::WarpSpecialized roles;
  roles.roles = {{"work", 0, 32 * kWarps, {loop_over(step, std::move(work))}},
                 {"copy", 32 * kWarps, 32, {loop_over(step, std::move(bring))}}};
  k.add({std::move(roles), {}});
  return std::move(k).take();
}

// Every warp does `count` multiply-adds on eight independent sums, `rounds` of each before the loop's own instructions.
inline lower::Module arithmetic(std::int64_t blocks, std::int64_t threads, std::int64_t count,
                                base::Dtype dtype = base::Dtype::kF32) {
  const std::int64_t rounds = std::gcd(count / 8, 16);
  HandKernel k(blocks, threads);
  const int sums = k.registers("sums", 8, base::default_accumulator(dtype)), x = k.registers("x", 1, dtype);
  const int i = k.loop("i", count / 8 / rounds), round = k.loop("round", rounds), j = k.loop("j", 8);
  const Statement all = loop_over(j, {multiply_add({sums, affine({{j, 1}})}, {x, {}}, {x, {}})}, 8);
  k.add(loop_over(i, {loop_over(round, {all}, rounds)}));
  return std::move(k).take();
}

// The engine that an H100 brings boxes with.
inline constexpr const char* kTma =
    "{row: 128 B, min_row: 32 B, granule: 16 B, alignment: 1024 B, mbarrier: 8 B, max_extent: 256, max_dims: 5, "
    "line_interval: 1 cycles}";

// A v100 with TMA, which no real one has.
inline const arch::ArchSpec& copying_v100() {
  static const arch::ArchSpec kChip = chip("v100", {{"core.tma", kTma}});
  return kChip;
}

inline sim::SimReport simulated(const lower::Module& m, const arch::ArchSpec& chip, sim::Mode mode = sim::Mode::kFull) {
  return sim::simulate(m, chip, {.mode = mode});
}

inline double running_cycles(const sim::SimReport& r) { return static_cast<double>(r.running()); }

inline const sim::LevelStatistics& level(const sim::SimReport& r, const std::string& name) {
  for (const sim::LevelReport& l : r.levels)
    if (l.name == name) return l.amounts;
  throw std::runtime_error("no level " + name);
}

}  // namespace tilescope::tests
