// SPDX-License-Identifier: Apache-2.0
// Levels that the devices of today lack: caches behind the first one of the device, none at all, other names.

#include <algorithm>
#include <string>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "model/simt/detail/traffic.h"
#include "model/simt/estimate.h"
#include "tests/support/paths.h"
#include "tests/support/random_program.h"
#include "tests/unit/model/alone.h"

namespace tilescope::model {
namespace {

using Changes = std::vector<arch::Override>;

// A chip of tests/support/chips and its machine, which points to it.
struct Chip {
  explicit Chip(const std::string& name, const Changes& changes = {})
      : spec(tests::chip(name.starts_with("mi210_l3") || name == "bare" || name == "other_names"
                             ? tests::source_path("tests/support/chips/" + name + ".yaml").string()
                             : name,
                         changes)),
        machine(make_machine(spec)) {}
  Chip(const Chip&) = delete;
  Chip& operator=(const Chip&) = delete;

  arch::ArchSpec spec;
  Machine machine;
};

// Every block reads all of B, which is larger than L2 and fits L3.
tile::StageProgram reader_of_much() {
  const expr::Expression e = tests::expression("C[m,n] +=! A[m,k] * B[k,n]", "m=4096,n=4096,k=4096");
  tile::StageProgram p = tile::make_stage_program(tile::make_space(e, tile::no_collapse(e.stages.front())),
                                                  {{1, 16, 4}, {1, 16, 4}}, {1, 1, 16}, {16});
  p.operands[0].cached = p.operands[1].cached = true;
  return p;
}

std::vector<std::string_view> names_of(const Chip& chip) {
  std::vector<std::string_view> names;
  for (const NamedTerm& t : chip.machine.terms) names.push_back(t.name);
  return names;
}

TEST(Hierarchy, EveryCacheOfTheDeviceHasItsTermAndItsBytes) {
  const Chip with("mi210_l3"), without("mi210");
  const tile::StageProgram p = reader_of_much();
  const Estimate a = estimate_stage(p, with.machine).value(), b = estimate_stage(p, without.machine).value();
  EXPECT_EQ(a.level("l2").bytes, b.level("l2").bytes) << "what cores ask for is the same";
  EXPECT_GT(a.level("l3").bytes, 0);
  EXPECT_LT(a.level("l3").bytes, a.level("l2").bytes);
  EXPECT_LT(a.level("dram").bytes, b.level("dram").bytes) << "L3 keeps what L2 does not";
  EXPECT_DOUBLE_EQ(a.level("l3").bytes, b.level("dram").bytes) << "what L2 lacks is the same";
  EXPECT_DOUBLE_EQ(a.term_us("l3"), a.level("l3").bytes / (64 * 64 * 1.7e3));
  EXPECT_EQ(b.term_us("l3"), 0);
}

TEST(Hierarchy, AnOuterCacheThatBindsIsNamed) {
  const Chip narrow("mi210_l3", {{"memory.l3.width", "1 B"}, {"memory.l3.clock", "100 MHz"}});
  const tile::StageProgram p = reader_of_much();
  const Estimate e = estimate_stage(p, narrow.machine).value();
  EXPECT_EQ(e.terms[e.bottleneck].name, "l3");
  const Chip far("mi210_l3", {{"memory.l3.latency", "50000 cycles"}, {"memory.dram.latency", "50100 cycles"}});
  EXPECT_GT(estimate_stage(p, far.machine)->term_us("latency"),
            1.5 * estimate_stage(p, Chip("mi210_l3").machine)->term_us("latency"));
}

RC_GTEST_PROP(Hierarchy, ALargerOuterCacheIsNeverSlower, ()) {
  static const Chip kSmall("mi210_l3", {{"memory.l3.capacity", "4 MiB"}}),
      kMiddle("mi210_l3", {{"memory.l3.capacity", "32 MiB"}}), kLarge("mi210_l3", {{"memory.l3.capacity", "512 MiB"}});
  const tile::StageProgram p = tests::any_program(tests::any_operator(300), 1024);
  const auto us = [&](const Chip& c) { return estimate_stage(p, c.machine)->total_us; };
  RC_ASSERT(us(kMiddle) <= us(kSmall) * (1 + 1e-12));
  RC_ASSERT(us(kLarge) <= us(kMiddle) * (1 + 1e-12));
}

// What an outer cache holds less of than the one before it, it need not hold at all.
RC_GTEST_PROP(Hierarchy, AnOuterCacheSmallerThanTheInnerOneSavesNoBytes, ()) {
  static const Chip kSmall("mi210_l3", {{"memory.l3.capacity", "2 MiB"}}), kNone("mi210");
  const tile::StageProgram p = tests::any_program(tests::any_operator(300), 1024);
  RC_ASSERT(traffic_of(p, kSmall.machine, 1).dram.bytes() == traffic_of(p, kNone.machine, 1).dram.bytes());
}

TEST(Hierarchy, WithoutCachesCoresReachTheDramAtOnce) {
  const Chip bare("bare");
  const expr::Expression sums = tests::expression("O[i] = A[i] + B[i]", "i=1000000");
  const Estimate e = estimate_stage(tile::make_stage_program(tile::make_space(sums, tile::no_collapse(sums.stages[0])),
                                                             {{1, 256, 1}}, {1}, {16}),
                                    bare.machine)
                         .value();
  EXPECT_EQ(e.level("dram").transactions, e.core_sectors);
  EXPECT_EQ(names_of(bare),
            (std::vector<std::string_view>{"issue", "arithmetic", "smem", "addresses", "dram", "latency", "launch"}));
  EXPECT_EQ(e.terms[e.bottleneck].name, "dram");
}

TEST(Hierarchy, NamesAreTheChipsOwn) {
  const Chip chip("other_names");
  EXPECT_EQ(names_of(chip), (std::vector<std::string_view>{"issue", "arithmetic", "lds", "vl1d", "gl2", "mall", "hbm",
                                                           "latency", "launch"}));
  EXPECT_TRUE(estimate_stage(reader_of_much(), chip.machine).has_value());
}

// Loads fill whole sectors of the core's cache, so that a line fetched as one costs all of it
// (sim/gpu/detail/core_cache.h).
TEST(CoreCacheSector, IsWhatLoadsMove) {
  const Chip lines("k80", {{"memory.l1.sector", "128 B"}}), sectors("k80");
  const expr::Expression e = tests::expression("O[i] = I[i*8]", "i=1000000");
  const tile::StageProgram p =
      tile::make_stage_program(tile::make_space(e, tile::no_collapse(e.stages.front())), {{1, 256, 1}}, {1}, {16});
  const Traffic whole = traffic_of(p, lines.machine, 1), part = traffic_of(p, sectors.machine, 1);
  EXPECT_GT(whole.cores.read, 0.9 * part.cores.read);
  const expr::Expression far = tests::expression("O[i] = I[i*64]", "i=100000");
  const tile::StageProgram q =
      tile::make_stage_program(tile::make_space(far, tile::no_collapse(far.stages.front())), {{1, 256, 1}}, {1}, {16});
  EXPECT_NEAR(traffic_of(q, lines.machine, 1).cores.read / traffic_of(q, sectors.machine, 1).cores.read, 4, 0.01);
  EXPECT_EQ(traffic_of(q, lines.machine, 1).cores.written, traffic_of(q, sectors.machine, 1).cores.written);
}

}  // namespace
}  // namespace tilescope::model
