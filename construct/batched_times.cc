// SPDX-License-Identifier: Apache-2.0
#include "construct/detail/batched_times.h"

#include <algorithm>
#include <utility>

namespace tilescope::construct {
namespace {

std::vector<model::Machine> machines_of(const std::vector<const arch::ArchSpec*>& chips) {
  std::vector<model::Machine> out;
  for (const arch::ArchSpec* a : chips) out.push_back(model::make_machine(*a));
  return out;
}

}  // namespace

BatchedTimes::BatchedTimes(std::vector<const arch::ArchSpec*> chips)
    : chips_(std::move(chips)),
      batch_(machines_of(chips_)),
      left_(chips_.size()),
      registers_(chips_.size()),
      us_(chips_.size()) {}

std::optional<std::size_t> BatchedTimes::place_of(const arch::ArchSpec& a) const {
  const auto found = std::find(chips_.begin(), chips_.end(), &a);
  if (found == chips_.end()) return std::nullopt;
  return static_cast<std::size_t>(found - chips_.begin());
}

const BatchedTimes::Time& BatchedTimes::of(CandidatePool::Id id, const Candidate& c, std::size_t place) {
  const std::size_t first = id * chips_.size();
  if (times_.size() < first + chips_.size()) times_.resize(first + chips_.size());
  if (times_[first + place].registers != kUnknown) return times_[first + place];
  const model::Counts& counts = *c.counts;
  batch_.held_registers(counts, registers_);
  for (std::size_t i = 0; i < chips_.size(); ++i) {
    constexpr std::int64_t kNone = -1;
    const bool asked = (i == place || !left_[i]) && times_[first + i].registers == kUnknown;
    registers_[i] = asked ? stated_registers(c, counts, registers_[i], *chips_[i]).value_or(kNone) : kNone;
    if (asked) times_[first + i].registers = registers_[i];
  }
  batch_.times(counts, registers_, us_);
  for (std::size_t i = 0; i < chips_.size(); ++i)
    if (registers_[i] >= 0) times_[first + i].us = us_[i];
  return times_[first + place];
}

}  // namespace tilescope::construct
