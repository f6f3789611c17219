// SPDX-License-Identifier: Apache-2.0
#pragma once
// What became of every key of an input: taken, meaningless here, or not understood.

#include <string>
#include <string_view>
#include <vector>

#include "import/keys.h"
#include "import/report.h"

namespace tilescope::importers {

class Ledger {
 public:
  explicit Ledger(std::vector<Key> keys) : keys_(std::move(keys)), fates_(keys_.size()) {}

  const std::vector<Key>& keys() const { return keys_; }

  // Says what the key of that name, and all keys below it (`NAME.x`, `NAME[0]`), became. Keys that have a fate keep
  // their first one, but a key that was taken lists everything that it became. False if there is no such key.
  bool take(std::string_view name, std::string_view became);
  // Says why they mean nothing here; false if there is no such key.
  bool leave(std::string_view name, std::string_view reason);

  // The three lists. Keys that differ only in numbers in brackets and have one fate are one line: `[*].equation`.
  // `known` are names that a typo is compared with.
  Report report(const std::vector<std::string_view>& known) const;

 private:
  enum class Fate { kNone, kTaken, kMeaningless };
  struct State {
    Fate fate = Fate::kNone;
    std::string text;
  };

  template <class Claim>
  bool for_each_below(std::string_view name, Claim claim);

  std::vector<Key> keys_;
  std::vector<State> fates_;
};

}  // namespace tilescope::importers
