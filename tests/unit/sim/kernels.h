#pragma once
// Kernels written by hand for tests of the simulator, and ways to run them.

#include <string>
#include <utility>
#include <vector>

#include "lower/kernel.h"
#include "sim/simulate.h"
#include "tests/support/build.h"

namespace tilescope::tests {

using lower::Access;
using lower::Affine;
using lower::Copy;
using lower::Guard;
using lower::Loop;
using lower::Statement;

inline Affine affine(std::vector<lower::AffineTerm> terms, std::int64_t constant = 0) {
  return {std::move(terms), constant};
}

// A kernel of one module, built step by step.
struct HandKernel {
  lower::Module module;

  HandKernel(std::int64_t blocks, std::int64_t threads) {
    lower::Kernel k;
    k.name = "by_hand";
    k.blocks = blocks;
    k.threads = threads;
    k.indices = {{"block", lower::IndexKind::kBlock, {0, blocks - 1}, {}, 1, 0},
                 {"thread", lower::IndexKind::kThread, {0, threads - 1}, {}, 1, 0}};
    module.kernels.push_back(std::move(k));
  }
  lower::Kernel& kernel() { return module.kernels.front(); }

  int loop(const std::string& name, std::int64_t extent) {
    kernel().indices.push_back({name, lower::IndexKind::kLoop, {0, extent - 1}, {}, 1, 0});
    return static_cast<int>(kernel().indices.size() - 1);
  }
  int derived(const std::string& name, Affine of, std::int64_t divisor, std::int64_t modulus) {
    const expr::Span r = range_of(kernel(), of);
    const expr::Span range = modulus > 0 ? expr::Span{0, modulus - 1} : expr::Span{r.low / divisor, r.high / divisor};
    kernel().indices.push_back({name, lower::IndexKind::kDerived, range, std::move(of), divisor, modulus});
    return static_cast<int>(kernel().indices.size() - 1);
  }
  int global(const std::string& name, std::int64_t elements, lower::Role role = lower::Role::kInput,
             base::Dtype dtype = base::Dtype::kF32) {
    module.globals.push_back({name, dtype, elements, role});
    return buffer({name, lower::Space::kGlobal, dtype, elements, static_cast<int>(module.globals.size() - 1), 0});
  }
  int registers(const std::string& name, std::int64_t elements, base::Dtype dtype = base::Dtype::kF32) {
    return buffer({name, lower::Space::kRegister, dtype, elements, -1, 0});
  }
  int shared(const std::string& name, std::int64_t elements, base::Dtype dtype = base::Dtype::kF32) {
    const std::int64_t at = kernel().shared_bytes;
    kernel().shared_bytes += elements * base::size_of(dtype).n;
    return buffer({name, lower::Space::kShared, dtype, elements, -1, at});
  }
  int buffer(lower::Buffer b) {
    kernel().buffers.push_back(std::move(b));
    return static_cast<int>(kernel().buffers.size() - 1);
  }
  void add(Statement s) { kernel().body.push_back(std::move(s)); }
};

inline Statement copy(Access to, Access from, std::int64_t elements = 1, std::vector<Guard> when = {},
                      std::vector<Guard> inside = {}) {
  return {Copy{std::move(to), std::move(from), elements, std::move(when), std::move(inside)}, {}};
}
inline Statement barrier() { return {lower::Barrier{}, {}}; }
inline Statement loop_over(int index, std::vector<Statement> body, std::int64_t unroll = 1) {
  return {Loop{index, unroll, std::move(body)}, {}};
}
inline Statement move(Access to, Access from) {
  return {lower::Compute{std::move(to), expr::Reducer::kNone, {{.kind = expr::NodeKind::kRead}}, {std::move(from)}},
          {}};
}
// target += a * b
inline Statement multiply_add(Access target, Access a, Access b) {
  std::vector<expr::Node> body = {{.kind = expr::NodeKind::kRead, .index = 0},
                                  {.kind = expr::NodeKind::kRead, .index = 1},
                                  {.kind = expr::NodeKind::kMultiply, .left = 0, .right = 1}};
  return {lower::Compute{std::move(target), expr::Reducer::kSum, std::move(body), {std::move(a), std::move(b)}}, {}};
}

// One thread that reads `count` elements, `stride` elements apart, `passes` times, and waits for each.
inline lower::Module chase(std::int64_t count, std::int64_t stride, std::int64_t passes) {
  HandKernel k(1, 1);
  const int a = k.global("A", count * stride);
  const int r = k.registers("r", 1), s = k.registers("s", 1);
  const int pass = k.loop("pass", passes), i = k.loop("i", count);
  k.add(loop_over(pass, {loop_over(i, {copy({r, {}}, {a, affine({{i, stride}})}), move({s, {}}, {r, {}})})}));
  return k.module;
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
  if (kind == Stream::kRead) k.add(move({s, {}}, {r, {}}));
  if (kind != Stream::kRead) k.add(loop_over(i, {copy({b, at}, {r, affine({{i, 4}})}, 4)}, each));
  return k.module;
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
  return k.module;
}

// Every warp does `count` multiply-adds on eight independent sums.
inline lower::Module arithmetic(std::int64_t blocks, std::int64_t threads, std::int64_t count) {
  HandKernel k(blocks, threads);
  const int sums = k.registers("sums", 8), x = k.registers("x", 1);
  const int i = k.loop("i", count / 8), j = k.loop("j", 8);
  k.add(loop_over(i, {loop_over(j, {multiply_add({sums, affine({{j, 1}})}, {x, {}}, {x, {}})}, 8)}, 0));
  return k.module;
}

inline sim::SimReport simulated(const lower::Module& m, const arch::ArchSpec& chip, sim::Mode mode = sim::Mode::kFull) {
  return sim::simulate(m, chip, {.mode = mode});
}

inline double running_cycles(const sim::SimReport& r) { return static_cast<double>(r.running()); }

inline const sim::LevelTally& level(const sim::SimReport& r, const std::string& name) {
  for (const sim::LevelReport& l : r.levels)
    if (l.name == name) return l.amounts;
  throw std::runtime_error("no level " + name);
}

}  // namespace tilescope::tests
