// SPDX-License-Identifier: Apache-2.0
#pragma once
// Costs of access patterns in one chip's banks and caches, each computed once: the programs of a search make few
// patterns.

#include <cstdint>
#include <vector>

#include "model/simt/access_pattern.h"
#include "model/simt/machine.h"
#include "model/simt/word_table.h"

namespace tilescope::model {

// The cost of one access to the scratchpad.
struct PortUse {
  BankUse use;
  std::int64_t served_passes = 0;  // passes where groups of lanes whose neighbours agree are served together
};
PortUse port_use(const AccessPattern& access, const Geometry& g);

// Not thread-safe. Results do not depend on earlier calls.
class AccessTable {
 public:
  explicit AccessTable(const Geometry& g) : geometry_(g) {}

  PortUse port_use(const AccessPattern& access);
  std::int64_t granules_touched(const AccessPattern& access, std::int64_t granule);

  // Number of patterns whose addresses were enumerated.
  std::size_t enumerated() const { return words_.size(); }

 private:
  // The number of a question about a pattern, and whether it is new.
  WordTable::Found number_of(const AccessPattern& access, std::int64_t question);

  Geometry geometry_;
  // The answer to a question about a pattern: its bank use, or its granules of one size.
  struct Answer {
    PortUse port;
    std::int64_t granules = 0;
  };
  WordTable words_;
  std::vector<Answer> answers_;  // by number
};

// From the table where `known` is not null, else computed.
inline PortUse port_use_of(const AccessPattern& access, const Geometry& g, AccessTable* known) {
  return known != nullptr ? known->port_use(access) : port_use(access, g);
}
inline std::int64_t granules_of(const AccessPattern& access, std::int64_t granule, AccessTable* known) {
  return known != nullptr ? known->granules_touched(access, granule) : granules_touched(access, granule);
}

}  // namespace tilescope::model
