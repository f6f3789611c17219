// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "base/check.h"
#include "lower/simt/detail/loop_ring.h"
#include "lower/simt/pipeline/detail/lowering.h"
#include "lower/simt/pipeline/detail/tile_rounds.h"
#include "lower/simt/transfer/detail/tma.h"

namespace tilescope::lower {

namespace {

// What both kinds of roles share: the steps of a tile, in the rounds of the block. Uses of the ring count on from tile
// to tile.
struct RingUse {
  RingUse(Stage& s, const StepLoop& loop, const TileRounds& rounds)
      : use(rounds.round() * s.p.steps() + loop.step), slot(s.maker().quotient(use, 1, s.stages_held(), "slot")) {}

  Affine use, slot;
};

// Meetings of a crew's warps, each a use of its own: so many around the results of a tile.
Sync meetings(const Stage& s, const TileRounds& rounds) {
  const std::int64_t crews = s.p.tile_loop.crews, of_tile = s.p.is_persistent() ? 2 : 0;
  return [=, crew = s.crew, turn = rounds.turn(), n = std::int64_t{0}](const std::string& note) mutable {
    base::check(of_tile == 0 || n < of_tile, "a crew meets twice around its results");
    const Affine use = (turn * of_tile + constant(n++)) * crews + constant(crew);
    Body body;
    body.push_back({MbarrierArrive{kMet, use}, {}});
    body.push_back({MbarrierWait{kMet, use}, note});
    return body;
  };
}

Body consumers(const BlockParts& b, const StepLoop& loop, const TileRounds& rounds) {
  Stage& s = b.stage;
  rounds.enter(s);
  const RingUse ring(s, loop, rounds);
  Body multiply;
  multiply.push_back({MbarrierWait{kFull, ring.use}, "the tiles are whole"});
  multiply = with(std::move(multiply), b.products.start(loop.step, ring.slot));
  multiply = with(std::move(multiply), b.products.finish(loop.step, ring.slot));
  const bool clusters = s.block.kernel().cluster > 1;
  multiply.push_back({MbarrierArrive{kEmpty, ring.use, 0, clusters}, "this warp has read them"});
  Body computing = b.results.initial();
  computing = with(std::move(computing), loop.around(std::move(multiply)));
  computing = with(std::move(computing), b.results.leave(meetings(s, rounds)));
  return rounds.around(std::move(computing));
}

Body producers(const BlockParts& b, const StepLoop& loop, const TileRounds& rounds) {
  Stage& s = b.stage;
  rounds.enter(s);
  const RingUse ring(s, loop, rounds);
  StepPosition at = s.indices.at_step(loop.step);
  at.step = ring.use;
  Body copy;
  copy.push_back(
      {MbarrierWait{kEmpty, ring.use - constant(s.stages_held())}, "every warp has read the slot's last tiles"});
  copy.push_back({MbarrierArrive{kFull, ring.use, loaded_bytes(s, false)}, {}});
  copy = with(std::move(copy), b.transfers.start(at, ring.slot));
  return rounds.around(loop.around(std::move(copy)));
}

}  // namespace

Body warp_specialized(const BlockParts& b) {
  Stage& s = b.stage;
  const StepLoop loop = step_loop(s);
  const std::int64_t crews = s.p.tile_loop.crews, threads = s.p.threads();
  WarpSpecialized roles;
  std::optional<TileRounds> rounds;
  for (std::int64_t crew = 0; crew < crews; ++crew) {
    const std::string number = crews > 1 ? "_" + std::to_string(crew) : "";
    s.crew = crew;
    rounds.emplace(s, crew, crews, crews > 1 ? "turn" + number : "round");
    roles.roles.push_back({"multiply" + number, crew * threads, threads, consumers(b, loop, *rounds)});
  }
  if (crews > 1) rounds.emplace(s, 0, 1, "round");
  const std::int64_t computing = crews * threads;
  roles.roles.push_back({"copy", computing, s.block.kernel().threads - computing, producers(b, loop, *rounds)});
  Body out;
  out.push_back({std::move(roles), {}});
  return out;
}

// --- a ring around a group's loop, in which each stage's tiles have mbarriers of their own

bool LoopRing::has_roles() const {
  return std::any_of(members_.begin(), members_.end(), [](const RingMember& m) { return m.parts.stage.p.by_tma(); });
}

Body LoopRing::consumed(const Stage& s, Body use) const {
  if (!s.p.by_tma()) return use;
  Body body;
  body.push_back({MbarrierWait{s.mbarriers + kFull, loop_.step}, "the tiles are whole"});
  body = with(std::move(body), std::move(use));
  body.push_back({MbarrierArrive{s.mbarriers + kEmpty, loop_.step, 0, false}, "this warp has read them"});
  return body;
}

Body LoopRing::await_once() const {
  Body body;
  for (const RingMember& m : members_)
    if (const Stage& s = m.parts.stage; s.p.by_tma() && loaded_bytes(s, true) > 0)
      body.push_back({MbarrierWait{s.mbarriers + kOnce, constant(0)}, "the tiles that stay are whole"});
  return body;
}

Body LoopRing::produced() {
  Body body, step;
  for (RingMember& m : members_) {
    const Stage& s = m.parts.stage;
    if (!s.p.by_tma()) continue;
    if (const std::int64_t bytes = loaded_bytes(s, true); bytes > 0) {
      body.push_back({MbarrierArrive{s.mbarriers + kOnce, constant(0), bytes}, {}});
      body = with(std::move(body), m.parts.transfers.copy_once(m.at(constant(0))));
    }
    step.push_back({MbarrierWait{s.mbarriers + kEmpty, loop_.step - constant(stages_)},
                    "every warp has read the slot's last tiles"});
    step.push_back({MbarrierArrive{s.mbarriers + kFull, loop_.step, loaded_bytes(s, false)}, {}});
    step = with(std::move(step), m.parts.transfers.start(m.at(loop_.step), now_));
  }
  return with(std::move(body), loop_.around(std::move(step)));
}

Body LoopRing::roles(Body consuming, std::int64_t consumers, std::int64_t threads) {
  WarpSpecialized roles;
  roles.roles.push_back({"multiply", 0, consumers, std::move(consuming)});
  roles.roles.push_back({"copy", consumers, threads - consumers, produced()});
  Body out;
  out.push_back({std::move(roles), {}});
  return out;
}

}  // namespace tilescope::lower
