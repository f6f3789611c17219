// SPDX-License-Identifier: Apache-2.0
// Stores that another tilescope wrote.

#include <SQLiteCpp/SQLiteCpp.h>

#include <gmock/gmock.h>

#include "experiments/store/store.h"
#include "experiments/store/writer.h"
#include "tests/support/stores.h"

namespace tilescope::experiments {
namespace {

using testing::AllOf;
using testing::HasSubstr;

class StoreVersions : public tests::Stores {
 protected:
  // Why a store is refused that was changed so, by who reads and by who writes.
  std::vector<std::string> why_refused(const std::string& change) const {
    base::Diagnostics diags;
    StoreWriter::open(path("r.db"), "1.2.3", diags).reset();
    tests::require_no_errors(diags);
    SQLite::Database(path("r.db"), SQLite::OPEN_READWRITE).exec(change);
    EXPECT_FALSE(Store::open(path("r.db"), diags));
    EXPECT_FALSE(StoreWriter::open(path("r.db"), "1.2.3", diags));
    return diags.formatted_errors();
  }
};

TEST_F(StoreVersions, RowsOfAnotherBuildAreRefusedWithARemedy) {
  EXPECT_THAT(why_refused("DROP VIEW results; ALTER TABLE rows DROP COLUMN refreshes"),
              testing::Each(AllOf(HasSubstr("by another build of tilescope, for its rows have no refreshes"),
                                  HasSubstr("use the tilescope that made it, or sweep into another file"))));
}

TEST_F(StoreVersions, ANewerOneIsRefusedWithARemedy) {
  EXPECT_THAT(why_refused("PRAGMA user_version = 99"),
              testing::Each(AllOf(HasSubstr("is a store of schema version 99, and this tilescope reads version 13"),
                                  HasSubstr("use the tilescope that made it, or sweep into another file"))));
}

}  // namespace
}  // namespace tilescope::experiments
