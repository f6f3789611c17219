// SPDX-License-Identifier: Apache-2.0
#pragma once
// One DRAM channel, simulated command by command: ranks of bank groups of banks with open rows, a table of constraints
// between commands, and a controller. Pseudo-channels share the controller and its command buses, and nothing else. The
// controller takes requests in their order, up to a number of reads and of writes, and hands them to their banks. It
// serves row hits first, else the oldest request; banks with queues take turns. Rows stay open or close as the page
// policy says; writes gather and drain together or take turns with reads; refreshes cover a whole rank or one bank.
// Times are clocks of the channel; nothing is simulated between two commands.
//
// Ignores: postponed refreshes, power-down, the rule that a write may not overtake an older read of its address.

#include <array>
#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

#include "sim/memory/dram_spec.h"

namespace tilescope::sim {

// A request for neighbouring bursts of one row.
struct DramRequest {
  int id = 0;
  bool write = false;
  std::int64_t bank = 0;  // numbered through all ranks of all pseudo-channels
  std::int64_t row = 0;
  std::int64_t bursts = 1;
  Clock arrival{};
  // The place that is read or written, where it is known. Reads of one place are served together, or by a waiting
  // write.
  std::optional<std::int64_t> place = std::nullopt;
  // A partial write of a unit that is only written whole: the controller reads the unit first.
  bool merges = false;
};

struct DramServed {
  int id = 0;
  bool write = false;
  bool row_hit = false;     // no row was opened for it
  std::int64_t bursts = 0;  // that the bus moved for it; 0 if what it asks for was moved for another request, or waits
  Clock accepted{};         // when the controller saw it
  Clock done{};             // when its last burst has left the bus
  bool merges = false;      // the read of a merging write, which is still to come
};

// Log of a channel for timelines: column accesses on the data bus, and refreshes of ranks.
struct DramLog {
  struct Column {
    bool write = false;
    bool row_hit = false;
    Clock begin{};  // of the data
    std::int64_t pseudo_channel = 0;
  };
  struct Refresh {
    std::int64_t rank = 0;  // of the pseudo-channel
    Clock begin{};
    std::int64_t pseudo_channel = 0;
  };
  std::vector<Column> columns;
  std::vector<Refresh> refreshes;
};

class DramChannel {
 public:
  explicit DramChannel(const DramSpec& spec);

  void push(const DramRequest& r);
  // Whether the controller would take a read or a write at once; where banks have the queues, one for `bank`.
  bool accepts(bool write, std::int64_t bank = 0) const;
  // Time of the controller's next decision; nothing while it has nothing to do.
  std::optional<Clock> next() const;
  // Makes all decisions that are due before `until` and adds the requests served by them to `served`.
  void run(Clock until, std::vector<DramServed>& served);
  std::int64_t waiting_writes() const { return waiting_writes_; }
  std::int64_t activates() const { return activates_; }
  // Refreshes that it has done, and those that are due by then.
  std::int64_t refreshes(Clock until) const;
  // Logs from now on what the channel does; the log must outlive the channel.
  void watch(DramLog& log) { log_ = &log; }

 private:
  static constexpr std::int64_t kNoRow = -1;
  static constexpr std::size_t kNone = std::numeric_limits<std::size_t>::max();
  static constexpr Clock kNever = Clock::max();

  // One time for each command: the earliest that a bank, a group or a rank allows, or a minimum distance.
  using ByCommand = std::array<Clock, kDramCommands>;

  // A request that is not served yet. It keeps its place in `pending_` until then, and other tables refer to the place.
  // It fills one cache line of the host.
  struct alignas(64) Pending {
    DramRequest request;       // `arrival` becomes the time at which the controller sees it
    std::int32_t left = 0;     // bursts to serve
    bool opened = false;       // its row was opened for it
    bool shared = false;       // others read the same place
    bool merges = false;       // becomes a write once it is read
    bool logged_miss = false;  // one of its columns was logged as the row miss
  };
  // A pending request that has not reached the controller.
  struct Waiting {
    Clock arrival{};
    std::uint32_t place = 0;
    bool write = false;
  };
  // A pending request at the controller.
  struct Before {
    std::size_t place = 0, bank = 0;
  };
  // A pending request at its bank.
  struct Queued {
    std::size_t place = 0;
    std::uint64_t age = 0;  // grows in the order in which the banks' queues were entered
    std::int64_t row = 0;
    bool write = false;
  };
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
  struct Group {
    ByCommand earliest{};
    ByCommand asked{};  // minimum over its banks in `asked_`
    std::size_t rank = 0;
  };
  struct Rank {
    ByCommand earliest{};
    std::vector<Clock> activates;  // ring buffer of the last ones
    std::size_t activated = 0;
    Clock refresh{};             // when the next one is due
    std::int64_t refreshes = 0;  // so far, of one bank each where banks are refreshed one by one
  };
  // A command that may be issued, for entry `entry` of the queue of `bank`, and its turn.
  struct Candidate {
    std::uint64_t turn = std::numeric_limits<std::uint64_t>::max();
    std::size_t entry = 0, bank = 0;
    DramCommand command{};
  };

