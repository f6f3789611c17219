// SPDX-License-Identifier: Apache-2.0
// Counters of suites: emitted text, interpreter and simulator agree, and move with the chip as arithmetic says.

#include <gtest/gtest.h>

#include "tests/cli/run_cli.h"

namespace tilescope::tests {
namespace {

class Counters : public Cli {
 protected:
  Json verified(const Args& more) const { return json_of_noted(with({"verify", "--arch", "v100"}, more)); }
  static void expect_all(const Json& document, int n) {
    const Json& s = document.at("summary");
    EXPECT_EQ(s.at("rows"), n);
    EXPECT_EQ(s.at("correct"), n);
    EXPECT_EQ(s.at("counters_ok"), n);
    EXPECT_EQ(s.at("failed"), 0);
  }
};

TEST_F(Counters, OfEveryRollerOperatorAgree) { expect_all(verified({"--suite", "roller", "--scale", "small"}), 119); }

TEST_F(Counters, OfEveryExampleAgree) {
  expect_all(verified({"--suite", "examples", "--scale", "small"}), 11);
  expect_all(verified({"--suite", "examples", "--scale", "small", "--dtype", "f16"}), 11);
  expect_all(verified({"--op", kMatmul, "--size", "m=33,n=35,k=37", "--dtype", "i8"}), 1);
}

// One program on chips that differ in one number. Every access of it is four bytes wide and no two lanes of a warp ask
// for one word, so that a warp's 128 B take as many passes and sectors as they fill.
class Moved : public Counters {
 protected:
  Json totals(const Args& sets) {
    const std::string program = write("p.json", R"({"arch":"v100","nodes":[{"expr":"O[i,j] +=! I[i,j,k]",
      "sizes":{"i":4,"j":64,"k":2},"dtype":"f32","tiles":{"smem":{"i":1,"j":32,"k":1},"reg":{"i":1,"j":1}},
      "mapping":{"i":{"threads":1},"j":{"threads":32}},"cached":{"I":"smem"},"vector":{"I":1,"O":1}}],"edges":[]})");
    const Json row = verified(with({"--program", program}, sets)).at("rows").at(0);
    EXPECT_EQ(row.at("counters_ok"), true);
    EXPECT_EQ(row.at("correct"), true);
    return row.at("simulator");
  }
};

TEST_F(Moved, FewerBanksTakeMorePasses) {
  const double passes = totals({}).at("bank_passes");
  EXPECT_EQ(passes, 4 * 2 * 2 * 2);  // 8 blocks, 2 steps, a write and a read of one warp each
  EXPECT_EQ(totals({"--set", "memory.smem.banks=8"}).at("bank_passes"), passes * 4);
  EXPECT_EQ(totals({"--set", "memory.smem.banks=16"}).at("bank_passes"), passes * 2);
  EXPECT_EQ(totals({"--set", "memory.smem.banks=64"}).at("bank_passes"), passes);
}

TEST_F(Moved, WiderSectorsAreFewer) {
  // Loads are two elements apart, 256 B a warp; stores side by side, 128 B: 8 and 4 sectors of 32 B.
  EXPECT_EQ(totals({}).at("sectors"), 8 * 2 * 8 + 8 * 4);
  EXPECT_EQ(totals({"--set", "memory.l2.sector=64 B"}).at("sectors"), (8 * 2 * 8 + 8 * 4) / 2);
  EXPECT_EQ(totals({"--set", "memory.l2.sector=128 B"}).at("sectors"), (8 * 2 * 8 + 8 * 4) / 4);
}

// The model counts a block's first accesses and multiplies; a block of less than a warp makes more of them.
TEST_F(Counters, OfCopiesInTurnAndInChunksAgree) {
  for (const char* copy : {"striped", "blocked"})
    for (const int threads : {16, 64}) {
      const int across = threads / 8;
      const std::string program =
          write("p.json", R"({"arch":"v100","nodes":[{"expr":"C[m,n] +=! A[m,k] * B[k,n]",
            "sizes":{"m":64,"n":64,"k":32},"tiles":{"smem":{"m":32,"n":32,"k":8}},
            "mapping":{"m":{"vthread":)" +
                              std::to_string(32 / across) + R"(,"threads":)" + std::to_string(across) +
                              R"(},"n":{"vthread":4,"threads":8}},"copy":{"A":")" + copy + R"(","B":")" + copy +
                              R"("},"vector":{"A":1,"B":1,"C":1}}],"edges":[]})");
      const Json row = verified({"--program", program}).at("rows").at(0);
      EXPECT_EQ(row.at("correct"), true);
      EXPECT_EQ(row.at("counters_ok"), true);
      EXPECT_EQ(row.at("model").at("bank_passes"), row.at("simulator").at("bank_passes")) << threads << " " << copy;
    }
}

// Of whole tiles the model counts what warps read together, and store, as the simulator does.
TEST_F(Counters, OfMatrixInstructionsAgreeWithTheModelsToo) {
  for (const char* dtype : {"tf32", "f16", "bf16", "i8"})
    for (const char* op : {"C[m,n] +=! A[m,k] * B[k,n]", "C[m,n] +=! A[m,k] * B[n,k]", "C[m,n] +=! A[k,m] * B[k,n]"}) {
      const Json row =
          json_of_noted({"verify", "--arch", "a100", "--op", op, "--size", "m=128,n=128,k=128", "--dtype", dtype})
              .at("rows")
              .at(0);
      EXPECT_EQ(row.at("correct"), true) << dtype << ' ' << op;
      EXPECT_EQ(row.at("counters_ok"), true) << dtype << ' ' << op;
      for (const char* count : {"bank_passes", "sectors"})
        EXPECT_EQ(row.at("model").at(count), row.at("simulator").at(count)) << dtype << ' ' << op << ' ' << count;
    }
}

// Of 32 lanes with copies, of 64 and of 16.
TEST_F(Counters, OfOtherMatrixInstructionsAgreeWithTheModelsToo) {
  for (const char* arch : {"v100", "mi210", "tilescope_two"})
    for (const char* op : {"C[m,n] +=! A[m,k] * B[k,n]", "C[m,n] +=! A[m,k] * B[n,k]"}) {
      const Json row =
          json_of_noted({"verify", "--arch", arch, "--op", op, "--size", "m=256,n=256,k=256", "--dtype", "f16"})
              .at("rows")
              .at(0);
      EXPECT_EQ(row.at("correct"), true) << arch << ' ' << op;
      EXPECT_EQ(row.at("counters_ok"), true) << arch << ' ' << op;
      for (const char* count : {"bank_passes", "sectors"})
        EXPECT_EQ(row.at("model").at(count), row.at("simulator").at(count)) << arch << ' ' << op << ' ' << count;
    }
}

}  // namespace
}  // namespace tilescope::tests
