// SPDX-License-Identifier: Apache-2.0
// Kernels whose tiles come in boxes: their text, their values, and mistakes planted in their mbarriers, which the CPU's
// runtime and the interpreter both have to find.

#include <tuple>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "backends/cuda/emit.h"
#include "backends/cuda/host_run.h"
#include "backends/cuda/library.h"
#include "backends/cuda/nvrtc.h"
#include "lower/interpret.h"
#include "tests/support/planting.h"
#include "tests/unit/backends_cuda/naive_counters.h"
#include "tests/unit/backends_cuda/samples_on_the_cpu.h"

namespace tilescope::cuda {
namespace {

using testing::AllOf;
using testing::AnyOf;
using testing::HasSubstr;
using tests::kernel;
using tests::Sample;

template <class Kind, class Change>
void change(lower::Kernel& k, int n, Change change) {
  tests::each_body(k.body, [&](tests::Body& body) {
    for (lower::Statement& one : body)
      if (auto* found = std::get_if<Kind>(&one.what); found != nullptr && n-- == 0) change(*found);
  });
}

// 128 rows and 64 columns of two warp groups, 4 steps 32 deep in 3 stages.
Sample ring() { return tests::tma_sample("C[m,n] +=! A[m,k] * B[n,k]", "f16", R"(,"num_stages":3)"); }

TEST(Boxes, TextOfAKernel) {
  const Emitted e = emit(ring().module);
  const std::string text = e.text.substr(e.kernels_begin);
  for (const char* part :
       {"const __grid_constant__ tensor_map A_boxes,\n", "mbarrier* const full = shared_array<mbarrier>(",
        "mbarrier_init<3>(full, 1);\n", "mbarrier_init<3>(empty, 8);\n", "mbarrier_init_fence();\n",
        "if (threadIdx.x < 256) {  // multiply\n", "} else {  // copy\n", "mbarrier_wait<3>(full, step);\n",
        "mbarrier_arrive<3>(empty, step);\n", "mbarrier_wait<3>(empty, step - 3);\n",
        "mbarrier_arrive_expect_tx<3>(full, step, 12288);\n",
        "tma_load_2d<3>(threadIdx.x == 256, &A_tile[slot*4096], A_boxes, {step*32, block*128}, full, step);\n",
        "wgmma<wgmma_f16, 64, false, false, 64, 64>("})
    EXPECT_THAT(text, HasSubstr(part));
  ASSERT_EQ(e.kernels.size(), 1U);
  const EmittedKernel& k = e.kernels.front();
  EXPECT_EQ(k.globals, std::vector<int>{2}) << "of the others only the boxes are known";
  ASSERT_EQ(k.maps.size(), 2U);
  EXPECT_EQ(k.maps[0], (TensorMap{0, base::Dtype::kF16, {{256, 128, 128}, {128, 1, 32}}, 64}));
  EXPECT_EQ(k.maps[1], (TensorMap{1, base::Dtype::kF16, {{64, 128, 64}, {128, 1, 32}}, 64}));
  EXPECT_THAT(e.text, HasSubstr("(C, boxes of A, boxes of B)"));
}

// Rows of m and of n of one array, in boxes of 128 rows and of 64.
TEST(Boxes, TwoKindsOfOneArrayAreTwoParameters) {
  const arch::ArchSpec h100 = tests::chip("h100_pcie");
  std::string json = tests::staged_product("C[m,n] +=! A[m,k] * A[n,k]", "f16");
  json.replace(json.find("\"n\":64"), 6, "\"n\":256");
  tile::RProgram p = tests::program(json, h100);
  p.simt()[0] = tile::with_tma_loads(std::move(p.simt()[0]), h100).value();
  const Emitted e = emit(tests::lowered(p, h100));
  EXPECT_EQ(e.kernels.front().globals, std::vector<int>{1});
  ASSERT_EQ(e.kernels.front().maps.size(), 2U);
  EXPECT_EQ(e.kernels.front().maps[1].global, 0);
  EXPECT_THAT(e.text, AllOf(HasSubstr("tensor_map A_boxes,"), HasSubstr("tensor_map A_boxes_2)")));
}

class BoxesOnTheCpu : public tests::SamplesOnTheCpu {
 protected:
  BoxesOnTheCpu() : SamplesOnTheCpu("h100_pcie") {}

