// SPDX-License-Identifier: Apache-2.0
#pragma once
// The times of a pool's candidates on chips that are going to be searched for, one after the other: whichever of them
// asks about a candidate first, the others have its answer then.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <vector>

#include "arch/spec.h"
#include "construct/detail/candidate_pool.h"
#include "model/simt/batch.h"
#include "model/simt/machine.h"

namespace tilescope::construct {

// The registers that a candidate states on a chip whose compiler would be held to `held`; nothing where its blocks do
// not fit with them, or less would do.
std::optional<std::int64_t> stated_registers(const Candidate& c, const model::Counts& counts, std::int64_t held,
                                             const arch::ArchSpec& a, const model::Machine& m);

class ExpectedChips {
 public:
  using Id = std::uint32_t;

  // Chips of one geometry; they outlive this.
  explicit ExpectedChips(std::vector<const arch::ArchSpec*> chips);
  bool are(std::span<const arch::ArchSpec* const> chips) const { return std::ranges::equal(chips_, chips); }

  // A chip's place, the same one's that was given; nothing of any other.
  std::optional<std::size_t> place_of(const arch::ArchSpec& a) const;
  // That chip is searched for: the others find nothing out for it any more.
  void leave_out(std::size_t place) { left_[place] = true; }

  struct Time {
    double us = 0;
    std::int64_t registers = kUnknown;  // that the candidate states; negative where it cannot run, or less would do
  };
  // A counted candidate's time by the model on one chip.
  const Time& of(Id id, const Candidate& c, std::size_t place);

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
