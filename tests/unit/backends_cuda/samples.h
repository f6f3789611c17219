// SPDX-License-Identifier: Apache-2.0
#pragma once
// Kernels of every kind that the emitter knows, each with inputs and the values that it has to compute.

#include <cmath>
#include <string>

#include "lower/expected_values.h"
#include "tests/support/lowered.h"
#include "tests/unit/backends_cuda/matmul.h"
#include "tile/tile_loop.h"
#include "tile/transfer/multicast.h"
#include "tile/transfer/tma.h"

namespace tilescope::tests {

struct Sample {
  std::string name;
  lower::Module module;
  std::vector<double> scalars;
  std::vector<expr::Values> inputs;  // by global
  expr::Values expected;             // of the last global
};

inline lower::Kernel& kernel(Sample& s) { return s.module.kernels.front(); }

inline Sample matmul_sample(const std::string& name, const MatmulForm& form) {
  const auto values = matmul_values(form);
  return {name, matmul(form), {}, {values[0], values[1], {}}, values[2]};
}

// O[i] = relu(I[i*3 - 5]) * alpha, zero outside; 48 threads, so that the last warp is half empty.
inline Sample strided_sample() {
  constexpr std::int64_t kOut = 200, kIn = 590;
  KernelMaker k("strided", 5, 48);
  k.module().scalars = {"alpha"};
  const int in = k.global("I", kIn, lower::Role::kInput), out = k.global("O", kOut, lower::Role::kOutput);
  const int r = k.registers("value", 1);
  const Affine i = k.block() * 48 + k.thread(), at = i * 3 - lower::constant(5);
  Body body;
  body.push_back(copy(r, {}, in, at, 1, {}, {{at, kIn}}));
  body.push_back(compute({r, {}}, expr::Reducer::kNone,
                         {operand(0), call(expr::Function::kRelu, 0), scalar(0), node(expr::NodeKind::kMultiply, 1, 2)},
                         {{r, {}}}));
  body.push_back(copy(out, i, r, {}, 1, {{i, kOut}}));
  Sample s{"strided", k.finish(std::move(body)), {0.5}, {random_values(kIn, 3), {}}, {}};
  for (std::int64_t n = 0; n < kOut; ++n) {
    const std::int64_t from = n * 3 - 5;
    const double v = from >= 0 && from < kIn ? s.inputs[0][static_cast<std::size_t>(from)] : 0;
    s.expected.push_back(std::fmax(v, 0) * 0.5);
  }
  return s;
}

// O[i,j] = I[j,i] of a 32x32 tile through shared memory, rows `padding` longer; one warp.
inline Sample transpose_sample(const std::string& name, std::int64_t padding) {
  KernelMaker k("transpose", 1, 32);
  const int in = k.global("I", 1024, lower::Role::kInput), out = k.global("O", 1024, lower::Role::kOutput);
  const int tile = k.shared("tile", 32 * (32 + std::max<std::int64_t>(0, padding)));
  const int r = k.registers("value", 1);
  const int row = k.loop("row", 32);
  Body first, second, body;
  first.push_back(copy(r, {}, in, k.at(row) * 32 + k.thread()));
  first.push_back(copy(tile, k.thread() * (32 + padding) + k.at(row), r, {}));
  second.push_back(copy(r, {}, tile, k.at(row) * (32 + padding) + k.thread()));
  second.push_back(copy(out, k.at(row) * 32 + k.thread(), r, {}));
  body.push_back(looped(row, std::move(first)));
  body.push_back({lower::Barrier{}, {}});
  body.push_back(looped(row, std::move(second), 4));
  Sample s{name, k.finish(std::move(body)), {}, {random_values(1024, 4), {}}, {}};
  for (std::size_t i = 0; i < 32; ++i)
    for (std::size_t j = 0; j < 32; ++j) s.expected.push_back(s.inputs[0][j * 32 + i]);
  return s;
}

// Accesses of every width that an element type allows, guarded by `when` and `inside` at once.
inline Sample vector_sample(base::Dtype dtype, std::int64_t vector) {
  constexpr std::int64_t kPieces = 70;
  KernelMaker k("vectors", 3, 40);
  const int in = k.global("I", kPieces * vector, lower::Role::kInput, dtype);
  const int out = k.global("O", 120 * vector, lower::Role::kOutput, dtype);
  const int tile = k.shared("tile", 40 * vector, dtype), r = k.registers("value", vector, dtype);
  const Affine piece = k.block() * 40 + k.thread();
  Body body;
  body.push_back(copy(r, {}, in, piece * vector, vector, {}, {{piece, kPieces}, {piece - lower::constant(3), 1000}}));
  body.push_back(copy(tile, k.thread() * vector, r, {}, vector));
  body.push_back({lower::Barrier{}, {}});
  body.push_back(copy(r, {}, tile, (lower::constant(39) - k.thread()) * vector, vector));
  body.push_back(copy(out, piece * vector, r, {}, vector));
  Sample s{"vectors of " + std::to_string(vector) + " " + std::string(base::name_of(dtype)),
           k.finish(std::move(body)),
           {},
           {random_values(kPieces * vector, 5), {}},
           {}};
  for (std::int64_t i = 0; i < 120 * vector; ++i) {
    const std::int64_t p = i / vector / 40 * 40 + 39 - i / vector % 40;
    const bool inside = p >= 3 && p < kPieces;
    s.expected.push_back(inside ? s.inputs[0][static_cast<std::size_t>(p * vector + i % vector)] : 0);
  }
  return s;
}

// Sums of rows in two kernels with an array between them, the first by `If` over blocks of two kinds.
inline Sample two_kernels_sample() {
  KernelMaker first("half_sums", 4, 32), second("sums", 1, 32);
  const int in = first.global("I", 64 * 32, lower::Role::kInput);
  const int between = first.global("between", 64 * 2, lower::Role::kBetween);
  const int r = first.registers("value", 1), sum = first.registers("sum", 1);
  const Affine row = first.quotient(first.block(), 2, 0, "half") * 32 + first.thread();
  const Affine part = first.quotient(first.block(), 1, 2, "part");
  const int j = first.loop("j", 16);
  Body inner, body;
  inner.push_back(copy(r, {}, in, row * 32 + part * 16 + first.at(j)));
  inner.push_back(compute({sum, {}}, expr::Reducer::kSum, {operand(0)}, {{r, {}}}));
  body.push_back(compute({sum, {}}, expr::Reducer::kNone, {number(0)}, {}));
  body.push_back(looped(j, std::move(inner)));
  for (const std::int64_t p : {0, 1}) {
    Body store;
    store.push_back(copy(between, row * 2 + lower::constant(p), sum, {}));
    const Affine chosen = part - lower::constant(p);
    body.push_back({lower::If{{{chosen, 1}}, std::move(store)}, {}});
  }
  lower::Module m = first.finish(std::move(body));

  lower::Kernel& k = second.kernel();
  k.buffers.push_back({"between", lower::Space::kGlobal, base::Dtype::kF32, 128, 1, 0});
  k.buffers.push_back({"O", lower::Space::kGlobal, base::Dtype::kF32, 64, 2, 0});
  const int parts = second.registers("parts", 2), total = second.registers("total", 1);
  const int i = second.loop("i", 2);
  const Affine element = second.at(i) * 32 + second.thread();
  Body each, all;
  each.push_back(copy(parts, {}, 0, element * 2, 2));
  each.push_back(compute({total, {}}, expr::Reducer::kNone, {operand(0), operand(1), node(expr::NodeKind::kAdd, 0, 1)},
                         {{parts, {}}, {parts, lower::constant(1)}}));
  each.push_back(copy(1, element, total, {}));
  all.push_back(looped(i, std::move(each), 2));
  m.globals.push_back({"O", base::Dtype::kF32, 64, lower::Role::kOutput});
  m.kernels.push_back(second.finish(std::move(all)).kernels.front());

  Sample s{"two kernels", std::move(m), {}, {random_values(64 * 32, 6), {}, {}}, {}};
  for (std::size_t n = 0; n < 64; ++n) {
    double v = 0;
    for (std::size_t c = 0; c < 32; ++c) v += s.inputs[0][n * 32 + c];
    s.expected.push_back(v);
  }
  return s;
}

// A shared ring of `stages` tiles that asynchronous copies run ahead in: O[i] = I[i] + I[i+1] + ... of 8 steps.
inline Sample pipeline_sample(std::int64_t stages) {
  constexpr std::int64_t kSteps = 8, kThreads = 64;
  KernelMaker k("pipeline", 2, kThreads);
  const int in = k.global("I", 2 * kSteps * kThreads, lower::Role::kInput);
  const int out = k.global("O", 2 * kThreads, lower::Role::kOutput);
  const int ring = k.shared("ring", stages * kThreads), r = k.registers("value", 1), sum = k.registers("sum", 1);
  const int step = k.loop("step", kSteps), ahead = k.loop("ahead", stages - 1);
  const auto issue = [&](const Affine& s, const std::string& stage, std::vector<Guard> when) {
    Body b;
    b.push_back(asynchronous(copy(ring, k.quotient(s, 1, stages, stage) * kThreads + k.thread(), in,
                                  (k.block() * kSteps + s) * kThreads + k.thread(), 1, std::move(when))));
    b.push_back({lower::Commit{}, {}});
    return b;
  };
  Body body, steps;
  body.push_back(compute({sum, {}}, expr::Reducer::kNone, {number(0)}, {}));
  body.push_back(looped(ahead, issue(k.at(ahead), "first_slot", {})));
  steps.push_back({lower::Wait{stages - 2}, {}});
  steps.push_back({lower::Barrier{}, {}});
  const Affine later = k.at(step) + lower::constant(stages - 1);
  for (lower::Statement& s : issue(later, "next_slot", {{later, kSteps}})) steps.push_back(std::move(s));
  steps.push_back(copy(
      r, {}, ring, k.quotient(k.at(step), 1, stages, "slot") * kThreads + lower::constant(kThreads - 1) - k.thread()));
  steps.push_back(compute({sum, {}}, expr::Reducer::kSum, {operand(0)}, {{r, {}}}));
  body.push_back(looped(step, std::move(steps)));
  body.push_back(copy(out, k.block() * kThreads + k.thread(), sum, {}));
  Sample s{"pipeline of " + std::to_string(stages),
           k.finish(std::move(body)),
           {},
           {random_values(2 * kSteps * kThreads, 7), {}},
           {}};
  for (std::int64_t b = 0; b < 2; ++b)
    for (std::int64_t t = 0; t < kThreads; ++t) {
      double v = 0;
      for (std::int64_t n = 0; n < kSteps; ++n)
        v += s.inputs[0][static_cast<std::size_t>((b * kSteps + n) * kThreads + kThreads - 1 - t)];
      s.expected.push_back(v);
    }
  return s;
}

// O[i] = I[i] + alpha under names that C++ and the prelude have taken.
inline Sample taken_names_sample() {
  KernelMaker k("for", 1, 32);
  k.module().scalars = {"thread"};
  const int in = k.global("load", 32, lower::Role::kInput), out = k.global("int", 32, lower::Role::kOutput);
  const int r = k.registers("load", 1);
  Body body;
  body.push_back(copy(r, {}, in, k.thread()));
  body.push_back(compute({r, {}}, expr::Reducer::kSum, {scalar(0)}, {}));
  body.push_back(copy(out, k.thread(), r, {}));
  Sample s{"taken names", k.finish(std::move(body)), {2}, {random_values(32, 8), {}}, {}};
  for (const double v : s.inputs[0]) s.expected.push_back(v + 2);
  return s;
}

// D = A B of a 16x16 and a 16x8 matrix in each of two warps, as the PTX manual lays fragments out: A's rows of 16 bytes
// as they stand, B's transposed, two products of half the depth each.
inline Sample matrices_sample() {
  KernelMaker k("matrices", 1, 64);
  const base::Dtype half = base::Dtype::kF16;
  const int a = k.global("A", 512, lower::Role::kInput, half), b = k.global("B", 256, lower::Role::kInput, half);
  const int d = k.global("D", 256, lower::Role::kOutput);
  const int a_tile = k.shared("A_tile", 512, half), b_tile = k.shared("B_tile", 256, half);
  const int a_part = k.registers("A_part", 8, half), b_part = k.registers("B_part", 8, half);
  const int sum = k.registers("D_part", 4);
  const Affine warp = k.quotient(k.thread(), 32, 0, "warp"), lane = k.quotient(k.thread(), 1, 32, "lane");
  const Affine row = k.quotient(k.thread(), 1, 16, "row"), right = k.quotient(k.thread(), 16, 2, "right");
  const Affine group = k.quotient(k.thread(), 4, 8, "group"), pair = k.quotient(k.thread(), 1, 4, "pair");
  Body body, zeros;
  body.push_back(copy(a_part, {}, a, k.thread() * 8, 8));
  body.push_back(copy(a_tile, k.thread() * 8, a_part, {}, 8));
  body.push_back(copy(b_part, {}, b, k.thread() * 4, 4));
  body.push_back(copy(b_tile, k.thread() * 4, b_part, {}, 4));
  body.push_back({lower::Barrier{}, {}});
  const lower::Copy rows_of_a{{a_part, {}}, {a_tile, warp * 256 + row * 16 + right * 8}, 8, {}, {}};
  const lower::Copy rows_of_b{{b_part, {}}, {b_tile, warp * 128 + row * 8}, 8, {{lane, 16}}, {}};
  body.push_back({lower::LoadMatrix{rows_of_a, 32, fragment_map("c2 c4 r1 r2 r4 / c1 r8 r16"), false}, {}});
  body.push_back({lower::LoadMatrix{rows_of_b, 16, fragment_map("r2 r4 c1 c2 c4 / r1 r8"), true}, {}});
  const int n = k.loop("n", 4);
  zeros.push_back(compute({sum, k.at(n)}, expr::Reducer::kNone, {number(0)}, {}));
  body.push_back(looped(n, std::move(zeros), 4));
  k.kernel().matrix_instructions.push_back(matrix_instruction(chip("rtx2080ti"), "mma.f16"));
  for (const std::int64_t deep : {0, 1})
    body.push_back(
        {lower::Mma{0, {sum, {}}, {a_part, lower::constant(4 * deep)}, {b_part, lower::constant(2 * deep)}}, {}});
  const Affine to = warp * 128 + group * 8 + pair * 2;
  body.push_back(copy(d, to, sum, {}, 2));
  body.push_back(copy(d, to + lower::constant(64), sum, lower::constant(2), 2));
  Sample s{"matrices", k.finish(std::move(body)), {}, {random_values(512, 11), random_values(256, 12), {}}, {}};
  for (std::size_t w = 0; w < 2; ++w)
    for (std::size_t m = 0; m < 16; ++m)
      for (std::size_t c = 0; c < 8; ++c) {
        double v = 0;
        for (std::size_t i = 0; i < 16; ++i) v += s.inputs[0][w * 256 + m * 16 + i] * s.inputs[1][w * 128 + i * 8 + c];
        s.expected.push_back(v);
      }
  return s;
}

// D = A B of a 16x8 and an 8x8 matrix of tf32, B given by columns. Row m of A is one at k = 3 m modulo 8 and else zero,
// and all elements of B differ, so that D's rows are B's in that order and nothing else is.
inline Sample one_hot_sample() {
  KernelMaker k("one_hot", 1, 32);
  const base::Dtype tf32 = base::Dtype::kTf32;
  const int a = k.global("A", 128, lower::Role::kInput, tf32), b = k.global("B", 64, lower::Role::kInput, tf32);
  const int d = k.global("D", 128, lower::Role::kOutput);
  const int a_tile = k.shared("A_tile", 128, tf32), b_tile = k.shared("B_tile", 64, tf32);
  const int a_part = k.registers("A_part", 4, tf32), b_part = k.registers("B_part", 2, tf32);
  const int sum = k.registers("D_part", 4);
  const Affine row = k.quotient(k.thread(), 1, 16, "row"), right = k.quotient(k.thread(), 16, 2, "right");
  const Affine column = k.quotient(k.thread(), 1, 8, "column"), deeper = k.quotient(k.thread(), 8, 2, "deeper");
  const Affine group = k.quotient(k.thread(), 4, 8, "group"), pair = k.quotient(k.thread(), 1, 4, "pair");
  Body body, zeros;
  body.push_back(copy(a_part, {}, a, k.thread() * 4, 4));
  body.push_back(copy(a_tile, k.thread() * 4, a_part, {}, 4));
  body.push_back(copy(b_part, {}, b, k.thread() * 2, 2));
  body.push_back(copy(b_tile, k.thread() * 2, b_part, {}, 2));
  body.push_back({lower::Barrier{}, {}});
  const lower::Copy rows_of_a{{a_part, {}}, {a_tile, row * 8 + right * 4}, 4, {}, {}};
  const lower::Copy rows_of_b{{b_part, {}}, {b_tile, column * 8 + deeper * 4}, 4, {{k.thread(), 16}}, {}};
  body.push_back({lower::LoadMatrix{rows_of_a, 32, fragment_map("c1 c2 r1 r2 r4 / r8 r16"), false}, {}});
  body.push_back({lower::LoadMatrix{rows_of_b, 16, fragment_map("c1 c2 r1 r2 r4 / r8"), false}, {}});
  const int n = k.loop("n", 4);
  zeros.push_back(compute({sum, k.at(n)}, expr::Reducer::kNone, {number(0)}, {}));
  body.push_back(looped(n, std::move(zeros), 4));
  k.kernel().matrix_instructions.push_back(matrix_instruction(chip("a100"), "mma.tf32"));
  body.push_back({lower::Mma{0, {sum, {}}, {a_part, {}}, {b_part, {}}}, {}});
  body.push_back(copy(d, group * 8 + pair * 2, sum, {}, 2));
  body.push_back(copy(d, group * 8 + pair * 2 + lower::constant(64), sum, lower::constant(2), 2));
  Sample s{"one hot", k.finish(std::move(body)), {}, {expr::Values(128), expr::Values(64), {}}, {}};
  for (std::size_t i = 0; i < 64; ++i) s.inputs[1][i] = 1 + static_cast<double>(i) * 0x1p-10;
  for (std::size_t m = 0; m < 16; ++m) {
    s.inputs[0][m * 8 + 3 * m % 8] = 1;
    for (std::size_t c = 0; c < 8; ++c) s.expected.push_back(s.inputs[1][c * 8 + 3 * m % 8]);
  }
  return s;
}

// What a program of one output becomes, on inputs that are drawn.
inline Sample lowered_sample(const tile::RProgram& p, const arch::ArchSpec& chip) {
  std::mt19937 random(7);
  lower::NamedValues values;
  lower::add_expected_values(p, random, values);
  lower::Module m = lowered(p, chip);
  std::vector<expr::Values> inputs = lower::globals_of(m, values);
  expr::Values expected = values.at(m.globals.back().name);
  return {"lowered", std::move(m), {}, std::move(inputs), std::move(expected)};
}

// A product whose factors stay in the scratchpad, of 128 rows and 64 columns by two warp groups, B by rows of k or of
// n.
inline Sample staged_sample(const std::string& op, const std::string& dtype, const std::string& more = "") {
  const arch::ArchSpec h100 = chip("h100_pcie");
  Sample s = lowered_sample(program(staged_product(op, dtype, more), h100), h100);
  s.name = "staged " + dtype;
  return s;
}

// The same, its tiles loaded by TMA.
inline Sample tma_sample(const std::string& op, const std::string& dtype, const std::string& more = "") {
  const arch::ArchSpec h100 = chip("h100_pcie");
  tile::RProgram p = program(staged_product(op, dtype, more), h100);
  p.simt()[0] = tile::with_tma_loads(std::move(p.simt()[0]), h100).value();
  Sample s = lowered_sample(p, h100);
  s.name = "boxed " + dtype + " " + op;
  return s;
}

// Blocks of 64 x 64 in clusters: 256 x 128, four steps through two stages.
inline Sample cluster_sample(const std::string& op, tile::BlockCluster cluster) {
  const arch::ArchSpec h100 = chip("h100_pcie");
  tile::RProgram p = program(R"({"arch":"h100_pcie","nodes":[{"expr":")" + op +
                                 R"(","sizes":{"m":256,"n":128,"k":128},"dtype":"f16",)"
                                 R"("tiles":{"smem":{"m":64,"n":64,"k":32}},"mapping":{"m":{"per_thread":64},)"
                                 R"("n":{"per_thread":64}},"num_stages":2,)"
                                 R"("mma":{"name":"wgmma.f16","m":"m","n":"n","k":"k"}}],"edges":[]})",
                             h100);
  p.simt()[0] = tile::with_cluster(tile::with_tma_loads(p.simt()[0], h100).value(), cluster, h100).value();
  Sample s = lowered_sample(p, h100);
  s.name = "clustered " + op;
  return s;
}

