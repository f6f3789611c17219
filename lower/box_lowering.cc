// A block whose staged tiles come in boxes: one warp has them brought, a ring of slots ahead, and the others multiply.

#include "base/integer.h"
#include "lower/stage_lowering.h"
#include "tile/core_matrices.h"

namespace tilescope::lower {

void StageLowering::add_box_signals() {
  kernel_.threads = p_.threads_with_copiers(chip_.core.warp);
  const std::int64_t begin = staging_.signals.n, slots = p_.slots();
  const std::int64_t computing = p_.threads() / chip_.core.warp;
  const std::int64_t bytes = chip_.core.tma->mbarrier.n * slots;
  kernel_.signals = {{"full", slots, 1, begin}, {"empty", slots, computing, begin + bytes}};
}

Body StageLowering::parted_body() {
  const std::int64_t steps = p_.steps();
  const int loop = maker_.loop("step", steps);
  const Affine step = maker_.value(loop);
  const Affine slot = maker_.quotient(step, 1, slots(), "slot");
  const auto in_steps = [&](Body of_step) {
    if (steps == 1) return of_step;
    Body out;
    out.push_back({Loop{loop, 1, std::move(of_step)}, {}});
    return out;
  };
  const StepPosition at = indices_.at_step(step);

  Body multiply;
  multiply.push_back({Await{kFull, step}, "the tiles are whole"});
  multiply = with(std::move(multiply), begin_products(at, slot));
  multiply = with(std::move(multiply), end_products());
  multiply.push_back({Arrive{kEmpty, step}, "nobody of this warp reads them any more"});
  Body computing = with(with(initial(), in_steps(std::move(multiply))), results());

  Body bring;
  bring.push_back({Await{kEmpty, step - constant(slots())}, "nobody reads the slot's last tiles any more"});
  std::int64_t bytes = 0;
  for (std::size_t i = 0; i < tiles_.size(); ++i) bytes += tiles_[i].slot_elements * space().inputs[i].element.n;
  bring.push_back({Arrive{kFull, step, bytes}, {}});
  for (std::size_t i = 0; i < tiles_.size(); ++i) bring.push_back(bring_boxes(i, at, step, slot));

  const std::int64_t threads = p_.threads();
  WarpRoles roles;
  roles.roles.push_back({"multiply", 0, threads, std::move(computing)});
  roles.roles.push_back({"copy", threads, kernel_.threads - threads, in_steps(std::move(bring))});
  Body out;
  out.push_back({std::move(roles), {}});
  return out;
}

// A box for every panel of the tile's two innermost dimensions, wherever the others stand.
Statement StageLowering::bring_boxes(std::size_t i, const StepPosition& at, const Affine& step, const Affine& slot) {
  const tile::Operand& o = space().inputs[i];
  const StagedTile& t = tiles_[i];
  const std::int64_t box = p_.operands[i].box;
  const std::size_t last = o.dims.size() - 1;
  BulkCopy copy{{t.shared, slot * t.slot_elements}, memory_[i], {}, kFull, step};
  std::vector<AxisLoop> loops;
  for (std::size_t d = 0; d <= last; ++d) {
    BoxDim dim;
    dim.extent = o.dims[d].extent;
    dim.box = d == last ? box : d + 1 == last ? t.shape[d] : 1;
    // Of a dimension of one element nobody asks how far the next one is, but that it is a whole piece.
    dim.stride = dim.extent > 1 || d == last
                     ? o.steps[d].front().stride
                     : base::round_up(o.dims[last].extent, chip_.core.tma->granule.n / o.element.n);
    dim.at = at.begin[static_cast<std::size_t>(o.dims[d].terms[0].axis)];
    if (const std::int64_t boxes = t.shape[d] / dim.box; boxes > 1) {
      const int loop = maker_.loop(o.name + (d == last ? "_panel" : "_box"), boxes);
      loops.push_back({loop, boxes, dim.box, 1});
      dim.at = dim.at + maker_.value(loop) * dim.box;
      const std::int64_t apart = d == last ? tile::core_matrices(p_, i).beside : t.pitch[d];
      copy.to.offset = copy.to.offset + maker_.value(loop) * apart;
    }
    copy.dims.push_back(std::move(dim));
  }
  Statement s = nest(loops, {{std::move(copy), {}}}, true).front();
  s.note = "bring " + o.name;
  return s;
}

}  // namespace tilescope::lower
