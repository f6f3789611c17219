// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <utility>

#include "lower/simt/detail/loop_ring.h"
#include "lower/simt/pipeline/detail/lowering.h"
#include "lower/simt/transfer/detail/tma.h"

namespace tilescope::lower {

Body warp_specialized(const BlockParts& b) {
  Stage& s = b.stage;
  const StepLoop loop = step_loop(s);
  const Affine ring_stage = s.maker().quotient(loop.step, 1, s.stages_held(), "slot");
  const StepPosition at = s.indices.at_step(loop.step);

  Body multiply;
  multiply.push_back({MbarrierWait{kFull, loop.step}, "the tiles are whole"});
  multiply = with(std::move(multiply), b.products.start(loop.step, ring_stage));
  multiply = with(std::move(multiply), b.products.finish(loop.step, ring_stage));
  const bool clusters = s.block.kernel().cluster > 1;
  multiply = with(std::move(multiply), b.products.release(kEmpty, loop.step, clusters));
  const bool apart = b.products.issues_apart();
  Body steps = loop.around(std::move(multiply));
  Body computing = apart ? b.products.collect() : with(b.results.initial(), std::move(steps));
  // Each meeting is a use of its own.
  const auto sync = [use = std::int64_t{0}](const std::string& note) mutable {
    Body body;
    body.push_back({MbarrierArrive{kMet, constant(use)}, {}});
    body.push_back({MbarrierWait{kMet, constant(use++)}, note});
    return body;
  };
  computing = with(std::move(computing), b.results.leave(sync));

  Body copy;
  copy.push_back(
      {MbarrierWait{kEmpty, loop.step - constant(s.stages_held())}, "every warp has read the slot's last tiles"});
  copy.push_back({MbarrierArrive{kFull, loop.step, loaded_bytes(s, false)}, {}});
  copy = with(std::move(copy), b.transfers.start(at, ring_stage));

  const std::int64_t threads = s.p.threads(), warp = s.chip.core.warp;
  WarpSpecialized roles;
  roles.roles.push_back({apart ? "results" : "multiply", 0, threads, std::move(computing)});
  roles.roles.push_back(
      {"copy", threads, apart ? warp : s.block.kernel().threads - threads, loop.around(std::move(copy))});
  if (apart) roles.roles.push_back({"multiply", threads + warp, warp, with(std::move(steps), b.products.commit())});
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
