// SPDX-License-Identifier: Apache-2.0
// Plans: what their lines mean, and every line that means nothing with its number.

#include "backends/cuda/device/plan.h"

#include <cmath>

#include <gmock/gmock.h>

#include "backends/cuda/process.h"

namespace tilescope::tests {
namespace {

using namespace cuda::device;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::Pair;

class PlanReader : public testing::Test {
 protected:
  PlanReader() { cuda::write_file(folder_.file("m.cubin"), "bytes"); }

  Plan read(const std::string& lines) {
    errors_.clear();
    return read_plan("tilescope plan 1\n" + lines, folder_.path(), errors_);
  }

  cuda::TemporaryFolder folder_;
  std::vector<std::string> errors_;
};

TEST_F(PlanReader, TakesEveryKindOfLine) {
  const Plan plan = read(
      "note chip h200\nhelpers m.cubin\nlimit 2.5\n\n# a remark\n"
      "task a conv, of two words\nnote kind conv\nremark predicted_us 12.5\nmodule m.cubin\n"
      "array A f16 100 input 7\narray C f32 50 output\narray P f32 20 between\narray N i32 64 chain 5 16\n"
      "launch compute_C 8 128 49152 A C 0.5 12u 0.1d\ncopy C A\nproduct 2 3 4 5 A A C\n"
      "convolution implicit 1 2 3 4 5 6 7 8 9 0 1 2 A P C\n"
      "check C 0.25\nexpect 3 -1.5\nexpect 49 nan\nexpect 0 -inf\ntime cold 2 20 0.5\ntask b\n");
  ASSERT_THAT(errors_, IsEmpty());
  EXPECT_THAT(plan.notes, ElementsAre(Pair("chip", "h200")));
  EXPECT_EQ(plan.helpers, folder_.file("m.cubin"));
  EXPECT_EQ(plan.limit_seconds, 2.5);
  ASSERT_EQ(plan.tasks.size(), 2U);
  const Task& t = plan.tasks.front();
  EXPECT_EQ(t.id, "a conv, of two words");
  EXPECT_THAT(t.notes, ElementsAre(Pair("kind", "conv"), Pair("predicted_us", "12.5")));
  ASSERT_EQ(t.arrays.size(), 4U);
  EXPECT_EQ(t.arrays[0].bytes(), 200U);
  EXPECT_EQ(t.arrays[0].seed, 7U);
  EXPECT_EQ(t.arrays[1].role, ArrayRole::kOutput);
  EXPECT_EQ(t.arrays[2].role, ArrayRole::kBetween);
  EXPECT_EQ(t.arrays[3].step, 5);
  EXPECT_EQ(t.arrays[3].stride, 16);
  ASSERT_EQ(t.steps.size(), 4U);
  const auto& launch = std::get<Launch>(t.steps[0]);
  EXPECT_EQ(launch.function, "compute_C");
  EXPECT_EQ(launch.blocks, 8);
  EXPECT_EQ(launch.threads, 128);
  EXPECT_EQ(launch.shared_bytes, 49152);
  EXPECT_THAT(launch.arguments, ElementsAre(Argument(std::size_t{0}), Argument(std::size_t{1}), Argument(0.5F),
                                            Argument(std::uint32_t{12}), Argument(0.1)));
  EXPECT_EQ(std::get<DeviceCopy>(t.steps[1]).to, 1U);
  EXPECT_EQ(std::get<Product>(t.steps[2]).batch, 5);
  const auto& c = std::get<Convolution>(t.steps[3]);
  EXPECT_TRUE(c.implicit);
  EXPECT_EQ(c.window_x, 7);
  EXPECT_EQ(c.stride_y, 8);
  EXPECT_EQ(c.pad_x, 1);
  EXPECT_EQ(c.groups, 2);
  ASSERT_EQ(t.checks.size(), 1U);
  EXPECT_EQ(t.checks[0].tolerance, 0.25);
  ASSERT_EQ(t.checks[0].expected.size(), 3U);
  EXPECT_EQ(t.checks[0].expected[0].value, -1.5);
  EXPECT_TRUE(std::isnan(t.checks[0].expected[1].value));
  EXPECT_EQ(t.checks[0].expected[2].value, -HUGE_VAL);
  ASSERT_TRUE(t.timing);
  EXPECT_TRUE(t.timing->cold);
  EXPECT_EQ(t.timing->repeats, 20);
  EXPECT_EQ(t.timing->seconds, 0.5);
}

TEST_F(PlanReader, TakesLoopsAndEnergy) {
  const Plan plan = read(
      "task a\nmodule m.cubin\nlaunch f 1 32 0\ntime cold 1 2 3\nloop 200 graph\nenergy 1.5\n"
      "task idle\nenergy 0.5\n");
  ASSERT_THAT(errors_, IsEmpty());
  EXPECT_EQ(plan.tasks.at(0).timing->loop, 200);
  EXPECT_TRUE(plan.tasks.at(0).timing->graph);
  EXPECT_EQ(plan.tasks.at(0).energy_seconds, 1.5);
  EXPECT_EQ(plan.tasks.at(1).energy_seconds, 0.5);
  read("task a\ntime warm 1 2 3\ntime warm 1 2 3\n");
  EXPECT_THAT(errors_, ElementsAre("line 4: a second time"));
  read("task a\narray A f32 4 output\ntime warm 1 2 3\nloop 2 graph\ncopy A A\n");
  EXPECT_THAT(errors_, ElementsAre("line 6: only launches run in a loop"));
  read(
      "task a\nloop 2 graph\ncopy A A\narray A f32 4 output\ncopy A A\ntime warm 1 2 3\nloop 0 stream\n"
      "loop 2 queue\nloop 2 graph\nenergy 0\n");
  EXPECT_THAT(errors_,
              ElementsAre("line 3: loop before time", "line 4: no array is named 'A'",
                          "line 8: expected a number of runs, got '0'", "line 9: expected stream or graph, got 'queue'",
                          "line 10: only launches run in a loop", "line 11: expected seconds, got '0'"));
}

// Repeats end by their number or in the time that is given, whichever is less.
TEST_F(PlanReader, AddsUpTheWorkOfTasks) {
  const auto amounts = [&](const std::string& more) {
    TaskAmounts out;
    add_amounts(read("task a\n" + more).tasks.at(0), out);
    return out;
  };
  EXPECT_EQ(amounts("").seconds, 0);
  EXPECT_NEAR(amounts("remark predicted_us 1000\ntime warm 3 50 1\n").seconds, 0.054, 1e-9);
  EXPECT_NEAR(amounts("remark predicted_us 1000\ntime warm 3 5000 1\n").seconds, 1.004, 1e-9);
  EXPECT_NEAR(amounts("energy 2\n").seconds, 2, 1e-9);
  const TaskAmounts a = amounts(
      "array A f32 10 input 1\narray C f32 6 output\nproduct 1 1 1 1 A A C\n"
      "check C 0\nexpect 0 1\nexpect 5 1\nremark predicted_us 1e6\n");
  EXPECT_EQ(a.bytes, 64);
  EXPECT_EQ(a.samples, 2);
  EXPECT_EQ(a.library_calls, 1);
  EXPECT_NEAR(a.seconds, 2, 1e-9);
}

TEST_F(PlanReader, TakesTensorMaps) {
  const Plan plan = read(
      "task x\nmodule m.cubin\narray A tf32 4096 input 1\narray B i8 100 input 2\n"
      "launch f 1 32 0 B A:128:2,2048,1:32,64,16:64,1,32 B:32:100,1,32 0.5\n");
  ASSERT_THAT(errors_, IsEmpty());
  const cuda::TensorMap a{0, base::Dtype::kTf32, {{2, 2048, 1}, {32, 64, 16}, {64, 1, 32}}, 128};
  const cuda::TensorMap b{1, base::Dtype::kI8, {{100, 1, 32}}, 32};
  EXPECT_THAT(std::get<Launch>(plan.tasks.at(0).steps.at(0)).arguments,
              ElementsAre(Argument(std::size_t{1}), Argument(a), Argument(b), Argument(0.5F)));
}

TEST_F(PlanReader, TakesNoTensorMapBeyondItsArray) {
  const std::string head = "task x\nmodule m.cubin\narray A f16 4096 input 1\nlaunch f 1 32 0 ";
  for (const char* within : {"A:128:64,64,8:64,1,64", "A:128:2,4032,1:64,1,64", "A:128:1,8192,1:4096,1,64"}) {
    read(head + within);
    EXPECT_THAT(errors_, IsEmpty()) << within;
  }
  for (const char* beyond : {"A:128:65,64,8:64,1,64", "A:128:64,64,8:65,1,64", "A:128:4097,1,64",
                             "A:128:1099511627776,1099511627776,1:1099511627776,1099511627776,1:1,1,64"}) {
    read(head + beyond);
    EXPECT_THAT(errors_, ElementsAre("line 5: a tensor map goes beyond the array 'A'")) << beyond;
  }
}

TEST_F(PlanReader, ReportsBadTensorMapsWithTheirLines) {
  std::string lines = "task x\nmodule m.cubin\narray A f16 4096 input 1\n";
  for (const char* map : {"B:128:64,1,64", ":128:64,1,64", "1:128:64,1,64", "A:", "A:48:64,1,64", "A:0128:64,1,64",
                          "A:128", "A:128:", "A:128:64,1", "A:128:64,1,64,1", "A:128:64,1,64:", "A:128:0,1,64",
                          "A:128:64,x,64", "A:128:64,1,-1", "A:128:64,1,4294967296", "A:128:32,2,64"})
    lines += std::string("launch f 1 32 0 A ") + map + "\n";
  read(lines);
  const std::string rows = "expected rows of 0, 32, 64 or 128 bytes, got ", three = "expected EXTENT,STRIDE,BOX, got ";
  EXPECT_THAT(
      errors_,
      ElementsAre("line 5: no array is named 'B'", "line 6: no array is named ''", "line 7: no array is named '1'",
                  "line 8: " + rows + "''", "line 9: " + rows + "'48'", "line 10: " + rows + "'0128'",
                  "line 11: a tensor map of 'A' needs dimensions", "line 12: " + three + "''",
                  "line 13: " + three + "'64,1'", "line 14: " + three + "'64,1,64,1'", "line 15: " + three + "''",
                  "line 16: expected an extent, got '0'", "line 17: expected a stride, got 'x'",
                  "line 18: expected a box's extent, got '-1'", "line 19: expected a box's extent, got '4294967296'",
                  "line 20: expected a last stride of 1, got '2'"));
}

// Rows that were kept are found again: what a task is called by is what it was before there were tensor maps.
TEST_F(PlanReader, KeepsTheKeysOfPlansWithoutTensorMaps) {
  const std::string head = "note chip h200\ntask x\nmodule m.cubin\narray A f32 4 input 1\nlaunch f 1 32 0 A";
  EXPECT_EQ(read(head + " 0.5\n").tasks.at(0).key, "ea2dacad87feeebc");
  EXPECT_NE(read(head + " A:32:4,1,8\n").tasks.at(0).key, read(head + " A:64:4,1,8\n").tasks.at(0).key);
}

// Two rows are of one measurement where all that was asked is the same, the kernel's bytes too, whatever was predicted.
TEST_F(PlanReader, NamesTasksByAllThatTheySay) {
  const std::string task = "module m.cubin\narray A f32 4 input 1\nlaunch f 1 32 0 A\n";
  const Plan a = read("task x\n" + task + "task x\n" + task + "time warm 1 2 3\n");
  EXPECT_NE(a.tasks[0].key, a.tasks[1].key);
  EXPECT_EQ(a.tasks[0].key, read("task x\n" + task).tasks[0].key);
  EXPECT_EQ(a.tasks[0].key, read("remark command c\ntask x\nremark predicted_us 2\n" + task).tasks[0].key);
  EXPECT_NE(a.tasks[0].key, read("task x\nnote program p\n" + task).tasks[0].key);
  const Plan of_a_chip = read("note chip h200\ntask x\n" + task + "task x\n" + task);
  EXPECT_NE(a.tasks[0].key, of_a_chip.tasks[0].key);
  EXPECT_EQ(of_a_chip.tasks[0].key, of_a_chip.tasks[1].key) << "the head is of every task";
  cuda::write_file(folder_.file("m.cubin"), "others");
  EXPECT_NE(a.tasks[0].key, read("task x\n" + task).tasks[0].key);
}

TEST_F(PlanReader, ReportsEveryBadLineWithItsNumber) {
  read(
      "speed 3\nlimit none\ntask\ntask t\narray A f33 4 output\narray A f32 0 output\narray A f32 4 maybe\n"
      "array A f32 4 output\narray A f32 4 output\nlaunch f 1 1 0 A\nmodule none.cubin\ncheck B 0\nexpect 0 1\n"
      "check A -1\ncheck A 0\nexpect 4 1\nexpect 3 one\ntime hot 1 1 1\ntime cold 1 0 1\nproduct 1 1 1 1 A A\n"
      "convolution some 1\nwhat\ntime cold 1 1 1 1\narray N f32 4 chain 1 1\nmodule m.cubin\nlaunch f 1 1 0 -x\n"
      "launch f 0 1 0\nnote k\n");
  EXPECT_THAT(
      errors_,
      ElementsAre("line 2: unknown word 'speed' before the first task", "line 3: expected seconds, got 'none'",
                  "line 4: a task needs an id", "line 6: expected a dtype, got 'f33'",
                  "line 7: expected a number of elements, got '0'",
                  "line 8: expected input, output, between or chain, got 'maybe'", "line 10: a second array 'A'",
                  "line 11: a launch before its module", "line 12: " + folder_.path() + "/none.cubin cannot be read",
                  "line 13: no array is named 'B'", "line 14: expect before check",
                  "line 15: expected a tolerance, got '-1'", "line 17: expected an element of the array, got '4'",
                  "line 18: expected a value, got 'one'", "line 19: expected cold or warm, got 'hot'",
                  "line 20: expected a number of repeats, got '0'", "line 21: no array is named ''",
                  "line 22: expected any or implicit, got 'some'", "line 23: unknown word 'what' in a task",
                  "line 24: '1' is too much for time", "line 25: a chain is of i32, and no longer than these count",
                  "line 27: expected a number, got '-x'", "line 28: expected a number of blocks, got '0'",
                  "line 29: a note or remark needs a key and words"));
}

TEST_F(PlanReader, ReadsBytesOfFilesAlone) {
  cuda::write_file(folder_.file("empty"), "");
  EXPECT_EQ(bytes_of(folder_.file("empty")), "");
  EXPECT_EQ(bytes_of(folder_.file("m.cubin")), "bytes");
  EXPECT_EQ(bytes_of(folder_.path()), std::nullopt) << "a folder";
  EXPECT_EQ(bytes_of(folder_.file("none")), std::nullopt);
}

TEST_F(PlanReader, WantsItsFirstLine) {
  for (const char* text : {"", "\n# nothing\n", "task t\nwhat\n"}) {
    errors_.clear();
    read_plan(text, folder_.path(), errors_);
    EXPECT_THAT(errors_, ElementsAre("line 1: expected 'tilescope plan 1'")) << text;
  }
}

}  // namespace
}  // namespace tilescope::tests
