// SPDX-License-Identifier: Apache-2.0
// A GPU whose link, caches and DRAM are a user's modules.

#include <deque>
#include <fstream>
#include <map>
#include <optional>
#include <unistd.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "base/document.h"
#include "lower/lower.h"
#include "sim/simulate.h"
#include "tests/support/build.h"
#include "tests/support/paths.h"
#include "tests/support/random_program.h"
#include "tests/unit/platform/alone.h"
#include "tests/unit/platform/ideal.h"
#include "tile/program_json.h"

namespace tilescope::systemc {
namespace {

using sc_core::SC_NS;
using sc_core::sc_time;
using testing::AllOf;
using testing::HasSubstr;
using tests::Ideal;

std::string file_of_test(const std::string& suffix) {
  return testing::TempDir() + "behind_cores_test_" + std::to_string(::getpid()) + suffix;
}

std::string written(const std::string& suffix, const std::string& text) {
  const std::string path = file_of_test(suffix);
  std::ofstream(path) << text;
  return path;
}

GpuOptions behind_cores(Protocol protocol, std::vector<std::string> overrides = {}, const sc_time& lookahead = {}) {
  return {protocol, true, std::move(overrides), Below::kCores, lookahead};
}

// --- our own caches

struct Drawn {
  std::string chip;
  std::vector<arch::Override> changes;
  std::string program;

  std::vector<std::string> overrides() const {
    std::vector<std::string> out;
    for (const arch::Override& o : changes) out.push_back(o.path + "=" + o.value);
    return out;
  }
};

// A small random program, and what `tilescope simulate --mode full` has of it on a random chip.
sim::SimReport any_simulation(Drawn& d) {
  d.chip = *rc::gen::element<std::string>("v100", "a100", "mi210", "k80", "rtx3090", "h100_pcie", "mi100", "t4");
  const auto sometimes = [&](int one_in, const std::string& path, const std::vector<std::string>& values) {
    if (*rc::gen::inRange(0, one_in) == 0) d.changes.push_back({path, *rc::gen::elementOf(values)});
  };
  sometimes(2, "core.count", {"1", "2", "5"});
  sometimes(3, "memory.l2.mshrs", {"1", "4", "16"});
  sometimes(3, "memory.l2.queue", {"1", "4", "16"});
  sometimes(3, "memory.dram.write_backlog", {"1", "8"});
  sometimes(3, "memory.l1.mshrs", {"1", "7", "64"});
  if (*rc::gen::inRange(0, 2) == 0) {
    d.changes.push_back({"memory.dram.write_granule", *rc::gen::element<std::string>("1 B", "32 B")});
    d.changes.push_back({"memory.l2.partial_write", *rc::gen::element<std::string>("masked", "fetched")});
  }
  const arch::ArchSpec chip = tests::chip(d.chip, d.changes);
  const tile::RProgram program = tests::any_rprogram(chip, *rc::gen::element(9, 40), 96);
  base::Diagnostics diags;
  const auto module = lower::lower(program, chip, diags);
  if (!module) RC_DISCARD("more than a block has");
  d.program = written(".json", base::to_json(tile::to_document(program, chip)));
  try {
    return sim::simulate(*module, chip, {.mode = sim::Mode::kFull});
  } catch (const sim::SimError&) {
    RC_DISCARD("more than a core has");
  }
}

RC_GTEST_PROP(BehindCores, OurCachesTakeTheSameCycles, ()) {
#ifdef __SANITIZE_ADDRESS__
  GTEST_SKIP() << "AddressSanitizer does not know the stacks of SystemC's threads, which a discarded case leaves";
#endif
  Drawn d;
  const sim::SimReport expected = any_simulation(d);
  const sim::SimulationContext context;
  Gpu gpu("gpu", d.chip, d.program, behind_cores(Protocol::kBatch, d.overrides()));
  CacheTarget caches("caches", d.chip, d.overrides(), Protocol::kBatch);
  gpu.memory.bind(caches.socket);
  std::optional<DramTarget> dram;
  if (*rc::gen::arbitrary<bool>())
    caches.dram.bind(dram.emplace("dram", d.chip, DramOptions{false, d.overrides()}).socket);
  const Report report = simulate(gpu);
  RC_ASSERT(report.cycles == expected.cycles);
  std::map<std::string, std::int64_t> stalls;
  for (const sim::StallReport& s : expected.stalls) stalls[s.name] = s.cycles;
  const std::map<std::string, std::int64_t> said(report.stalls.begin(), report.stalls.end());
  RC_ASSERT(said == stalls);
  std::vector<LevelReport> levels = caches.levels();
  levels.insert(levels.end(), report.levels.begin(), report.levels.end());
  RC_ASSERT(levels.size() == expected.levels.size());
  for (std::size_t l = 0; l < levels.size(); ++l) {
    const sim::LevelStatistics& e = expected.levels[l].amounts;
    RC_ASSERT(levels[l].name == expected.levels[l].name);
    RC_ASSERT(levels[l].requests == e.requests);
    RC_ASSERT(levels[l].transactions == e.transactions);
    RC_ASSERT(levels[l].hits == e.hits);
    RC_ASSERT(levels[l].read_bytes == e.read_bytes);
    RC_ASSERT(levels[l].written_bytes == e.written_bytes);
  }
}

// --- an ideal memory

// A chip of a cycle a nanosecond whose caches and wires take the latency alone: all that is asked misses, the memory
// behind them answers at once.
std::string ideal_chip(int latency) {
  const std::string cycles = std::to_string(latency) + " cycles";
  return written("_" + std::to_string(latency) + ".yaml",
                 "extends: k80\nname: ideal\nclock: 1 GHz\nmemory:\n  dram: {clock: 1 GHz, latency: " + cycles +
                     "}\n  l2: {width: 1 MiB, capacity: 192 MiB, latency: " + cycles + "}\n");
}

// Each of so many values read and written once, by blocks of a warp.
std::string copies(int blocks) {
  return written("_" + std::to_string(blocks) + ".json",
                 R"json({"arch": "ideal", "nodes": [{"expr": "O[i] = relu(I[i])", "sizes": {"i": )json" +
                     std::to_string(32 * blocks) +
                     R"json(}, "dtype": "f32", "tiles": {"smem": {"i": 32}, "reg": {"i": 1}},
      "mapping": {"i": {"threads": 32}}}], "edges": []})json");
}

