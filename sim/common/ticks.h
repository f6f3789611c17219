// SPDX-License-Identifier: Apache-2.0
#pragma once
// Times counted in ticks of one clock. Clocks are types: sums and comparisons of two clocks' ticks, and of ticks and
// bare numbers, do not compile (tests/unit/sim/ticks_test.cc). sim/memory/clock_ratio.h converts between clocks,
// sim/ticks_of_time.h from and to SystemC's time.
//
// base::Cycles is an amount in a chip's file, in the clock of its key; the type of ticks names their clock.

#include <compare>
#include <concepts>
#include <cstdint>
#include <iosfwd>
#include <limits>

namespace tilescope::sim {

// An instant or a duration; `Domain` is a tag.
template <class Domain>
class Ticks {
 public:
  constexpr Ticks() = default;  // 0
  constexpr explicit Ticks(std::int64_t count) : count_(count) {}
  explicit Ticks(std::floating_point auto) = delete;  // callers say how they round

  constexpr std::int64_t count() const { return count_; }
  constexpr explicit operator double() const { return static_cast<double>(count_); }
  static constexpr Ticks min() { return Ticks(std::numeric_limits<std::int64_t>::min()); }
  static constexpr Ticks max() { return Ticks(std::numeric_limits<std::int64_t>::max()); }

  constexpr auto operator<=>(const Ticks&) const = default;

  constexpr Ticks& operator+=(Ticks b) { return *this = *this + b; }
  constexpr Ticks& operator-=(Ticks b) { return *this = *this - b; }
  constexpr Ticks& operator++() { return *this += Ticks(1); }

  constexpr Ticks operator-() const { return Ticks(-count_); }

  friend constexpr Ticks operator+(Ticks a, Ticks b) { return Ticks(a.count_ + b.count_); }
  friend constexpr Ticks operator-(Ticks a, Ticks b) { return Ticks(a.count_ - b.count_); }
  friend constexpr Ticks operator*(Ticks a, std::integral auto times) { return Ticks(a.count_ * times); }
  friend constexpr Ticks operator*(std::integral auto times, Ticks a) { return Ticks(times * a.count_); }
  friend constexpr Ticks operator/(Ticks a, std::integral auto by) { return Ticks(a.count_ / by); }
  friend constexpr std::int64_t operator/(Ticks a, Ticks b) { return a.count_ / b.count_; }
  friend constexpr Ticks operator%(Ticks a, Ticks b) { return Ticks(a.count_ % b.count_); }

  // The count.
  template <class Char, class Traits>
  friend std::basic_ostream<Char, Traits>& operator<<(std::basic_ostream<Char, Traits>& out, Ticks t) {
    return out << t.count_;
  }

 private:
  std::int64_t count_ = 0;
};

}  // namespace tilescope::sim
