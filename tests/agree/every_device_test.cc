// SPDX-License-Identifier: Apache-2.0
// What one verb constructs, every other verb takes: on every chip and in each of its dtypes the first program of an
// operator is one and the same in `compile`, `simulate` and `verify`, can be lowered, computes what plain loops
// compute, and can be simulated. A sample of operators, the same every time; TILESCOPE_EVERY=1 takes all of them.

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <random>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "api/compile.h"
#include "api/given.h"
#include "api/verify/compare_values.h"
#include "arch/load.h"
#include "base/hash.h"
#include "base/home.h"
#include "experiments/measure/rows.h"
#include "lower/expected_values.h"
#include "lower/interpret.h"
#include "lower/lower.h"
#include "model/simt/machine.h"
#include "sim/simulate.h"

namespace tilescope::tests {
namespace {

using api::Workload;

struct AnyOperator {
  const char *text, *sizes, *shapes = "";
};

// Scaled down as `verify --scale small` does.
constexpr AnyOperator kEveryOperator[] = {
    {"C[m,n] +=! A[m,k] * B[k,n]", "m=1024,n=1024,k=1024"},
    {"C[m,n] +=! A[m,k] * B[n,k]", "m=512,n=2048,k=768"},
    {"C[m,n] +=! A[k,m] * B[k,n]", "m=512,n=512,k=512"},
    {"C[m,n] +=! A[k,m] * B[n,k]", "m=256,n=512,k=512"},
    {"C[m,n] +=! A[m,k] * B[k,n]", "m=1000,n=999,k=1001"},
    {"C[m,n] +=! A[m,k] * B[k,n]", "m=16,n=4096,k=4096"},
    {"C[m,n] +=! A[m,k] * B[k,n]", "m=4096,n=16,k=4096"},
    {"C[m,n] +=! A[m,k] * B[k,n]", "m=64,n=64,k=65536"},
    {"C[m,n] +=! A[m,k] * B[k,n]", "m=31,n=63,k=127"},
    {"C[b,m,n] +=! A[b,m,k] * B[b,k,n]", "b=16,m=128,n=128,k=64"},
    {"C[b,m,n] +=! A[b,m,k] * B[b,n,k]", "b=12,m=512,n=512,k=64"},
    {"C[b,m,n] +=! A[b,m,k] * B[n,k]", "b=509,m=16,n=64,k=8191"},
    {"C[m,b,n] +=! A[m,b,k] * B[b,k,n]", "m=64,b=8,n=64,k=128"},
    {"y[m] +=! A[m,k] * x[k]", "m=4096,k=4096"},
    {"y[n] +=! A[k,n] * x[k]", "n=1000,k=4000"},
    {"d[b] +=! A[b,k] * B[b,k]", "b=64,k=4096"},
    {"C[m,n] = A[m] * B[n]", "m=2048,n=2048"},
    {"O[n,f,y,x] +=! I[n,c,y+r-1,x+s-1] * W[f,c,r,s]", "n=8,f=64,y=28,x=28,c=64,r=3,s=3", "I=8,64,28,28"},
    {"O[n,f,y,x] +=! I[n,c,y*2+r-1,x*2+s-1] * W[f,c,r,s]", "n=8,f=32,y=14,x=14,c=32,r=3,s=3", "I=8,32,28,28"},
    {"O[n,f,y,x] +=! I[n,c,y,x] * W[f,c]", "n=8,f=64,y=14,x=14,c=256"},
    {"O[n,y,x,f] +=! I[n,y+r,x+s,c] * W[r,s,c,f]", "n=4,f=32,y=14,x=14,c=16,r=3,s=3"},
    {"O[n,f,x] +=! I[n,c,x+r] * W[f,c,r]", "n=8,f=64,x=120,c=32,r=9"},
    {"O[n,c,y,x] +=! I[n,c,y+r-1,x+s-1] * W[c,r,s]", "n=8,c=64,y=28,x=28,r=3,s=3", "I=8,64,28,28"},
    {"O[n,c,y,x] +=! I[n,c,y*2+r-2,x*2+s-2] * W[c,r,s]", "n=4,c=32,y=14,x=14,r=5,s=5", "I=4,32,28,28"},
    {"O[n,c,y,x] max=! I[n,c,y*2+r,x*2+s]", "n=8,c=32,y=14,x=14,r=2,s=2"},
    {"O[n,c,y,x] mean=! I[n,c,y+r,x+s]", "n=8,c=32,y=14,x=14,r=3,s=3"},
    {"O[i] +=! I[i,j]", "i=1024,j=1024"},
    {"O[j] +=! I[i,j]", "i=4096,j=512"},
    {"O[i] max=! I[i,j]", "i=512,j=4000"},
    {"O[i] min=! I[i,j]", "i=513,j=1001"},
    {"O[i] mean=! I[i,j]", "i=2048,j=256"},
    {"O[j,i] = I[i,j]", "i=1024,j=1024"},
    {"O[i,j] = A[i,j] + B[i,j]", "i=1024,j=4096"},
    {"O[i,j] = A[i,j] * B[j] + C[i]", "i=1023,j=1025"},
    {"O[k,i,j] = I[i,j,k]", "i=64,j=64,k=64"},
    {"O[i] = I[i+1] + I[i] + I[i+2]", "i=1000000"},
    {"O[n,c,y,x] = I[n,c,y/2,x/2]", "n=2,c=16,y=128,x=128"},
    {"O[b,i] = I[b,i,i]", "b=64,i=512"},
    {"T[m,n] +=! A[m,k] * B[k,n]; O[m,n] = alpha * T[m,n] + beta * C[m,n]", "m=512,n=512,k=512"},
    {"U[i] mean=! I[i,j]; O[i,j] = I[i,j] - U[i]", "i=512,j=1024"},
    {"M[i] max=! I[i,j]; O[i,j] = I[i,j] - M[i]", "i=512,j=1024"},
    {"T[m,n] +=! A[m,k] * B[k,n]; O[m] max=! T[m,n]", "m=256,n=256,k=256"},
};

std::vector<std::string> devices_of_class_gpu() {
  std::vector<std::string> out;
  for (const auto& entry : std::filesystem::directory_iterator(base::home_path("arch/devices"))) {
    if (entry.path().extension() != ".yaml") continue;
    base::Diagnostics diags;
    const auto a = arch::load_arch(entry.path().stem().string(), {}, diags);
    if (a && diags.ok() && a->chip_class == arch::ChipClass::kGpu) out.push_back(entry.path().stem().string());
  }
  std::sort(out.begin(), out.end());
  return out;
}

// Those of the chip's instructions that single threads can compute in, too.
std::vector<base::Dtype> dtypes_of(const arch::ArchSpec& a) {
  const model::Machine machine = model::make_machine(a);
  std::set<base::Dtype> out;
  for (const arch::ComputeSpec& c : a.compute)
    if (model::arithmetic_of(machine, c.dtype, base::default_accumulator(c.dtype))) out.insert(c.dtype);
  return {out.begin(), out.end()};
}

// The sample of a chip and a dtype, or everything.
std::vector<AnyOperator> operators_for(const std::string& device, base::Dtype dtype) {
  std::vector<AnyOperator> all(std::begin(kEveryOperator), std::end(kEveryOperator));
  if (std::getenv("TILESCOPE_EVERY") != nullptr) return all;
  constexpr std::size_t kSample = 3;
  std::seed_seq seed(device.begin(), device.end());
  std::mt19937 random(seed);
  random.discard(static_cast<unsigned long long>(dtype) * 1000);
  std::shuffle(all.begin(), all.end(), random);
  all.resize(kSample);
  return all;
}

void expect_right(const tile::RProgram& p, const lower::Module& m) {
  std::mt19937 random(1);
  lower::NamedValues expected;
  lower::add_expected_values(p, random, expected);
  std::vector<expr::Values> globals = lower::globals_of(m, expected);
  lower::interpret(m, std::vector<double>(m.scalars.size(), lower::kScalar), globals);
  for (std::size_t g = 0; g < globals.size(); ++g) {
    if (m.globals[g].role != lower::Role::kOutput) continue;
    const auto errors = api::errors_of(m.globals[g].dtype, globals[g], expected.at(m.globals[g].name));
    EXPECT_TRUE(errors.within(api::allowed_errors(p)))
        << m.globals[g].name << ": ratio " << errors.ratio << ", units " << errors.units;
  }
}

void expect_one_program(const arch::ArchSpec& a, const Workload& w) {
  base::Diagnostics diags;
  const auto compiled = api::compile(w, a, {}, 10, 1, [](std::size_t, std::size_t) {}, diags);
  ASSERT_TRUE(compiled && diags.ok()) << diags.formatted_errors().front();
  ASSERT_FALSE(compiled->front().programs.empty()) << compiled->front().error;
  // What simulate, verify and measure take.
  const auto given =
      api::given_programs({.workload = w, .top = 1, .program = {}, .batch = {}, .kernels = {}}, a, 1, diags);
  ASSERT_TRUE(given && given->size() == 1 && given->front().program);
  const tile::RProgram& p = *given->front().program;
  EXPECT_EQ(experiments::program_hash(p, a),
            base::content_hash(base::to_json(compiled->front().programs.front().document)));
  for (const tile::StageProgram& stage : p.simt()) EXPECT_TRUE(lower::check_lowerable(stage, a, diags));
  const auto module = lower::lower(p, a, diags);
  ASSERT_TRUE(module) << diags.errors().front().text;
  expect_right(p, *module);
  EXPECT_GT(sim::simulate(*module, a, {}).time.v, 0);
}

class EveryDevice : public testing::TestWithParam<std::string> {};

TEST_P(EveryDevice, TakesWhatItCompiles) {
  base::Diagnostics diags;
  const auto a = arch::load_arch(GetParam(), {}, diags);
  ASSERT_TRUE(a && diags.ok());
  std::size_t taken = 0;
  for (const base::Dtype dtype : dtypes_of(*a))
    for (const AnyOperator& op : operators_for(GetParam(), dtype)) {
      SCOPED_TRACE(testing::Message() << op.text << ' ' << op.sizes << ' ' << base::name_of(dtype));
      Workload w;
      w.op = op.text;
      w.sizes = op.sizes;
      w.shapes = op.shapes;
      w.dtype = base::name_of(dtype);
      w.small = true;
      expect_one_program(*a, w);
      ++taken;
    }
  EXPECT_GT(taken, 0U);
}

// Operators whose inputs are indexed by any functions of the axes, so that one axis may move several dimensions.
Workload any_accesses(std::mt19937& random) {
  const auto one_of = [&](const std::vector<std::string>& all) { return all[random() % all.size()]; };
  const auto access = [&](const std::vector<std::string>& indices) {
    std::string text = one_of(indices);
    for (auto more = random() % 3; more > 0; --more) text += "," + one_of(indices);
    return text;
  };
  const std::vector<std::string> spatial = {"i", "i", "j", "j", "2*i", "i+1", "i+j", "2*i+3*j+1", "i/2", "j%3", "j/4"};
  const std::vector<std::string> reduced = {"i", "j", "k", "k", "2*k", "i+k", "j+k+1", "k%5"};
  Workload w;
  switch (random() % 4) {
    case 0:
      w.op = "O[i,j] = I[" + access(spatial) + "]";
      break;
    case 1:
      w.op = "O[i,j] = I[" + access(spatial) + "] * J[" + access(spatial) + "]";
      break;
    case 2:
      w.op = "O[i,j] +=! I[" + access(reduced) + "] * J[" + access(reduced) + ",k]";
      break;
    default:
      w.op = "O[i,j] +=! I[i,k] * J[k," + one_of({"j", "j,j", "k,j", "j+k"}) + "]";
  }
  const auto extent = [&] { return std::to_string(std::vector{1, 5, 16, 31, 64}[random() % 5]); };
  w.sizes = "i=" + extent() + ",j=" + extent() + (w.op.find('k') == std::string::npos ? "" : ",k=" + extent());
  return w;
}

TEST_P(EveryDevice, TakesAnyAccess) {
  base::Diagnostics diags;
  const auto a = arch::load_arch(GetParam(), {}, diags);
  ASSERT_TRUE(a && diags.ok());
  const std::set<base::Dtype> known = [&] {
    const std::vector<base::Dtype> all = dtypes_of(*a);
    return std::set<base::Dtype>(all.begin(), all.end());
  }();
  const std::string name = GetParam();
  std::seed_seq seed(name.begin(), name.end());
  std::mt19937 random(seed);
  const int draws = std::getenv("TILESCOPE_EVERY") != nullptr ? 100 : 6;
  for (int draw = 0; draw < draws; ++draw) {
    Workload w = any_accesses(random);
    w.dtype = draw % 2 == 0 || known.count(base::Dtype::kF16) == 0 ? "f32" : "f16";
    SCOPED_TRACE(testing::Message() << w.op << ' ' << w.sizes << ' ' << w.dtype);
    expect_one_program(*a, w);
  }
}

INSTANTIATE_TEST_SUITE_P(Devices, EveryDevice, testing::ValuesIn(devices_of_class_gpu()),
                         [](const auto& device) { return device.param; });

}  // namespace
}  // namespace tilescope::tests
