// SPDX-License-Identifier: Apache-2.0
#include "lower/detail/crew.h"

namespace tilescope::lower {

std::int64_t Crew::common(const Affine& a, std::int64_t group, std::int64_t count) const {
  const std::int64_t value = lanes.value(a, group);
  for (std::int64_t t = group; t < group + count; ++t)
    if (lanes.value(a, t) != value) throw Mistake("threads of one group that mean different things", t);
  return value;
}

std::vector<std::int64_t> Crew::groups(std::int64_t count) const {
  if (threads() % count != 0) throw Mistake("a group that lacks lanes", end - 1);
  std::vector<std::int64_t> out;
  for (std::int64_t t = first; t < end; t += count) out.push_back(t);
  return out;
}

}  // namespace tilescope::lower
