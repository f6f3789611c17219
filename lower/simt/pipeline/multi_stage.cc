// SPDX-License-Identifier: Apache-2.0
#include <utility>
#include <vector>

#include "lower/simt/pipeline/detail/lowering.h"

namespace tilescope::lower {
namespace {

Body when(std::vector<Guard> guards, Body body) {
  if (guards.empty() || body.empty()) return body;
  Body out;
  out.push_back({If{std::move(guards), std::move(body)}, {}});
  return out;
}

// The copies of the first steps, one stage short of all.
Body first_copies(const BlockParts& b, const StepLoop& loop) {
  Body body;
  for (std::int64_t s = 0; s + 1 < b.stage.stages_held(); ++s) {
    const StepPosition at = b.stage.indices.at_step(constant(s));
    if (s < b.stage.p.steps()) {
      Body copies = b.transfers.start(at, constant(s));
      copies = with(std::move(copies), b.transfers.copy(at, constant(s)));
      body = with(std::move(body), when(loop.not_after_last(b.stage.maker(), constant(s)), std::move(copies)));
    }
    // Waits count groups, so that a step which is not there has an empty one.
    if (b.transfers.any_asynchronous()) body.push_back({Commit{}, {}});
  }
  return body;
}

// A step whose tiles were copied `stages - 1` steps before, while later ones are on their way.
Body step_and_copies_ahead(const BlockParts& b, const StepLoop& loop) {
  Stage& s = b.stage;
  const Affine& step = loop.step;
  const std::int64_t ahead = s.stages_held() - 1;
  const Affine next = step + constant(ahead);
  const StepPosition at = s.indices.at_step(next);
  const Affine next_ring_stage = s.maker().quotient(next, 1, s.stages_held(), "next_slot");
  std::vector<Guard> more = {{next, s.p.steps()}};
  for (const Guard& g : loop.not_after_last(s.maker(), next)) more.push_back(g);
  const auto when_more = [&](Body body) { return Statement{If{more, std::move(body)}, {}}; };
  Body body;
  if (b.transfers.any_asynchronous()) body.push_back({Wait{ahead - 1}, {}});
  body = with(std::move(body), b.products.before_reads());
  body.push_back(noted({Barrier{}, {}}, "this step's tiles are whole, the last step's are free"));
  const Affine ring_stage = s.maker().quotient(step, 1, s.stages_held(), "slot");
  // Products that run by themselves do so while the next tiles' copies are issued.
  body = with(std::move(body), b.products.start(step, ring_stage));
  if (b.transfers.any_asynchronous()) {
    body.push_back(when_more(b.transfers.start(at, next_ring_stage)));
    body.push_back({Commit{}, {}});
  }
  Body loads = b.transfers.load(at);
  const bool passes_registers = !loads.empty(), carried = passes_registers && b.transfers.in_one_batch();
  if (carried) body.push_back(when_more(std::move(loads)));
  if (passes_registers && !carried) body.push_back(when_more(b.transfers.copy(at, next_ring_stage)));
  body = with(std::move(body), b.products.finish(step, ring_stage));
  if (carried) body.push_back(when_more(b.transfers.keep(next_ring_stage)));
  return body;
}

}  // namespace

Body multi_stage(const BlockParts& b) {
  Body body = b.results.initial();
  const StepLoop loop = step_loop(b.stage);
  body = with(std::move(body), first_copies(b, loop));
  body = with(std::move(body), loop.around(step_and_copies_ahead(b, loop)));
  return with(std::move(body), b.results.leave(at_barrier));
}

}  // namespace tilescope::lower
