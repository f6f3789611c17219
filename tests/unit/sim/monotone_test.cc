// SPDX-License-Identifier: Apache-2.0
// Twice the bandwidth, half the latency or twice the capacity, at the same mapping of addresses, never slows a kernel
// down; more banks, channels or ways, which deal addresses out otherwise, no more than chance does.

#include <cmath>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "arch/derive.h"
#include "sim/memory/dram.h"
#include "tests/unit/sim/kernels.h"
#include "tests/unit/sim/random_module.h"

namespace tilescope::sim {
namespace {

using namespace tests;
using Overrides = std::vector<arch::Override>;

// Who comes first at a bank, a slice or a line changes with everything, and is worth so much.
constexpr double kChance = 1.03;

// Four cores of a v100 with an eighth of its channels and a quarter of its device cache, so that small kernels
// fill them.
arch::ArchSpec small_chip(const Overrides& changes) {
  Overrides all = {{"core.count", "4"},
                   {"core.tma", tests::kTma},
                   {"memory.dram.channels", "8"},
                   {"memory.l2.slices", "8"},
                   {"memory.l2.capacity", "1536 KiB"}};
  all.insert(all.end(), changes.begin(), changes.end());
  return chip("v100", all);
}

double cycles_of(const lower::Module& m, const Overrides& changes) {
  return running_cycles(simulated(m, small_chip(changes)));
}

// Every thread reads `each` floats, neighbours `stride` floats apart.
lower::Module strided(std::int64_t blocks, std::int64_t threads, std::int64_t each, std::int64_t stride) {
  HandKernel k(blocks, threads);
  const int a = k.global("A", blocks * threads * each * stride), r = k.registers("r", each), s = k.registers("s", 1);
  const int i = k.loop("i", each);
  const Affine at = affine({{0, threads * each * stride}, {1, stride}, {i, threads * stride}});
  k.add(loop_over(i, {copy({r, affine({{i, 1}})}, {a, at})}, each));
  k.add(assign({s, {}}, {r, {}}));
  return std::move(k).take();
}

// Every block reads the same `bytes`, or those of its own, again and again.
lower::Module rereading(std::int64_t blocks, std::int64_t bytes, std::int64_t passes, bool own = false) {
  constexpr std::int64_t kThreads = 256;
  HandKernel k(blocks, kThreads);
  const std::int64_t each = bytes / 16 / kThreads;
  const int a = k.global("A", (own ? blocks : 1) * bytes / 4), r = k.registers("r", 4), s = k.registers("s", 1);
  const int pass = k.loop("pass", passes), i = k.loop("i", each);
  k.add(loop_over(pass,
                  {loop_over(i, {copy({r, {}}, {a, affine({{0, own ? bytes / 4 : 0}, {1, 4}, {i, 4 * kThreads}})}, 4),
                                 assign({s, {}}, {r, {}})})}));
  return std::move(k).take();
}

// One thread that waits for every word it reads from the scratchpad.
lower::Module scratchpad_chase(std::int64_t count) {
  HandKernel k(1, 1);
  const int tile = k.shared("tile", 64), r = k.registers("r", 1), i = k.loop("i", count);
  k.add(loop_over(i, {copy({r, {}}, {tile, {}}), copy({tile, {}}, {r, {}}), barrier()}));
  return std::move(k).take();
}

struct Kernel {
  const char* name;
  lower::Module module;
  // One thread, no other to race with: not a cycle slower, but for wires that are halved and rounded.
  bool alone = false;

