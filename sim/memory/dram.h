// SPDX-License-Identifier: Apache-2.0
#pragma once
// One DRAM channel, simulated command by command: ranks of bank groups of banks with open rows, a table of constraints
// between commands, and a controller. Pseudo-channels share the controller and its command buses, and nothing else. The
// controller takes requests in their order, up to a number of reads and of writes, and hands them to their banks, where
// a scheduler chooses among them. Writes gather and drain together or take turns with reads; refreshes cover a whole
// rank or one bank. Times are clocks of the channel; nothing is simulated between two commands.
//
// Ignores: power-down, the rule that a write may not overtake an older read of its address.

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "sim/memory/detail/dram_banks.h"
#include "sim/memory/detail/dram_direction.h"
#include "sim/memory/detail/dram_pending.h"
#include "sim/memory/detail/dram_refresh.h"
#include "sim/memory/detail/dram_scheduler.h"
#include "sim/memory/dram_request.h"
#include "sim/memory/dram_spec.h"

namespace tilescope::sim {

class DramChannel {
 public:
  explicit DramChannel(const DramSpec& spec);
  DramChannel(const DramChannel&) = delete;
  DramChannel& operator=(const DramChannel&) = delete;

  void push(const DramRequest& r);
  // Whether the controller would take a read or a write at once; where banks have the queues, one for `bank`.
  bool accepts(bool write, std::int64_t bank = 0) const;
  // Time of the controller's next decision; nothing while it has nothing to do.
  std::optional<Clock> next() const;
  // Makes all decisions that are due before `until` and adds the requests served by them to `served`.
  void run(Clock until, std::vector<DramServed>& served);
  std::int64_t waiting_writes() const { return waiting_writes_; }
  std::int64_t activates() const { return banks_.activates(); }
  // Refreshes that it has done, and those that are due by then.
  std::int64_t refreshes(Clock until) const { return refresh_.count(until); }
  // Logs from now on what the channel does; the log must outlive the channel.
  void watch(DramLog& log) { log_ = &log; }

 private:
  static constexpr Clock kNever = DramScheduler::kNever;

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

  // Requests on their way to the banks.
  void wait(std::size_t place);
  std::size_t held(bool write) const;
  bool has_room(bool write) const;
  bool has_room_for(const Waiting& w) const;
  bool take_in(std::vector<DramServed>& served);
  bool admit(std::vector<DramServed>& served);
  bool answered(std::size_t place, std::vector<DramServed>& served);
  bool hand_over();
  Clock next_arrival() const;
  void recall(bool write);

  void plan(Clock from);
  // Whether a command was issued, and whether a request left its bank with it.
  struct Issued {
    bool any = false, left = false;
  };
  Issued issue_what_is_due(std::vector<DramServed>& served);
  bool serve(const DramScheduler::Candidate& w, std::vector<DramServed>& served);
  void log_column(PendingDramRequest& p);

  DramSpec spec_;
  DramPending pending_;
  DramBanks banks_;
  DramScheduler scheduler_;
  DramRefresh refresh_;

  std::vector<Waiting> waiting_;
  std::size_t admitted_ = 0;  // number of leading entries that do not wait any more
  std::vector<Before> reads_, writes_;
  std::array<std::size_t, 2> arriving_{};  // reads and writes that have not reached the controller
  std::int64_t waiting_writes_ = 0;        // all that are not served
  DramDirection direction_;
  std::size_t tried_ = 0;  // leading entries of the current queue whose bank's queue is full

  Clock now_{}, next_ = kNever;
  Clock last_command_{};
  Clock row_bus_{};                       // when the bus of activates is free again
  Clock column_ = kNever, row_ = kNever;  // when the next command of the kind may come
  DramLog* log_ = nullptr;                // null where nothing is logged
};

}  // namespace tilescope::sim