  // The earliest time of a command that a group's banks ask for.
  Clock first_of(const Group& g, std::size_t command) const;
  Clock earliest(const Bank& bank, DramCommand c) const;
  void issue(std::size_t bank, DramCommand c, Clock at);
  void set_row(std::size_t number_of_bank, std::int64_t row);
  void find_hits(std::size_t number_of_bank);
  void note_asked(std::size_t number_of_bank);
  ByCommand asked_of(const Bank& bank);
  bool starves(const Bank& bank);

  // Requests on their way to the banks.
  void wait(std::size_t place);
  void expect(std::size_t place) const { __builtin_prefetch(&pending_[place], 1); }  // it is used soon
  std::size_t held(bool write) const;
  bool has_room(bool write) const;
  bool has_room_for(const Waiting& w) const;
  bool take_in(std::vector<DramServed>& served);
  bool admit(std::vector<DramServed>& served);
  bool answered(std::size_t place, std::vector<DramServed>& served);
  bool hand_over();
  bool is_draining() const { return drain_ > 0 || writes_only_; }
  bool choose_direction();
  bool choose_by_watermarks(bool rests);
  void recall(bool write);
  Clock next_arrival() const;

  void plan(Clock from);
  Candidate first_in_turn(Clock at, DramCommand one, DramCommand other) const;
  // Whether a command was issued, and whether a request left its bank with it.
  struct Issued {
    bool any = false, left = false;
  };
  Issued issue_what_is_due(std::vector<DramServed>& served);
  bool serve(const Candidate& w, std::vector<DramServed>& served);
  void log_column(Pending& p);
  void close_row(std::size_t number_of_bank, Clock at);
  void close_used_row(std::size_t number_of_bank);
  void close_idle_row(std::size_t number_of_bank, Clock now);
  void finish(std::size_t place, std::vector<DramServed>& served);
  void finish_sharers(std::size_t place, Clock done, std::vector<DramServed>& served);
  bool refresh_what_is_due();
  void refresh(std::size_t number_of_rank, Clock at);
  void refresh_bank(std::size_t number_of_rank, Clock at);
  Clock refresh_after(const Rank& rank) const;
  void skip_idle_refreshes(Rank& rank, std::int64_t before);
  void log_refresh(std::size_t number_of_rank, Clock begin);

  DramSpec spec_;
  std::array<std::array<ByCommand, kDramScopes>, kDramCommands> after_;  // constraints by the preceding command
  std::vector<Bank> banks_;
  std::vector<ByCommand> asked_;  // by bank: earliest time of each command that it asks for, else kNever
  std::vector<Group> groups_;
  std::vector<Rank> ranks_;

  std::vector<Pending> pending_;
  std::vector<std::size_t> free_;  // places in pending_
  std::vector<Waiting> waiting_;
  std::size_t admitted_ = 0;  // number of leading entries that do not wait any more
  std::vector<Before> reads_, writes_;
  std::vector<std::pair<std::size_t, std::size_t>> sharers_;  // a read, and the read whose data it shares
  std::array<std::size_t, 2> arriving_{};                     // reads and writes that have not reached the controller
  std::int64_t waiting_writes_ = 0;                           // all that are not served
  std::array<std::size_t, 2> queued_{};                       // reads and writes at the banks
  std::size_t drain_ = 0;                                     // writes that go to the banks before the next read
  bool writes_only_ = false;                                  // no reads are served until the low watermark
  std::vector<std::int64_t> room_;                            // free queue entries, by bank
  std::size_t tried_ = 0;  // leading entries of the current queue whose bank's queue is full
  std::uint64_t age_ = 0;

  Clock now_{}, next_ = kNever;
  Clock last_command_{};
  Clock row_bus_{};                       // when the bus of activates is free again
  Clock column_ = kNever, row_ = kNever;  // when the next command of the kind may come
  Clock starves_ = kNever;                // before this time no request at a bank has waited too long
  std::size_t last_bank_ = 0;             // bank of the last command
  std::int64_t activates_ = 0;
  DramLog* log_ = nullptr;  // null where nothing is logged
};

}  // namespace tilescope::sim
