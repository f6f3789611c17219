// SPDX-License-Identifier: Apache-2.0
#pragma once
// The banks, bank groups and ranks of a DRAM channel: which rows are open, and when a table of constraints between
// commands lets the next one come.

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <vector>

#include "sim/memory/dram_spec.h"
#include "sim/memory/dram_timing.h"

namespace tilescope::sim {

// std::min and std::max of what counts are wrapped in, by reference, become branches (GCC 12): a channel's run takes 5
// % longer with them.
constexpr Clock earlier(Clock a, Clock b) { return Clock(std::min(a.count(), b.count())); }
constexpr Clock later(Clock a, Clock b) { return Clock(std::max(a.count(), b.count())); }

// One time for each command: the earliest that a bank, a group or a rank allows, or a minimum distance.
using ByCommand = std::array<Clock, kDramCommands>;

class DramBanks {
 public:
  static constexpr std::int64_t kNoRow = -1;
  static constexpr std::size_t kNone = std::numeric_limits<std::size_t>::max();

  // A pending request at its bank.
  struct Queued {
    std::size_t place = 0;
    std::uint64_t age = 0;  // grows in the order in which the banks' queues were entered
    std::int64_t row = 0;
    bool write = false;
  };
  // Its row, its times, and what waits for it.
  struct Bank {
    std::int64_t row = kNoRow;
    std::int64_t columns = 0;  // column commands since its row was opened
    ByCommand earliest{};
    Clock closed{};                                   // end of its last precharge
    Clock used{};                                     // its last command for a request
    std::vector<Queued> queue;                        // oldest first
    std::array<std::size_t, 2> hit = {kNone, kNone};  // the oldest read and the oldest write of the open row
    std::size_t group = 0, rank = 0;
  };

  explicit DramBanks(const DramSpec& spec);

  std::size_t banks() const { return banks_.size(); }
  std::size_t groups() const { return groups_.size(); }
  std::size_t ranks() const { return ranks_.size(); }
  std::size_t banks_of_group() const { return banks_.size() / groups_.size(); }
  Bank& operator[](std::size_t bank) { return banks_[bank]; }
  const Bank& operator[](std::size_t bank) const { return banks_[bank]; }

  // When a command may come to the bank, as far as the constraints go.
  Clock earliest(std::size_t bank, DramCommand c) const {
    const Bank& b = banks_[bank];
    return later(b.earliest[number(c)], of_group(b.group, number(c)));
  }
  // When any bank of the group may have the command, as far as its group and rank go.
  Clock of_group(std::size_t group, std::size_t command) const {
    const Group& g = groups_[group];
    return later(g.earliest[command], ranks_[g.rank].earliest[command]);
  }
  // Sends a command. Rows are the caller's.
  void issue(std::size_t bank, DramCommand c, Clock at);
  // No row of the rank is opened before that.
  void hold_rank(std::size_t rank, Clock until);
  std::int64_t activates() const { return activates_; }

 private:
  struct Group {
    ByCommand earliest{};
    std::size_t rank = 0;
  };
  struct Rank {
    ByCommand earliest{};
    std::vector<Clock> activates;  // ring buffer of the last ones
    std::size_t activated = 0;
  };

  void count_activate(Rank& rank, Clock at);

  const DramSpec& spec_;
  std::array<std::array<ByCommand, kDramScopes>, kDramCommands> after_;  // constraints by the preceding command
  std::vector<Bank> banks_;
  std::vector<Group> groups_;
  std::vector<Rank> ranks_;
  std::int64_t activates_ = 0;
};

}  // namespace tilescope::sim
