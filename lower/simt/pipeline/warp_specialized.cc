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

// The products of a tile's steps, as its operands arrive.
Body multiplied(const BlockParts& b, const StepLoop& loop, const RingUse& ring) {
  Body of_step;
  of_step.push_back({MbarrierWait{kFull, ring.use}, "the tiles are whole"});
  of_step = with(std::move(of_step), b.products.start(loop.step, ring.slot));
  of_step = with(std::move(of_step), b.products.finish(loop.step, ring.slot));
  of_step = with(std::move(of_step), b.products.release(kEmpty, ring.use, b.stage.block.kernel().cluster > 1));
  return loop.around(std::move(of_step));
}

Body consumers(const BlockParts& b, const StepLoop& loop, const TileRounds& rounds) {
  Stage& s = b.stage;
  rounds.enter(s);
  const RingUse ring(s, loop, rounds);
  Body computing = with(b.results.initial(), multiplied(b, loop, ring));
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

// A warp of its own issues the products of a block, and the computing threads read the sums when all are added.
Body issued_apart(const BlockParts& b, const StepLoop& loop) {
  Stage& s = b.stage;
  const TileRounds rounds(s, 0, 1, "round");
  const RingUse ring(s, loop, rounds);
  const std::int64_t threads = s.p.threads(), warp = s.chip.core.warp;
  WarpSpecialized roles;
  Body products = multiplied(b, loop, ring);
  Body results = with(b.products.collect(), b.results.leave(meetings(s, rounds)));
  roles.roles.push_back({"results", 0, threads, std::move(results)});
  roles.roles.push_back({"copy", threads, warp, producers(b, loop, rounds)});
  roles.roles.push_back({"multiply", threads + warp, warp, with(std::move(products), b.products.commit())});
  Body out;
  out.push_back({std::move(roles), {}});
  return out;
}

}  // namespace

Body warp_specialized(const BlockParts& b) {
  Stage& s = b.stage;
  const StepLoop loop = step_loop(s);
  if (b.products.issues_apart()) return issued_apart(b, loop);
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
