// SPDX-License-Identifier: Apache-2.0
#include "lower/simt/detail/body.h"

#include <iterator>
#include <utility>

namespace tilescope::lower {

Body with(Body body, Body more) {
  body.insert(body.end(), std::make_move_iterator(more.begin()), std::make_move_iterator(more.end()));
  return body;
}

Statement noted(Statement s, std::string note) {
  s.note = std::move(note);
  return s;
}

Statement looped(const AxisLoop& loop, Body body, std::int64_t unroll) {
  return {Loop{loop.index, unroll, std::move(body)}, {}};
}

Body nest(const std::vector<AxisLoop>& loops, Body body, bool unroll) {
  for (auto l = loops.rbegin(); l != loops.rend(); ++l) {
    Body outer;
    outer.push_back(looped(*l, std::move(body), unroll ? l->extent : 0));
    body = std::move(outer);
  }
  return body;
}

std::vector<AxisLoop> joined(const std::vector<std::vector<AxisLoop>>& loops) {
  std::vector<AxisLoop> out;
  for (const auto& l : loops) out.insert(out.end(), l.begin(), l.end());
  return out;
}

}  // namespace tilescope::lower