Report ideal(Ideal::Way way, int latency, int blocks, int lookahead = 0, std::vector<Ideal::Seen>* seen = nullptr) {
  const sim::SimulationContext context;
  Gpu gpu("gpu", ideal_chip(latency), copies(blocks),
          behind_cores(Ideal::protocol_of(way), {}, sc_time(lookahead, SC_NS)));
  Ideal memory("memory", way, sc_time(latency, SC_NS));
  gpu.memory.bind(memory.socket);
  const Report r = simulate(gpu);
  if (seen != nullptr) *seen = memory.seen;
  return r;
}

// Answers when it is asked.
class AtOnce : public sc_core::sc_module {
 public:
  tlm_utils::simple_target_socket<AtOnce> socket;
  explicit AtOnce(const sc_core::sc_module_name& name) : sc_module(name), socket("socket") {
    socket.register_b_transport(this, &AtOnce::b_transport);
  }

 private:
  void b_transport(tlm::tlm_generic_payload& payload, sc_time&) {
    auto& batch = *payload.get_extension<Batch>();
    for (const Batch::Request& r : batch.requests) batch.answers.push_back({r.id, r.at});
    payload.set_response_status(tlm::TLM_OK_RESPONSE);
  }
};

// Caches, simulated, in which every access takes a time are a memory that takes it.
TEST(BehindCores, AnIdealMemoryIsAChipOfThatLatency) {
  for (const int latency : {20, 135, 600})
    for (const int blocks : {1, 13, 500}) {
      SCOPED_TRACE(testing::Message() << latency << " cycles, blocks " << blocks);
      std::int64_t expected = 0;
      {
        const sim::SimulationContext context;
        Gpu gpu("gpu", ideal_chip(latency), copies(blocks), {Protocol::kBatch, true, {}});
        AtOnce memory("memory");
        gpu.memory.bind(memory.socket);
        expected = simulate(gpu).cycles;
      }
      EXPECT_EQ(ideal(Ideal::Way::kBatch, latency, blocks).cycles, expected);
      // Of turns of another length blocks that follow others begin otherwise.
      const std::int64_t annotated = ideal(Ideal::Way::kAnnotates, latency, blocks, latency).cycles;
      EXPECT_NEAR(static_cast<double>(annotated), static_cast<double>(expected),
                  blocks <= 13 ? 0 : 0.005 * static_cast<double>(expected));
    }
}

