// SPDX-License-Identifier: Apache-2.0
// Laws that no prediction and no simulation may break, on neighbours of chips and on random operators. Peaks are
// computed here from the figures of a chip, bytes from the sizes of the tensors.

#include <cmath>
#include <cstdint>
#include <map>
#include <string>
#include <tuple>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include "api/simulate/simulate.h"
#include "arch/derive.h"
#include "tests/support/paths.h"
#include "tests/support/random_chip.h"
#include "tests/support/silent.h"

namespace tilescope::tests {
namespace {

// An operator with the elements of its distinct inputs and of its result, as far as it reads and writes them.
struct Problem {
  std::string op, sizes;
  double inputs = 0, results = 0, operations = 0;
  base::Dtype dtype = base::Dtype::kF32;
};

Problem any_problem_of_f32() {
  const auto m = any_of_range(1, 300), n = any_of_range(1, 300), k = any_of_range(1, 200), b = any_of_range(1, 6);
  const auto whole = static_cast<double>(m * n), batches = static_cast<double>(b), sum = static_cast<double>(k);
  const auto rows = static_cast<double>(m), columns = static_cast<double>(n);
  const std::string mn = fmt::format("m={},n={}", m, n), mnk = fmt::format("{},k={}", mn, k);
  switch (any_of_range(0, 9)) {
    case 0:
      return {"O[m,n] = X[m,n] + 1", mn, whole, whole, whole};
    case 1:
      return {"O[m,n] = X[n,m] + Y[m,n]", mn, 2 * whole, whole, whole};
    case 2:
      return {"O[m] +=! X[m,n]", mn, whole, rows, whole};
    case 3:
      return {"O[n] max=! X[m,n]", mn, whole, columns, 0};
    case 4:
      return {"O[m,n] = X[m,n] * Y[n]", mn, whole + columns, whole, whole};
    case 5:
      return {"C[m,n] +=! A[m,k] * B[k,n]", mnk, (rows + columns) * sum, whole, 2 * whole * sum};
    case 6:
      return {"C[m,n] +=! A[m,k] * B[n,k]", mnk, (rows + columns) * sum, whole, 2 * whole * sum};
    case 7:
      return {"C[b,m,n] +=! A[b,m,k] * B[b,k,n]", fmt::format("{},b={}", mnk, b), batches * (rows + columns) * sum,
              batches * whole, 2 * batches * whole * sum};
    case 8:
      return {"O[m,n] +=! X[m+k,n] * W[k]", mnk, (rows + sum - 1) * columns + sum, whole, 2 * whole * sum};
    default:
      return {"O[b,m,n] = X[m,n] * Y[b]", fmt::format("{},b={}", mn, b), whole + batches, batches * whole,
              batches * whole};
  }
}

Problem any_problem() {
  Problem p = any_problem_of_f32();
  p.dtype = any_element<base::Dtype>({base::Dtype::kF32, base::Dtype::kF16});
  return p;
}

std::string text_of(const Problem& p, const arch::ArchSpec& a) {
  return fmt::format("{} {} {} on {}", p.op, p.sizes, base::name_of(p.dtype), a.name);
}

arch::ArchSpec any_gpu() {
  return any_neighbour(any_element<std::string>(
      {"v100", "t4", "a100", "rtx3090", "h200", "mi210", "tilescope_one", source_path("docs/my_chip.yaml").string()}));
}

api::ProgramSource source_of(const Problem& p) {
  api::ProgramSource source;
  source.workload.op = p.op;
  source.workload.sizes = p.sizes;
  source.workload.dtype = base::name_of(p.dtype);
  return source;
}

// The first program's prediction; nullopt where the chip cannot run the operator.
std::optional<api::Prediction> prediction_of(const Problem& p, const arch::ArchSpec& a) {
  base::Diagnostics diags;
  const auto compiled = api::compile(source_of(p).workload, a, {}, 1, 1, kSilent, diags);
  if (!compiled || compiled->front().programs.empty()) return std::nullopt;
  return compiled->front().programs.front().prediction;
}

std::optional<api::Simulation> simulated(const Problem& p, const arch::ArchSpec& a,
                                         api::SimulationMode mode = api::SimulationMode::kFull) {
  base::Diagnostics diags;
  const auto rows = api::simulate(source_of(p), a, mode, 1, {}, kSilent, diags);
  if (!rows) return std::nullopt;
  return rows->front().simulation;
}

const arch::Level& level_of(const arch::ArchSpec& a, const std::string& name) {
  return *std::find_if(a.memory.begin(), a.memory.end(),
                       [&](const arch::Level& l) { return arch::spec_of(l).name == name; });
}

// Bytes that a DRAM or a cache moves, all its instances together, in a microsecond at the most.
double peak_per_us(const arch::ArchSpec& a, const arch::Level& level) {
  if (const auto* dram = std::get_if<arch::DramLevel>(&level))
    return static_cast<double>(dram->clock.n * dram->rate * dram->channels * dram->width.n) * 1e-6;
  const auto& cache = std::get<arch::CacheLevel>(level);
  const auto of_one = static_cast<double>(cache.clock.value_or(a.clock).n * cache.width.n) * 1e-6;
  return of_one * static_cast<double>(cache.scope == arch::Scope::kDevice ? cache.slices : a.core.count);
}

// The fastest multiply-adds of any unit and any type, in operations of a microsecond.
double peak_operations_per_us(const arch::ArchSpec& a) {
  double most = 0;
  for (const arch::ComputeSpec& unit : a.compute) most = std::max(most, arch::peak_of(a, unit).v);
  return most * 1e-6;
}

constexpr double kRounding = 1.0001;  // of times in nanoseconds and of sums in floating point

double bytes_of(const Problem& p) { return p.dtype == base::Dtype::kF32 ? 4 : 2; }

TEST(Law, TheSimulatorMovesNoMoreThanPeaks) {
  EXPECT_TRUE(rc::check("simulated bytes over time", [] {
    const arch::ArchSpec a = any_gpu();
    const Problem p = any_problem();
    const auto s = simulated(p, a);
    if (!s) RC_DISCARD("the chip cannot run it");
    for (const api::SimulatedLevel& moved : s->levels) {
      const arch::Level& level = level_of(a, moved.name);
      if (arch::kind_of(level) == arch::Kind::kScratchpad) continue;
      const double ratio =
          static_cast<double>(moved.read_bytes + moved.written_bytes) / (s->simulated_us * peak_per_us(a, level));
      RC_LOG() << text_of(p, a) << ": " << ratio << " of the peak of " << moved.name << "\n";
      RC_ASSERT(ratio <= kRounding);
    }
  }));
}

// Long enough that what the caches evict waits for the DRAM, of a chip whose file says nothing of its controllers; in
// the second case most of it is extrapolated.
TEST(Law, WritesThatWaitTakeTime) {
  using enum api::SimulationMode;
  for (const auto& [capacity, size, mode] :
       {std::tuple("1 MiB", "i=2097152", kFull), std::tuple("32 MiB", "i=16777216", kSampled)}) {
    const arch::ArchSpec a = chip(source_path("docs/my_chip.yaml").string(), {{"memory.l2.capacity", capacity}});
    const auto s = simulated({"O[i] = X[i] + 1", size}, a, mode);
    ASSERT_TRUE(s);
    EXPECT_EQ(s->exact, mode == kFull);
    const api::SimulatedLevel& dram = s->levels[0];
    EXPECT_GT(dram.written_bytes, 6e6);
    EXPECT_LE(static_cast<double>(dram.read_bytes + dram.written_bytes),
              s->simulated_us * peak_per_us(a, a.memory[0]) * kRounding);
  }
}

TEST(Law, TheModelMovesNoMoreThanPeaks) {
  EXPECT_TRUE(rc::check("predicted bytes over time", [] {
    const arch::ArchSpec a = any_gpu();
    const Problem p = any_problem();
    const auto predicted = prediction_of(p, a);
    if (!predicted) RC_DISCARD("the chip cannot run it");
    for (const api::LevelRow& moved : predicted->levels) {
      const arch::Level& level = level_of(a, moved.name);
      if (arch::kind_of(level) == arch::Kind::kScratchpad) continue;
      const double ratio = moved.bytes / (predicted->predicted_us * peak_per_us(a, level));
      RC_LOG() << text_of(p, a) << ": " << ratio << " of the peak of " << moved.name << "\n";
      RC_ASSERT(ratio <= kRounding);
    }
  }));
}

// What is asked for is what the cores read and write, through the first cache that they share.
TEST(Law, TheDramMovesWhatIsDistinctAndNoMoreThanIsAskedFor) {
  EXPECT_TRUE(rc::check("bytes of the DRAM", [] {
    const arch::ArchSpec a = any_gpu();
    const Problem p = any_problem();
    const auto predicted = prediction_of(p, a);
    const auto s = simulated(p, a);
    if (!predicted || !s) RC_DISCARD("the chip cannot run it");
    const double read = p.inputs * bytes_of(p), all = read + p.results * bytes_of(p);
    const auto burst = static_cast<double>(arch::device_transaction_of(a).n);
    RC_LOG() << text_of(p, a) << ": " << read << " bytes of inputs, simulated " << s->levels[0].read_bytes
             << "; with results " << all << ", predicted " << predicted->levels[0].bytes << "\n";
    RC_ASSERT(static_cast<double>(s->levels[0].read_bytes) >= read);
    RC_ASSERT(predicted->levels[0].bytes * kRounding >= all);
    // Each end of what a request asks for may lie within a burst.
    const api::SimulatedLevel& cache = s->levels[1];
    RC_ASSERT(static_cast<double>(s->levels[0].read_bytes) <=
              static_cast<double>(cache.read_bytes + cache.written_bytes) +
                  2 * burst * static_cast<double>(cache.requests));
  }));
}

TEST(Law, NoTimeIsBelowTheRoofline) {
  EXPECT_TRUE(rc::check("times and rooflines", [] {
    const arch::ArchSpec a = any_gpu();
    const Problem p = any_problem();
    const auto predicted = prediction_of(p, a);
    const auto s = simulated(p, a);
    if (!predicted || !s) RC_DISCARD("the chip cannot run it");
    const double read_us = p.inputs * bytes_of(p) / peak_per_us(a, a.memory[0]);
    const double arithmetic_us = p.operations / peak_operations_per_us(a);
    RC_LOG() << text_of(p, a) << ": " << read_us << " us of reads, " << arithmetic_us << " of arithmetic; simulated "
             << s->simulated_us << ", predicted " << predicted->predicted_us << "\n";
    RC_ASSERT(s->simulated_us * kRounding >= std::max(read_us, arithmetic_us));
    RC_ASSERT(predicted->predicted_us * kRounding >= std::max(read_us, arithmetic_us));
  }));
}

// Every access of a warp to its core's cache or scratchpad is an instruction that a scheduler issues.
TEST(Law, AccessesAreAtMostTheIssueSlots) {
  EXPECT_TRUE(rc::check("accesses and issue slots", [] {
    const arch::ArchSpec a = any_gpu();
    const Problem p = any_problem();
    const auto s = simulated(p, a);
    if (!s) RC_DISCARD("the chip cannot run it");
    double accesses = 0;
    for (const api::SimulatedLevel& l : s->levels) {
      const arch::Level& level = level_of(a, l.name);
      const auto* cache = std::get_if<arch::CacheLevel>(&level);
      const bool of_core = cache != nullptr && cache->scope == arch::Scope::kCore;
      if (of_core || arch::kind_of(level) == arch::Kind::kScratchpad) accesses += static_cast<double>(l.requests);
    }
    const auto slots = static_cast<double>(s->cycles * a.core.count * a.core.partitions * a.core.issue.value_or(1));
    RC_LOG() << text_of(p, a) << ": " << accesses << " accesses in " << slots << " issue slots\n";
    RC_ASSERT(accesses <= slots);
  }));
}

TEST(Law, TwiceTheBatchTakesAtMostTwiceAsLong) {
  EXPECT_TRUE(rc::check("a batch and half of it", [] {
    const arch::ArchSpec a = any_gpu();
    const auto m = any_of_range(1, 500), n = any_of_range(1, 500), k = any_of_range(1, 300), b = any_of_range(1, 40);
    const bool product = any_of_range(0, 1) > 0;
    const auto of = [&](std::int64_t batch) {
      Problem p;
      p.op = product ? "C[b,m,n] +=! A[b,m,k] * B[b,k,n]" : "O[b,m] +=! X[b,m,k]";
      p.sizes = fmt::format("b={},m={},k={}", batch, m, k) + (product ? fmt::format(",n={}", n) : "");
      return p;
    };
    const auto one = prediction_of(of(b), a), two = prediction_of(of(2 * b), a);
    RC_ASSERT(one.has_value() == two.has_value());
    if (!one) RC_DISCARD("the chip cannot run it");
    RC_LOG() << text_of(of(b), a) << ": " << one->predicted_us << ", twice the batch " << two->predicted_us << "\n";
    RC_ASSERT(two->predicted_us <= 2 * one->predicted_us * kRounding);
  }));
}

}  // namespace
}  // namespace tilescope::tests
