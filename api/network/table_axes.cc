// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <charconv>
#include <set>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "api/network/table.h"
#include "base/option.h"

namespace tilescope::api {
namespace {

// Values stay far from where a product of two would overflow.
constexpr std::int64_t kMaxValue = std::int64_t{1} << 31;

class AxesReader {
 public:
  AxesReader(std::string_view text, base::Diagnostics& diags)
      : text_(text), source_(diags.add_source(base::option("table"))), diags_(diags) {}

  std::optional<std::vector<TableAxis>> read() {
    const std::size_t errors = diags_.count();
    std::vector<TableAxis> out;
    for (std::size_t at = 0; at <= text_.size();) {
      const std::size_t end = std::min(text_.find(',', at), text_.size());
      read_axis(at, end, out);
      at = end + 1;
    }
    if (diags_.count() > errors) return std::nullopt;
    std::size_t points = 1;
    for (const TableAxis& a : out) {
      points *= a.values.size();  // both are at most kMaxTablePoints
      if (points > kMaxTablePoints)
        error(0, fmt::format("more than {} points; give fewer values or another file for some", kMaxTablePoints));
      if (points > kMaxTablePoints) return std::nullopt;
    }
    return out;
  }

 private:
  void error(std::size_t at, std::string text) {
    diags_.error({source_, 1, static_cast<std::uint32_t>(at + 1)}, std::move(text));
  }

  void read_axis(std::size_t at, std::size_t end, std::vector<TableAxis>& out) {
    const std::string_view part = text_.substr(at, end - at);
    const std::size_t equals = part.find('=');
    if (equals == std::string_view::npos || equals == 0)
      return error(at, fmt::format("expected a variable with its values, such as new=1|16..4096*2, got '{}'", part));
    TableAxis axis{std::string(part.substr(0, equals)), {}};
    if (std::any_of(out.begin(), out.end(), [&](const TableAxis& a) { return a.name == axis.name; }))
      return error(at, fmt::format("'{}' has values already", axis.name));
    for (std::size_t from = at + equals + 1; from <= end;) {
      const std::size_t to = std::min(text_.find('|', from), end);
      if (!add_values(from, text_.substr(from, to - from), axis)) return;
      from = to + 1;
    }
    std::set<std::int64_t> seen;
    for (const std::int64_t v : axis.values)
      if (!seen.insert(v).second) return error(at, fmt::format("{}: {} stands here a second time", axis.name, v));
    out.push_back(std::move(axis));
  }

  // A value, or a range: from..to*factor or from..to+step.
  bool add_values(std::size_t at, std::string_view item, TableAxis& axis) {
    const std::size_t dots = item.find("..");
    const auto first = number(at, item.substr(0, dots), axis);
    if (!first) return false;
    if (dots == std::string_view::npos) {
      axis.values.push_back(*first);
      return true;
    }
    const std::size_t sign = item.find_first_of("*+", dots);
    if (sign == std::string_view::npos) {
      error(at, fmt::format("{}: a range ends in + and what is added, or * and the factor: {}*2", axis.name, item));
      return false;
    }
    const auto last = number(at + dots + 2, item.substr(dots + 2, sign - dots - 2), axis),
               by = number(at + sign + 1, item.substr(sign + 1), axis);
    if (!last || !by) return false;
    const bool times = item[sign] == '*';
    if (times ? *by < 2 || *first == 0 : *by < 1) {
      error(at, fmt::format("{}: {} never ends{}", axis.name, item,
                            times && *first == 0 ? "; give 0 alone: 0|1..1024*2" : ""));
      return false;
    }
    if (*first > *last) {
      error(at, fmt::format("{}: {} is more than {}; exchange them", axis.name, *first, *last));
      return false;
    }
    for (std::int64_t v = *first; v <= *last; v = times ? v * *by : v + *by) {
      if (axis.values.size() == kMaxTablePoints) {
        error(at, fmt::format("{}: more than {} values", axis.name, kMaxTablePoints));
        return false;
      }
      axis.values.push_back(v);
    }
    return true;
  }

  std::optional<std::int64_t> number(std::size_t at, std::string_view text, const TableAxis& axis) {
    std::int64_t out = 0;
    const char* end = text.data() + text.size();
    const auto [rest, failed] = std::from_chars(text.data(), end, out);
    if (failed == std::errc() && rest == end && out >= 0 && out <= kMaxValue) return out;
    error(at, fmt::format("{}: expected a whole number from 0 to {}, got '{}'", axis.name, kMaxValue, text));
    return std::nullopt;
  }

  std::string_view text_;
  base::SourceId source_;
  base::Diagnostics& diags_;
};

}  // namespace

std::optional<std::vector<TableAxis>> read_table_axes(std::string_view text, base::Diagnostics& diags) {
  return AxesReader(text, diags).read();
}

}  // namespace tilescope::api
