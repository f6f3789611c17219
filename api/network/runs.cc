// SPDX-License-Identifier: Apache-2.0
#include "api/network/detail/runs.h"

#include <algorithm>
#include <cstddef>

namespace tilescope::api {
namespace {

// Longer runs are not looked for.
constexpr int kMaxPeriod = 400;
// Fewer items are clearer as they are.
constexpr int kMinFolded = 5;

// The run within [begin, end) that folds most items; `times` is 1 where there is none.
EqualRuns longest_run(const std::vector<int>& s, int begin, int end) {
  EqualRuns best{begin, begin, 1};
  int folded = kMinFolded - 1;
  for (int period = 1; period <= std::min(kMaxPeriod, (end - begin) / 2); ++period) {
    int equal = 0;  // items in a row that are those of one period before
    for (int i = begin + period; i <= end; ++i) {
      if (i < end && s[static_cast<std::size_t>(i)] == s[static_cast<std::size_t>(i - period)]) {
        ++equal;
        continue;
      }
      const int copies = equal / period;
      if (copies * period > folded) {
        folded = copies * period;
        const int first = i - equal - period;
        best = {first, first + period - 1, copies + 1};
      }
      equal = 0;
    }
  }
  return best;
}

void find_runs(const std::vector<int>& s, int begin, int end, std::vector<EqualRuns>& out) {
  if (end - begin < 2) return;
  const EqualRuns run = longest_run(s, begin, end);
  if (run.times == 1) return;
  find_runs(s, begin, run.first, out);
  out.push_back(run);
  find_runs(s, run.first + (run.last - run.first + 1) * run.times, end, out);
}

}  // namespace

std::vector<EqualRuns> equal_runs(const std::vector<int>& items, int begin) {
  std::vector<EqualRuns> out;
  find_runs(items, begin, static_cast<int>(items.size()), out);
  return out;
}

}  // namespace tilescope::api
