// SPDX-License-Identifier: Apache-2.0
// A GPU whose memory is a user's module.

#include <fstream>
#include <iterator>
#include <random>
#include <unistd.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lower/lower.h"
#include "sim/simulate.h"
#include "tests/support/build.h"
#include "tests/support/paths.h"
#include "tests/unit/platform/alone.h"
#include "tests/unit/platform/ideal.h"
#include "tile/program_json.h"

namespace tilescope::systemc {
namespace {

using testing::HasSubstr;
using tests::Ideal;
using tests::source_path;

const std::string& program() {
  static const std::string kPath = source_path("docs/timeline_program.json").string();
  return kPath;
}

// As `tilescope simulate --mode full` has it.
sim::SimReport alone(const std::string& path = program(), const std::vector<arch::Override>& overrides = {}) {
  base::Diagnostics diags;
  const arch::ArchSpec a = tests::chip("v100", overrides);
  std::ifstream file(path);
  const std::string text(std::istreambuf_iterator<char>(file), {});
  const auto document = base::read_json(text, diags.add_source("program"), diags);
  const auto p = tile::read_program(document.value(), a, diags);
  return sim::simulate(lower::lower(p.value(), a, diags).value(), a, {.mode = sim::Mode::kFull});
}

Report with(Protocol protocol, Ideal::Way way, double ns) {
  const sim::SimulationContext context;
  Gpu gpu("gpu", "v100", program(), {protocol, true, {}});
  Ideal memory("memory", way, sc_core::sc_time(ns, sc_core::SC_NS));
  gpu.memory.bind(memory.socket);
  return simulate(gpu);
}

void expect_the_same(const Report& r, const sim::SimReport& expected) {
  EXPECT_EQ(r.cycles, expected.cycles);
  ASSERT_EQ(r.levels.size(), expected.levels.size());
  for (std::size_t l = 0; l < r.levels.size(); ++l) {
    EXPECT_EQ(r.levels[l].read_bytes, expected.levels[l].amounts.read_bytes) << r.levels[l].name;
    EXPECT_EQ(r.levels[l].written_bytes, expected.levels[l].amounts.written_bytes) << r.levels[l].name;
    EXPECT_EQ(r.levels[l].requests, expected.levels[l].amounts.requests) << r.levels[l].name;
    EXPECT_EQ(r.levels[l].transactions, expected.levels[l].amounts.transactions) << r.levels[l].name;
    EXPECT_EQ(r.levels[l].hits, expected.levels[l].amounts.hits) << r.levels[l].name;
  }
}

// Our own channels behind the socket are those without it.
TEST(Gpu, OurDramBehindTheSocketTakesTheSameCycles) {
  const sim::SimReport expected = alone();
  const sim::SimulationContext context;
  Gpu gpu("gpu", "v100", program(), {Protocol::kBatch, true, {}});
  DramTarget dram("dram", "v100");
  gpu.memory.bind(dram.socket);
  expect_the_same(simulate(gpu), expected);
}

// Rows that begin anywhere in a sector, and a cache that their lines leave: writes merge, controllers have two channels
// and evictors wait for them.
TEST(Gpu, OurDramBehindTheSocketMergesWritesAndSharesControllers) {
  const auto seed = std::random_device()();
  std::mt19937 random(seed);
  const auto any = [&](std::initializer_list<const char*> of) { return std::string(of.begin()[random() % of.size()]); };
  const std::string path = testing::TempDir() + "gpu_test_" + std::to_string(::getpid()) + ".json";
  std::int64_t merged = 0;
  for (int i = 0; i < 8; ++i) {
    std::ofstream(path)
        << R"({"arch": "v100", "nodes": [{"expr": "C[m,n] +=! A[m,k] * B[k,n]", "sizes": {"m": 2048, "n": )"
        << any({"333", "419", "510"}) << R"(, "k": 8}, "dtype": "f32",
      "tiles": {"smem": {"m": 32, "n": 64, "k": 8}, "reg": {"m": 4, "n": 4}},
      "mapping": {"m": {"threads": 8, "per_thread": 4}, "n": {"threads": 16, "per_thread": 4}}, "padding": {"A": 4}}],
      "edges": []})";
    const std::vector<arch::Override> changes = {
        {"memory.l2.capacity", "192 KiB"},
        {"memory.l2.partial_write", any({"masked", "fetched"})},
        {"memory.dram.write_granule", any({"1 B", "8 B", "32 B"})},
        {"memory.dram.pseudo_channels", any({"1", "2"})},
        {"memory.dram.write_backlog", any({"1", "4", "64"})},
    };
    std::vector<std::string> overrides;
    std::string all = "seed " + std::to_string(seed) + ", draw " + std::to_string(i) + ":";
    for (const arch::Override& o : changes) all += " " + overrides.emplace_back(o.path + "=" + o.value);
    SCOPED_TRACE(all);
    const sim::SimReport expected = alone(path, changes);
    const sim::SimulationContext context;
    Gpu gpu("gpu", "v100", path, {Protocol::kBatch, true, overrides});
    DramTarget dram("dram", "v100", {false, overrides});
    gpu.memory.bind(dram.socket);
    expect_the_same(simulate(gpu), expected);
    merged += expected.levels.front().amounts.written_bytes;
  }
  EXPECT_GT(merged, 0);
}

