// SPDX-License-Identifier: Apache-2.0
#pragma once
// The times of a pool's candidates on chips that are going to be searched for, one after the other: whichever of them
// asks about a candidate first, the others have its answer then.

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

#include "arch/spec.h"
#include "construct/detail/candidate_pool.h"
#include "model/simt/batch.h"
#include "model/simt/machine.h"

namespace tilescope::construct {

class BatchedTimes {
 public:
  // Chips of one geometry, known by where they are; they outlive this.
  explicit BatchedTimes(std::vector<const arch::ArchSpec*> chips);

  // A chip's place, the same one's that was given; nothing of any other.
  std::optional<std::size_t> place_of(const arch::ArchSpec& a) const;
  // That chip is searched for: the others find nothing out for it any more.
  void leave_out(std::size_t place) { left_[place] = true; }

  struct Time {
    double us = 0;
    std::int64_t registers = kUnknown;  // that the candidate states; negative where it cannot run, or less would do
  };
  // A counted candidate's time by the model on one chip, valid until the next call.
  const Time& of(CandidatePool::Id id, const Candidate& c, std::size_t place);

  std::size_t bytes() const { return times_.capacity() * sizeof(Time); }

 private:
  static constexpr std::int64_t kUnknown = std::numeric_limits<std::int64_t>::min();

  std::vector<const arch::ArchSpec*> chips_;
  model::Batch batch_;
  std::vector<bool> left_;
  std::vector<Time> times_;              // by candidate, then place
  std::vector<std::int64_t> registers_;  // of each chip, for one candidate
  std::vector<double> us_;
};

}  // namespace tilescope::construct