  std::string interpreted_error(const Sample& s) {
    std::vector<expr::Values> globals = s.inputs;
    try {
      lower::interpret(s.module, s.scalars, globals);
    } catch (const std::exception& e) {
      return e.what();
    }
    return globals.back() == s.expected ? "" : "values differ";
  }
  void expect_found(const Sample& s, const testing::Matcher<std::string>& error, const std::string& interpreted = "") {
    EXPECT_THAT(counting_error(s), error);
    EXPECT_GE(found_by_values(s), 9);
    EXPECT_THAT(interpreted_error(s), AllOf(testing::Ne(""), HasSubstr(interpreted)));
  }

  arch::ArchSpec chip_ = tests::chip("h100_pcie");
};

TEST_F(BoxesOnTheCpu, ValuesAndCountersOfEveryKindOfFactor) {
  std::vector<Sample> all;
  const char* const stages[] = {R"(,"num_stages":1)", R"(,"num_stages":2)", R"(,"num_stages":4)"};
  for (const char* op : {"C[m,n] +=! A[m,k] * B[k,n]", "C[m,n] +=! A[k,m] * B[n,k]", "C[m,n] +=! A[k,m] * B[k,n]"})
    all.push_back(tests::tma_sample(op, all.size() % 2 == 0 ? "f16" : "bf16", stages[all.size()]));
  all.push_back(tests::tma_sample("C[m,n] +=! A[m,k] * B[n,k]", "tf32", R"(,"num_stages":2)"));
  std::vector<int> ids;
  for (const Sample& s : all) ids.push_back(host_.add(s.module));
  for (std::size_t i = 0; i < all.size(); ++i)
    for (const std::uint64_t seed : {1, 2, 3})
      for (const HostBuild build : {HostBuild::kValues, HostBuild::kCounting}) {
        SCOPED_TRACE(all[i].name);
        const HostResult r = host_.run(ids[i], {build, seed, {}, all[i].inputs});
        ASSERT_EQ(r.error, "");
        EXPECT_EQ(r.globals.back(), all[i].expected);
        if (build == HostBuild::kCounting) {
          EXPECT_EQ(r.counters, tests::naive_counters(all[i].module, chip_));
        }
      }
}

TEST_F(BoxesOnTheCpu, WhatIsRightIsFoundRight) {
  EXPECT_EQ(counting_error(ring()), "");
  EXPECT_EQ(found_by_values(ring()), 0);
  EXPECT_EQ(interpreted_error(ring()), "");
}

TEST_F(BoxesOnTheCpu, TilesThatNoWarpWaitedFor) {
  Sample s = ring();
  ASSERT_TRUE(tests::remove<lower::MbarrierWait>(kernel(s), 0));
  expect_found(s, AnyOf(HasSubstr("race: reads element"), HasSubstr("which no thread wrote")));
}

TEST_F(BoxesOnTheCpu, StagesThatNoWarpWaitedForToBeFree) {
  Sample s = ring();
  ASSERT_TRUE(tests::remove<lower::MbarrierWait>(kernel(s), 1));
  expect_found(s, AnyOf(HasSubstr("wrong use of a signal"), HasSubstr("may still be reading"),
                        HasSubstr("awaited after its slot's next one")));
}

TEST_F(BoxesOnTheCpu, ArrivalsThatAreMissing) {
  for (const int n : {0, 1}) {
    Sample s = ring();
    ASSERT_TRUE(tests::remove<lower::MbarrierArrive>(kernel(s), n));
    expect_found(s, AnyOf(HasSubstr("deadlock: all threads wait, this one for use "), HasSubstr("too few bytes")));
  }
}

TEST_F(BoxesOnTheCpu, BytesThatAreNotThoseThatCome) {
  for (const std::int64_t off : {-16, 16, -4096, -8192}) {
    SCOPED_TRACE(off);
    Sample s = ring();
    change<lower::MbarrierArrive>(kernel(s), 1, [&](lower::MbarrierArrive& a) { a.bytes += off; });
    expect_found(s, AnyOf(HasSubstr("deadlock"), HasSubstr("wrong use of a signal"), HasSubstr("too few bytes")));
  }
}

TEST_F(BoxesOnTheCpu, UsesThatAreNotThoseMeant) {
  for (const std::int64_t off : {-1, 1, 3}) {
    SCOPED_TRACE(off);
    for (const int n : {0, 1}) {
      Sample s = ring();
      change<lower::MbarrierArrive>(kernel(s), n, [&](lower::MbarrierArrive& a) { a.phase.constant += off; });
      EXPECT_NE(counting_error(s), "") << "arrive " << n;
      EXPECT_NE(interpreted_error(s), "") << "arrive " << n;
    }
    Sample s = ring();
    change<lower::TmaLoad>(kernel(s), 0, [&](lower::TmaLoad& b) { b.phase.constant += off; });
    EXPECT_NE(counting_error(s), "") << "copy";
    EXPECT_NE(interpreted_error(s), "") << "copy";
  }
  Sample late = ring();
  change<lower::MbarrierWait>(kernel(late), 1, [](lower::MbarrierWait& a) { a.phase.constant += 3; });
  expect_found(late, HasSubstr("deadlock"));
  Sample early = ring();
  change<lower::MbarrierWait>(kernel(early), 0, [](lower::MbarrierWait& a) { a.phase.constant -= 1; });
  EXPECT_NE(counting_error(early), "");
  EXPECT_NE(interpreted_error(early), "");
}

// The phases are those of a kernel that is right, but what they are said to mean is not so.
TEST_F(BoxesOnTheCpu, ArrivalsBeforeWhatTheySay) {
  Sample s = ring();
  bool moved = false;
  tests::each_body(kernel(s).body, [&](tests::Body& body) {
    if (moved || !std::holds_alternative<lower::MbarrierWait>(body.front().what)) return;
    std::rotate(body.begin() + 1, body.end() - 1, body.end());  // the arrival to behind the await
    moved = std::holds_alternative<lower::MbarrierArrive>(body[1].what);
  });
  ASSERT_TRUE(moved);
  for (std::uint64_t seed = 0; seed < 5; ++seed)
    EXPECT_THAT(run(s, HostBuild::kCounting, seed).error,
                AnyOf(HasSubstr("may still be reading"), HasSubstr("which a bulk copy wrote, and no mbarrier said"),
                      HasSubstr("awaited after its slot's next one")));
  EXPECT_NE(interpreted_error(s), "");
}

TEST_F(BoxesOnTheCpu, TilesThatAreWaitedForTooLate) {
  Sample s = ring();
  bool moved = false;
  tests::each_body(kernel(s).body, [&](tests::Body& body) {
    if (moved || !std::holds_alternative<lower::MbarrierWait>(body.front().what)) return;
    std::rotate(body.begin(), body.begin() + 1, body.end() - 1);  // the await to before the arrival
    moved = true;
  });
  ASSERT_TRUE(moved);
  for (std::uint64_t seed = 0; seed < 5; ++seed)
    EXPECT_THAT(run(s, HostBuild::kCounting, seed).error,
                AnyOf(HasSubstr("which a bulk copy wrote, and no mbarrier said"), HasSubstr("which no thread wrote"),
                      HasSubstr("may still be reading")));
  EXPECT_NE(interpreted_error(s), "");
}

TEST_F(BoxesOnTheCpu, MbarriersThatWaitForTooFew) {
  Sample s = ring();
  kernel(s).mbarriers[1].arrivals = 4;
  expect_found(
      s, AnyOf(HasSubstr("more warps arrive"), HasSubstr("wrong use of a signal"), HasSubstr("may still be reading")));
}

TEST_F(BoxesOnTheCpu, FactorsThatLieElsewhere) {
  for (const char* op : {"C[m,n] +=! A[m,k] * B[n,k]", "C[m,n] +=! A[m,k] * B[k,n]"}) {
    Sample s = tests::tma_sample(op, "f16");
    change<lower::Wgmma>(kernel(s), 0, [](lower::Wgmma& m) {
      m.a->along /= 2;
      m.b.deep /= 2;
    });
    EXPECT_EQ(found_by_values(s), 10) << op;
    EXPECT_NE(interpreted_error(s), "") << op;
  }
}

TEST_F(BoxesOnTheCpu, BoxesThatGoElsewhere) {
  Sample s = ring();
  change<lower::TmaLoad>(kernel(s), 0, [](lower::TmaLoad& b) { b.dims[0].at.constant += 1; });
  EXPECT_EQ(found_by_values(s), 10);
  s = ring();
  change<lower::TmaLoad>(kernel(s), 1, [](lower::TmaLoad& b) { b.shared.offset.constant += 8; });
  EXPECT_THAT(counting_error(s), HasSubstr("a box to an address where its swizzling does not begin anew"));
}

// What NVRTC makes of a text for the H100, and says of it.
struct Compiled {
  int error = 0;
  std::string ptx, log;
};

Compiled compiled(const Library& nvrtc, const std::string& text) {
  using Program = void*;
  int (*create)(Program*, const char*, const char*, int, const char* const*, const char* const*) = nullptr;
  int (*compile)(Program, int, const char* const*) = nullptr;
  int (*destroy)(Program*) = nullptr;
  EXPECT_TRUE(nvrtc.find("nvrtcCreateProgram", create) && nvrtc.find("nvrtcCompileProgram", compile) &&
              nvrtc.find("nvrtcDestroyProgram", destroy));
  Program program = nullptr;
  EXPECT_EQ(create(&program, text.c_str(), "kernels.cu", 0, nullptr, nullptr), 0);
  const std::vector<const char*> options = {"--gpu-architecture=sm_90a", "--std=c++17", "--ptxas-options=-v"};
  Compiled out{compile(program, static_cast<int>(options.size()), options.data()), {}, {}};
  const auto get = [&](const char* size_name, const char* name) {
    int (*size)(Program, std::size_t*) = nullptr;
    int (*bytes)(Program, char*) = nullptr;
    std::size_t n = 0;
    EXPECT_TRUE(nvrtc.find(size_name, size) && nvrtc.find(name, bytes) && size(program, &n) == 0);
    std::string all(n, '\0');
    EXPECT_EQ(bytes(program, all.data()), 0);
    return all;
  };
  out.log = get("nvrtcGetProgramLogSize", "nvrtcGetProgramLog");
  if (out.error == 0) out.ptx = get("nvrtcGetPTXSize", "nvrtcGetPTX");
  destroy(&program);
  return out;
}

// 128x256 blocks of two warp groups, four stages of rows of 128 B, and as many registers as such a block may have.
std::string large_product(const std::string& op, const std::string& dtype, int deep) {
  return R"({"arch":"h100_pcie","nodes":[{"expr":")" + op + R"(","sizes":{"m":512,"n":512,"k":512},"dtype":")" + dtype +
         R"(","tiles":{"smem":{"m":128,"n":256,"k":)" + std::to_string(deep) +
         R"(}},"mapping":{"m":{"threads":2,"per_thread":64},"n":{"per_thread":256}},"mma":{"name":"wgmma.)" + dtype +
         R"(","m":"m","n":"n","k":"k"},"registers":168,"num_stages":4}],"edges":[]})";
}

