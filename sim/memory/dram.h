#pragma once
// One DRAM channel, command by command: ranks of bank groups of banks with open rows, a table of constraints between
// commands, a controller that serves what is ready first and else what came first. Rows stay open; writes gather and
// drain together; ranks are refreshed whole. Times are clocks of the channel; between two commands nothing is
// simulated.
//
// Ignores: the command bus (a row command and a column command fit every clock), postponed refreshes, power-down.

#include <array>
#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

#include "arch/spec.h"
#include "sim/memory/dram_timing.h"

namespace tilescope::sim {

// A request is looked at the clock after it arrives; the simulators of experiments/dram_agreement differ there by a
// clock each way.
inline constexpr Clock kDramHandshake = 1;

struct DramSpec {
  std::int64_t ranks = 1, groups = 1;  // groups of a rank
  std::int64_t banks = 1;              // of a rank, in all its groups; neighbours in one group
  bool rows = false;                   // whether rows are known; without, every access is a hit
  DramTimes t;

  // Between two bursts that suit each other best.
  Clock clocks_per_burst() const { return t.ccd_s > t.burst ? t.ccd_s : t.burst; }
};

// Neighbouring bursts of one row.
struct DramRequest {
  int id = 0;
  bool write = false;
  std::int64_t bank = 0;  // of all ranks
  std::int64_t row = 0;
  std::int64_t bursts = 1;
  Clock arrival = 0;
};

struct DramServed {
  int id = 0;
  bool write = false;
  bool row_hit = false;  // no row was opened for it
  std::int64_t bursts = 0;
  Clock accepted = 0;  // the controller saw it
  Clock done = 0;      // its last burst has left the bus
};

// What a channel did, for those who want to see it: columns on the data bus, and refreshes of ranks.
struct DramLog {
  struct Column {
    bool write = false;
    bool row_hit = false;
    Clock begin = 0;  // of the data
  };
  struct Refresh {
    std::int64_t rank = 0;
    Clock begin = 0;
  };
  std::vector<Column> columns;
  std::vector<Refresh> refreshes;
};

// One channel of a level of kind dram. Where its banks are not known, one stands for all and rows are not.
DramSpec dram_spec(const arch::LevelSpec& dram);

// What a lone read of so many bursts takes that finds another row open.
Clock conflict_clocks(const DramSpec& spec, std::int64_t bursts);

class DramChannel {
 public:
  explicit DramChannel(const DramSpec& spec);

  void push(const DramRequest& r);
  // When it next has something to decide; nothing while it has nothing to do.
  std::optional<Clock> next() const;
  // Decides all that is due before `until`; what is served by that is added to `served`.
  void run(Clock until, std::vector<DramServed>& served);
  std::int64_t waiting_writes() const { return static_cast<std::int64_t>(writes_.size()); }
  std::int64_t activates() const { return activates_; }
  // Writes down from now on what it does; the log outlives the channel.
  void watch(DramLog& log) { log_ = &log; }

 private:
  // Of a bank, a group or a rank: when each command may come next.
  using Earliest = std::array<Clock, kDramCommands>;

  struct Bank {
    std::int64_t row = kNoRow;
    Earliest earliest{};
  };
  struct Rank {
    Earliest earliest{};
    std::deque<Clock> activates;  // the last thirty-two
    Clock refresh = 0;            // when it is next due
  };
  struct Seen {
    DramRequest request;
    Clock since = 0;
    std::int64_t left = 0;  // bursts
    bool opened = false;    // its row, for itself
    bool missed = false;    // a column of it was shown as the one that was missed
  };
  // Requests of one kind, oldest first: those that the controller sees, and those before it.
  struct Queue {
    std::vector<Seen> window;
    std::deque<DramRequest> waiting;

    bool empty() const { return window.empty() && waiting.empty(); }
    std::size_t size() const { return window.size() + waiting.size(); }
    void admit(Clock now);
    Clock next_arrival() const;
  };
  // What an entry of the window asks for next.
  struct Wish {
    std::size_t entry = 0;
    DramCommand command{};
  };

  static constexpr std::int64_t kNoRow = -1;

  std::size_t rank_of(std::int64_t bank) const { return static_cast<std::size_t>(bank / spec_.banks); }
  std::size_t group_of(std::int64_t bank) const { return static_cast<std::size_t>(bank / banks_of_group_); }
  Clock earliest(std::int64_t bank, DramCommand c) const;
  void issue(std::int64_t bank, DramCommand c, Clock at);
  void choose_direction();
  Queue& queue() { return draining_ ? writes_ : reads_; }
  // The oldest column command that is ready now, or else the oldest row command that is; else when one will be.
  std::optional<Wish> choose(Clock& later);
  void serve(const Wish& w, std::vector<DramServed>& served);
  void refresh_what_is_due();
  void refresh(std::size_t number_of_rank, Clock at);

  DramSpec spec_;
  std::int64_t banks_of_group_;
  std::array<std::vector<DramConstraint>, kDramCommands> after_;  // by the command before
  std::vector<Bank> banks_;
  std::vector<Earliest> groups_;
  std::vector<Rank> ranks_;
  Queue reads_, writes_;
  Clock now_ = 0, next_;
  bool draining_ = false;
  std::int64_t activates_ = 0;
  DramLog* log_ = nullptr;  // where somebody watches
  // By bank: the step in which an older entry has asked for a row command, in which one wants the open row.
  std::vector<std::uint64_t> wished_, wanted_;
  std::uint64_t step_ = 0;
};

}  // namespace tilescope::sim
