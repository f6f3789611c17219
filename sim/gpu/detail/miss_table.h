// SPDX-License-Identifier: Apache-2.0
#pragma once
// The lines that a core has asked for, and who waits for each. A limited number may be in flight: with a
// limit of n a line begins when the n-th before it has ended.

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "sim/memory/detail/chains.h"
#include "sim/memory/detail/sector_cache.h"

namespace tilescope::sim {

// What a line is for.
struct Waiter {
  enum class Kind : std::uint8_t { kLoad, kCopy, kStore, kBox, kStoredLine } kind{};
  int who = 0;              // warp or box; no warp waits for a store
  std::int64_t group = 0;   // of the warp's loads or copies; kBox: bytes of the line
  std::int64_t passes = 0;  // of the scratchpad, when a copy arrives
  int times = 1;            // that it is waited for

  bool same(const Waiter& o) const { return kind == o.kind && who == o.who && group == o.group; }
  bool is_engine() const { return kind == Kind::kBox || kind == Kind::kStoredLine; }
};

class MissTable {
 public:
  // `limit`: lines that may be in flight at a time; 0: any number.
  void prepare(std::int64_t limit) { ends_.assign(static_cast<std::size_t>(limit), Cycle{}); }

  // Returns the ticket by which the line is known. `counts`: against the limit. `fills`: of the core's cache, or null.
  int begin(const Waiter& first, bool counts, SectorCache::Line* fills) {
    if (free_.empty()) {
      free_.push_back(static_cast<int>(misses_.size()));
      misses_.emplace_back();
    }
    const int ticket = free_.back();
    free_.pop_back();
    Miss& m = at(ticket);
    m.number = counts && !ends_.empty() ? begun_ : kNotCounted;
    if (m.number != kNotCounted) end_of(begun_++) = kNotKnown;
    m.fills = fills;
    if (fills != nullptr) fills->fetch(ticket);
    m.first = first;
    return ticket;
  }
  // Loads of one warp often want the line several times before it comes.
  void wait_too(int ticket, const Waiter& waiter) {
    Miss& m = at(ticket);
    Waiter* const last = others_.last(m.others);
    Waiter& before = last != nullptr ? *last : m.first;
    if (before.same(waiter) && waiter.passes == 0)
      ++before.times;
    else
      others_.append(m.others, waiter);
  }
  // The line has come: visits all that waited for it. Returns whether it counted against the limit.
  template <class Visit>
  bool end(int ticket, Cycle when, Visit visit) {
    Miss& m = at(ticket);
    if (m.fills != nullptr && m.fills->fill() == ticket) m.fills->arrive(when);
    visit(std::as_const(m.first));
    others_.take(m.others, visit);
    free_.push_back(ticket);
    if (m.number == kNotCounted) return false;
    if (begun_ - m.number <= static_cast<std::int64_t>(ends_.size())) end_of(m.number) = when;
    return true;
  }

  bool limited() const { return !ends_.empty(); }
  // When the next line may begin, of a limited number; nothing while that is not known.
  std::optional<Cycle> room() const {
    const Cycle free = ends_[static_cast<std::size_t>(begun_) % ends_.size()];
    return free == kNotKnown ? std::nullopt : std::optional(free);
  }
  std::int64_t outstanding() const { return std::ssize(misses_) - std::ssize(free_); }

  // Say that a line will come soon, and very soon.
  void expect(int ticket) const { __builtin_prefetch(&misses_[static_cast<std::size_t>(ticket)]); }
  void expect_now(int ticket) const { __builtin_prefetch(misses_[static_cast<std::size_t>(ticket)].fills); }

 private:
  static constexpr Cycle kNotKnown = Cycle::max();
  static constexpr std::int64_t kNotCounted = -1;

  struct Miss {
    SectorCache::Line* fills = nullptr;
    std::int64_t number = 0;  // of all that were begun
    Waiter first;
    Chain others;
  };

  Miss& at(int ticket) { return misses_[static_cast<std::size_t>(ticket)]; }
  Cycle& end_of(std::int64_t number) { return ends_[static_cast<std::size_t>(number) % ends_.size()]; }

  std::vector<Miss> misses_;
  Chains<Waiter> others_;
  std::vector<int> free_;
  std::vector<Cycle> ends_;  // of the latest, by number; none where any number may be in flight
  std::int64_t begun_ = 0;
};

}  // namespace tilescope::sim
