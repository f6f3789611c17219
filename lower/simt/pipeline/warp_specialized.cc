#include <utility>

#include "lower/simt/pipeline/lowering.h"
#include "lower/simt/transfer/tma.h"

namespace tilescope::lower {

Body warp_specialized(const BlockParts& b) {
  Stage& s = b.stage;
  const StepLoop loop(s.maker(), s.p.steps());
  const Affine slot = s.maker().quotient(loop.step, 1, s.slots(), "slot");
  const StepPosition at = s.indices.at_step(loop.step);

  Body multiply;
  multiply.push_back({Await{kFull, loop.step}, "the tiles are whole"});
  multiply = with(std::move(multiply), b.products.start(loop.step, slot));
  multiply = with(std::move(multiply), b.products.finish(loop.step, slot));
  multiply.push_back({Arrive{kEmpty, loop.step}, "this warp has read them"});
  Body computing = b.results.initial();
  computing = with(std::move(computing), loop.around(std::move(multiply)));
  // Each meeting is a use of its own.
  const auto meet = [use = std::int64_t{0}](const std::string& note) mutable {
    Body body;
    body.push_back({Arrive{kMet, constant(use)}, {}});
    body.push_back({Await{kMet, constant(use++)}, note});
    return body;
  };
  computing = with(std::move(computing), b.results.leave(meet));

  Body copy;
  copy.push_back({Await{kEmpty, loop.step - constant(s.slots())}, "every warp has read the slot's last tiles"});
  std::int64_t bytes = 0;
  for (std::size_t i = 0; i < s.space().inputs.size(); ++i)
    bytes += s.tiles[i].slot_elements * s.space().inputs[i].element.n;
  copy.push_back({Arrive{kFull, loop.step, bytes}, {}});
  copy = with(std::move(copy), b.transfers.start(at, slot));

  const std::int64_t threads = s.p.threads();
  WarpRoles roles;
  roles.roles.push_back({"multiply", 0, threads, std::move(computing)});
  roles.roles.push_back({"copy", threads, s.block.kernel().threads - threads, loop.around(std::move(copy))});
  Body out;
  out.push_back({std::move(roles), {}});
  return out;
}

}  // namespace tilescope::lower
