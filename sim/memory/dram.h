#pragma once
// One DRAM channel: banks with open rows, a data bus, queues of reads and writes. First ready, first come, first
// served; rows stay open; writes gather and drain together. Times are clocks of the channel.
//
// Ignores: refresh, bank groups, the command bus, tFAW. Requests beyond the controller's window wait in front of it.

#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

namespace tilescope::sim {

using Clock = std::int64_t;  // of the DRAM

// JEDEC timings without the leading t. What a chip's file does not name is 0: nothing is waited for.
struct DramTimes {
  Clock rcd = 0, rp = 0, ras = 0, rc = 0, rrd = 0, cl = 0, cwl = 0, rtp = 0, wr = 0, wtr = 0, rtw = 0;
  Clock burst = 1;  // between two bursts on the bus
};

struct DramSpec {
  std::int64_t banks = 1;
  bool rows = false;  // whether rows are known; without, every access is a hit
  DramTimes t;
};

// Neighbouring bursts of one row.
struct DramRequest {
  int id = 0;
  bool write = false;
  std::int64_t bank = 0, row = 0;
  std::int64_t bursts = 1;
  Clock arrival = 0;
};

struct DramServed {
  int id = 0;
  bool write = false;
  bool row_hit = false;
  std::int64_t bursts = 0;
  Clock done = 0;  // its last burst has left the bus
};

class DramChannel {
 public:
  explicit DramChannel(const DramSpec& spec);

  void push(const DramRequest& r);
  // When it decides next; nothing while it has nothing to do.
  std::optional<Clock> next() const;
  // Serves one request, chosen at `now`, which is not before next().
  DramServed serve(Clock now);
  std::int64_t waiting_writes() const { return static_cast<std::int64_t>(writes_.size()); }

 private:
  static constexpr Clock kLongAgo = 1'000'000;

  struct Bank {
    bool open = false;
    std::int64_t row = 0;
    Clock activated = -kLongAgo;
    Clock column_from = 0;  // first column command of the open row
    Clock precharge_from = 0;
  };
  struct Plan {
    bool hit = false;
    Clock activate = 0, data = 0;
  };

  // Requests of one kind, oldest first: those that the controller sees, and those before it.
  struct Queue {
    struct Seen {
      DramRequest request;
      Clock since;
    };
    std::vector<Seen> window;
    std::deque<DramRequest> waiting;

    bool empty() const { return window.empty() && waiting.empty(); }
    std::size_t size() const { return window.size() + waiting.size(); }
    Clock first() const;
    void admit(Clock now);
  };

  // What serving the request next would do.
  Plan plan(const DramRequest& r) const;
  void choose_direction(Clock now);
  std::size_t choose(const Queue& queue, Clock now) const;
  void apply(const DramRequest& r, const Plan& p);

  DramSpec spec_;
  std::vector<Bank> banks_;
  Queue reads_, writes_;
  Clock bus_free_ = 0;
  Clock last_activate_ = -kLongAgo;
  bool wrote_last_ = false;
  bool draining_ = false;
};

}  // namespace tilescope::sim
