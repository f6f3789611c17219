// SPDX-License-Identifier: Apache-2.0
// A part of a chip stands for all of it: which blocks and lines it has, and `scaled` against `full` and `sampled`.

#include <map>
#include <set>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "sim/gpu/detail/machine.h"
#include "sim/gpu/detail/reply_pairs.h"
#include "tests/unit/sim/kernels.h"
#include "tests/unit/sim/random_module.h"

namespace tilescope::sim {
namespace {

using namespace tests;

std::int64_t any(std::int64_t low, std::int64_t high) { return *rc::gen::inRange<std::int64_t>(low, high + 1); }

// A chip of so many cores, slices and channels, each like a V100's.
arch::ArchSpec small(std::int64_t cores, std::int64_t channels) {
  return chip("v100", {{"core.count", std::to_string(cores)},
                       {"memory.dram.channels", std::to_string(channels)},
                       {"memory.l2.slices", std::to_string(channels)},
                       {"memory.l2.capacity", std::to_string(96 * channels) + " KiB"}});
}

SimReport scaled(const lower::Module& m, const arch::ArchSpec& c, std::int64_t scale) {
  return simulate(m, c, {.mode = Mode::kScaled, .scale = scale});
}

double bytes(const SimReport& r, const std::string& name) {
  return static_cast<double>(level(r, name).read_bytes + level(r, name).written_bytes);
}

// --- blocks and lines

RC_GTEST_PROP(ChipParts, EveryBlockIsOfOneGroupAndOneOfEachRuns, ()) {
  ChipPart p;
  p.cores = any(1, 12);
  p.cores_of_chip = any(p.cores, 100);
  const std::int64_t blocks = any(1, 700);
  const BlockGroups groups(blocks, p);
  std::set<std::int64_t> seen;
  for (std::int64_t g = 0; g < groups.count(); ++g) {
    const BlockGroups::Group own = groups.group(g);
    RC_ASSERT(own.size() >= 1);
    bool runs = false;
    for (std::int64_t b = own.first; b < own.end; b += own.stride) {
      RC_ASSERT(seen.insert(b).second);
      RC_ASSERT(groups.group_of(b).first == own.first);
      runs = runs || b == groups.running(g);
    }
    RC_ASSERT(runs);
  }
  RC_ASSERT(std::ssize(seen) == blocks);
  RC_ASSERT(*seen.rbegin() == blocks - 1);
  // A round of the chip's cores is one of the part's.
  RC_ASSERT(BlockGroups(p.cores_of_chip * 3, p).count() == p.cores * 3);
}

RC_GTEST_PROP(ChipParts, LinesOfAPartAreItsShareOfEveryRunAndHaveNoGaps, ()) {
  ChipPart p;
  p.lines = any(1, 6);
  p.lines_of_chip = any(p.lines, 40);
  const SampledLines lines(p);
  const std::int64_t runs = any(1, 50);
  std::set<std::int64_t> numbers;
  for (std::int64_t line = 0; line < runs * p.lines_of_chip; ++line)
    if (const auto n = lines.number(line)) RC_ASSERT(numbers.insert(*n).second);
  RC_ASSERT(std::ssize(numbers) == runs * p.lines);
  RC_ASSERT(*numbers.begin() == 0 && *numbers.rbegin() == runs * p.lines - 1);
}

// Rates of all that is left add up to the chip's share, whether numbers divide or not.
RC_GTEST_PROP(ChipParts, RatesAddUp, ()) {
  const std::int64_t cores = any(4, 120), channels = any(4, 60), scale = any(1, 4);
  const Machine whole = machine_of(small(cores, channels)), part = part_of(whole, scale);
  const auto rate = [](const Rate& r, std::int64_t times) {
    return static_cast<double>(r.units * times) / static_cast<double>(r.cycles);
  };
  const double share = static_cast<double>(part.memory.map.channels) / static_cast<double>(channels);
  RC_ASSERT(std::abs(share * static_cast<double>(scale) - 1) <= 0.5);
  const auto near = [](double a, double b) { return std::abs(a / b - 1) < 1e-9; };
  RC_ASSERT(near(rate(part.memory.slice_rate, part.memory.slices), share * rate(whole.memory.slice_rate, channels)));
  RC_ASSERT(near(rate(*part.memory.link_rate, part.cores), share * rate(*whole.memory.link_rate, cores)));
  RC_ASSERT(near(part.block_interval * static_cast<double>(part.cores),
                 whole.block_interval * static_cast<double>(whole.cores)) ||
            whole.block_interval == 0);
}

TEST(ChipParts, NamesWhatIsMissing) {
  EXPECT_EQ(scale_refusal(v100(), 8), "");
  EXPECT_EQ(scale_refusal(v100(), 81), "1/81 of v100 has no core: the chip has 80");
  EXPECT_EQ(scale_refusal(v100(), 65), "1/65 of v100 has no channel: the chip has 64");
  EXPECT_EQ(scale_refusal(chip("v100", {{"memory.l2.slices", "4"}}), 8),
            "1/8 of v100 has no slice of a cache: the chip has 4");
}

// --- replies

// Whatever is paired with what, every ticket is answered once, not before it can be.
RC_GTEST_PROP(ReplyPairs, EveryTicketIsAnsweredOnce, ()) {
  const Machine m = machine_of(v100());
  ReplyPairs pairs(1, 3, m.memory);
  std::vector<MemoryReply> under_way;
  std::map<int, int> answers;
  int tickets = 0;
  for (Cycle end = 100_cycles; end < 1500_cycles; end += 100_cycles) {
    std::vector<MemoryRequest> asked;
    std::vector<int> copies;
    for (std::int64_t n = any(0, 12); n-- > 0;) {
      MemoryRequest r;
      r.at = end - Cycle(any(1, 100));
      r.line = *rc::gen::arbitrary<bool>() ? ReplyPairs::kNotServed : 5;
      const bool waits = r.line == ReplyPairs::kNotServed || *rc::gen::arbitrary<bool>();
      r.ticket = waits ? tickets++ : ReplyPairs::kNobody;
      asked.push_back(r);
      copies.push_back(static_cast<int>(any(0, 2)));
    }
    std::vector<MemoryReply> replies, at_once;
    std::swap(replies, under_way);
    pairs.pair(asked, copies, end, at_once);
    for (const MemoryRequest& r : asked) {
      RC_ASSERT(r.line != ReplyPairs::kNotServed);
      under_way.push_back({r.core, r.ticket, end + Cycle(any(100, 400))});
    }
    for (MemoryReply& r : replies) r.at = std::max(r.at, end);
    pairs.unpack(end, replies);
    replies.insert(replies.end(), at_once.begin(), at_once.end());
    for (const MemoryReply& r : replies) {
      ++answers[r.ticket];
      RC_ASSERT(r.at >= end);
    }
  }
  pairs.unpack(1500_cycles, under_way);
  for (const MemoryReply& r : under_way) ++answers[r.ticket];
  RC_ASSERT(std::ssize(answers) == tickets);
  for (const auto& [ticket, times] : answers) RC_ASSERT(ticket >= 0 && times == 1);
}

// --- simulations

// All of a chip as a part of itself: every line is sampled, no block has a shadow.
RC_GTEST_PROP(Scaled, OneOfOneIsTheChip, ()) {
  const arch::ArchSpec c = small(any(1, 6), any(1, 6));
  const lower::Module m = any_small_module(c);
  const SimReport sampled = simulated(m, c, Mode::kSampled), all = scaled(m, c, 1);
  RC_ASSERT(all.cycles == sampled.cycles);
  RC_ASSERT(all.stalls == sampled.stalls);
  for (std::size_t l = 0; l < all.levels.size(); ++l) RC_ASSERT(all.levels[l].amounts == sampled.levels[l].amounts);
}

// Blocks that each have their own data: a chip is then as many parts side by side.
RC_GTEST_PROP(Scaled, IsAsFullWherePartsAreIndependent, ()) {
  const std::int64_t scale = any(2, 4), cores = scale * any(4, 8), channels = scale * any(4, 8);
  const arch::ArchSpec c = small(cores, channels);
  const auto kind = *rc::gen::element(Stream::kRead, Stream::kWrite, Stream::kCopy);
  const lower::Module m = stream(cores * any(8, 30), 32 * any(2, 8), any(1, 4), kind);
  const SimReport full = simulated(m, c), part = scaled(m, c, scale);
  RC_PRE(part.scaled->refused.empty());  // parts of two cores may disagree
  RC_LOG() << full.cycles << " cycles, of a part " << part.cycles << '\n';
  constexpr double kChance = 0.25;  // of how the lines of a part of a few channels fall to them
  RC_ASSERT(std::abs(running_cycles(part) / running_cycles(full) - 1) < kChance);
  RC_ASSERT(std::abs(bytes(part, "l2") - bytes(full, "l2")) <= 0.01 * bytes(full, "l2"));
  RC_ASSERT(std::abs(bytes(part, "dram") - bytes(full, "dram")) <= 0.05 * bytes(full, "l2"));
}

// Tiles that many blocks share: what one fetches others find.
TEST(Scaled, SharesWhatShadowBlocksFetch) {
  const arch::ArchSpec c = small(32, 32);
  const lower::Module m = tiled_product(512, 512, 24);
  const SimReport full = simulated(m, c), part = scaled(m, c, 4);
  EXPECT_EQ(part.scaled->refused, "");
  EXPECT_NEAR(running_cycles(part) / running_cycles(full), 1, 0.05);
  EXPECT_NEAR(bytes(part, "dram") / bytes(full, "dram"), 1, 0.05);
  EXPECT_NEAR(bytes(part, "l2") / bytes(full, "l2"), 1, 0.05);
  EXPECT_FALSE(part.kernels[0].exact);
}

TEST(Scaled, FewBlocksAreSimulatedWhole) {
  const lower::Module m = tiled_product(100, 100, 64);
  const SimReport sampled = simulated(m, v100(), Mode::kSampled), part = scaled(m, v100(), 8);
  EXPECT_EQ(part.scaled->refused, "49 blocks are fewer than 80 cores");
  EXPECT_EQ(part.cycles, sampled.cycles);
  EXPECT_EQ(part.stalls, sampled.stalls);
  EXPECT_EQ(part.kernels[0].counters, sampled.kernels[0].counters);
}

// One block in eighty works for as long as all others together. One of eight cores has it, none of sixteen does.
TEST(Scaled, RefusesItselfWherePartsDisagree) {
  const auto running = [](std::int64_t scale) {
    const Machine part = part_of(machine_of(v100()), scale);
    const BlockGroups groups(80, *part.part);
    std::set<std::int64_t> blocks;
    for (std::int64_t g = 0; g < groups.count(); ++g) blocks.insert(groups.running(g));
    return blocks;
  };
  std::set<std::int64_t> of_one_alone = running(8);
  for (const std::int64_t block : running(16)) of_one_alone.erase(block);
  ASSERT_FALSE(of_one_alone.empty());
  HandKernel k(640, 32);
  const int sum = k.registers("sum", 1), x = k.registers("x", 1);
  const int place = k.derived("place", affine({{0, 1}}), 1, 80), i = k.loop("i", 2000);
  lower::If only;
  only.when = {{affine({{place, 1}}, -*of_one_alone.begin()), 1}};
  only.body = {loop_over(i, {multiply_add({sum, {}}, {x, {}}, {x, {}})})};
  k.add({std::move(only), {}});
  const lower::Module m = std::move(k).take();
  const SimReport sampled = simulated(m, v100(), Mode::kSampled), part = scaled(m, v100(), 8);
  EXPECT_NE(part.scaled->refused.find("% apart; 5 % are accepted"), std::string::npos) << part.scaled->refused;
  EXPECT_EQ(part.scaled->validation, 16);
  EXPECT_GT(part.scaled->time.v, part.scaled->validation_time.v);
  EXPECT_EQ(part.cycles, sampled.cycles);
  EXPECT_EQ(part.stalls, sampled.stalls);
}

TEST(Scaled, SaysTheSameEveryTime) {
  const lower::Module m = tiled_product(640, 640, 12);
  const SimReport once = scaled(m, v100(), 8), again = scaled(m, v100(), 8);
  EXPECT_EQ(once.cycles, again.cycles);
  EXPECT_EQ(once.stalls, again.stalls);
  EXPECT_EQ(once.kernels[0].counters, again.kernels[0].counters);
}

}  // namespace
}  // namespace tilescope::sim
