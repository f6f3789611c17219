// SPDX-License-Identifier: Apache-2.0
#include "energy/array_energy.h"

#include <algorithm>
#include <cmath>
#include <string_view>
#include <utility>
#include <vector>

#include "base/check.h"
#include "energy/technology.h"

namespace tilescope::energy {
namespace {

constexpr double kBits = 8;

// A table of bytes and values, straight between its rows in logarithms.
class LogCurve {
 public:
  explicit LogCurve(Table table) {
    for (const auto& [bytes, value] : Technology::own().by_bytes(table))
      points_.emplace_back(std::log(bytes), std::log(value));
    base::check(points_.size() > 1, "a curve has two rows at least");
  }

  double at(double bytes) const {
    const double x = std::log(bytes);
    const auto inner =
        std::find_if(points_.begin() + 1, points_.end() - 1, [&](const auto& p) { return p.first >= x; });
    const auto& [x1, y1] = *inner;
    const auto& [x0, y0] = *(inner - 1);
    return std::exp(y0 + (y1 - y0) * (x - x0) / (x1 - x0));
  }

 private:
  std::vector<std::pair<double, double>> points_;
};

double figure(std::string_view name) { return Technology::own().at(Table::kArray, name).value; }

}  // namespace

double cache_byte_pj(base::Bytes capacity) {
  static const LogCurve kRead(Table::kCacheRead);
  static const double kReadBytes = figure("cache_read_bytes");
  return kRead.at(static_cast<double>(capacity.n)) / kReadBytes;
}

double scratchpad_byte_pj(base::Bytes capacity, std::int64_t banks, base::Bytes bank_width) {
  static const LogCurve kRead(Table::kBankRead), kWidth(Table::kBankWidth);
  static const double kReadBytes = figure("bank_read_bytes"), kWire = figure("wire");
  static const double kCrosspoint = figure("crosspoint");
  const auto width = static_cast<double>(bank_width.n), number = static_cast<double>(banks);
  const double read = kRead.at(static_cast<double>(capacity.n) / number) * kWidth.at(width) / kWidth.at(kReadBytes);
  const double side_mm = number * std::sqrt(width * kBits) * kCrosspoint;
  return read / width + kBits * kWire * side_mm;
}

}  // namespace tilescope::energy