// A warp waits for what it reads, and the kernel for what it writes.
TEST(BehindCores, TakesALatencyForALoadAndOneForAStore) {
  using Way = Ideal::Way;
  for (const Way way : {Way::kBatch, Way::kAnnotates, Way::kWaits, Way::kPhases})
    EXPECT_EQ(ideal(way, 700, 1).cycles - ideal(way, 200, 1).cycles, 2 * 500) << static_cast<int>(way);
  // What comes in SystemC's time is heard of a cycle later.
  EXPECT_EQ(ideal(Way::kWaits, 200, 1).cycles, ideal(Way::kAnnotates, 200, 1).cycles + 2);
  EXPECT_EQ(ideal(Way::kPhases, 200, 1).cycles, ideal(Way::kAnnotates, 200, 1).cycles + 2);
}

// The core, whole lines of what it reads (of which its own cache keeps 128 B) and the bytes that it writes.
TEST(BehindCores, RequestsSayWhatIsAskedByWhom) {
  using Way = Ideal::Way;
  for (const Way way : {Way::kBatch, Way::kAnnotates, Way::kWaits, Way::kPhases}) {
    SCOPED_TRACE(static_cast<int>(way));
    constexpr std::size_t kBlocks = 20;
    std::vector<Ideal::Seen> seen;
    ideal(way, 100, static_cast<int>(kBlocks), 0, &seen);
    std::map<std::uint64_t, int> read, written;
    std::map<int, int> of_core;
    for (const Ideal::Seen& s : seen) {
      EXPECT_EQ(s.bytes, 128);
      EXPECT_EQ(s.address % 128, 0);
      ++(s.write ? written : read)[s.address];
      ++of_core[s.core];
    }
    EXPECT_EQ(read.size(), kBlocks);
    EXPECT_EQ(written.size(), kBlocks);
    EXPECT_EQ(seen.size(), 2 * kBlocks);
    // Blocks go to 13 cores in turn.
    ASSERT_EQ(of_core.size(), 13);
    EXPECT_EQ(of_core.begin()->first, 0);
    EXPECT_EQ(of_core.rbegin()->first, 12);
    for (const auto& [core, requests] : of_core) EXPECT_EQ(requests, core < 7 ? 4 : 2) << core;
  }
}

// Our caches answer by every protocol: of ties and turns alone do plain payloads take other cycles.
TEST(BehindCores, OurCachesByPlainPayloads) {
  const std::string program = tests::source_path("docs/timeline_program.json").string();
  const auto cycles = [&](Protocol protocol) {
    const sim::SimulationContext context;
    Gpu gpu("gpu", "v100", program, behind_cores(protocol));
    CacheTarget caches("caches", "v100");
    gpu.memory.bind(caches.socket);
    return static_cast<double>(simulate(gpu).cycles);
  };
  const double batches = cycles(Protocol::kBatch);
  EXPECT_NEAR(cycles(Protocol::kApproximate), batches, 0.01 * batches);
  EXPECT_EQ(cycles(Protocol::kApproximate), cycles(Protocol::kApproximate));
}

