// SPDX-License-Identifier: Apache-2.0
#pragma once
// The die of a chip: what is built, in which process. A board may enable fewer cores, less cache and fewer memory
// interfaces than its die has. energy/area.h and energy/price.h read it; no time follows from it.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "base/diagnostics.h"
#include "base/units.h"

namespace tilescope::arch {

// A cache whose built capacity is larger than the enabled one.
struct BuiltCache {
  base::Bytes capacity;

  bool operator==(const BuiltCache&) const = default;
};

// What connects the die with its DRAM: the kind of interface, by its name in the technology data, and the number that
// is built; as many as the channels need where absent.
struct DieMemory {
  std::string interface;
  std::optional<std::int64_t> built;

  bool operator==(const DieMemory&) const = default;
};

// Links of one kind to other chips and to the host; of PCIe its lanes.
struct DieLinks {
  std::int64_t count = 0;

  bool operator==(const DieLinks&) const = default;
};

// Where the keys of a die were written, by their paths below `die`. It is no part of the chip's description.
struct DiePlaces {
  base::Position die;
  std::map<std::string, base::Position, std::less<>> keys;

  // The place of the key, or of the die where the key is absent.
  base::Position of(std::string_view key) const {
    const auto found = keys.find(key);
    return found == keys.end() ? die : found->second;
  }
  bool operator==(const DiePlaces&) const { return true; }
};

struct DieSpec {
  std::string name;                          // its maker's name: GA100
  std::string node;                          // process, by its name in the technology data
  std::optional<std::int64_t> dies;          // equal dies that share the chip; 1 where absent
  std::optional<std::int64_t> cores;         // built, on all dies; the chip's where absent
  std::map<std::string, BuiltCache> caches;  // by level; the chip's capacity where absent
  std::optional<DieMemory> memory;
  std::map<std::string, DieLinks> links;            // by kind, as the technology data names them
  std::optional<base::SquareMillimeters> other;     // of a die: what no other part holds
  std::optional<base::SquareMillimeters> area;      // of a die, as published
  std::optional<std::int64_t> million_transistors;  // of a die, as published
  bool changed = false;  // an override changed numbers, so `area` and `million_transistors` are those of another chip
  DiePlaces places;

  bool operator==(const DieSpec&) const = default;
};

}  // namespace tilescope::arch