// 256 x 192 in twelve tiles of 64 x 64, whose results TMA stores, by persistent blocks of so many crews.
inline Sample persistent_sample(tile::TileLoop loop) {
  const arch::ArchSpec h100 = chip("h100_pcie");
  tile::RProgram p = program(R"({"arch":"h100_pcie","nodes":[{"expr":"C[m,n] +=! A[m,k] * B[n,k]",)"
                             R"("sizes":{"m":256,"n":192,"k":128},"dtype":"f16",)"
                             R"("tiles":{"smem":{"m":64,"n":64,"k":64}},"mapping":{"m":{"per_thread":64},)"
                             R"("n":{"per_thread":64}},"num_stages":3,"copy":{"A":"tma","B":"tma","C":"tma"},)"
                             R"("cached":{"A":"smem","B":"smem","C":"smem"},"box":{"A":64,"B":64,"C":64},)"
                             R"("mma":{"name":"wgmma.f16","m":"m","n":"n","k":"k"}}],"edges":[]})",
                             h100);
  p.simt()[0] = tile::with_tile_loop(p.simt()[0], loop, h100).value();
  Sample s = lowered_sample(p, h100);
  s.name = "persistent blocks of crews: " + std::to_string(loop.crews);
  return s;
}

// Those that a chip of compute capability sm / 10 has instructions for.
inline std::vector<Sample> samples(int sm = 80) {
  std::vector<Sample> out;
  out.push_back(matmul_sample("matmul", {}));
  out.push_back(matmul_sample("matmul of scalars without padding", {32, 32, 16, 1, 0, false}));
  out.push_back(matmul_sample("matmul with edges", {37, 22, 19, 1, 2, false}));
  out.push_back(matmul_sample("matmul with edges in vectors", {37, 20, 12, 4, 4, false}));
  out.push_back(matmul_sample("asynchronous matmul with edges", {37, 22, 18, 2, 2, true}));
  out.push_back(strided_sample());
  out.push_back(transpose_sample("transpose", 0));
  out.push_back(transpose_sample("transpose padded", 1));
  for (const std::int64_t vector : {1, 2, 4}) out.push_back(vector_sample(base::Dtype::kF32, vector));
  for (const std::int64_t vector : {1, 3, 8}) out.push_back(vector_sample(base::Dtype::kF16, vector));
  for (const std::int64_t vector : {1, 4, 16, 32}) out.push_back(vector_sample(base::Dtype::kI8, vector));
  out.push_back(vector_sample(base::Dtype::kBf16, 2));
  for (const std::int64_t vector : {1, 4}) out.push_back(vector_sample(base::Dtype::kTf32, vector));
  out.push_back(vector_sample(base::Dtype::kI32, 4));
  out.push_back(two_kernels_sample());
  out.push_back(matrices_sample());
  if (sm >= 80) out.push_back(one_hot_sample());
  if (sm >= 90) {
    out.push_back(staged_sample("C[m,n] +=! A[m,k] * B[n,k]", "f16", R"(,"padding":{"A":4})"));
    out.push_back(staged_sample("C[m,n] +=! A[k,m] * B[k,n]", "bf16", R"(,"num_stages":3)"));
    for (const char* dtype : {"tf32", "f8e4m3"}) out.push_back(staged_sample("C[m,n] +=! A[m,k] * B[n,k]", dtype));
    out.push_back(tma_sample("C[m,n] +=! A[m,k] * B[n,k]", "f16", R"(,"num_stages":3)"));
    out.push_back(tma_sample("C[m,n] +=! A[k,m] * B[k,n]", "bf16", R"(,"num_stages":2)"));
    out.push_back(cluster_sample("C[m,n] +=! A[m,k] * B[n,k]", {1, 2}));
    for (const std::int64_t crews : {1, 2}) out.push_back(persistent_sample({5, crews}));
    for (const char* dtype : {"tf32", "f8e5m2"}) out.push_back(tma_sample("C[m,n] +=! A[m,k] * B[n,k]", dtype));
  }
  out.push_back(taken_names_sample());
  out.push_back(pipeline_sample(2));
  out.push_back(pipeline_sample(3));
  return out;
}

}  // namespace tilescope::tests
