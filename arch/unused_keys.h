// SPDX-License-Identifier: Apache-2.0
#pragma once
// Keys whose numbers change no result: no prediction, no simulation, no limit and no refusal. The test `Hears` changes
// every number of every device and checks this list. The JSON Schema marks these keys.

#include <span>
#include <string_view>

#include "arch/spec.h"

namespace tilescope::arch {

// The place of a number: its chip, and the level or instruction that it belongs to, if any.
struct NumberPlace {
  const ArchSpec& chip;
  const Level* level = nullptr;
  const ComputeSpec* unit = nullptr;
};

struct UnusedKey {
  // A path as `--set` takes it, which includes everything below it; <cache> is any level of that kind, <name> any entry
  // of a list or map. Empty: every key.
  std::string_view path;
  std::string_view reason;
  std::string_view where = {};               // which chips or levels, in words; all where empty
  bool (*of)(const NumberPlace&) = nullptr;  // the same as a predicate
};

std::span<const UnusedKey> unused_keys();

// The entry for the key at that path of the table of keys (`memory.<cache>.access`), if the key is unused on all chips
// or on some; null if every chip uses it. Entries with an empty path are skipped.
const UnusedKey* unheard_key(std::string_view path);

// The entry for the number at that path of a chip; null if the number is used.
const UnusedKey* unheard_number(const ArchSpec& a, std::string_view path);

}  // namespace tilescope::arch
