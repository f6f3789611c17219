// SPDX-License-Identifier: Apache-2.0
#include "cli/bars.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

namespace tilescope::cli {

BarScale::BarScale(const std::vector<double>& values, std::size_t characters) : characters_(characters) {
  for (const double v : values) low_ = std::min(low_, v), high_ = std::max(high_, v);
}

std::size_t BarScale::place(double value) const {
  if (!(high_ > low_)) return 0;
  return static_cast<std::size_t>(std::lround((value - low_) / (high_ - low_) * static_cast<double>(characters_)));
}

std::string BarScale::bar(double from, double to, char fill) const {
  const std::size_t begin = std::min(place(std::min(from, to)), characters_ - 1);
  const std::size_t end = std::max(place(std::max(from, to)), begin + 1);
  return std::string(begin, ' ') + std::string(end - begin, fill);
}

std::string BarScale::bar_at_zero(double low, double high, char fill) const {
  const std::size_t zero = place(0), begin = std::min(place(low), zero), end = std::max(place(high), zero);
  return std::string(begin, ' ') + std::string(zero - begin, fill) + '|' + std::string(end - zero, fill);
}

TimeDigits::TimeDigits(double largest_us) {
  constexpr double kThousand = 1e3;
  double largest = largest_us;
  for (const char* unit : {"ms", "s"}) {
    if (largest < kThousand) break;
    unit_ = unit;
    per_us_ /= kThousand;
    largest /= kThousand;
  }
  constexpr int kDigits = 5;
  decimals_ = std::clamp(kDigits - 1 - static_cast<int>(std::floor(std::log10(std::max(largest, 1.0)))), 0, kDigits);
}

double TimeDigits::rounded(double us) const {
  const double step = std::pow(10, decimals_);
  return std::round(us * per_us_ * step) / step;
}

std::string TimeDigits::text(double us) const { return fmt::format("{:.{}f} {}", rounded(us), decimals_, unit_); }

std::string TimeDigits::change(double from_us, double to_us) const {
  return fmt::format("{:+.{}f} {}", rounded(to_us) - rounded(from_us), decimals_, unit_);
}

}  // namespace tilescope::cli
