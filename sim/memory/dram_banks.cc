// SPDX-License-Identifier: Apache-2.0
#include "sim/memory/detail/dram_banks.h"

namespace tilescope::sim {
namespace {

// The two activation windows (tFAW, t32AW), as JEDEC defines them.
constexpr std::size_t kActivates = 4, kManyActivates = 32;

constexpr Clock kLongAgo = Clock::min() / 2;

}  // namespace

DramBanks::DramBanks(const DramSpec& spec)
    : spec_(spec),
      banks_(static_cast<std::size_t>(spec.pseudo_channels * spec.ranks * spec.banks)),
      groups_(static_cast<std::size_t>(spec.pseudo_channels * spec.ranks * spec.groups)),
      ranks_(static_cast<std::size_t>(spec.pseudo_channels * spec.ranks)) {
  for (auto& scopes : after_)
    for (ByCommand& clocks : scopes) clocks.fill(kLongAgo);
  for (const DramConstraint& c : constraints_of(spec.t))
    after_[number(c.before)][static_cast<std::size_t>(c.scope)][number(c.after)] = c.clocks;  // each stands there once
  const std::size_t groups_of_rank = groups_.size() / ranks_.size();
  for (std::size_t g = 0; g < groups_.size(); ++g) groups_[g].rank = g / groups_of_rank;
  for (std::size_t b = 0; b < banks_.size(); ++b) {
    banks_[b].group = b / banks_of_group();
    banks_[b].rank = groups_[banks_[b].group].rank;
  }
  for (Rank& r : ranks_) r.activates.assign(kManyActivates, kLongAgo);
}

void DramBanks::issue(std::size_t bank, DramCommand c, Clock at) {
  Bank& b = banks_[bank];
  Rank& rank = ranks_[b.rank];
  const auto wait = [&](ByCommand& earliest, DramScope scope) {
    const ByCommand& clocks = after_[number(c)][static_cast<std::size_t>(scope)];
    for (std::size_t n = 0; n < kDramCommands; ++n) earliest[n] = later(earliest[n], at + clocks[n]);
  };
  wait(b.earliest, DramScope::kBank);
  wait(groups_[b.group].earliest, DramScope::kGroup);
  wait(rank.earliest, DramScope::kRank);
  const auto ranks = static_cast<std::size_t>(spec_.ranks);
  for (std::size_t r = b.rank / ranks * ranks; r < (b.rank / ranks + 1) * ranks; ++r)  // of its pseudo-channel
    if (r != b.rank) wait(ranks_[r].earliest, DramScope::kOtherRanks);
  if (c == DramCommand::kPrecharge) b.closed = at + spec_.t.rp;
  if (c == DramCommand::kActivate) count_activate(rank, at);
}

void DramBanks::count_activate(Rank& rank, Clock at) {
  ++activates_;
  rank.activates[rank.activated++ % kManyActivates] = at;
  const auto window = [&](std::size_t activates, Clock clocks) {
    const Clock first = rank.activates[(rank.activated - activates) % kManyActivates];
    Clock& next = rank.earliest[number(DramCommand::kActivate)];
    if (clocks > 0_nck) next = later(next, first + clocks);
  };
  window(kActivates, spec_.t.faw);
  window(kManyActivates, spec_.t.aw32);
}

void DramBanks::hold_rank(std::size_t rank, Clock until) {
  Clock& activate = ranks_[rank].earliest[number(DramCommand::kActivate)];
  activate = std::max(activate, until);
}

}  // namespace tilescope::sim
