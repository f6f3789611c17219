// SPDX-License-Identifier: Apache-2.0
#pragma once
// Threads of a block that an interpreter takes through a body together, and what they know of others.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "lower/detail/lanes.h"

namespace tilescope::lower {

// A mistake of a kernel, found in the statement that runs. Who runs it says which.
class Mistake : public std::runtime_error {
 public:
  Mistake(const std::string& what, std::int64_t by) : std::runtime_error(what), thread(by) {}

  std::int64_t thread;
};

// How many arrivals of each role are known to have happened.
using Clock = std::vector<std::int64_t>;

// All threads of a block, or those of a role.
struct Crew {
  std::size_t number = 0;  // of the role
  bool of_role = false;
  std::int64_t first = 0, end = 0;  // threads
  Lanes lanes;
  Clock seen;
  std::int64_t met = 0;                 // of its own arrivals, those of which all its threads know
  std::optional<int> products_of = {};  // buffer, between WgmmaFence and WgmmaCommitWait
  std::set<int> fragments = {};         // registers that these products read
  // Products into tensor memory that the crew has not waited for, and mbarrier and phase of the commit behind the last.
  bool tensor_products = false;
  std::optional<std::pair<int, std::int64_t>> tensor_commit = {};

  std::int64_t threads() const { return end - first; }
  // Whether all its threads know what a thread of a role did before that number of its arrivals.
  bool knows(std::size_t role, std::int64_t arrivals) const { return arrivals < (role == number ? met : seen[role]); }
  // The value that all lanes of a group have, or all its threads. Throws Mistake where they differ.
  std::int64_t common(const Affine& a, std::int64_t group, std::int64_t count) const;
  std::int64_t common(const Affine& a) const { return common(a, first, threads()); }
  // The first threads of groups of `lanes` threads that execute together. Throws Mistake where some are left over.
  std::vector<std::int64_t> groups(std::int64_t count) const;
};

}  // namespace tilescope::lower
