// SPDX-License-Identifier: Apache-2.0
#pragma once
// What the rows of a timeline show, before it is certain: the stretch at the end of a row may grow, those before it may
// be cut by a jump.

#include <cstdint>
#include <map>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "sim/memory/reservation_table.h"

namespace tilescope::sim {

// In cycles of the simulation. What the text refers to must exist until the stretch is final.
struct TimelineStretch {
  std::string_view name;
  double from = 0, until = 0;
  std::int64_t bytes = 0;
};

template <class Track>
class TimelineRows {
 public:
  // A stretch of the same name goes on with the one at the end of its row, where they meet; empty ones are ignored.
  void add(const Track& track, const TimelineStretch& stretch) {
    if (stretch.until <= stretch.from) return;
    Row& row = rows_[track];
    if (row.open && row.open->name == stretch.name && row.open->until == stretch.from) {
      row.open->until = stretch.until;
      row.open->bytes += stretch.bytes;
      return;
    }
    close(track, row);
    row.open = stretch;
  }
  // A port's bookings up to `until`, without those that an earlier call has read.
  void add_busy(const Track& track, const ReservationTable& reservations, Cycle until) {
    Cycle& read_until = rows_[track].read_until;
    read_until = reservations.visit_busy(read_until, until,
                                         [&](double from, double end) { add(track, {"busy", from, end, 0}); });
  }

  // Nothing is added to what the rows of first .. last show.
  void close(const Track& first, const Track& last) {
    const auto end = rows_.upper_bound(last);
    for (auto row = rows_.lower_bound(first); row != end; ++row) close(row->first, row->second);
  }
  void close_all() {
    for (auto& [track, row] : rows_) close(track, row);
  }
  // Visits closed stretches that end by then, in the order in which they were closed, and forgets them.
  template <class Visit>
  void take(double until, const Visit& visit) {
    std::erase_if(closed_, [&](const auto& closed) {
      const bool certain = closed.second.until <= until;
      if (certain) visit(closed.first, closed.second);
      return certain;
    });
  }

 private:
  struct Row {
    std::optional<TimelineStretch> open;
    Cycle read_until{};  // of a port's bookings
  };
  void close(const Track& track, Row& row) {
    if (row.open) closed_.emplace_back(track, *row.open);
    row.open.reset();
  }

  std::map<Track, Row> rows_;
  std::vector<std::pair<Track, TimelineStretch>> closed_;
};

}  // namespace tilescope::sim
