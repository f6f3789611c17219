// SPDX-License-Identifier: Apache-2.0
// How a kernel reads.

#include "lower/print.h"

#include <gtest/gtest.h>

#include "tests/support/expected.h"
#include "tests/support/lowered.h"
#include "tests/support/paths.h"

namespace tilescope::lower {
namespace {

TEST(Print, AMatmulReadsAsItIsMeant) {
  const arch::ArchSpec chip = tests::chip("v100");
  const Module m =
      tests::lowered(tests::program(tests::small_matmul(R"(,"padding":{"A":4},"split":{"k":2})"), chip), chip);
  tests::expect_text_of_file(print(m), tests::source_path("tests/unit/lower/matmul.kernel"));
}

}  // namespace
}  // namespace tilescope::lower
