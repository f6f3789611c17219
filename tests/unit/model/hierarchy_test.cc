// Levels that the devices of today lack: caches behind the first one of the device, none at all, other names.

#include <algorithm>
#include <string>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "model/estimate.h"
#include "model/traffic.h"
#include "tests/support/paths.h"
#include "tests/support/random_program.h"

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

constexpr Term kL3 = term_of_device_cache(1);

// Every block reads all of B, which is larger than L2 and fits L3.
tile::StageProgram reader_of_much() {
  const expr::Expression e = tests::expression("C[m,n] +=! A[m,k] * B[k,n]", "m=4096,n=4096,k=4096");
  tile::StageProgram p = tile::make_stage_program(tile::make_space(e, tile::no_fusion(e.stages.front())),
                                                  {{1, 16, 4}, {1, 16, 4}}, {1, 1, 16}, {16});
  p.operands[0].staged = p.operands[1].staged = true;
  return p;
}

TEST(Hierarchy, EveryCacheOfTheDeviceHasItsTermAndItsBytes) {
  const Chip with("mi210_l3"), without("mi210");
  const tile::StageProgram p = reader_of_much();
  const Estimate a = estimate_stage(p, with.machine).value(), b = estimate_stage(p, without.machine).value();
  EXPECT_EQ(a.device_caches[0].bytes, b.device_caches[0].bytes) << "what cores ask for is the same";
  EXPECT_GT(a.device_caches[1].bytes, 0);
  EXPECT_LT(a.device_caches[1].bytes, a.device_caches[0].bytes);
  EXPECT_LT(a.dram.bytes, b.dram.bytes) << "L3 keeps what L2 does not";
  EXPECT_DOUBLE_EQ(a.device_caches[1].bytes, b.dram.bytes) << "what L2 lacks is the same";
  EXPECT_DOUBLE_EQ(a.term(kL3), a.device_caches[1].bytes / (64 * 64 * 1.7e3));
  EXPECT_EQ(name_of(kL3, arch::hierarchy_of(with.spec)), "l3");
  EXPECT_EQ(name_of(kL3, arch::hierarchy_of(without.spec)), "");
}

TEST(Hierarchy, AnOuterCacheThatBindsIsNamed) {
  const Chip narrow("mi210_l3", {{"memory.l3.width", "1 B"}, {"memory.l3.clock", "100 MHz"}});
  const tile::StageProgram p = reader_of_much();
  const Estimate e = estimate_stage(p, narrow.machine).value();
  EXPECT_EQ(name_of(e.bottleneck, arch::hierarchy_of(narrow.spec)), "l3");
  const Chip far("mi210_l3", {{"memory.l3.latency", "50000 cycles"}, {"memory.dram.latency", "50100 cycles"}});
  EXPECT_GT(estimate_stage(p, far.machine)->term(Term::kLatency),
            2 * estimate_stage(p, Chip("mi210_l3").machine)->term(Term::kLatency));
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
  const Estimate e = estimate_stage(tile::make_stage_program(tile::make_space(sums, tile::no_fusion(sums.stages[0])),
                                                             {{1, 256, 1}}, {1}, {16}),
                                    bare.machine)
                         .value();
  EXPECT_EQ(e.dram.bytes, e.core_cache.bytes);
  EXPECT_EQ(e.term(Term::kCoreCache) + e.term(Term::kDeviceCache), e.term(Term::kCoreCache));
  EXPECT_EQ(name_of(Term::kCoreCache, arch::hierarchy_of(bare.spec)), "");
  EXPECT_EQ(name_of(e.bottleneck, arch::hierarchy_of(bare.spec)), "dram");
}

TEST(Hierarchy, NamesAreTheChipsOwn) {
  const Chip chip("other_names");
  const arch::Hierarchy levels = arch::hierarchy_of(chip.spec);
  std::vector<std::string_view> names;
  for (std::size_t t = 0; t < kTerms; ++t)
    if (const auto name = name_of(static_cast<Term>(t), levels); !name.empty()) names.push_back(name);
  EXPECT_EQ(names, (std::vector<std::string_view>{"issue", "arithmetic", "lds", "vl1d", "gl2", "mall", "hbm", "latency",
                                                  "launch"}));
  EXPECT_TRUE(estimate_stage(reader_of_much(), chip.machine).has_value());
}

// Loads fill whole sectors of the core's cache, so that a line fetched as one costs all of it (sim/gpu/core_memory.cc).
TEST(CoreCacheSector, IsWhatLoadsMove) {
  const Chip lines("k80"), sectors("k80", {{"memory.l1.sector", "32 B"}});
  const expr::Expression e = tests::expression("O[i] = I[i*8]", "i=1000000");
  const tile::StageProgram p =
      tile::make_stage_program(tile::make_space(e, tile::no_fusion(e.stages.front())), {{1, 256, 1}}, {1}, {16});
  const Traffic whole = traffic_of(p, lines.machine, 1), part = traffic_of(p, sectors.machine, 1);
  EXPECT_GT(whole.cores.read, 0.9 * part.cores.read);
  const expr::Expression far = tests::expression("O[i] = I[i*64]", "i=100000");
  const tile::StageProgram q =
      tile::make_stage_program(tile::make_space(far, tile::no_fusion(far.stages.front())), {{1, 256, 1}}, {1}, {16});
  EXPECT_NEAR(traffic_of(q, lines.machine, 1).cores.read / traffic_of(q, sectors.machine, 1).cores.read, 4, 0.01);
  EXPECT_EQ(traffic_of(q, lines.machine, 1).cores.written, traffic_of(q, sectors.machine, 1).cores.written);
}

}  // namespace
}  // namespace tilescope::model
