// SPDX-License-Identifier: Apache-2.0
// Sampled outputs against all of them by the plain loops of expr/, and the tasks that they become.

#include "experiments/measure/sampled_outputs.h"

#include <gmock/gmock.h>

#include "api/detail/launch_document.h"
#include "api/given.h"
#include "api/verify/compare_values.h"
#include "backends/cuda/device/elements.h"
#include "backends/cuda/device/plan.h"
#include "backends/cuda/process.h"
#include "base/check.h"
#include "base/document.h"
#include "experiments/measure/detail/baselines.h"
#include "experiments/measure/plan.h"
#include "lower/expected_values.h"
#include "lower/lower.h"
#include "tests/support/build.h"
#include "tests/support/workloads.h"

namespace tilescope::tests {
namespace {

using namespace experiments;

struct Lowered {
  tile::RProgram program;
  lower::Module module;
};

std::vector<Lowered> lowered(const api::ProgramSource& source, const arch::ArchSpec& a) {
  base::Diagnostics diags;
  const auto given = api::given_programs(source, a, 1, diags);
  require_no_errors(diags);
  std::vector<Lowered> out;
  for (const api::GivenProgram& g : *given)
    out.push_back({g.program.value(), lower::lower(*g.program, a, diags).value()});
  return out;
}

Lowered lowered(const std::string& op, const std::string& sizes, const std::string& shapes = {},
                base::Dtype dtype = base::Dtype::kF32) {
  api::ProgramSource source;
  source.workload = workload(op, sizes, dtype);
  source.workload.fuse = base::Fuse::kNone;
  source.workload.shapes = shapes;
  return lowered(source, v100()).front();
}

// All outputs, from the inputs that a plan's reader would make.
lower::NamedValues all_values(const Lowered& l) {
  lower::NamedValues values;
  for (std::size_t g = 0; g < l.module.globals.size(); ++g) {
    const lower::Global& global = l.module.globals[g];
    if (global.role != lower::Role::kInput) continue;
    expr::Values& v = values[global.name];
    for (std::int64_t i = 0; i < global.elements; ++i)
      v.push_back(cuda::device::input_of(global.dtype, cuda::device::whole_input(seed_of(g), i)));
  }
  std::mt19937 none;
  lower::add_expected_values(l.program, none, values);
  return values;
}

TEST(SampledOutputs, AreThoseOfThePlainLoops) {
  for (const base::Dtype dtype : {base::Dtype::kF32, base::Dtype::kF16, base::Dtype::kI8}) {
    api::ProgramSource source;
    source.workload.suite = "examples";
    source.workload.small = true;
    source.workload.dtype = base::name_of(dtype);
    if (dtype == base::Dtype::kF32) source.top = 2;
    for (const Lowered& l : lowered(source, chip("a100"))) {
      const lower::NamedValues all = all_values(l);
      const std::vector<SampledOutput> sampled = sampled_outputs(l.program, l.module, 20);
      ASSERT_FALSE(sampled.empty());
      for (const SampledOutput& s : sampled) {
        const lower::Global& global = l.module.globals[s.global];
        EXPECT_EQ(global.role, lower::Role::kOutput);
        EXPECT_EQ(s.elements.front(), 0);
        EXPECT_EQ(s.elements.back(), global.elements - 1);
        EXPECT_EQ(s.elements.size(), 20U);
        EXPECT_EQ(s.tolerance == 0,
                  api::allowed_errors(l.program).ratio == 0 && api::allowed_errors(l.program).units == 0);
        for (std::size_t i = 0; i < s.elements.size(); ++i)
          EXPECT_EQ(s.expected[i], all.at(global.name).at(static_cast<std::size_t>(s.elements[i])))
              << global.name << "[" << s.elements[i] << "]";
      }
    }
  }
}

// A reduction of 2^20 elements: the budget of reads ends the sample early, but not before both ends.
TEST(SampledOutputs, AreFewerWhereEachIsLong) {
  const Lowered l = lowered("O[i] +=! I[i,j]", "i=64,j=4194304");
  EXPECT_EQ(sampled_outputs(l.program, l.module, 64).front().elements, (std::vector<std::int64_t>{0, 63}));
}

TEST(SampledOutputs, ToleranceIsWhatErrorsAreComparedWith) {
  const expr::Values expected = {3, -8, 1};
  for (const base::Dtype dtype : {base::Dtype::kF32, base::Dtype::kI32}) {
    const api::ValueErrors allowed = {0.25, 2};
    const double most = api::tolerance_of(dtype, allowed, expected);
    EXPECT_EQ(most, 2);
    EXPECT_TRUE(api::errors_of(dtype, {3, -8, 1 + most}, expected).within(allowed));
    EXPECT_FALSE(api::errors_of(dtype, {3, -8, 1.001 + most}, expected).within(allowed));
  }
}

TEST(MeasurePlan, SaysArraysLaunchesAndChecks) {
  const Lowered l = lowered("T[m,n] +=! A[m,k] * B[k,n]; O[m,n] = alpha * T[m,n]", "m=64,n=64,k=64");
  EXPECT_EQ(array_lines(l.module),
            "array A f32 4096 input 1\narray B f32 4096 input 2\narray T f32 4096 between\narray O f32 4096 output\n");
  const cuda::Emitted emitted = cuda::emit(l.module);
  const std::string launches = launch_lines(l.module, emitted);
  EXPECT_THAT(launches, testing::MatchesRegex("launch compute_T [0-9]+ [0-9]+ [0-9]+ A B T\n"
                                              "launch compute_O [0-9]+ [0-9]+ 0 T O 0.5\n"));
  SampledOutput s;
  s.global = 3;
  const double none = std::numeric_limits<double>::quiet_NaN();
  s.elements = {0, 4094, 4095};
  s.expected = {-0.25, none, -none};
  s.tolerance = 0.5;
  EXPECT_EQ(check_lines(l.module, {s}), "check O 0.5\nexpect 0 -0.25\nexpect 4094 nan\nexpect 4095 nan\n");
  EXPECT_EQ(timing_line({true, 2, 30, 0.5}), "time cold 2 30 0.5\n");
}

// A product whose kernel is also given a map of B and one of A.
struct WithMaps {
  Lowered l = lowered("C[m,n] +=! alpha * A[m,k] * B[k,n]", "m=64,n=32,k=128", {}, base::Dtype::kF16);
  cuda::Emitted emitted = cuda::emit(l.module);
  cuda::TensorMap b{1, base::Dtype::kF16, {{128, 32, 16}, {32, 1, 32}}, 64};
  cuda::TensorMap a{0, base::Dtype::kF16, {{1, 8192, 1}, {64, 128, 32}, {128, 1, 64}}, 128};

