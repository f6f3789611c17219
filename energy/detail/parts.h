// SPDX-License-Identifier: Apache-2.0
#pragma once
// What the parts of a die share while they are collected. Private to energy/.

#include <string>
#include <string_view>

#include "arch/spec.h"
#include "base/diagnostics.h"
#include "energy/area.h"
#include "energy/technology.h"

namespace tilescope::energy {

inline constexpr std::string_view kCores = "cores", kInterconnect = "interconnect", kCaches = "caches",
                                  kMemory = "memory", kLinks = "links", kOtherParts = "other";

// Collects the parts of a die, and reports what no rule covers.
class Parts {
 public:
  Parts(const arch::ArchSpec& a, const Technology& data, base::Diagnostics& to)
      : chip(a), die(*a.die), technology(data), diags(to) {}

  // The row, or null after an error at the die's key.
  const Figure* need(Table table, std::string_view name, std::string_view key);
  // An error at the die's key.
  void refuse(std::string_view key, const std::string& text);
  // Adds a part; its source cites the figures, each once.
  void add(std::string_view group, std::string part, double mm2, std::string rule,
           std::initializer_list<const Figure*> figures);
  // Logic of so many millions of transistors.
  void add_logic(std::string_view group, std::string part, double million, const std::string& rule,
                 std::initializer_list<const Figure*> figures);

  const arch::ArchSpec& chip;
  const arch::DieSpec& die;
  const Technology& technology;
  base::Diagnostics& diags;
  const Figure* density = nullptr;
  const Figure* cell = nullptr;
  std::int64_t cores = 0;  // built
  std::vector<AreaPart> all;
};

// Adds the parts of the cores: schedulers, lanes, matrix units, registers, cache and scratchpad.
void add_core_parts(Parts& to);

}  // namespace tilescope::energy
