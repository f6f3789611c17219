// SPDX-License-Identifier: Apache-2.0
#include "model/simt/step_shares.h"

#include <algorithm>
#include <vector>

namespace tilescope::model {
namespace {

// Of more places at which blocks begin, so many are looked at.
constexpr std::int64_t kMaxPlaces = 4096;

// The condition of a limit in a step, for a block that begins so many blocks from the first one along each axis.
struct Condition {
  std::vector<std::int64_t> per_block;  // by axis
  std::int64_t offset = 0, per_step = 0;

  std::int64_t at(const std::vector<std::int64_t>& block) const {
    std::int64_t sum = offset;
    for (std::size_t a = 0; a < block.size(); ++a) sum += per_block[a] * block[a];
    return sum;
  }
};

Condition condition_of(const tile::StepLimit& l, const tile::StageProgram& kernel) {
  Condition c{std::vector<std::int64_t>(kernel.space->spatial, 0), l.offset, l.per_step};
  for (const expr::Term& t : l.terms) {
    const auto axis = static_cast<std::size_t>(t.axis);
    c.per_block[axis] = t.coefficient * kernel.block[axis];
  }
  return c;
}

// By the slowest digit of a block's number: whether later values of it leave more steps.
LengthOrder order_of(const std::vector<Condition>& conditions, const tile::StageProgram& kernel) {
  if (conditions.size() != 1) return LengthOrder::kMixed;
  for (const tile::BlockDigit& d : kernel.block_digits()) {
    if (d.count == 1) continue;
    const std::int64_t more = conditions.front().per_block[d.axis];
    return more == 0 ? LengthOrder::kMixed : more > 0 ? LengthOrder::kGrowing : LengthOrder::kFalling;
  }
  return LengthOrder::kMixed;
}

}  // namespace

// Steps in which both conditions hold are counted from their ends: those before the first one are as many as there are
// s with offset + p s < 0, those behind the last one as many as there are in a count from the other end.
StepShares step_shares(const tile::LiveSteps& live, const tile::StageProgram& kernel) {
  StepShares out;
  if (live.all()) return out;
  out.axes = live.axes;
  std::vector<Condition> conditions;
  for (const auto* limit : {&live.first, &live.last})
    if (*limit) conditions.push_back(condition_of(**limit, kernel));
  std::vector<std::int64_t> counts(kernel.space->spatial, 1);  // of places that differ
  std::int64_t places = 1;
  for (std::size_t a = 0; a < counts.size(); ++a)
    for (const Condition& c : conditions)
      if (c.per_block[a] != 0) counts[a] = kernel.blocks_along(a);
  for (const std::int64_t n : counts) places *= n;
  const std::int64_t stride = std::max<std::int64_t>(1, places / kMaxPlaces) | 1;
  double all = 0, longest = 0, looked_at = 0;
  std::vector<std::int64_t> block(counts.size(), 0);
  for (std::int64_t place = 0; place < places; place += stride) {
    std::int64_t left = place;
    for (std::size_t a = 0; a < counts.size(); ++a) {
      block[a] = left % counts[a];
      left /= counts[a];
    }
    std::int64_t taken = live.count;
    for (const Condition& c : conditions) {
      // Of steps 0, 1, .. (from the end that the condition leaves out) those with value + pace * n < 0.
      const std::int64_t pace = std::abs(c.per_step);
      const std::int64_t value = c.at(block) + (c.per_step < 0 ? c.per_step * (live.count - 1) : 0);
      taken -= std::clamp<std::int64_t>(value < 0 ? (-value - 1) / pace + 1 : 0, 0, live.count);
    }
    const auto share = static_cast<double>(std::max<std::int64_t>(0, taken)) / static_cast<double>(live.count);
    all += share;
    longest = std::max(longest, share);
    looked_at += 1;
  }
  out.order = order_of(conditions, kernel);
  out.mean = all / looked_at;
  out.longest = longest;
  return out;
}

}  // namespace tilescope::model