  WithMaps() { emitted.kernels.at(0).maps = {b, a}; }
};

TEST(MeasurePlan, SaysTensorMapsAsItsReaderTakesThem) {
  WithMaps w;
  const std::string launches = launch_lines(w.l.module, w.emitted);
  EXPECT_THAT(launches, testing::HasSubstr(" A B C B:64:128,32,16:32,1,32 A:128:1,8192,1:64,128,32:128,1,64 0.5\n"));
  cuda::TemporaryFolder folder;
  write_plan(folder.path(), {}, {}, "", {{"t", {}, "cubin", array_lines(w.l.module) + launches, {}}});
  std::vector<std::string> errors;
  const auto plan = cuda::device::read_plan(cuda::file_bytes(plan_file(folder.path())), folder.path(), errors);
  ASSERT_THAT(errors, testing::IsEmpty());
  const auto& launch = std::get<cuda::device::Launch>(plan.tasks.at(0).steps.at(0));
  ASSERT_EQ(launch.arguments.size(), 6U);
  EXPECT_EQ(std::get<cuda::TensorMap>(launch.arguments[3]), w.b);
  EXPECT_EQ(std::get<cuda::TensorMap>(launch.arguments[4]), w.a);
  w.emitted.kernels.at(0).maps.at(1).dtype = base::Dtype::kF32;
  EXPECT_THROW(launch_lines(w.l.module, w.emitted), base::InternalError) << "the plan's array says the dtype";
}

TEST(LaunchDocument, HasTensorMapsBetweenArraysAndScalars) {
  const WithMaps w;
  const std::string document = base::to_json(api::launch_document(w.l.module, w.emitted));
  EXPECT_THAT(document,
              testing::HasSubstr(R"("arrays":["A","B","C"],"maps":[)"
                                 R"({"array":"B","extents":[128,32],"strides":[32,1],"box":[16,32],)"
                                 R"("swizzled_row_bytes":64},)"
                                 R"({"array":"A","extents":[1,64,128],"strides":[8192,128,1],"box":[1,32,64],)"
                                 R"("swizzled_row_bytes":128}],"scalars":["alpha"],"scalar_type":"float"})"));
  EXPECT_THAT(base::to_json(api::launch_document(w.l.module, cuda::emit(w.l.module))),
              testing::HasSubstr(R"("maps":[],)"));
}

std::string call_of(Baseline b, const Lowered& l) {
  const auto lines = baseline_lines(b, l.program, l.module, {});
  if (!lines) return "none";
  std::string call =
      lines->substr(lines->find("\n" + std::string(b == Baseline::kCublas ? "product" : "convolution")) + 1);
  return call.substr(0, call.find('\n'));
}

TEST(Baselines, AreCallsOfTheSameOperator) {
  const Baseline cublas = Baseline::kCublas, cudnn = Baseline::kCudnn;
  EXPECT_EQ(call_of(cublas, lowered("C[m,n] +=! A[m,k] * B[k,n]", "m=32,n=64,k=128")), "product 32 64 128 1 A B C");
  EXPECT_EQ(call_of(cublas, lowered("C[b,m,n] +=! A[b,m,k] * B[b,k,n]", "b=3,m=32,n=64,k=128")),
            "product 32 64 128 3 A B C");
  EXPECT_EQ(call_of(cublas, lowered("C[m,n] +=! A[m,k] * B[n,k]", "m=32,n=64,k=128")), "none") << "transposed";
  EXPECT_EQ(call_of(cublas, lowered("C[m,n] max=! A[m,k] * B[k,n]", "m=32,n=64,k=128")), "none") << "no sum";
  const char* conv = "O[n,f,y,x] +=! I[n,c,y*2+r-1,x*2+s-1] * W[f,c,r,s]";
  const char* sizes = "n=2,f=8,y=14,x=14,c=4,r=3,s=3";
  EXPECT_EQ(call_of(cudnn, lowered(conv, sizes, "I=2,4,28,28")), "convolution any 2 4 28 28 8 3 3 2 2 1 1 1 I W O");
  EXPECT_EQ(call_of(Baseline::kCudnnImplicit, lowered(conv, sizes, "I=2,4,28,28")),
            "convolution implicit 2 4 28 28 8 3 3 2 2 1 1 1 I W O");
  EXPECT_EQ(call_of(cudnn, lowered(conv, sizes, "I=2,4,30,30")), "none") << "the library would have 15 results";
  EXPECT_EQ(call_of(cudnn, lowered("O[n,c,y,x] +=! I[n,c,y+r-1,x+s-1] * W[c,r,s]", "n=2,c=8,y=14,x=14,r=3,s=3",
                                   "I=2,8,14,14")),
            "convolution any 2 8 14 14 8 3 3 1 1 1 1 8 I W O");
  EXPECT_EQ(call_of(cudnn, lowered("C[m,n] +=! A[m,k] * B[k,n]", "m=32,n=64,k=128")), "none");
  EXPECT_EQ(baseline_lines(Baseline::kCopy, lowered("O[i] = relu(I[i])", "i=1000").program,
                           lowered("O[i] = relu(I[i])", "i=1000").module, {}),
            "array from i8 4000 input 1\narray to i8 4000 output\ncopy to from\n");
}

TEST(Baselines, SumIntegersIn32Bits) {
  const Lowered l = lowered("C[m,n] +=! A[m,k] * B[k,n]", "m=32,n=64,k=128", "", base::Dtype::kI8);
  EXPECT_THAT(baseline_lines(Baseline::kCublas, l.program, l.module, {}).value(),
              testing::HasSubstr("array C i32 2048 output"));
}

TEST(SampledOutputs, AreLooseWhereZerosWouldNearlyPass) {
  EXPECT_FALSE((SampledOutput{0, {0, 1}, {-4, 1}, 1}).is_loose());
  EXPECT_TRUE((SampledOutput{0, {0, 1}, {-4, 1}, 1.1}).is_loose());
  EXPECT_TRUE((SampledOutput{0, {0}, {0}, 1}).is_loose());
  EXPECT_FALSE((SampledOutput{0, {0}, {0}, 0}).is_loose());
}

}  // namespace
}  // namespace tilescope::tests
