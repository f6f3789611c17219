// SPDX-License-Identifier: Apache-2.0
// Every level of a chip has a role, whatever it is called; files that extend others add levels between theirs.

#include "arch/hierarchy.h"

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/document.h"
#include "tests/support/paths.h"
#include "tests/unit/arch/loading.h"

namespace tilescope::tests {
namespace {

using namespace arch;
using testing::ElementsAre;
using testing::IsEmpty;

std::string path_of(const std::string& name) { return source_path("tests/support/chips/" + name + ".yaml").string(); }

std::vector<std::string> names_of(const ArchSpec& chip) {
  std::vector<std::string> names;
  for (const Level& l : chip.memory) names.push_back(spec_of(l).name);
  return names;
}

TEST(Hierarchy, LevelsHaveRolesByWhatTheyAre) {
  const ArchSpec chip = chip_of(path_of("other_names"));
  const Hierarchy h = hierarchy_of(chip);
  EXPECT_EQ(h.registers->name, "vgpr");
  EXPECT_EQ(h.scratchpad->name, "lds");
  EXPECT_EQ(h.core_cache->name, "vl1d");
  ASSERT_EQ(h.device_caches.size(), 2u);
  EXPECT_EQ(h.device_caches[0]->name, "gl2");
  EXPECT_EQ(h.device_caches[1]->name, "mall");
  EXPECT_EQ(h.dram->name, "hbm");
  EXPECT_EQ(device_cache_of(chip), h.device_caches[0]) << "the one that cores reach first";
  EXPECT_THAT(levels_without_role(chip), IsEmpty());
}

TEST(Hierarchy, LevelsMayBeLacking) {
  const ArchSpec chip = chip_of(path_of("bare"));
  const Hierarchy h = hierarchy_of(chip);
  EXPECT_EQ(h.core_cache, nullptr);
  EXPECT_TRUE(h.device_caches.empty());
  EXPECT_EQ(h.scratchpad->name, "smem");
}

// The same chip, whole and said by what it adds.
TEST(NewLevels, StandWhereTheirNeighboursSay) {
  const std::string whole = base::to_json(to_document(chip_of(path_of("mi210_l3"))));
  EXPECT_EQ(base::to_json(to_document(chip_of(path_of("mi210_l3_after")))), whole);
  EXPECT_EQ(base::to_json(to_document(chip_of(path_of("mi210_l3_before")))), whole);
}

TEST(NewLevels, MayWaitForEachOther) {
  const LoadedChip loaded = load_text(
      "extends: mi210\nname: mine\nmemory:\n"
      "  l4: {before: l3, scope: device, kind: cache, capacity: 1 MiB, width: 64 B, line: 128 B, sector: 64 B,"
      " latency: 300 cycles}\n"
      "  l3: {after: dram, scope: device, kind: cache, capacity: 1 MiB, width: 64 B, line: 128 B, sector: 64 B,"
      " latency: 300 cycles}\n"
      "  l2: {ways: 8}\n");
  ASSERT_TRUE(loaded.chip) << loaded.errors.front();
  EXPECT_THAT(names_of(*loaded.chip), ElementsAre("dram", "l4", "l3", "l2", "l1", "smem", "reg"));
}

TEST(NewLevels, AreNotMadeByOverrides) {
  EXPECT_THAT(load("mi210", {{"memory.l2.after", "l1"}}).errors,
              ElementsAre(testing::HasSubstr("memory.l2 has no key 'after'")));
}

// A level that nothing uses is a mistake of a chip that is to run programs, and a note of one that is looked at.
TEST(Hierarchy, ALevelOfAClusterIsDescribedAndNotUsed) {
  const std::string file = source_path("tests/error/arch/cluster_scratchpad.yaml").string();
  const auto loaded_for = [&](Use use) {
    base::Diagnostics diags;
    auto chip = load_arch(file, {}, diags, use);
    return answer_of(std::move(chip), diags);
  };
  const LoadedChip looked_at = loaded_for(Use::kLook);
  ASSERT_TRUE(looked_at.chip);
  EXPECT_THAT(looked_at.notes,
              ElementsAre(testing::HasSubstr(
                  ":10:18: memory.dsmem: no reader of class gpu uses a scratchpad of cluster scope yet")));
  EXPECT_EQ(scratchpad_of(*looked_at.chip)->name, "smem");
  const LoadedChip to_run = loaded_for(Use::kRun);
  EXPECT_FALSE(to_run.chip);
  EXPECT_THAT(to_run.errors,
              ElementsAre(testing::HasSubstr("no reader of class gpu uses a scratchpad of cluster scope")));
}

}  // namespace
}  // namespace tilescope::tests