// A GPU, a chip's caches and a memory of a user's, all by any protocol.
TEST(BehindCores, OurCachesBeforeAnIdealMemory) {
  using Way = Ideal::Way;
  const std::string program = tests::source_path("docs/timeline_program.json").string();
  const auto cycles = [&](Protocol protocol, Way way, const sc_time& lookahead) {
    const sim::SimulationContext context;
    Gpu gpu("gpu", "v100", program, behind_cores(protocol, {}, lookahead));
    CacheTarget caches("caches", "v100", {}, Ideal::protocol_of(way));
    Ideal memory("memory", way, sc_time(100, SC_NS));
    gpu.memory.bind(caches.socket);
    caches.dram.bind(memory.socket);
    return static_cast<double>(simulate(gpu).cycles);
  };
  const double batches = cycles(Protocol::kBatch, Way::kBatch, {});
  for (const Way way : {Way::kAnnotates, Way::kWaits, Way::kPhases}) {
    SCOPED_TRACE(static_cast<int>(way));
    EXPECT_NEAR(cycles(Protocol::kBatch, way, sc_time(20, SC_NS)), batches, 0.01 * batches);
    EXPECT_NEAR(cycles(Protocol::kApproximate, way, {}), batches, 0.01 * batches);
    EXPECT_NEAR(cycles(Protocol::kLoose, way, {}), batches, 0.02 * batches);
  }
}

// --- mistakes

TEST(BehindCores, MistakesAreNamed) {
#ifdef __SANITIZE_ADDRESS__
  GTEST_SKIP() << "AddressSanitizer does not know the stacks of SystemC's threads, which an exception leaves";
#endif
  using Way = Ideal::Way;
  const auto why_unsupported = [](Protocol protocol, Way way, int lookahead) -> std::string {
    try {
      const sim::SimulationContext context;
      Gpu gpu("gpu", ideal_chip(100), copies(1), behind_cores(protocol, {}, sc_time(lookahead, SC_NS)));
      Ideal memory("memory", way, sc_time(100, SC_NS));
      gpu.memory.bind(memory.socket);
      simulate(gpu);
    } catch (const std::runtime_error& e) {
      return e.what();
    }
    return "is not refused";
  };
  for (const Protocol p : {Protocol::kLoose, Protocol::kBatch}) {
    EXPECT_THAT(why_unsupported(p, Way::kNever, 0),
                AllOf(HasSubstr("gpu.memory: the request of address "), HasSubstr("is not answered within")));
    EXPECT_THAT(why_unsupported(p, Way::kRefuses, 0),
                HasSubstr("gpu.memory: the memory answers TLM_ADDRESS_ERROR_RESPONSE to "));
  }
  EXPECT_THAT(why_unsupported(Protocol::kApproximate, Way::kTwice, 0),
              HasSubstr("gpu.memory: answers request 0 twice"));
  EXPECT_THAT(why_unsupported(Protocol::kBatch, Way::kTwice, 0), HasSubstr("gpu.memory: answers request 0 twice"));
  EXPECT_THAT(why_unsupported(Protocol::kBatch, Way::kBatch, 5000),
              AllOf(HasSubstr("gpu.memory: answers in the past: request 0, which arrived at clock "),
                    HasSubstr("GpuOptions::lookahead")));
  EXPECT_EQ(why_unsupported(Protocol::kBatch, Way::kBatch, 100), "is not refused");
}

TEST(BehindCores, NamesItsSocketWhereThatIsUnbound) {
  const sim::SimulationContext context;
  Gpu gpu("gpu", "k80", copies(1), behind_cores(Protocol::kLoose));
  EXPECT_THAT(tests::elaboration_error(),
              HasSubstr("socket 'gpu.memory' is not bound: a Gpu wants caches or a memory behind its cores"));
}

TEST(BehindCores, WantsEveryStep) {
  const sim::SimulationContext context;
  EXPECT_THAT([] { Gpu gpu("gpu", "k80", copies(1), {.below = Below::kCores}); },
              testing::ThrowsMessage<std::runtime_error>(HasSubstr("gpu: ")));
}

}  // namespace
}  // namespace tilescope::systemc
