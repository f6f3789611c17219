// SPDX-License-Identifier: Apache-2.0
// Names for contents.

#include "base/hash.h"

#include <gtest/gtest.h>

namespace tilescope::base {
namespace {

TEST(ContentHash, IsXxh3OfThatVersion) {
  // xxHash's own test vectors; a cache written by another build of this program stays valid.
  EXPECT_EQ(content_hash(""), "99aa06d3014798d86001c324468d497f");
  EXPECT_NE(content_hash("a"), content_hash("b"));
  EXPECT_EQ(content_hash("a").size(), 32U);
}

}  // namespace
}  // namespace tilescope::base
