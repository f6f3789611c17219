// SPDX-License-Identifier: Apache-2.0
// Chips of GPGPU-Sim and LLMCompass. Expected figures are worked out by hand from the small files.

#include <gmock/gmock.h>

#include "arch/derive.h"
#include "arch/hierarchy.h"
#include "arch/load.h"
#include "arch/override.h"
#include "tests/unit/import/import_file.h"

namespace tilescope::tests {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::IsEmpty;

arch::ArchSpec chip_of(const importers::Imported& imported) {
  base::Diagnostics diags;
  auto a = arch::load_arch_text(imported.text, "imported", {}, diags);
  for (const std::string& line : diags.formatted_errors()) ADD_FAILURE() << line << "\n" << imported.text;
  return a ? std::move(*a) : arch::ArchSpec{};
}

const arch::ComputeSpec& unit(const arch::ArchSpec& a, std::string_view name) {
  for (const arch::ComputeSpec& c : a.compute)
    if (c.name == name) return c;
  throw std::runtime_error("no " + std::string(name));
}

std::vector<std::string> names(const std::vector<importers::UnknownKey>& keys) {
  std::vector<std::string> out;
  for (const importers::UnknownKey& k : keys) out.push_back(k.key + k.hint);
  return out;
}

TEST(Gpgpusim, BecomesAChipOfTheSameInstructionSet) {
  const importers::Imported imported = good_import("gpgpusim", text_of_format_file("little.config"));
  EXPECT_THAT(names(imported.report.unknown), IsEmpty());
  EXPECT_EQ(imported.kind, "chip");
  const arch::ArchSpec a = chip_of(imported);
  EXPECT_EQ(a.target, "sm_80");
  EXPECT_EQ(a.clock.n, 1'300'000'000);
  EXPECT_EQ(a.core.count, 80);
  EXPECT_EQ(a.core.max_threads, 1536);
  EXPECT_EQ(a.core.max_blocks, 24);
  EXPECT_NEAR(a.launch_overhead.v, 3.0, 1e-9);  // 3900 cycles at 1.3 GHz
  EXPECT_EQ(unit(a, "fma.f32").per_core, 128);  // 4 units of 32 lanes, every clock
  EXPECT_EQ(unit(a, "fma.f32").latency.n, 6);
  EXPECT_EQ(unit(a, "imad.i32").per_core, 64);  // every second clock
  EXPECT_EQ(unit(a, "fma.f64").per_core, 16);   // 2 units, every fourth clock
  EXPECT_EQ(unit(a, "special.f32").latency.n, 22);
  EXPECT_EQ(unit(a, "mma.f16").per_core, 4 * 4096 / 16);
  const arch::DramLevel& dram = *arch::dram_of(a);
  EXPECT_EQ(dram.channels, 20);
  EXPECT_EQ(dram.width.n, 16);
  EXPECT_EQ(dram.queue_depth, 48);
  EXPECT_NEAR(arch::bandwidth_of(a, dram).v, 20 * 16 * 2 * 1e9, 1);
  EXPECT_EQ(dram.timing.at("rcd").n, 15);
  EXPECT_EQ(dram.timing.at("cl").n, 16);  // behind the end of the line
  EXPECT_EQ(dram.timing.at("faw").n, 16);
  EXPECT_EQ(dram.timing.at("rtw").n, 16 + 1 + 2 - 3);
  // 31 + (180 + 110) x 1300 / 1250 + 31 x 1300 / 1000
  EXPECT_EQ(dram.latency->n, 373);
  const arch::CacheLevel& l2 = *arch::device_cache_of(a);
  EXPECT_EQ(l2.capacity.n, 40 * 64 * 128 * 16);
  EXPECT_EQ(l2.slices, 40);
  EXPECT_EQ(l2.clock->n, 1'250'000'000);
  EXPECT_EQ(l2.width.n, 32);
  EXPECT_EQ(l2.latency->n, 218);  // 31 + 180 x 1300 / 1250
  const arch::CacheLevel& l1 = *arch::core_cache_of(a);
  EXPECT_EQ(l1.capacity.n, 160 * 1024);
  EXPECT_EQ(l1.mshrs, 384);
  EXPECT_EQ(arch::scratchpad_of(a)->capacity.n, 131072);
  EXPECT_EQ(a.link->width.n, 64);
}

TEST(Gpgpusim, EveryFigureThatDiffersIsTold) {
  const importers::Imported imported = good_import("gpgpusim", text_of_format_file("little.config"), "a100");
  base::Diagnostics diags;
  const auto ours = arch::load_arch("a100", {}, diags);
  ASSERT_TRUE(ours);
  const arch::ArchSpec theirs = chip_of(imported);
  std::map<std::string, const importers::Difference*> told;
  for (const importers::Difference& d : imported.differences) told[d.path] = &d;
  EXPECT_EQ(told.contains("core.count"), ours->core.count != theirs.core.count);
  EXPECT_EQ(told.contains("core.partitions"), false);  // 4 there and here
  ASSERT_TRUE(told.contains("memory.l2.slices"));
  EXPECT_EQ(base::to_json(told["memory.l2.slices"]->ours), "80");
  EXPECT_EQ(base::to_json(told["memory.l2.slices"]->imported), "40");
  // No figure that the file has in common with the device stands in the text.
  EXPECT_THAT(imported.text, testing::Not(HasSubstr("partitions")));
}

TEST(Gpgpusim, TakesWhatATraceWasRecordedWith) {
  const importers::Imported imported = good_import(
      "gpgpusim", text_of_format_file("little.config") + "-trace_opcode_latency_initiation_sp 3,1\n", "a100");
  EXPECT_EQ(unit(chip_of(imported), "fma.f32").latency.n, 3);
  bool told = false;
  for (const importers::MeaninglessKey& k : imported.report.meaningless)
    told |= k.key == "ptx_opcode_latency_fp.mad" && k.reason.find("follows from") != std::string::npos;
  EXPECT_TRUE(told);
}

// Files of older chips leave options out.
TEST(Gpgpusim, AKeyThatIsNoFigureWithoutAnotherSaysWhich) {
  const std::string text = replaced(text_of_format_file("little.config"), "-ptx_opcode_initiation_sfu 8\n", "");
  const importers::Imported imported = good_import("gpgpusim", text, "a100");
  EXPECT_THAT(names(imported.report.unknown), IsEmpty());
  std::string reason;
  for (const importers::MeaninglessKey& k : imported.report.meaningless)
    if (k.key == "gpgpu_num_sfu_units") reason = k.reason;
  EXPECT_EQ(reason, "no compute.special.f32.per_core: the file states no ptx_opcode_initiation_sfu");
}

TEST(Gpgpusim, RowsAreThoseOfTheAddressMapping) {
  const std::string mapping =
      "-gpgpu_mem_addr_mapping dramid@8;00000000.00000000.0000RRRR.RRRRRRRR.RBBBCCCB.CCCSSSSS\n";
  const std::string text = text_of_format_file("little.config") + mapping;
  EXPECT_EQ(arch::dram_of(chip_of(good_import("gpgpusim", text, "a100")))->row->n, 1 << (6 + 5));
  // A device without rows gets them, and the times of its banks mean something.
  EXPECT_EQ(arch::dram_of(chip_of(good_import("gpgpusim", text, "k80")))->timing.at("rcd").n, 15);
}

TEST(Gpgpusim, AnUnknownKeyHasItsPlace) {
  base::Diagnostics diags;
  const auto imported = import_of(
      "gpgpusim", "-gpgpu_n_clusters 4\n-gpgpu_n_cores_per_cluster 1\n -gpgpu_shmem_siz 65536\n", diags, "v100");
  ASSERT_TRUE(imported);
  EXPECT_THAT(names(imported->report.unknown),
              testing::ElementsAre("gpgpu_shmem_siz; did you mean 'gpgpu_shmem_size'?"));
  EXPECT_EQ(imported->report.unknown[0].at.line, 3);
  EXPECT_EQ(imported->report.unknown[0].at.column, 19);
}

TEST(Gpgpusim, BadValuesAreErrorsAtTheirPlaces) {
  const std::string good = text_of_format_file("little.config");
  const auto first_error = [&](const std::string& from, const std::string& to) {
    base::Diagnostics diags;
    EXPECT_FALSE(import_of("gpgpusim", replaced(good, from, to), diags, "a100")) << to;
    return diags.ok() ? std::string() : diags.formatted_errors()[0];
  };
  EXPECT_EQ(first_error("_n_clusters 40", "_n_clusters many"),
            "input:5:19: gpgpu_n_clusters: expected a number, got 'many'");
  EXPECT_THAT(first_error("_n_clusters 40", "_n_clusters 0"), HasSubstr("input:5:19: gpgpu_n_clusters: "));
  EXPECT_THAT(first_error("_n_clusters 40", "_n_clusters 0.3"), HasSubstr("input:5:19: core.count: expected a whole"));
  EXPECT_THAT(first_error("S:64:128:16", "Q:64:128:16"), HasSubstr("expected one of S, N, L, got 'Q'"));
  EXPECT_THAT(first_error("1300.0:1200.0:1250.0:1000", "1:2:3:4:5"),
              HasSubstr("input:9:22: gpgpu_clock_domains: expected core:icnt:l2:dram"));
  EXPECT_THAT(first_error("RAS=33", "RAS=oops"), HasSubstr("expected a number, got 'oops'"));
}

TEST(Gpgpusim, ATargetThatNoDeviceHasIsNoted) {
  base::Diagnostics diags;
  const std::string text = replaced(text_of_format_file("little.config"), "capability_major 8", "capability_major 6");
  const auto imported = import_of("gpgpusim", replaced(text, "capability_minor 0", "capability_minor 1"), diags);
  ASSERT_TRUE(imported);
  ASSERT_FALSE(diags.notes().empty());
  EXPECT_THAT(diags.notes()[0].text, HasSubstr("no device of ours has the instruction set sm_61"));
}

TEST(Llmcompass, BecomesAChip) {
  const importers::Imported imported = good_import("llmcompass", text_of_format_file("little.json"), "a100");
  EXPECT_THAT(names(imported.report.unknown), IsEmpty());
  const arch::ArchSpec a = chip_of(imported);
  EXPECT_EQ(a.clock.n, 1'500'000'000);
  EXPECT_EQ(a.core.count, 96);
  EXPECT_EQ(unit(a, "mma.f16").per_core, 4 * 16 * 16);
  EXPECT_EQ(unit(a, "fma.f32").per_core, 64);
  EXPECT_EQ(unit(a, "fma.f16").per_core, 4 * 32 * 4 / 2);
  const arch::DramLevel& dram = *arch::dram_of(a);
  EXPECT_EQ(dram.capacity.n, std::int64_t{48} << 30);
  EXPECT_NEAR(arch::bandwidth_of(a, dram).v, 4 * 1024 * 3e9 / 8, 1);
  const arch::CacheLevel& l2 = *arch::device_cache_of(a);
  EXPECT_EQ(l2.capacity.n, 40 << 20);
  EXPECT_NEAR(arch::bandwidth_of(a, l2).v, 5120 * 1.5e9, 1);
  EXPECT_EQ(arch::core_cache_of(a)->capacity.n, 192 * 1024);
}

TEST(Llmcompass, TheNearestIsTheOneWhoseFiguresAre) {
  const importers::Imported imported = good_import("llmcompass", text_of_format_file("little.json"));
  EXPECT_THAT((std::vector<std::string>{"a100", "a100_80gb", "a100_pcie"}), Contains(imported.base));
}

TEST(Llmcompass, BadValues) {
  base::Diagnostics diags;
  EXPECT_FALSE(import_of(
      "llmcompass", replaced(text_of_format_file("little.json"), "\"fp16\", \"mac", "\"fp17\", \"mac"), diags, "a100"));
  EXPECT_THAT(diags.formatted_errors()[0], HasSubstr("expected one of fp16, bf16, int8, got 'fp17'"));
}

// A chip with more cores than the device's die has one of its own count.
TEST(Chips, MoreCoresThanTheDieHas) {
  const importers::Imported imported =
      good_import("gpgpusim", "-gpgpu_n_clusters 200\n-gpgpu_n_cores_per_cluster 1\n", "v100");
  const arch::ArchSpec a = chip_of(imported);
  EXPECT_EQ(a.core.count, 200);
  EXPECT_EQ(a.die->cores, 210);  // 84 / 80 of them
}

}  // namespace
}  // namespace tilescope::tests
