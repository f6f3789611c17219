// SPDX-License-Identifier: Apache-2.0
// The program that runs plans, on a driver without a GPU (tests/support/fake_driver): what it asks of the device and in
// which order, which wrong outputs it finds, what a kernel that fails or hangs costs, and how it goes on.

#include "tests/unit/cuda_device/worker.h"

#include <cstdlib>
#include <dlfcn.h>
#include <filesystem>

#include <gmock/gmock.h>

namespace tilescope::tests {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::ElementsAre;
using testing::EndsWith;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;

TEST_F(Worker, AsksTheDeviceInOrder) {
  const cuda::Finished done = run(task("x", "copy", "time cold 1 2 1\n"));
  ASSERT_TRUE(done.ok()) << done.output;
  const std::vector<std::string> on_poison = {"cuMemsetD8", "launch copy", "cuCtxSynchronize"};
  const std::vector<std::string> compared[] = {
      {"cuMemcpyDtoH", "cuMemcpyDtoH", "cuMemcpyDtoH", "cuMemAlloc", "cuMemcpyDtoD"},
      {"cuMemAlloc", "cuMemcpyHtoD", "launch tilescope_differ", "cuMemcpyDtoH", "cuMemFree", "cuMemFree"}};
  std::vector<std::string> expected = {"cuInit",     "cuDevicePrimaryCtxRetain", "cuCtxSetCurrent",
                                       "cuMemAlloc", "cuModuleLoadData",         "launch tilescope_fill",
                                       "cuMemAlloc", "cuModuleLoadData"};
  for (const std::vector<std::string>& calls_after : compared) {
    expected.insert(expected.end(), on_poison.begin(), on_poison.end());
    expected.insert(expected.end(), calls_after.begin(), calls_after.end());
  }
  for (const char* call : {"clocks", "cuMemAlloc", "cuMemsetD8"}) expected.emplace_back(call);  // beyond the cache
  for (int run = 0; run < 2; ++run)
    for (const char* call : {"launch copy", "cuCtxSynchronize"})
      expected.emplace_back(call);  // to warm up, and one's time
  expected.insert(expected.end(), 8, "launch tilescope_read");
  for (int repeat = 0; repeat < 2; ++repeat)
    for (const char* call : {"launch tilescope_read", "cuEventRecord", "launch copy", "cuEventRecord"})
      expected.emplace_back(call);
  for (const char* call : {"clocks", "cuCtxSynchronize", "cuModuleUnload", "cuMemFree", "cuCtxSynchronize"})
    expected.emplace_back(call);
  EXPECT_EQ(calls(), expected);
}

TEST_F(Worker, LetsWarmRepeatsFindTheirOperands) {
  ASSERT_TRUE(run(task("x", "copy", "time warm 0 2 1\n")).ok());
  std::vector<std::string> expected(8, "launch tilescope_read");
  expected.emplace_back("launch copy");
  for (int repeat = 0; repeat < 2; ++repeat)
    for (const char* call : {"cuEventRecord", "launch copy", "cuEventRecord"}) expected.emplace_back(call);
  std::vector<std::string> all = calls();
  const auto begin = std::find(all.begin(), all.end(), "launch tilescope_read");
  const auto end = std::find(begin, all.end(), "clocks");
  EXPECT_EQ(std::vector<std::string>(begin, end), expected);
}

// A launch of a tenth of a second: batches of sixteen would go far beyond the time that is given.
TEST_F(Worker, BeginsNoMoreRepeatsThanThereIsTimeFor) {
  ASSERT_TRUE(run(task("x", "copy", "time warm 0 50 0.4\n"), {"FAKE_DRIVER_LAUNCH_MS=100"}).ok());
  ASSERT_THAT(rows(), SizeIs(1));
  EXPECT_THAT(rows()[0], testing::ContainsRegex(R"("repeats":[1-3],)"));
}

TEST_F(Worker, SaysTimesClocksAndWhereTheyAreFrom) {
  const cuda::Finished done = run(task("x", "copy", "remark predicted_us 12.5\ntime warm 0 3 1\n"));
  ASSERT_TRUE(done.ok()) << done.output;
  ASSERT_THAT(rows(), SizeIs(1));
  // Events are a hundredth of a millisecond apart, a thousandth more from pair to pair.
  EXPECT_THAT(rows()[0],
              AllOf(HasSubstr(R"({"id":"x","key":")"), HasSubstr(R"("chip":"fake","predicted_us":12.5,)"),
                    HasSubstr(R"("device":"Fake 1","driver":"580.1","cuda":"13.0","values":"ok")"),
                    HasSubstr(R"("repeats":3,"l2":"warm")"),
                    HasSubstr(R"("core_mhz_before":1980,"core_mhz":1880,"memory_mhz":3201,"held":"power")")));
  EXPECT_THAT(rows()[0], testing::ContainsRegex(R"("measured_us":1[01]\.[0-9]+,"low_us":1?[09]\.)"));
  EXPECT_THAT(done.output,
              HasSubstr(R"({"device":"Fake 1","capability":"9.0","driver":"580.1","cuda":"13.0","cores":132)"));
  EXPECT_THAT(done.output, HasSubstr(rows()[0]));
}

TEST_F(Worker, FindsWrongOutputs) {
  const cuda::Finished done = run(task("right", "copy") + task("wrong", "copy_wrong") + task("part", "copy_but_last") +
                                  task("untouched", "nothing"));
  ASSERT_TRUE(done.ok()) << done.output;
  ASSERT_THAT(rows(), SizeIs(4));
  EXPECT_THAT(rows()[0], AllOf(HasSubstr(R"("values":"ok")"), Not(HasSubstr("error"))));
  EXPECT_THAT(rows()[1], AllOf(HasSubstr(R"("values":"wrong")"), HasSubstr(R"("error":"C[0] is )"),
                               HasSubstr("1 of 3 are wrong")));
  EXPECT_THAT(rows()[2], HasSubstr(R"("error":"C[63] is not written, or another time differently")"));
  EXPECT_THAT(rows()[3], HasSubstr("3 of 3 are wrong"));
}

// An integer output may hold any byte, that of the poison too.
TEST_F(Worker, FindsUntouchedIntegers) {
  const std::string head = "task x\nmodule m.cubin\narray A i8 4 input 1\narray C i8 4 output\n";
  ASSERT_TRUE(run(head + "launch nothing 1 32 0 C A\ncheck C 0\nexpect 0 -1\n").ok());
  ASSERT_THAT(rows(), SizeIs(1));
  EXPECT_THAT(rows()[0], HasSubstr("C[0] is not written"));
}

TEST_F(Worker, LosesOnlyTheRowOfAKernelThatFails) {
  const cuda::Finished done =
      run(task("a", "copy") + task("b", "fails") + task("c", "crashes") + task("d", "copy", "time warm 0 1 1\n"));
  ASSERT_TRUE(done.ok()) << done.output;
  ASSERT_THAT(rows(), SizeIs(4));
  EXPECT_THAT(rows()[0], HasSubstr(R"("values":"ok")"));
  EXPECT_THAT(rows()[1], HasSubstr(R"x("error":"cuCtxSynchronize: an illegal memory access was encountered (700)")x"));
  EXPECT_THAT(rows()[2], AllOf(HasSubstr(R"({"id":"c",)"), HasSubstr("its process ended by signal Aborted")));
  EXPECT_THAT(rows()[3], HasSubstr(R"("values":"ok","measured_us":)"));
  const std::vector<std::string> all = calls();
  EXPECT_EQ(std::count(all.begin(), all.end(), "cuInit"), 3) << "a process for each that is left";
}

TEST_F(Worker, GivesUpAKernelThatHangs) {
  const cuda::Finished done = run("limit 1\n" + task("a", "hangs") + task("b", "copy"));
  ASSERT_TRUE(done.ok()) << done.output;
  ASSERT_THAT(rows(), SizeIs(2));
  EXPECT_THAT(rows()[0], HasSubstr(R"("error":"no answer within 1 s")"));
  EXPECT_THAT(rows()[1], HasSubstr(R"("values":"ok")"));
}

TEST_F(Worker, SaysThatTheDeviceItselfDoesNotAnswer) {
  const cuda::Finished done = run("limit 1\n" + task("a", "copy"), {"FAKE_DRIVER_HANGS=1"});
  EXPECT_EQ(done.status, 1);
  EXPECT_EQ(done.output, "the device did not answer within 1 s, before the first task\n");
  EXPECT_THAT(rows(), IsEmpty());
}

// Links of a chain that is made by several threads: each two words, the one three links on.
TEST_F(Worker, MakesChains) {
  std::string chain =
      "task x\nmodule m.cubin\narray A i32 15 chain 3 2\narray C i32 15 output\n"
      "launch copy 1 32 0 C A\ncheck C 0\n";
  const std::vector<int> next = {6, 0, 8, 0, 10, 0, 12, 0, 0, 0, 2, 0, 4, 0, 0};
  for (std::size_t i = 0; i < next.size(); ++i)
    chain += "expect " + std::to_string(i) + " " + std::to_string(next[i]) + "\n";
  ASSERT_TRUE(run(chain).ok());
  ASSERT_THAT(rows(), SizeIs(1));
  EXPECT_THAT(rows()[0], HasSubstr(R"("values":"ok")"));
}

TEST_F(Worker, GoesOnWhereRowsAreThere) {
  const std::string a = task("a", "copy"), b = task("b", "copy", "time warm 0 1 1\n");
  ASSERT_TRUE(run(a).ok());
  const std::string first = cuda::file_bytes(folder_.file("rows"));
  // The last line of a run that was ended in its midst.
  cuda::write_file(folder_.file("rows"), first + R"({"id":"b","key":")");
  ASSERT_TRUE(run(a + b).ok());
  ASSERT_THAT(rows(), SizeIs(2)) << "what was cut off counts for nothing";
  EXPECT_EQ(rows()[0] + "\n", first);
  EXPECT_THAT(rows()[1], AllOf(HasSubstr(R"({"id":"b",)"), EndsWith("}")));
  EXPECT_TRUE(run(a + b).ok());
  EXPECT_THAT(calls(), Not(Contains("launch copy"))) << "nothing is left";
  // The last line may lack its end alone.
  const std::string whole = cuda::file_bytes(folder_.file("rows"));
  cuda::write_file(folder_.file("rows"), whole.substr(0, whole.size() - 1));
  ASSERT_TRUE(run(a + b).ok());
  EXPECT_EQ(rows().size(), 2U);
  EXPECT_TRUE(cuda::file_bytes(folder_.file("rows")).ends_with("}\n"));
}

TEST_F(Worker, MeasuresAgainWhatAnotherDeviceDid) {
  const std::vector<std::string> other = {"FAKE_DRIVER_NAME=Fake 2"};
  ASSERT_TRUE(run(task("a", "copy")).ok());
  ASSERT_TRUE(run(task("a", "copy"), other).ok());
  ASSERT_THAT(rows(), SizeIs(2));
  EXPECT_THAT(rows()[0], HasSubstr(R"("device":"Fake 1")"));
  EXPECT_THAT(rows()[1], HasSubstr(R"("device":"Fake 2")"));
  ASSERT_TRUE(run(task("a", "copy")).ok());
  ASSERT_TRUE(run(task("a", "copy"), other).ok());
  EXPECT_THAT(rows(), SizeIs(2)) << "each has its own";
}

// What failed may go well another time, but wrong values stay wrong. It comes last: it may take all of the time again.
TEST_F(Worker, TriesAgainWhatFailed) {
  const std::string tasks = "limit 1\n" + task("a", "hangs") + task("b", "copy_wrong") + task("c", "crashes");
  ASSERT_TRUE(run(tasks).ok());
  ASSERT_THAT(rows(), SizeIs(3)) << "once each";
  EXPECT_THAT(rows()[0], HasSubstr(R"("device":"Fake 1","error":"no answer within 1 s")"));
  ASSERT_TRUE(run(tasks + task("d", "copy")).ok());
  ASSERT_THAT(rows(), SizeIs(6));
  EXPECT_THAT(rows()[3], HasSubstr(R"({"id":"d",)"));
  EXPECT_THAT(rows()[4], HasSubstr(R"({"id":"a",)"));
  EXPECT_THAT(rows()[5], HasSubstr(R"({"id":"c",)"));
  EXPECT_THAT(run(tasks, {}, {"--check"}).output,
              HasSubstr("3 tasks, 2 left: 1024 bytes, 6 samples, 0 library calls, 0.000 s of runs\n"));
}

// Programs of one operator share their inputs; after a wrong one no later program relies on them.
TEST_F(Worker, MakesInputsOnceForTasksThatFollowEachOther) {
  ASSERT_TRUE(run(task("a", "copy") + task("b", "copy", "time warm 0 1 1\n")).ok());
  std::vector<std::string> all = calls();
  EXPECT_EQ(std::count(all.begin(), all.end(), "launch tilescope_fill"), 1);
  ASSERT_TRUE(run(task("c", "copy_wrong") + task("d", "copy", "time warm 0 2 1\n")).ok());
  all = calls();
  EXPECT_EQ(std::count(all.begin(), all.end(), "launch tilescope_fill"), 2);
  ASSERT_THAT(rows(), SizeIs(4));
  for (const int right : {0, 1, 3}) EXPECT_THAT(rows()[static_cast<std::size_t>(right)], HasSubstr(R"("values":"ok")"));
}

TEST_F(Worker, StopsInTime) {
  const cuda::Finished done = run(task("a", "copy"), {}, {"--seconds", "-1"});
  EXPECT_EQ(done.status, 3) << done.output;
  EXPECT_THAT(rows(), IsEmpty());
  for (const char* none : {"soon", "8m", ""}) {
    const cuda::Finished refused = run(task("a", "copy"), {}, {"--seconds", none});
    EXPECT_EQ(refused.status, 2) << none;
    EXPECT_THAT(refused.output, testing::StartsWith("tilescope_gpu PLAN ")) << none;
  }
}

TEST_F(Worker, RefusesWhatTheDeviceCannotHold) {
  const std::string head = "module m.cubin\narray C f32 64 output\n";
  const cuda::Finished done =
      run("task big\narray C f32 300000000 output\nmodule m.cubin\nlaunch nothing 1 32 0 C\n"
          "task threads\n" +
          head +
          "launch nothing 1 2048 0 C\n"
          "task shared\n" +
          head +
          "launch nothing 1 32 232449 C\n"
          "task most\n" +
          head +
          "launch nothing 1 32 232448 C\n"
          "task none\n" +
          head + "launch no_such 1 32 0 C\n");
  ASSERT_TRUE(done.ok()) << done.output;
  ASSERT_THAT(rows(), SizeIs(5));
  EXPECT_THAT(rows()[0], HasSubstr("the arrays take 1200000000 B; of the device's memory 1073741824 B are free"));
  EXPECT_THAT(rows()[1], HasSubstr("a block of 2048 threads; the device takes 1024"));
  EXPECT_THAT(rows()[2], HasSubstr("a block of 232449 B of shared memory; the device takes 232448"));
  EXPECT_THAT(rows()[3], Not(HasSubstr("error"))) << "more than 48 KiB are asked for by the function's attribute";
  EXPECT_THAT(rows()[4], HasSubstr("cuModuleGetFunction: named symbol not found (500)"));
}

// A task that copies A to C by a kernel which is given a tensor map of A.
std::string task_with_map(const std::string& dtype, std::int64_t elements, const std::string& map,
                          const std::string& more = "") {
  const std::string array = dtype + " " + std::to_string(elements);
  return "task " + dtype + map + "\nmodule m.cubin\narray A " + array + " input 7\narray C " + array +
         " output\nlaunch copy 2 32 0 C " + map + " 0.5\ncheck C 0\n" + more;
}

// The driver counts from the innermost dimension, and strides in bytes; of swizzles 1 is of rows of 32 bytes. The map
// that is made stands where the kernel has it: what comes out is what A holds.
TEST_F(Worker, MakesTensorMaps) {
  struct Case {
    std::string dtype, map, asked;
  };
  const std::vector<Case> cases = {
      {"f16", "A:128:4,64,2:64,1,64", "6 2 of 64,4 strides 128 box 64,2 steps 1,1 and 0 3 2 0"},
      {"bf16", "A:64:4,64,2:64,1,32", "9 2 of 64,4 strides 128 box 32,2 steps 1,1 and 0 2 2 0"},
      {"f32", "A:32:2,128,1:4,32,4:32,1,8", "7 3 of 32,4,2 strides 128,512 box 8,4,1 steps 1,1,1 and 0 1 2 0"},
      {"tf32", "A:128:8,32,8:32,1,32", "7 2 of 32,8 strides 128 box 32,8 steps 1,1 and 0 3 2 0"},
      {"i8", "A:128:2,128,2:128,1,128", "0 2 of 128,2 strides 128 box 128,2 steps 1,1 and 0 3 2 0"},
      {"i32", "A:64:256,1,16", "3 1 of 256 strides box 16 steps 1 and 0 2 2 0"},
      {"f32", "A:0:4,64,2:64,1,64", "7 2 of 64,4 strides 256 box 64,2 steps 1,1 and 0 0 2 0"},
  };
  std::string tasks;
  for (const Case& c : cases) {
    const double unit = c.dtype.find('f') == std::string::npos ? 1 : 0.25;
    std::string expected;
    for (const int i : {0, 1, 255})
      expected += "expect " + std::to_string(i) + " " + std::to_string(unit * cuda::device::whole_input(7, i)) + "\n";
    tasks += task_with_map(c.dtype, 256, c.map, expected + "time warm 0 2 1\n");
  }
  const cuda::Finished done = run(tasks);
  ASSERT_TRUE(done.ok()) << done.output;
  ASSERT_THAT(rows(), SizeIs(cases.size()));
  const std::vector<std::string> asked = those_of(calls(), "cuTensorMapEncodeTiled");
  ASSERT_THAT(asked, SizeIs(cases.size())) << "once a launch, however often it is repeated";
  for (std::size_t i = 0; i < cases.size(); ++i) {
    EXPECT_EQ(asked[i], "cuTensorMapEncodeTiled " + cases[i].asked);
    EXPECT_THAT(rows()[i], HasSubstr(R"("values":"ok","measured_us":)"));
  }
}

TEST_F(Worker, LosesOnlyTheRowsOfTensorMapsThatTheDriverRefuses) {
  const std::vector<std::string> refused = {"A:128:4,60,4:60,1,64",       // rows apart by no whole 16 bytes
                                            "A:64:4,64,4:64,1,64",        // boxes of rows longer than what is swizzled
                                            "A:32:4,64,4:64,1,4",         // or of no whole 16 bytes
                                            "A:128:1024,1,64:1024,1,64",  // boxes of too many
                                            "A:128:1,8,1:1,8,1:1,8,1:1,8,1:1,8,1:1024,1,64"};  // dimensions
  std::string tasks;
  for (const std::string& map : refused) tasks += task_with_map("f16", 1024 * 1024, map);
  const cuda::Finished done = run(tasks + task_with_map("f16", 256, "A:128:4,64,2:64,1,64"));
  ASSERT_TRUE(done.ok()) << done.output;
  ASSERT_THAT(rows(), SizeIs(refused.size() + 1));
  for (std::size_t i = 0; i < refused.size(); ++i)
    EXPECT_THAT(rows()[i], HasSubstr(R"x("error":"cuTensorMapEncodeTiled: invalid argument (1)")x")) << refused[i];
  EXPECT_THAT(rows().back(), AllOf(HasSubstr(R"("values":"ok")"), Not(HasSubstr("error"))));
  const std::vector<std::string> all = calls();
  EXPECT_EQ(std::count(all.begin(), all.end(), "cuInit"), 1) << "the device still answers";
}

TEST_F(Worker, SaysThatADriverIsOlderThanTensorMaps) {
  const cuda::Finished done = run(task_with_map("f16", 256, "A:128:4,64,2:64,1,64") + task("x", "copy"),
                                  {"TILESCOPE_CUDA_PATH=" + (fake_driver_path() / "old").string()});
  ASSERT_TRUE(done.ok()) << done.output;
  ASSERT_THAT(rows(), SizeIs(2));
  EXPECT_THAT(rows()[0], HasSubstr(R"("error":"the driver has no cuTensorMapEncodeTiled, which kernels that bring )"
                                   R"(boxes need: CUDA 12.0 has it")"));
  EXPECT_THAT(rows()[1], AllOf(HasSubstr(R"("values":"ok")"), Not(HasSubstr("error"))));
}

TEST_F(Worker, CopiesByTheDriver) {
  ASSERT_TRUE(run("task x\narray A i8 9 input 1\narray C i8 9 output\ncopy C A\ncheck C 0\ntime warm 0 1 1\n").ok());
  ASSERT_THAT(rows(), SizeIs(1));
  EXPECT_THAT(rows()[0], HasSubstr(R"("values":"ok","measured_us":)"));
}

// Three arrays and a call of a library.
std::string baseline(const std::string& dtype, const std::string& sums, const std::string& call) {
  return "task " + call + "\narray A " + dtype + " 4096 input 1\narray B " + dtype + " 4096 input 2\narray C " + sums +
         " 4096 output\n" + call + "\ntime warm 0 1 1\n";
}

// The library counts columns first: C' = B' A'. f32 is multiplied as f32 (68), tf32 where that is asked (77).
TEST_F(Worker, AsksForTheTransposedProduct) {
  const auto asked = [&](const std::string& dtype, const std::string& sums, const std::string& call) {
    EXPECT_TRUE(run(baseline(dtype, sums, call)).ok());
    return those_of(calls(), "cublas").at(0);
  };
  EXPECT_EQ(asked("f32", "f32", "product 2 3 4 1 A B C"), "cublasGemmEx 0 0 3 2 4 0 3 0 4 0 3 68 -1");
  EXPECT_EQ(asked("tf32", "f32", "product 2 3 4 1 A B C"), "cublasGemmEx 0 0 3 2 4 0 3 0 4 0 3 77 -1");
  EXPECT_EQ(asked("bf16", "f32", "product 2 3 4 1 A B C"), "cublasGemmEx 0 0 3 2 4 14 3 14 4 0 3 68 -1");
  EXPECT_EQ(asked("f64", "f64", "product 2 3 4 1 A B C"), "cublasGemmEx 0 0 3 2 4 1 3 1 4 1 3 70 -1");
  EXPECT_EQ(asked("i8", "i32", "product 2 3 4 1 A B C"), "cublasGemmEx 0 0 3 2 4 3 3 3 4 10 3 72 -1");
  EXPECT_EQ(asked("f16", "f16", "product 2 3 4 5 A B C"),
            "cublasGemmStridedBatchedEx 0 0 3 2 4 2 3 12 2 4 8 2 3 6 5 68 -1");
  ASSERT_TRUE(run(baseline("f8e4m3", "f8e4m3", "product 2 3 4 1 A B C")).ok());
  EXPECT_THAT(rows().back(), HasSubstr(R"("error":"no baseline: cuBLAS multiplies 8-bit floats by another interface)"));
}

// cuDNN's fastest algorithm comes with its usual mode, which may shorten the significand of f32: what was asked stays.
TEST_F(Worker, AsksForConvolutionsThatMultiplyAsTheyAreMeantTo) {
  const std::string sizes = " 1 2 8 8 3 3 3 2 1 1 0 1 ";
  ASSERT_TRUE(run(baseline("f32", "f32", "convolution any" + sizes + "A B C")).ok());
  std::vector<std::string> all = calls();
  EXPECT_THAT(those_of(all, "cudnnSet"),
              ElementsAre("cudnnSetTensor4dDescriptor 0 0 1 2 8 8", "cudnnSetTensor4dDescriptor 0 0 1 3 4 6",
                          "cudnnSetFilter4dDescriptor 0 0 3 2 3 3", "cudnnSetConvolution2dDescriptor 1 0 2 1 1 1 1 0",
                          "cudnnSetConvolutionGroupCount 1", "cudnnSetConvolutionMathType 3"));
  EXPECT_THAT(all, Contains("cudnnConvolutionForward 7 1000"));
  ASSERT_TRUE(run(baseline("f16", "f16", "convolution implicit" + sizes + "A B C")).ok());
  all = calls();
  EXPECT_THAT(those_of(all, "cudnnSetConvolutionMathType"),
              ElementsAre("cudnnSetConvolutionMathType 1", "cudnnSetConvolutionMathType 0"));
  EXPECT_THAT(all, Contains("cudnnConvolutionForward 1 1000"));
  ASSERT_TRUE(run(baseline("f16", "f32", "convolution any" + sizes + "A B C")).ok());
  EXPECT_THAT(rows().back(), HasSubstr(R"("error":"no baseline: cuDNN is asked for tensors of one type")"));
  ASSERT_TRUE(run(baseline("f64", "f64", "convolution any" + sizes + "A B C")).ok());
  EXPECT_THAT(rows().back(),
              HasSubstr("no baseline: cuDNN is asked for convolutions of f32, tf32, f16 and bf16 alone"));
}

// A convolution's scratch may be as large as all else: it is given back before the next task's arrays are made.
TEST_F(Worker, GivesBackWhatAConvolutionNeeded) {
  const std::string call = baseline("f32", "f32", "convolution any 1 2 8 8 3 3 3 1 1 1 1 1 A B C");
  ASSERT_TRUE(run(call + "task next\narray D i8 9 output\n").ok());
  const std::vector<std::string> all = calls();
  const auto count = [&](const char* what) { return std::count(all.begin(), all.end(), what); };
  EXPECT_EQ(count("cudnnDestroyTensorDescriptor"), 2);
  EXPECT_EQ(count("cudnnDestroyFilterDescriptor"), 1);
  EXPECT_EQ(count("cudnnDestroyConvolutionDescriptor"), 1);
  const auto destroyed = std::find(all.begin(), all.end(), "cudnnDestroyConvolutionDescriptor");
  const std::vector<std::string> rest(destroyed, all.end());
  EXPECT_THAT(rest, testing::AllOf(Contains("cuMemFree").Times(5), Contains("cuMemAlloc").Times(1)))
      << "scratch and output, then the inputs that the next task has not, and its own array";
}

TEST_F(Worker, SaysInASentenceThatThereIsNoDevice) {
  cuda::Finished done = run(task("a", "copy"), {"FAKE_DRIVER_DEVICES=0"});
  EXPECT_EQ(done.status, 1);
  EXPECT_EQ(done.output, fake_driver_path().string() + "/libcuda.so.1 finds no GPU\n");
  EXPECT_THAT(rows(), IsEmpty());
  done = run(task("a", "copy"), {"TILESCOPE_CUDA_PATH=" + folder_.path()});
  if (dlopen("libcuda.so.1", RTLD_LAZY) != nullptr) GTEST_SKIP() << "this machine has a driver of its own";
  EXPECT_THAT(done.output, testing::StartsWith("no driver of a GPU: libcuda.so.1 is not in "));
}

TEST_F(Worker, ReadsAPlanWithoutADevice) {
  const cuda::Finished done = run(task("a", "copy") + task("b", "copy"), {"FAKE_DRIVER_DEVICES=0"}, {"--check"});
  EXPECT_EQ(done.output, "2 tasks, 2 left: 1024 bytes, 6 samples, 0 library calls, 0.000 s of runs\n");
  EXPECT_TRUE(done.ok());
  EXPECT_FALSE(std::filesystem::exists(folder_.file("rows")));
  EXPECT_EQ(run("what\n").status, 2);
}

}  // namespace
}  // namespace tilescope::tests
