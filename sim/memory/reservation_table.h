// SPDX-License-Identifier: Apache-2.0
#pragma once
// The reservation table of a resource that does a bounded amount of work per cycle: a port, a bus, a link. A later
// request may still use idle time before earlier bookings, as hardware queues would. The simulator's time is a whole
// number of core cycles; work is kept in fractions of a cycle, so that rates need not divide.
//
// Ignores: order within a bucket of kBucket cycles among bookings that do not come in order (amounts are exact, an end
// may be off by less than a bucket), and bookings that lie more than kBuckets buckets ahead of the nearest one.

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

#include "base/integer.h"
#include "sim/common/cycle.h"

namespace tilescope::sim {

// `units` of work take `cycles`.
struct Rate {
  std::int64_t units = 1;
  std::int64_t cycles = 1;
};

// Whole cycles that `units` of work take.
inline Cycle cycles_of(const Rate& r, std::int64_t units) { return Cycle(base::ceil_div(units * r.cycles, r.units)); }

class ReservationTable {
 public:
  explicit ReservationTable(Rate rate) : rate_(rate) {}

  // Books work from `from` on, as early as the resource is free, and returns when it is done. With `over`, the work is
  // spread over at least `over` cycles.
  Cycle book(Cycle from, std::int64_t units, Cycle over = 0_cycles) {
    std::int64_t need = base::ceil_div(units * rate_.cycles * kOne, rate_.units);
    if (need <= 0) return from;
    if (buckets_.empty()) buckets_.resize(kBuckets);
    const std::int64_t most =
        over <= 0_cycles ? kFull : std::max<std::int64_t>(1, base::ceil_div(need * kBucket, over.count()));
    std::int64_t end = 0;
    for (std::int64_t q = first_bucket(from); need > 0; ++q) {
      Bucket& b = bucket(q);
      const std::int64_t begin = std::max<std::int64_t>(0, from.count() - q * kBucket) * kOne;
      const std::int64_t room = std::min(kFull - b.used, kFull - begin);
      const std::int64_t take = std::min({need, room, most});
      if (take > 0) {
        b.used = static_cast<std::uint16_t>(b.used + take);
        b.end = static_cast<std::uint16_t>(std::min(kFull, std::max<std::int64_t>(begin, b.end) + take));
        need -= take;
        end = q * kBucket * kOne + b.end;
        if (b.used == kFull) note_full(q);
      } else if (b.used == kFull) {
        note_full(q);
      }
    }
    return Cycle(base::ceil_div(end, kOne));
  }

  // Visits the busy time of each bucket from the one that contains `from` to the last that ends by `until`. The visitor
  // gets beginning and end in cycles, with the work as late as possible. Returns the `from` of the next call.
  template <class Visit>
  Cycle visit_busy(Cycle from, Cycle until, Visit visit) const {
    std::int64_t q = from.count() / kBucket;
    if (buckets_.empty()) return Cycle(std::max(from, until).count() / kBucket * kBucket);
    for (; (q + 1) * kBucket <= until.count(); ++q) {
      const Bucket& b = buckets_[static_cast<std::size_t>(q % kBuckets)];
      if (b.turn != q / kBuckets || b.used == 0) continue;
      const std::int64_t end = q * kFull + b.end;
      visit(static_cast<double>(end - b.used) / kOne, static_cast<double>(end) / kOne);
    }
    return Cycle(q * kBucket);
  }

 private:
  static constexpr std::int64_t kOne = 1024;   // parts of a cycle
  static constexpr std::int64_t kBucket = 16;  // cycles
  static constexpr std::int64_t kBuckets = 2048;
  static constexpr std::int64_t kFull = kBucket * kOne;

  struct Bucket {
    std::int32_t turn = -1;  // of the ring buffer
    std::uint16_t used = 0;  // booked work
    std::uint16_t end = 0;   // of the last booking, with earlier ones as early as possible
  };

  Bucket& bucket(std::int64_t q) {
    Bucket& b = buckets_[static_cast<std::size_t>(q % kBuckets)];
    const auto turn = static_cast<std::int32_t>(q / kBuckets);
    if (b.turn < turn) b = {turn, 0};
    return b;
  }
  // Skips a run of buckets that are known to be full.
  std::int64_t first_bucket(Cycle from) const {
    const std::int64_t q = from.count() / kBucket;
    return q >= full_begin_ && q < full_end_ ? full_end_ : q;
  }
  void note_full(std::int64_t q) {
    if (q == full_end_)
      ++full_end_;
    else if (q < full_begin_ || q > full_end_)
      full_begin_ = q, full_end_ = q + 1;
  }

  Rate rate_;
  std::vector<Bucket> buckets_;  // none before the first booking: a chip has many ports, a program uses few
  std::int64_t full_begin_ = 0, full_end_ = 0;
};

}  // namespace tilescope::sim
