// SPDX-License-Identifier: Apache-2.0
// Memories in shared libraries: what the caches ask of them and what mistakes of theirs are called, at the key that
// names them.

#include <filesystem>
#include <fstream>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/gpu/detail/machine.h"
#include "tests/support/paths.h"
#include "tests/unit/sim/kernels.h"

namespace tilescope::sim {
namespace {

using namespace tests;
using testing::HasSubstr;

std::string plugin(const std::string& kind) { return std::string(TILESCOPE_DRAM_PLUGINS) + "/" + kind + ".so"; }

arch::ArchSpec v100_with(const std::string& library) { return chip("v100", {{"memory.dram.model", library}}); }

// What a simulation of a few loads is refused with.
std::string why_unsupported(const arch::ArchSpec& a) {
  try {
    simulate(chase(4, 1 << 16, 1), a, {.mode = Mode::kFull});
  } catch (const SimError& e) {
    return e.what();
  }
  return "is not refused";
}

std::int64_t cycles(const arch::ArchSpec& a, std::int64_t loads) {
  return simulate(chase(loads, 1 << 16, 1), a, {.mode = Mode::kFull}).cycles;
}

// One load after the other, each of which misses everywhere: the latency is the wires' that the file says and the
// memory's, which counts from the arrival. Our channels open a row of a bank that rests each time.
TEST(DramPlugin, AnswersInPlaceOfTheChannels) {
  const arch::ArchSpec own = chip("v100"), other = v100_with(plugin("fixed"));
  const MemorySpec m = machine_of(own).memory;
  const auto opens = static_cast<double>(conflict_clocks(m.dram, 1) - m.dram.t.rp);
  const auto per_load = [](const arch::ArchSpec& a) { return static_cast<double>(cycles(a, 40) - cycles(a, 8)) / 32; };
  const double cycles_a_clock = m.clocks.cycles_of(1_nck);
  EXPECT_NEAR(per_load(other) - per_load(own), (100 - opens) * cycles_a_clock, 2 * cycles_a_clock);
}

// It is asked for the same bytes.
TEST(DramPlugin, IsAskedForWhatTheChannelsAre) {
  const lower::Module m = stream(64, 128, 4, Stream::kCopy);
  const SimReport own = simulate(m, chip("v100"), {.mode = Mode::kFull}),
                  other = simulate(m, v100_with(plugin("fixed")), {.mode = Mode::kFull});
  EXPECT_EQ(other.levels.front().amounts.read_bytes, own.levels.front().amounts.read_bytes);
  EXPECT_GT(other.levels.front().amounts.read_bytes, 0);
  EXPECT_EQ(other.levels.front().amounts.hits, other.levels.front().amounts.transactions) << "as it says";
}

TEST(DramPlugin, IsFoundBesideTheFileThatNamesIt) {
  const std::filesystem::path folder = testing::TempDir() + "dram_plugin_test";
  std::filesystem::create_directories(folder);
  std::filesystem::copy_file(plugin("fixed"), folder / "fixed.so", std::filesystem::copy_options::overwrite_existing);
  const std::string file = (folder / "chip.yaml").string();
  std::ofstream(file) << "extends: v100\nname: mine\nmemory:\n  dram:\n    model: ./fixed.so\n";
  EXPECT_GT(cycles(chip(file), 4), 0);
  std::ofstream(file) << "extends: v100\nname: mine\nmemory:\n  dram:\n    model: other.so\n";
  EXPECT_THAT(why_unsupported(chip(file)), HasSubstr(file + ":5:12: memory.dram.model: cannot be loaded: "));
}

TEST(DramPlugin, MistakesAreNamedAtTheKey) {
  const auto says = [](const std::string& library, const std::string& what) {
    EXPECT_THAT(why_unsupported(v100_with(library)), HasSubstr("memory.dram.model: " + what)) << library;
  };
  says(source_path("README.md").string(), "cannot be loaded: ");
  says(plugin("incomplete"), "'" + plugin("incomplete") + "' lacks the symbol tilescope_dram_destroy");
  says(plugin("old"), "'" + plugin("old") + "' is of version 2 of the interface; expected 1");
  says(plugin("none"), "'" + plugin("none") + "' makes no memory: v100 has 64 channels, which are too many");
  EXPECT_THAT(why_unsupported(v100_with(plugin("none"))), testing::EndsWith("too many")) << "though it ends its line";
  says(plugin("silent"), "the request of address 0x0, which arrived at clock ");
  says(plugin("past"), "answers in the past: request 0, which arrived at clock ");
  says(plugin("early"), "answers in the past: request 0, which arrived at clock ");
  says(plugin("twice"), "answers request 0 twice");
  says(plugin("unknown"), "answers a request 1000000 that was never made");
  says(plugin("endless"), "says that it gave 3 answers where there was room for 2");
}

// Only kernels hear it.
TEST(DramPlugin, IsRefusedWhereNothingHearsIt) {
  const auto errors = [](const std::string& device) {
    base::Diagnostics diags;
    EXPECT_FALSE(arch::load_arch(device, {{"memory.dram.model", "x.so"}}, diags));
    return testing::PrintToString(diags.formatted_errors());
  };
  EXPECT_THAT(errors(source_path("arch/devices/memory/ddr4_8gb_x8_3200.yaml").string()),
              HasSubstr("memory.dram.model: nothing hears it"));
}

}  // namespace
}  // namespace tilescope::sim
