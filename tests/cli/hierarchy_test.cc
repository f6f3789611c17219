// SPDX-License-Identifier: Apache-2.0
// Chips with levels that the devices of today lack: every command names them, and refuses what nothing uses yet.

#include <gmock/gmock.h>

#include "tests/cli/run_cli.h"
#include "tests/support/paths.h"

namespace tilescope::tests {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::IsSupersetOf;

class Hierarchy : public Cli {
 protected:
  static std::string chip(const std::string& name) {
    return source_path("tests/support/chips/" + name + ".yaml").string();
  }
  static std::vector<std::string> of_product(const std::string& verb, const std::string& arch) {
    return {verb, "--arch", arch, "--op", "C[m,n] +=! A[m,k] * B[k,n]", "--size", "m=512,n=512,k=256"};
  }
  static std::vector<std::string> with(std::vector<std::string> args, const std::vector<std::string>& more) {
    args.insert(args.end(), more.begin(), more.end());
    return args;
  }
};

TEST_F(Hierarchy, EveryCommandNamesEveryLevel) {
  for (const char* name : {"mi210_l3", "mi210_l3_after"}) {
    EXPECT_EQ(run({"arch", "check", chip(name)}).status, 0);
    const Json compiled = json(with(of_product("compile", chip(name)), {"--top", "1"}));
    const Json& program = compiled.at("operators").at(0).at("programs").at(0);
    EXPECT_THAT(keys_of(program.at("terms")), IsSupersetOf({"smem_us", "l1_us", "l2_us", "l3_us", "dram_us"}));
    EXPECT_THAT(keys_of(program.at("levels")), testing::ElementsAre("dram", "l3", "l2", "l1", "smem"));
    const CliResult table = run(with(of_product("compile", chip(name)), {"--top", "1"}));
    EXPECT_THAT(table.out, HasSubstr("l2"));
    EXPECT_THAT(table.out, HasSubstr("l3"));
    const Json simulated = json(of_product("simulate", chip(name)));
    const Json& row = simulated.at("operators").at(0);
    EXPECT_THAT(keys_of(row.at("stalls")), IsSupersetOf({"l1_cycles", "l2_cycles", "l3_cycles", "dram_cycles"}));
    EXPECT_THAT(keys_of(row.at("levels")), testing::ElementsAre("dram", "l3", "l2", "l1", "smem"));
  }
  const CliResult explained = run(with(of_product("explain", chip("mi210_l3")), {"--json"}));
  EXPECT_EQ(explained.status, 0);
  EXPECT_THAT(explained.out, HasSubstr("\"l3_us\""));
}

TEST_F(Hierarchy, ALevelThatBindsIsNamed) {
  const Json narrow =
      json(with(of_product("compile", chip("mi210_l3")), {"--top", "1", "--set", "memory.l3.width=1 B"}));
  EXPECT_EQ(narrow.at("operators").at(0).at("programs").at(0).at("bottleneck"), "l3");
}

TEST_F(Hierarchy, ChipsWithoutCachesRun) {
  for (const char* name : {"bare", "other_names"}) {
    EXPECT_EQ(run(of_product("compile", chip(name))).status, 0) << name;
    EXPECT_EQ(run(of_product("simulate", chip(name))).status, 0) << name;
  }
}

// Scope cluster is described, and refused with its line by what would have to use it.
TEST_F(Hierarchy, WhatNothingUsesIsRefusedWithItsLine) {
  const std::string file = source_path("tests/error/arch/cluster_scratchpad.yaml").string();
  const CliResult checked = run({"arch", "check", file});
  EXPECT_EQ(checked.status, 0);
  EXPECT_THAT(checked.err,
              HasSubstr(":10:18: memory.dsmem: no reader of class gpu uses a scratchpad of cluster scope"));
  for (const char* verb : {"compile", "simulate", "explain"}) {
    const CliResult r = run(of_product(verb, file));
    EXPECT_EQ(r.status, 2) << verb;
    EXPECT_THAT(r.err, HasSubstr("cluster_scratchpad.yaml:10:18: memory.dsmem: no reader of class gpu uses")) << verb;
  }
}

}  // namespace
}  // namespace tilescope::tests
