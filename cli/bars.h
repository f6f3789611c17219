// SPDX-License-Identifier: Apache-2.0
#pragma once
// Bars of text in the cells of a table.

#include <cstddef>
#include <string>
#include <vector>

namespace tilescope::cli {

// Where values lie on a line of characters.
class BarScale {
 public:
  // Holds all of `values`, and 0.
  BarScale(const std::vector<double>& values, std::size_t characters);

  // Blanks, then `fill` between two values, at least one.
  std::string bar(double from, double to, char fill) const;
  // The same with a stroke at 0, which the bar begins or ends at.
  std::string bar_at_zero(double low, double high, char fill) const;

 private:
  std::size_t place(double value) const;

  double low_ = 0, high_ = 0;
  std::size_t characters_;
};

// Times in one unit that suits the largest, with digits that add up: a change is printed as the difference of the
// printed times.
class TimeDigits {
 public:
  explicit TimeDigits(double largest_us);

  std::string text(double us) const;                       // "12.34 ms"
  std::string change(double from_us, double to_us) const;  // "-1.20 ms"

 private:
  double rounded(double us) const;

  const char* unit_ = "us";
  double per_us_ = 1;
  int decimals_ = 0;
};

}  // namespace tilescope::cli
