// SPDX-License-Identifier: Apache-2.0
#pragma once
// Samples on the CPU, with mistakes planted in them or without: what finds them.

#include <gtest/gtest.h>

#include "backends/cuda/host_run.h"
#include "tests/support/build.h"
#include "tests/unit/backends_cuda/samples.h"

namespace tilescope::tests {

class SamplesOnTheCpu : public testing::Test {
 protected:
  explicit SamplesOnTheCpu(const char* chip) : host_(tests::chip(chip)) {}

  void SetUp() override {
    if (const auto why = host_.why_unsupported()) GTEST_SKIP() << *why;
  }

  cuda::HostResult run(const Sample& s, cuda::HostBuild build, std::uint64_t seed) {
    return host_.run(host_.add(s.module), {build, seed, s.scalars, s.inputs});
  }
  // How many of ten seeds find a wrong value or an error where only values are looked at.
  int found_by_values(const Sample& s) {
    int found = 0;
    for (std::uint64_t seed = 0; seed < 10; ++seed) {
      const cuda::HostResult r = run(s, cuda::HostBuild::kValues, seed);
      found += !r.ok() || r.globals.back() != s.expected ? 1 : 0;
    }
    return found;
  }
  std::string counting_error(const Sample& s) { return run(s, cuda::HostBuild::kCounting, 1).error; }

  cuda::HostCompiler host_;
};

}  // namespace tilescope::tests
