#pragma once
// Keys whose numbers change no answer: no prediction, no simulation, no limit and no refusal (the test `Hears` changes
// every number of every device and sees to it that the list is right). The schema says it at the keys.

#include <optional>
#include <span>
#include <string_view>

#include "arch/spec.h"

namespace tilescope::arch {

struct UnheardKey {
  // As `--set` takes it; <cache> is any level of that kind, <name> any entry of a list or map.
  std::string_view path;
  std::string_view reason;
  std::optional<ChipClass> only = {};  // of chips of that class; of all where absent
};

std::span<const UnheardKey> unheard_keys();

// The entry of the key at that path of the table of keys (`memory.<cache>.access`); of chips of every class alone.
const UnheardKey* unheard_key(std::string_view path);

// The entry of the number at that path of a chip, or null.
const UnheardKey* unheard_number(const ArchSpec& a, std::string_view path);

}  // namespace tilescope::arch
