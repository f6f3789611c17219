// SPDX-License-Identifier: Apache-2.0
// Emitted kernels on the CPU: their values against plain loops, their counters against a naive count.

#include "backends/cuda/host_run.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/build.h"
#include "tests/support/environment.h"
#include "tests/unit/backends_cuda/matmul.h"
#include "tests/unit/backends_cuda/naive_counters.h"
#include "tests/unit/backends_cuda/samples.h"

namespace tilescope::cuda {
namespace {

// Every sample in one program: compiled once for all tests of this file.
class HostRuns : public testing::Test {
 protected:
  void SetUp() override {
    if (const auto why = host_.why_unsupported()) GTEST_SKIP() << *why;
    for (const tests::Sample& s : samples_) ids_.push_back(host_.add(s.module));
  }

  HostResult run(std::size_t sample, HostBuild build, std::uint64_t seed) {
    return host_.run(ids_[sample], {build, seed, samples_[sample].scalars, samples_[sample].inputs});
  }

  arch::ArchSpec chip_ = tests::chip("v100");
  HostCompiler host_{chip_};
  std::vector<tests::Sample> samples_ = tests::samples(90);
  std::vector<int> ids_;
};

TEST_F(HostRuns, ValuesAreThoseOfPlainLoops) {
  for (std::size_t i = 0; i < samples_.size(); ++i)
    for (const HostBuild build : {HostBuild::kValues, HostBuild::kCounting})
      for (const std::uint64_t seed : {1, 2}) {
        SCOPED_TRACE(samples_[i].name);
        const HostResult r = run(i, build, seed);
        ASSERT_EQ(r.error, "");
        EXPECT_EQ(r.globals.back(), samples_[i].expected);
        EXPECT_EQ(r.counters.empty(), build == HostBuild::kValues);
      }
}

TEST_F(HostRuns, CountersAreThoseOfANaiveCount) {
  for (std::size_t i = 0; i < samples_.size(); ++i) {
    SCOPED_TRACE(samples_[i].name);
    const HostResult r = run(i, HostBuild::kCounting, 3);
    ASSERT_EQ(r.error, "");
    EXPECT_EQ(r.counters, tests::naive_counters(samples_[i].module, chip_));
  }
}

TEST_F(HostRuns, CountersFollowTheChip) {
  const std::vector<arch::ArchSpec> chips = {
      tests::chip("mi50"), tests::chip("v100", {{"memory.smem.banks", "16"}, {"memory.smem.bank_width", "8 B"}})};
  for (const arch::ArchSpec& chip : chips) {
    HostCompiler host(chip);
    std::vector<const tests::Sample*> samples;  // a warp of another size arrives elsewhere
    for (const tests::Sample& s : samples_)
      if (chip.core.warp == chip_.core.warp || s.module.kernels.front().mbarriers.empty()) samples.push_back(&s);
    for (const tests::Sample* s : samples) host.add(s->module);
    for (std::size_t i = 0; i < samples.size(); ++i) {
      SCOPED_TRACE(chip.name + " " + samples[i]->name);
      const HostResult r =
          host.run(static_cast<int>(i), {HostBuild::kCounting, 4, samples[i]->scalars, samples[i]->inputs});
      ASSERT_EQ(r.error, "");
      EXPECT_EQ(r.counters, tests::naive_counters(samples[i]->module, chip));
    }
  }
}

TEST_F(HostRuns, CountsOfWellKnownPatternsByHand) {
  // Store of a 32x32 tile by columns: all lanes in one bank; with rows one word longer, each in its own.
  for (std::size_t i = 0; i < samples_.size(); ++i) {
    const std::string& name = samples_[i].name;
    if (name != "transpose" && name != "transpose padded") continue;
    const HostResult r = run(i, HostBuild::kCounting, 5);
    ASSERT_EQ(r.error, "");
    const lower::KernelCounters& c = r.counters.front();
    EXPECT_EQ(c[0].global.sectors, 32 * 4) << "32 rows of 128 B";
    EXPECT_EQ(c[1].shared.passes, name == "transpose" ? 32 * 32 : 32);
    EXPECT_EQ(c[2].shared.passes, 32);
  }
}

TEST_F(HostRuns, AModuleThatComesLaterRunsToo) {
  ASSERT_EQ(run(0, HostBuild::kValues, 1).error, "");
  const tests::MatmulForm form{16, 16, 8, 1, 0, false};
  const int late = host_.add(tests::matmul(form));
  const HostResult r = host_.run(late, {HostBuild::kValues, 1, {}, tests::matmul_values(form)});
  ASSERT_EQ(r.error, "");
  EXPECT_EQ(r.globals.back(), tests::matmul_values(form).back());
}

TEST_F(HostRuns, AModuleThatTheCompilerRefusesFailsAlone) {
  lower::Module wrong = samples_[0].module;
  for (lower::Buffer& b : wrong.kernels[0].buffers)
    if (b.space == lower::Space::kRegister) b.elements = -1;
  HostCompiler host(chip_);
  const int refused = host.add(wrong), right = host.add(samples_[1].module);
  ASSERT_EQ(host.compile(HostBuild::kValues, 2), std::nullopt);
  const HostResult none = host.run(refused, {HostBuild::kValues, 1, samples_[0].scalars, samples_[0].inputs});
  EXPECT_THAT(none.error,
              testing::MatchesRegex("the C\\+\\+ compiler refuses its kernels: kernels.cu:[^\n]*error: [^\n]*"));
  const HostResult r = host.run(right, {HostBuild::kValues, 1, samples_[1].scalars, samples_[1].inputs});
  ASSERT_EQ(r.error, "");
  EXPECT_EQ(r.globals.back(), samples_[1].expected);
}

TEST(HostCompiler, SaysWhichCompilerIsMissing) {
  const tests::EnvironmentVariable compiler("CXX", "no-such-compiler");
  HostCompiler host(tests::chip("v100"));
  const int id = host.add(tests::matmul({}));
  const HostResult r = host.run(id, {HostBuild::kValues, 1, {}, tests::matmul_values({})});
  EXPECT_EQ(r.error,
            "kernels run on the CPU by the system's C++ compiler, and there is none: no-such-compiler: No such file or "
            "directory");
}

TEST(HostCompiler, SaysWhereItsRuntimeIsMissing) {
  const HostCompiler here(tests::chip("v100"));
  if (const auto why = here.why_unsupported()) GTEST_SKIP() << *why;
  const arch::ArchSpec chip = tests::chip("v100");
  const tests::EnvironmentVariable home("TILESCOPE_HOME", "/nowhere");
  EXPECT_EQ(HostCompiler(chip).why_unsupported(),
            "kernels are compiled together with the sources in /nowhere/backends/cuda/host, and there are none; is "
            "TILESCOPE_HOME right?");
}

}  // namespace
}  // namespace tilescope::cuda
