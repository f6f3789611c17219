// SPDX-License-Identifier: Apache-2.0
// Sweeps of sequences: which tensors of which listing operators share, and what belongs together.

#include <algorithm>
#include <fstream>
#include <map>
#include <string>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "experiments/store/merge.h"
#include "experiments/sweep/sweep.h"
#include "tests/support/stores.h"

namespace tilescope::experiments {
namespace {

using testing::HasSubstr;

class SequencesTest : public tests::Stores {
 protected:
  // A product and its reader, whose sizes differ by `scale`, as operators of a suite with those ids.
  static std::string two(const std::string& up, const std::string& down, const std::string& scale) {
    return fmt::format(
        "  - {{id: {0}, op: 'C[m,n] +=! A[m,k] * B[k,n]', sizes: {{m: 1024, n: 1024, k: 128 * {2}}}}}\n"
        "  - {{id: {1}, op: 'D[m,p] +=! W[n,p] * H[m,n]', sizes: {{m: 1024, n: 1024, p: 128 * {2}}},"
        " inputs: {{H: {0}}}}}\n",
        up, down, scale);
  }
  // Sweeps the workloads as a sequence; the times at the first point, by operator.
  std::map<std::string, double> times(const std::string& title, const std::string& workloads) const {
    write("sweep.yaml", fmt::format("sweep: {}\nbase: a100\naxes:\n  memory.l2.capacity: [10 MiB]\nsequence: true\n{}",
                                    title, workloads));
    const std::string name = title + ".db";
    sweep_into(name);
    std::map<std::string, double> out;
    const Store s = store(name);
    s.each_row(s.sweeps().front(), [&](const StoredPoint& p, const StoredWorkload& w, const StoredRow* r) {
      if (!p.is_base) out[w.name] = r->time_us().value();
    });
    return out;
  }
};

TEST_F(SequencesTest, IdsOfInputsAreThoseOfTheirOwnListing) {
  write("two.yaml", "variables: {scale: 1}\noperators:\n" + two("up", "down", "scale"));
  write("four.yaml", "operators:\n" + two("up", "down", "1") + two("up2", "down2", "4"));
  const auto twice = times("Twice", "workloads:\n  - {suite: two.yaml}\n  - {suite: two.yaml, size: 'scale=4'}\n");
  const auto once = times("Once", "workloads:\n  - {suite: four.yaml}\n");
  EXPECT_EQ(twice.at("up"), once.at("up"));
  EXPECT_EQ(twice.at("down"), once.at("down"));
  EXPECT_EQ(twice.at("up scale=4"), once.at("up2"));
  EXPECT_EQ(twice.at("down scale=4"), once.at("down2"));
}

// What `only` leaves out has run nowhere: its result is in no cache, and nobody else's tensor stands in for it.
TEST_F(SequencesTest, WhatIsLeftOutHasLeftNothing) {
  const std::string add = "op: 'O[i] = X[i] + 1', sizes: {i: 1048576}",
                    twice = "op: 'P[i] = Y[i] * 2', sizes: {i: 1048576}";
  write("chain.yaml", "operators:\n  - {id: norm, " + add + "}\n  - {id: act, " + twice +
                          ", inputs: {Y: norm}}\n  - {id: last, " + add + ", inputs: {X: norm}}\n");
  write("alone.yaml", "operators:\n  - {id: act, " + twice + "}\n");
  const auto whole = times("Whole", "workloads:\n  - {suite: chain.yaml}\n");
  const auto rest = times("Rest", "workloads:\n  - {suite: chain.yaml, only: [act, last]}\n");
  const auto alone = times("Alone", "workloads:\n  - {suite: alone.yaml}\n");
  EXPECT_EQ(rest.at("act"), alone.at("act"));
  EXPECT_LT(whole.at("act"), rest.at("act"));
  EXPECT_LT(rest.at("last"), alone.at("act")) << "act has read it";
}

TEST_F(SequencesTest, AnOperatorThatIsListedTwiceHasTheFilesProgramTwice) {
  write("p.jsonl", R"({"id":"one","expr":"C[m,n] +=! A[m,k] * B[k,n]","sizes":{"m":256,"n":512,"k":128},)"
                   R"("tiles":{"smem":{"m":64,"n":64,"k":8},"reg":{"m":8,"n":8}},)"
                   R"("mapping":{"m":{"threads":8,"per_thread":8},"n":{"threads":8,"per_thread":8}}})");
  const std::string op = "  - {op: 'C[m,n] +=! A[m,k] * B[k,n]', size: 'm=256,n=512,k=128', id: ";
  const auto both = times("File", "programs: {from: p.jsonl}\nworkloads:\n" + op + "x}\n" + op + "y}\n");
  EXPECT_EQ(both.size(), 2U) << "each has a time";
}

TEST_F(SequencesTest, ShardsOfOtherInputsDoNotBelongTogether) {
  const auto shard = [&](std::size_t i, const std::string& from) {
    write("suite.yaml",
          "operators:\n  - {id: a, op: 'X[i] = Z[i] * 2', sizes: {i: 4096}}\n"
          "  - {id: b, op: 'Y[i] = V[i] * 2', sizes: {i: 4096}}\n"
          "  - {id: c, op: 'P[i] = R[i] * 2', sizes: {i: 4096}, inputs: {R: " +
              from + "}}\n");
    const std::string name = fmt::format("{}{}.db", from, i);
    sweep_into(name, Shard{i, 2});
    return path(name);
  };
  write("sweep.yaml",
        "sweep: S\nbase: a100\naxes:\n  core.count: [40, 80]\nsequence: true\nworkloads:\n"
        "  - {suite: suite.yaml}\n");
  const std::string first = shard(0, "a"), other = shard(1, "b"), second = shard(1, "a");
  base::Diagnostics diags;
  EXPECT_FALSE(merge(path("o.db"), {first, other}, diags));
  EXPECT_THAT(diags.formatted_errors().at(0), HasSubstr("has other points or operators than"));
  base::Diagnostics good;
  EXPECT_TRUE(merge(path("o.db"), {first, second}, good));
}

}  // namespace
}  // namespace tilescope::experiments