// Products that run by themselves stay so: the assembler says where it has to put them one after the other.
TEST(BoxesForTheGpu, AreCompiledWithoutSpillsOrWarnings) {
  if (const std::string why = DeviceCompiler().why_unsupported(); !why.empty()) GTEST_SKIP() << why;
  const Library nvrtc({DeviceCompiler().path()});
  const arch::ArchSpec h100 = tests::chip("h100_pcie");
  for (const auto& [op, dtype, deep] :
       {std::tuple("C[m,n] +=! A[m,k] * B[n,k]", "f16", 64), std::tuple("C[m,n] +=! A[m,k] * B[k,n]", "f16", 64),
        std::tuple("C[m,n] +=! A[k,m] * B[k,n]", "bf16", 64), std::tuple("C[m,n] +=! A[m,k] * B[n,k]", "tf32", 32)}) {
    SCOPED_TRACE(std::string(op) + " " + dtype);
    tile::RProgram p = tests::program(large_product(op, dtype, deep), h100);
    p.simt()[0] = tile::with_tma_loads(std::move(p.simt()[0]), h100).value();
    const Compiled c = compiled(nvrtc, emit(tests::lowered(p, h100)).text);
    ASSERT_EQ(c.error, 0) << c.log;
    EXPECT_THAT(c.log,
                AllOf(HasSubstr(" 0 bytes spill stores"), testing::Not(testing::ContainsRegex("warning|seriali"))));
    for (const char* part :
         {".extern .shared .align 1024", "mbarrier.init.shared::cta.b64", "fence.mbarrier_init.release.cluster",
          "fence.proxy.async.shared::cta", "mbarrier.try_wait.parity.shared::cta.b64",
          "mbarrier.arrive.shared::cta.b64", "mbarrier.arrive.expect_tx.shared::cta.b64",
          "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes",
          "wgmma.mma_async.sync.aligned.m64n256"})
      EXPECT_THAT(c.ptx, HasSubstr(part));
  }
}

}  // namespace
}  // namespace tilescope::cuda
