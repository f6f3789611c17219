// SPDX-License-Identifier: Apache-2.0
#include "api/simulate/timeline.h"

#include <algorithm>
#include <set>
#include <string_view>

#include <fmt/format.h>

#include "base/option.h"
#include "base/parse_number.h"
#include "base/quantity.h"

namespace tilescope::api {
namespace {

constexpr int kUsualCores = 4;

// "3" or "0-3"; nothing where it is neither.
std::optional<std::pair<int, int>> range_of(std::string_view text) {
  const std::size_t dash = text.find('-');
  const auto first = base::parse_integer<int>(text.substr(0, dash));
  const auto last = dash == std::string_view::npos ? first : base::parse_integer<int>(text.substr(dash + 1));
  if (!first || !last || *first < 0 || *last < *first) return std::nullopt;
  return std::pair(*first, *last);
}

std::vector<int> cores_of(const std::string& text, const arch::ArchSpec& a, base::Diagnostics& diags) {
  const auto count = static_cast<int>(a.core.count);
  std::set<int> cores;
  const auto take = [&](int first, int last) {
    for (int c = first; c <= last; ++c) cores.insert(c);
  };
  if (text.empty()) {
    take(0, std::min(kUsualCores, count) - 1);
  } else if (text == "all") {
    take(0, count - 1);
  } else {
    const base::Position at{diags.add_source(base::option("timeline-cores"))};
    for (std::string_view rest = text; !rest.empty();) {
      const std::size_t comma = std::min(rest.find(','), rest.size());
      const std::string_view word = rest.substr(0, comma);
      rest.remove_prefix(std::min(rest.size(), comma + 1));
      const auto range = range_of(word);
      if (!range)
        diags.error(at, fmt::format("expected cores such as 0-3,8 or all, got '{}'", word));
      else if (range->second >= count)
        diags.error(at, fmt::format("{} has no core {}; its cores are 0 to {}", a.name, range->second, count - 1));
      else
        take(range->first, range->second);
    }
  }
  return {cores.begin(), cores.end()};
}

std::optional<double> time_of(const std::string& text, const std::string& named, base::Diagnostics& diags) {
  if (text.empty()) return std::nullopt;
  const auto q = base::parse_quantity(text);
  if (q && q->dimension == base::Dimension::kMicroseconds && q->value >= 0) return q->value;
  diags.error({diags.add_source(named)}, fmt::format("expected a time such as '20 us', got '{}'", text));
  return std::nullopt;
}

}  // namespace

std::optional<TimelineRequest> timeline_request(const TimelineWords& words, const arch::ArchSpec& a,
                                                base::Diagnostics& diags) {
  TimelineRequest out;
  out.file = words.file;
  out.max_events = words.max_events;
  out.cores = cores_of(words.cores, a, diags);
  out.from_us = time_of(words.from, base::option("timeline-from"), diags).value_or(out.from_us);
  out.until_us = time_of(words.until, base::option("timeline-until"), diags).value_or(out.until_us);
  if (out.until_us <= out.from_us)
    diags.error({diags.add_source(base::option("timeline-until"))},
                fmt::format("the timeline would end at {} us, before it begins at {} us", out.until_us, out.from_us));
  if (!diags.ok()) return std::nullopt;
  return out;
}

}  // namespace tilescope::api
