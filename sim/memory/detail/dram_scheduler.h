// SPDX-License-Identifier: Apache-2.0
#pragma once
// Which command of a DRAM channel comes next: queues at the banks, what each bank asks for, and whose turn it is. Row
// hits come first, else the oldest request; banks with queues take turns. Rows stay open or close as the page policy
// says.

#include <array>
#include <cstdint>
#include <limits>
#include <vector>

#include "sim/memory/detail/dram_banks.h"
#include "sim/memory/detail/dram_pending.h"

namespace tilescope::sim {

class DramScheduler {
 public:
  static constexpr std::size_t kNone = DramBanks::kNone;
  static constexpr Clock kNever = Clock::max();

  using Queued = DramBanks::Queued;
  // A command that may be issued, for entry `entry` of the queue of `bank`, and its turn.
  struct Candidate {
    std::uint64_t turn = std::numeric_limits<std::uint64_t>::max();
    std::size_t entry = 0, bank = 0;
    DramCommand command{};
  };

  DramScheduler(const DramSpec& spec, DramBanks& banks, DramPending& pending);

  // What the time is from now on.
  void advance(Clock now) { now_ = now; }

  // --- queues
  std::size_t queued() const { return queued_[false] + queued_[true]; }
  std::size_t queued(bool write) const { return queued_[write]; }
  bool has_room(std::size_t bank) const { return room_[bank] > 0; }
  const std::vector<Queued>& queue(std::size_t bank) const { return banks_[bank].queue; }
  void enter(std::size_t bank, std::size_t place);
  // The request has been served.
  void leave(std::size_t bank, std::size_t entry);
  // Takes all reads or writes back from the banks, the oldest first: their places and banks.
  std::vector<std::pair<std::size_t, std::size_t>> recall(bool write);

  // --- rows
  void open_row(std::size_t bank, std::int64_t row);
  // As an auto-precharge does: no command is sent.
  void close_row(std::size_t bank, Clock at);
  // Where the page policy has idle rows time out: one that did by then.
  void close_idle_row(std::size_t bank, Clock now);
  // To be called whenever a bank's queue, its share or its own times have changed.
  void note_asked(std::size_t bank);

  // --- commands
  // When the first of two commands may come to any bank, as far as banks, groups and ranks go.
  Clock first_of(DramCommand one, DramCommand other) const {
    return earlier(first_[number(one)], first_[number(other)]);
  }
  // Finds these times anew.
  void plan();
  // Of two commands that may come at a clock the first in turn: for the oldest request, or where banks have queues at
  // the bank that is next.
  Candidate first_in_turn(Clock at, DramCommand one, DramCommand other) const;
  void took_turn(std::size_t bank) { last_bank_ = bank; }

 private:
  void find_hits(std::size_t bank);
  ByCommand asked_of(std::size_t bank);
  bool starves(const DramBanks::Bank& bank);

  const DramSpec& spec_;
  DramBanks& banks_;
  DramPending& pending_;
  std::vector<ByCommand> asked_;         // by bank: earliest time of each command that it asks for, else kNever
  std::vector<ByCommand> group_asked_;   // by group: minimum over its banks
  std::vector<std::int64_t> room_;       // free queue entries, by bank
  std::array<std::size_t, 2> queued_{};  // reads and writes at the banks
  std::uint64_t age_ = 0;
  std::size_t last_bank_ = 0;  // bank of the last command
  Clock now_{};
  Clock starves_ = kNever;  // before this time no request at a bank has waited too long
  ByCommand first_{};
};

}  // namespace tilescope::sim
