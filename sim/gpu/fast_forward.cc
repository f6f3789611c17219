// SPDX-License-Identifier: Apache-2.0
#include "sim/gpu/detail/fast_forward.h"

#include <algorithm>
#include <functional>
#include <map>
#include <queue>
#include <tuple>

namespace tilescope::sim {
namespace {

// The block that stands in a place, as far as the jump has come.
struct Place {
  std::int64_t successor = -1;
  double begun = 0;  // when, from the beginning of the jump
};

Cycle whole(double cycles) { return Cycle(static_cast<std::int64_t>(cycles)); }

// Blocks of a cluster jump as far as the one that jumps least: they meet at the mbarriers of each step.
void keep_clusters_together(std::span<const StepProgress> blocks, std::vector<std::int64_t>& steps) {
  std::map<std::int64_t, std::int64_t> least;
  for (std::size_t b = 0; b < blocks.size(); ++b) {
    if (blocks[b].cluster < 0) continue;
    std::int64_t& of = least.try_emplace(blocks[b].cluster, steps[b]).first->second;
    of = std::min(of, steps[b]);
  }
  for (std::size_t b = 0; b < blocks.size(); ++b)
    if (blocks[b].cluster >= 0) steps[b] = least[blocks[b].cluster];
}

}  // namespace

FastForward fast_forward(std::span<const StepProgress> blocks, std::span<const PlaceRate> rates, double cycles,
                         const FastForwardSpec& spec) {
  FastForward t;
  t.cycles = cycles;
  std::vector<Place> places(blocks.size());
  // When, and which comes first among those of one moment: one block of every core, as the scheduler deals them out.
  using End = std::tuple<double, std::size_t, std::size_t>;
  std::vector<std::size_t> turn(blocks.size(), 0);
  for (std::size_t b = 1; b < blocks.size(); ++b)
    if (blocks[b].core == blocks[b - 1].core) turn[b] = turn[b - 1] + 1;
  std::priority_queue<End, std::vector<End>, std::greater<>> ends;
  std::vector<double> last_steps;
  for (std::size_t b = 0; b < blocks.size(); ++b) {
    if (!blocks[b].inside || rates[b].now <= 0) continue;
    const auto remaining = static_cast<double>(blocks[b].min_remaining);
    if (spec.not_started > 0)
      ends.emplace(remaining / rates[b].now + spec.between, turn[b], b);
    else
      last_steps.push_back((remaining - static_cast<double>(spec.last_steps)) / rates[b].now);
  }
  if (!last_steps.empty()) {
    const auto nth =
        last_steps.begin() + static_cast<std::ptrdiff_t>(spec.max_ends * static_cast<double>(last_steps.size()));
    std::nth_element(last_steps.begin(), nth, last_steps.end());
    t.cycles = std::max(0.0, std::min(t.cycles, *nth));
  }
  while (!ends.empty() && std::get<0>(ends.top()) < t.cycles) {
    const auto [at, nth, b] = ends.top();
    ends.pop();
    if (t.blocks == spec.not_started) {
      t.cycles = at;
      break;
    }
    Place& p = places[b];
    const Cycle begun = p.successor < 0 ? blocks[b].stamp : spec.now + whole(p.begun);
    t.lasted += spec.now + whole(at) - begun;
    t.warp_steps += blocks[b].warps * (p.successor < 0 ? blocks[b].min_remaining : spec.steps);
    t.skipped.push_back({.place = b,
                         .block = p.successor,
                         .steps = p.successor < 0 ? blocks[b].min_remaining : spec.steps,
                         .from = p.begun,
                         .to = at - spec.between,
                         .ends = true});
    p = {spec.next_block + t.blocks++, at};
    ends.emplace(at + static_cast<double>(spec.steps) / rates[b].later + spec.between, nth, b);
  }
  std::vector<std::int64_t> steps_of(blocks.size(), 0);
  for (std::size_t b = 0; b < blocks.size(); ++b) {
    const Place& p = places[b];
    const bool stays = p.successor < 0;
    const auto steps = static_cast<std::int64_t>((stays ? rates[b].now : rates[b].later) * (t.cycles - p.begun) + 0.5);
    const std::int64_t most = (stays ? blocks[b].min_remaining : spec.steps - 1) - spec.last_steps;
    if (blocks[b].inside && most > 0) steps_of[b] = std::clamp<std::int64_t>(steps, 0, most);
  }
  keep_clusters_together(blocks, steps_of);
  for (std::size_t b = 0; b < blocks.size(); ++b) {
    const Place& p = places[b];
    const std::int64_t remaining = blocks[b].min_remaining;
    const bool stays = p.successor < 0;
    StepJump j{.steps = steps_of[b], .successor = p.successor, .stamp = spec.now + whole(p.begun)};
    const std::int64_t left_out = j.steps + (stays ? 0 : 1);
    t.warp_steps += blocks[b].warps * left_out;
    t.skipped.push_back({.place = b, .block = p.successor, .steps = left_out, .from = p.begun, .to = t.cycles});
    if (!stays) j.steps -= spec.steps - 1 - remaining;
    t.jumps.push_back(j);
  }
  return t;
}

}  // namespace tilescope::sim
