// SPDX-License-Identifier: Apache-2.0
#include "import/recognize.h"

#include <gmock/gmock.h>

#include "arch/load.h"
#include "tests/unit/import/import_file.h"

namespace tilescope::tests {
namespace {

TEST(Recognize, EveryFileIsOfItsFormat) {
  for (const FormatFile& f : format_files()) {
    const auto kind = importers::recognize(text_of_format_file(f.file));
    ASSERT_TRUE(kind) << f.file;
    EXPECT_EQ(kind->format, f.format) << f.file;
  }
}

TEST(Recognize, OneToolsFileForAnother) {
  for (const FormatFile& f : format_files())
    for (const importers::Format& other : importers::formats()) {
      if (other.name == f.format) continue;
      base::Diagnostics diags;
      EXPECT_FALSE(import_of(std::string(other.name), text_of_format_file(f.file), diags));
      ASSERT_EQ(diags.errors().size(), 1) << f.file << " as " << other.name;
      EXPECT_THAT(diags.formatted_errors()[0], testing::StartsWith("input: this is a")) << other.name;
      EXPECT_THAT(diags.formatted_errors()[0], testing::EndsWith("; its format is " + f.format)) << other.name;
    }
}

TEST(Recognize, FilesThatNoReaderTakes) {
  base::Diagnostics diags;
  const auto refuse = [&](const std::string& format, const std::string& text) { import_of(format, text, diags); };
  refuse("zigzag", text_of_format_file("zigzag_mapping.yaml"));
  refuse("timeloop", "architecture:\n  version: 0.4\n  nodes:\n  - !Container\n    name: x\n");
  refuse("scalesim", "[general]\nrun_name = x\n[architecture_presets]\nArrayHeight: 32\n");
  refuse("gpgpusim", text_of_file(source_path("arch/devices/v100.yaml")));
  refuse("zigzag", text_of_file(source_path("expr/suites/fused.yaml")));
  refuse("dramsim3", text_of_file(source_path("arch/devices/memory/ddr4_8gb_x8_3200.yaml")));
  EXPECT_THAT(diags.sentences(), testing::ElementsAre("this is a ZigZag mapping, not a ZigZag workload",
                                                      "this is a Timeloop architecture, not a Timeloop problem",
                                                      "this is a SCALE-Sim architecture, not a SCALE-Sim topology",
                                                      "this is a chip of Tilescope, not a GPGPU-Sim configuration",
                                                      "this is a suite of Tilescope, not a ZigZag workload",
                                                      "this is a memory of Tilescope, not a DRAMsim3 configuration"));
}

// Several formats would take the marks for values.
TEST(Recognize, AConflictOfGitHasItsLine) {
  for (const FormatFile& f : format_files()) {
    const std::string text = text_of_format_file(f.file);
    const std::size_t second = text.find('\n') + 1;
    base::Diagnostics diags;
    EXPECT_FALSE(import_of(f.format, text.substr(0, second) + "<<<<<<< HEAD\n" + text.substr(second), diags)) << f.file;
    EXPECT_EQ(diags.formatted_errors(),
              std::vector<std::string>{"input:2:1: '<<<<<<< HEAD' marks a conflict of git; keep one of its sides and "
                                       "remove the marks"});
  }
}

// Files that stand beside those that readers take.
TEST(Recognize, TheToolsOtherFiles) {
  base::Diagnostics diags;
  const auto refuse = [&](const std::string& format, const std::string& text) { import_of(format, text, diags); };
  refuse("zigzag", "- name: default\n  core_allocation: [1]\n  memory_operand_links: {O: O, W: I2, I: I1}\n");
  refuse("zigzag", "- name: default\n  spatial_mapping_hint: {D1: [K], D2: [C, FX]}\n");
  refuse("scalesim", "Layer name, IFMAP Height Intraline Factor, IFMAP Width Intraline Factor,\nc1,4,7,\n");
  refuse("scalesim", "LayerID, Total Cycles, Compute Util %,\n0, 61, 13.3,\n");
  refuse("gpgpusim", "-trace_opcode_latency_initiation_int 4,2\n-specialized_unit_1 1,4,4,4,4,BRA\n");
  refuse("gpgpusim", "topology = fly;\nrouting_function = dest_tag;\nnum_vcs = 2;\n");
  refuse("ramulator2", "standard = DDR4\nchannels = 1\nspeed = DDR4_2400R\norg = DDR4_4Gb_x8\n");
  EXPECT_THAT(diags.sentences(),
              testing::ElementsAre("this is a ZigZag mapping, not a ZigZag workload",
                                   "this is a ZigZag mapping, not a ZigZag workload",
                                   "this is a SCALE-Sim layout, not a SCALE-Sim topology",
                                   "this is a SCALE-Sim report, not a SCALE-Sim topology",
                                   "this is a trace.config of Accel-Sim, which goes behind its gpgpusim.config, not a "
                                   "GPGPU-Sim configuration",
                                   "this is a network of BookSim, not a GPGPU-Sim configuration",
                                   "this is a Ramulator 1 configuration, not a Ramulator 2 configuration"));
}

TEST(Recognize, AnUnknownFormat) {
  base::Diagnostics diags;
  EXPECT_FALSE(import_of("timelop", "", diags));
  EXPECT_THAT(diags.formatted_errors()[0], testing::EndsWith("got 'timelop'; did you mean 'timeloop'?"));
}

}  // namespace
}  // namespace tilescope::tests
