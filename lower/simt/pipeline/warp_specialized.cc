// SPDX-License-Identifier: Apache-2.0
#include <utility>

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
  multiply.push_back({MbarrierArrive{kEmpty, loop.step, 0, clusters}, "this warp has read them"});
  Body computing = b.results.initial();
  computing = with(std::move(computing), loop.around(std::move(multiply)));
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
  std::int64_t bytes = 0;
  for (std::size_t i = 0; i < s.space().inputs.size(); ++i)
    bytes += s.tiles[i].ring_stage_elements * s.space().inputs[i].element.n;
  copy.push_back({MbarrierArrive{kFull, loop.step, bytes}, {}});
  copy = with(std::move(copy), b.transfers.start(at, ring_stage));

  const std::int64_t threads = s.p.threads();
  WarpSpecialized roles;
  roles.roles.push_back({"multiply", 0, threads, std::move(computing)});
  roles.roles.push_back({"copy", threads, s.block.kernel().threads - threads, loop.around(std::move(copy))});
  Body out;
  out.push_back({std::move(roles), {}});
  return out;
}

}  // namespace tilescope::lower
