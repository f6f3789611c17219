// SPDX-License-Identifier: Apache-2.0
// What came of a merge, as it is printed.

#include <fmt/format.h>

#include "experiments/store/merge.h"

namespace tilescope::experiments {

bool Merged::complete() const { return shards.complete.size() == shards.count && lacking == 0; }

std::string list_of(const std::vector<std::size_t>& numbers) {
  std::string out;
  for (std::size_t i = 0; i < numbers.size();) {
    std::size_t last = i;
    while (last + 1 < numbers.size() && numbers[last + 1] == numbers[last] + 1) ++last;
    out += out.empty() ? "" : ", ";
    if (last > i + 1) {
      out += fmt::format("{} to {}", numbers[i], numbers[last]);
      i = last + 1;
    } else {
      out += fmt::format("{}", numbers[i++]);
    }
  }
  return out;
}

base::Value to_document(const StoredShards& s) {
  const auto list = [](const std::vector<std::size_t>& numbers) {
    base::List out;
    for (const std::size_t n : numbers) out.emplace_back(n);
    return out;
  };
  return base::Map{{"count", s.count},
                   {"points", s.points},
                   {"here", list(s.here)},
                   {"complete", list(s.complete)},
                   {"missing", list(s.missing())}};
}

base::Value to_document(const Merged& m) {
  return base::Map{{"sweep", m.title},
                   {"shards", to_document(m.shards)},
                   {"points", m.points},
                   {"rows", base::Map{{"read", m.read}, {"added", m.added}}},
                   {"seconds", m.seconds}};
}

}  // namespace tilescope::experiments
