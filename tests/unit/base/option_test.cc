// SPDX-License-Identifier: Apache-2.0
#include "base/option.h"

#include <gtest/gtest.h>

namespace tilescope::base {
namespace {

TEST(Option, IsSpelledAsTheInterfaceSays) {
  EXPECT_EQ(option("mma"), "--mma");  // tests/support/spell_options.cc
  spell_options_with("");
  EXPECT_EQ(option("mma"), "mma");
  spell_options_with("--");
}

}  // namespace
}  // namespace tilescope::base
