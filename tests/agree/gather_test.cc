// SPDX-License-Identifier: Apache-2.0
// Reads by a table of indices: all readers compute and count alike, the simulator moves no less than what is distinct
// and no more than what is asked for, and the model expects what it moves.

#include <algorithm>
#include <set>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "api/simulate/simulate.h"
#include "api/verify/verify.h"
#include "expr/index_draw.h"
#include "tests/support/build.h"
#include "tests/support/silent.h"

namespace tilescope::tests {
namespace {

api::ProgramSource source_of(const std::string& op, const std::string& size, const std::string& shape,
                             const std::string& dtype) {
  api::ProgramSource source;
  source.workload.op = op;
  source.workload.sizes = size;
  source.workload.shapes = shape;
  source.workload.dtype = dtype;
  return source;
}

struct Gather {
  const char *op, *size, *shape, *dtype;
};

TEST(Gathers, AreComputedAndCountedAlike) {
  const std::vector<Gather> kGathers = {
      {"O[i,j] = E[T[i],j]", "i=300,j=64", "E=1000,64", "f32"},
      {"O[i,j] = E[T[i],j]", "i=300,j=72", "E=1000,72", "f16,T=i32:sorted"},
      {"O[b,s,j] = E[T[b,s],j] + P[s,j]", "b=3,s=40,j=48", "E=500,48", "f32,T=i32:pages4"},
      {"O[i] = E[T[i]]", "i=3000", "E=200", "f32,T=u8"},
      {"O[k,i] = E[k,T[i]]", "k=33,i=100", "E=33,50", "bf16"},
      {"O[i,j] +=! E[T[i,k],j]", "i=60,j=64,k=7", "E=300,64", "f32"},
      {"O[b,j,d] = K[P[b,j/16],j%16,d]", "b=4,j=64,d=32", "K=40,16,32", "f16"},
      {"C[m,n] +=! A[T[m],k] * B[k,n]", "m=96,n=64,k=64", "A=200,64", "f16"},
      {"S[b,h,g,j] +=! Q[b,h,g,d] * K[T[b,j/16],j%16,h,d]", "b=2,h=2,g=4,j=64,d=32", "K=9,16,2,32",
       "f16,T=i32:distinct"},
      {"O[b,h,g,d] +=! S[b,h,g,j] * V[T[b,j/16],j%16,h,d]", "b=2,h=2,g=4,j=56,d=32", "V=9,16,2,32", "f16"},
      {"C[b,m,n] +=! X[P[b,m],k] * W[E[b],k,n]", "b=3,m=16,n=64,k=64", "X=40,64;W=5,64,64", "f16,E=i32:even"},
      {"U[i] = select(T[i] < 0, T[i] + 9, T[i]); O[i,j] = E[U[i],j]", "i=70,j=32", "E=9,32", "f32,T=i32"}};
  for (const char* arch : {"v100", "a100", "mi210"})
    for (const Gather& o : kGathers) {
      base::Diagnostics diags;
      const auto rows = api::verify(source_of(o.op, o.size, o.shape, o.dtype), chip(arch), 1, kSilent, diags);
      if (!rows) GTEST_SKIP() << diags.formatted_errors().front();
      ASSERT_FALSE(rows->empty());
      for (const api::VerifiedRow& r : *rows) {
        EXPECT_EQ(r.errors, std::vector<std::string>{}) << arch << ' ' << o.op;
        EXPECT_TRUE(r.values_ok) << arch << ' ' << o.op;
        EXPECT_TRUE(r.counters_ok) << arch << ' ' << o.op;
      }
    }
}

// Rows of 64 f32 by 20,000 indices into 100,000; the distinct ones are counted from the indices themselves.
TEST(Gathers, MoveWhatIsDistinctAtLeastAndWhatIsAskedForAtMost) {
  constexpr std::int64_t kIndices = 20'000, kExtent = 100'000, kRow = 256;
  for (const char* arch : {"v100", "a100", "rtx3090"})
    for (const std::string distribution : {"uniform", "sorted", "distinct", "even", "pages16"}) {
      const auto indices =
          expr::drawn_indices("T", kIndices, kExtent, expr::index_distribution_of(distribution).value());
      const auto distinct = static_cast<double>(std::set(indices.begin(), indices.end()).size() * kRow + kIndices * 4);
      const api::ProgramSource source = source_of("O[i,j] = E[T[i],j]", fmt::format("i={},j=64", kIndices),
                                                  fmt::format("E={},64", kExtent), "T=i32:" + distribution);
      const arch::ArchSpec a = chip(arch);
      base::Diagnostics diags;
      const auto compiled = api::compile(source.workload, a, {}, 1, 1, kSilent, diags);
      ASSERT_TRUE(compiled && !compiled->front().programs.empty()) << arch;
      const auto rows = api::simulate(source, a, api::SimulationMode::kFull, 1, {}, kSilent, diags);
      ASSERT_TRUE(rows && rows->front().simulation) << arch;
      const auto read = static_cast<double>(rows->front().simulation->levels.front().read_bytes);
      const std::string which =
          fmt::format("{} {}: {:.0f} B read, {:.0f} distinct", arch, distribution, read, distinct);
      EXPECT_GE(read, distinct) << which;
      EXPECT_LE(read, static_cast<double>(kIndices * (kRow + 4)) * 1.01) << which;
      // What was predicted is of the loads and of the stores, which a device's cache may still hold.
      const double predicted = compiled->front().programs.front().prediction.levels.front().bytes;
      EXPECT_NEAR((predicted - static_cast<double>(kIndices * kRow)) / read, 1, 0.05) << which;
    }
}

TEST(Gathers, AreRefusedByCoresThatExchange) {
  base::Diagnostics diags;
  const auto compiled = api::compile(source_of("O[i,j] = E[T[i],j]", "i=64,j=64", "E=100,64", "f32").workload,
                                     chip("ipu_gc200"), {}, 1, 1, kSilent, diags);
  ASSERT_TRUE(compiled);
  EXPECT_TRUE(compiled->front().programs.empty());
  EXPECT_EQ(compiled->front().error,
            "ipu_gc200: the stage of O reads coordinates from a table, and no exchange follows the values of a tensor");
}

}  // namespace
}  // namespace tilescope::tests
