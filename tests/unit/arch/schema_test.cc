// SPDX-License-Identifier: Apache-2.0
// The JSON Schema is the one in the tree; tests/contract/schemas_test.py says what it takes and refuses.

#include <gtest/gtest.h>

#include "arch/load.h"
#include "tests/support/expected.h"
#include "tests/support/paths.h"

namespace tilescope::tests {
namespace {

TEST(Schema, StandsInTheTree) {
  expect_text_of_file(base::to_json(arch::schema(), 2) + "\n", source_path("arch/schema.json"));
}

}  // namespace
}  // namespace tilescope::tests
