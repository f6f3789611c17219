// SPDX-License-Identifier: Apache-2.0
#pragma once
// Keys whose numbers change no answer: no prediction, no simulation, no limit and no refusal (the test `Hears` changes
// every number of every device and sees to it that the list is right). The schema says it at the keys.

#include <span>
#include <string_view>

#include "arch/spec.h"

namespace tilescope::arch {

// A number's place: its chip, and the level or instruction that it is of, where it is of one.
struct NumberPlace {
  const ArchSpec& chip;
  const Level* level = nullptr;
  const ComputeSpec* unit = nullptr;
};

struct UnusedKey {
  // As `--set` takes it, and all that lies below it; <cache> is any level of that kind, <name> any entry of a list or
  // map. Empty: every key.
  std::string_view path;
  std::string_view reason;
  std::string_view where = {};               // which chips or levels, in words; all where empty
  bool (*of)(const NumberPlace&) = nullptr;  // the same as a test
};

std::span<const UnusedKey> unused_keys();

// The entry of the key at that path of the table of keys (`memory.<cache>.access`), for all chips or some; null where
// it is heard. Entries of every key are left out.
const UnusedKey* unheard_key(std::string_view path);

// The entry of the number at that path of a chip, or null.
const UnusedKey* unheard_number(const ArchSpec& a, std::string_view path);

}  // namespace tilescope::arch