// One memory, three ways to say when it is done: within a turn of the simulator for each of the few dependent loads.
TEST(Gpu, ProtocolsAgree) {
  const auto cycles = [](Protocol p, Ideal::Way way) { return static_cast<double>(with(p, way, 100).cycles); };
  const double annotated = cycles(Protocol::kLoose, Ideal::Way::kAnnotates);
  EXPECT_NEAR(cycles(Protocol::kLoose, Ideal::Way::kWaits), annotated, 0.01 * annotated);
  EXPECT_NEAR(cycles(Protocol::kApproximate, Ideal::Way::kPhases), annotated, 0.01 * annotated);
}

TEST(Gpu, ASlowerMemoryTakesLonger) {
  const auto cycles = [](double ns) { return with(Protocol::kLoose, Ideal::Way::kAnnotates, ns).cycles; };
  EXPECT_LT(cycles(50), cycles(500));
  EXPECT_LT(cycles(500), cycles(5000));
}

TEST(Gpu, MistakesOfAMemoryAreNamed) {
#ifdef __SANITIZE_ADDRESS__
  GTEST_SKIP() << "AddressSanitizer does not know the stacks of SystemC's threads, which an exception leaves";
#endif
  const auto why_unsupported = [](Protocol p, Ideal::Way way) -> std::string {
    try {
      with(p, way, 100);
    } catch (const std::runtime_error& e) {
      return e.what();
    }
    return "is not refused";
  };
  EXPECT_THAT(why_unsupported(Protocol::kLoose, Ideal::Way::kNever),
              testing::AllOf(HasSubstr("gpu.memory: the request of address "), HasSubstr("is not answered within")));
  EXPECT_THAT(why_unsupported(Protocol::kLoose, Ideal::Way::kRefuses),
              HasSubstr("gpu.memory: the memory answers TLM_ADDRESS_ERROR_RESPONSE to address "));
  EXPECT_THAT(why_unsupported(Protocol::kBatch, Ideal::Way::kRefuses), HasSubstr("gpu.memory: the memory answers"));
}

TEST(Gpu, NamesItsSocketWhereThatIsUnbound) {
  const sim::SimulationContext context;
  Gpu gpu("gpu", "v100", program());
  EXPECT_THAT(tests::elaboration_error(), HasSubstr("socket 'gpu.memory' is not bound"));
}

TEST(Gpu, SaysWhatIsWrongWithAProgram) {
  const sim::SimulationContext context;
  EXPECT_THAT([] { Gpu gpu("gpu", "v100", "no such file"); },
              testing::ThrowsMessage<std::runtime_error>("no such file: cannot be read"));
}

// Two GPUs with a memory each, in one process at one time.
TEST(Gpu, SeveralStandSideBySide) {
  const std::int64_t once = with(Protocol::kLoose, Ideal::Way::kAnnotates, 100).cycles;
  const sim::SimulationContext context;
  Gpu one("one", "v100", program(), {Protocol::kLoose, true, {}}),
      two("two", "v100", program(), {Protocol::kLoose, true, {}});
  Ideal first("first", Ideal::Way::kAnnotates, sc_core::sc_time(100, sc_core::SC_NS)),
      second("second", Ideal::Way::kAnnotates, sc_core::sc_time(300, sc_core::SC_NS));
  one.memory.bind(first.socket);
  two.memory.bind(second.socket);
  EXPECT_EQ(simulate(one).cycles, once);
  EXPECT_GT(two.report().cycles, once);
}

}  // namespace
}  // namespace tilescope::systemc