  double most(double cycles) const { return alone ? cycles + 2 : kChance * cycles; }
};

// Products fill the cores with whole waves: else the core that a last block falls to is worth more than what changes.
const std::vector<Kernel>& kernels() {
  static const std::vector<Kernel> kKernels = {{"copy", stream(600, 256, 2, Stream::kCopy)},
                                               {"read", stream(600, 128, 4, Stream::kRead)},
                                               {"product", tiled_product(128, 128, 6)},
                                               {"product of padded rows", tiled_product(252, 128, 4, 1)},
                                               {"strided", strided(400, 128, 2, 24)},
                                               {"ring of boxes", ring(48, 24, 3)},
                                               {"reading again, from L1", rereading(8, 160 << 10, 2)},
                                               {"reading again, from L2", rereading(32, 40 << 10, 3, true)},
                                               {"reading again, from DRAM", rereading(4, 2 << 20, 2)},
                                               {"chase in the scratchpad", scratchpad_chase(500), true},
                                               {"chase in L1", chase(200, 32, 3), true},
                                               {"chase in L2", chase(3000, 32, 2), true},
                                               {"chase in DRAM", chase(300, 1 << 14, 1), true}};
  return kKernels;
}

struct Better {
  const char* name;
  Overrides changes;
  std::string_view faster = {};  // the kernel that this binds
  Overrides both = {};           // what the chip before and the better one have
};
void PrintTo(const Better& b, std::ostream* out) { *out << b.name; }

// With the latency that the changed DRAM has at the end of the same wires: the file's is of an access that finds
// another row open, whatever part of it the rows take.
Overrides at_the_same_wires(Overrides changes) {
  const auto rows = [](const arch::ArchSpec& c) {
    const arch::DramLevel& dram = *arch::dram_of(c);
    const auto clocks = static_cast<double>(conflict_clocks(dram_spec(dram), 1));
    return clocks * static_cast<double>(c.clock.n) / static_cast<double>(dram.clock.n);
  };
  const double saved = rows(v100()) - rows(chip("v100", changes));
  const auto whole = static_cast<double>(arch::dram_of(v100())->latency->n);
  changes.push_back({"memory.dram.latency", fmt::format("{} cycles", std::floor(whole - saved))});
  return changes;
}

// Words of a scratchpad lie in other banks where banks are wider, so that is none of these.
std::vector<Better> improvements() {
  const Overrides rows = {{"memory.dram.timing.rcd", "6 cycles"},
                          {"memory.dram.timing.rp", "6 cycles"},
                          {"memory.dram.timing.ras", "14 cycles"},
                          {"memory.dram.timing.rc", "20 cycles"},
                          {"memory.dram.timing.rrd_s", "2 cycles"}};
  return {
      {"dram_clock", at_the_same_wires({{"memory.dram.clock", "1754 MHz"}}), "read"},
      {"dram_width", {{"memory.dram.width", "128 bit"}}, "read"},
      {"dram_timing", at_the_same_wires(rows), "chase in DRAM"},
      {"l2_width",
       {{"memory.l2.width", "64 B"}},
       "reading again, from L2",
       {{"link.width", "256 B"}, {"memory.l1.width", "512 B"}}},
      {"link_width", {{"link.width", "64 B"}}, "reading again, from L2"},
      {"l1_width", {{"memory.l1.width", "256 B"}}},
      {"dram_latency", {{"memory.dram.latency", "280 cycles"}}, "chase in DRAM"},
      {"l2_latency", {{"memory.l2.latency", "106 cycles"}}, "chase in L2"},
      {"l1_latency", {{"memory.l1.latency", "14 cycles"}}, "chase in L1"},
      {"smem_latency", {{"memory.smem.latency", "10 cycles"}}, "chase in the scratchpad"},
      {"l2_capacity", {{"memory.l2.capacity", "3 MiB"}}, "reading again, from DRAM"},
      {"l1_capacity", {{"memory.l1.capacity", "256 KiB"}}, "reading again, from L1"},
  };
}

double cycles_of(const lower::Module& m, const Overrides& both, const Overrides& changes) {
  Overrides all = both;
  all.insert(all.end(), changes.begin(), changes.end());
  return cycles_of(m, all);
}

class Monotone : public testing::TestWithParam<Better> {};

TEST_P(Monotone, NeverSlower) {
  const Better& b = GetParam();
  for (const Kernel& k : kernels()) {
    const double plain = cycles_of(k.module, b.both), better = cycles_of(k.module, b.both, b.changes);
    EXPECT_LE(better, k.most(plain)) << k.name;
    if (b.faster == k.name) {
      EXPECT_LT(better, 0.97 * plain) << k.name;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Chips, Monotone, testing::ValuesIn(improvements()),
                         [](const auto& named) { return std::string(named.param.name); });

class MoreOf : public testing::TestWithParam<Better> {};

TEST_P(MoreOf, IsNotSlowerThanByChance) {
  const Better& b = GetParam();
  for (const Kernel& k : kernels()) {
    const double plain = cycles_of(k.module, {}), better = cycles_of(k.module, b.changes);
    EXPECT_LE(better, kChance * plain) << k.name;
  }
}

INSTANTIATE_TEST_SUITE_P(Chips, MoreOf,
                         testing::Values(Better{"banks", {{"memory.dram.banks", "32"}}},
                                         Better{"channels", {{"memory.dram.channels", "16"}}},
                                         Better{"l2_ways", {{"memory.l2.ways", "48"}}},
                                         Better{"l1_ways", {{"memory.l1.ways", "32"}}}),
                         [](const auto& named) { return std::string(named.param.name); });

// Random operators cut at random, each on the chip and on one that is better in one thing. Short kernels whose blocks
// are all resident, so that chance is who fetches a line for all: one more way to the DRAM, at most, where another warp
// does.
RC_GTEST_PROP(Monotone, OnRandomPrograms, ()) {
  const lower::Module m = any_small_module(v100());
  for (const KernelReport& k : simulated(m, small_chip({})).kernels) RC_PRE(k.waves <= 1);
  const Better b = any_element(improvements());
  RC_LOG() << "better: " << b.name << '\n';
  const double plain = cycles_of(m, b.both), better = cycles_of(m, b.both, b.changes);
  RC_LOG() << plain << " cycles, then " << better << '\n';
  RC_ASSERT(better <= kChance * plain + static_cast<double>(arch::dram_of(v100())->latency->n));
}

}  // namespace
}  // namespace tilescope::sim
