// SPDX-License-Identifier: Apache-2.0
#include <utility>

#include "lower/simt/pipeline/detail/lowering.h"

namespace tilescope::lower {

Body serial(const BlockParts& b) {
  Body body = b.results.initial();
  const StepLoop loop = step_loop(b.stage);
  const StepPosition at = b.stage.indices.at_step(loop.step);
  const Affine ring_stage = constant(0);
  Body of_step;
  const auto wait_for_readers = [&] {
    if (loop.index >= 0) of_step.push_back(noted({Barrier{}, {}}, "every thread has read the last step's tiles"));
  };
  if (b.transfers.any() && b.transfers.in_one_batch()) {
    of_step = b.transfers.load(at);
    wait_for_readers();
    of_step = with(std::move(of_step), b.transfers.keep(ring_stage));
  } else if (b.transfers.any()) {
    wait_for_readers();
    of_step = with(std::move(of_step), b.transfers.copy(at, ring_stage));
  }
  of_step = with(std::move(of_step), b.products.before_reads());
  if (b.transfers.any()) of_step.push_back(noted({Barrier{}, {}}, "the tiles are whole"));
  of_step = with(std::move(of_step), b.products.start(loop.step, ring_stage));
  of_step = with(std::move(of_step), b.products.finish(loop.step, ring_stage));
  body = with(std::move(body), loop.around(std::move(of_step)));
  return with(std::move(body), b.results.leave(at_barrier));
}

}  // namespace tilescope::lower
