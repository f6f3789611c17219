// SPDX-License-Identifier: Apache-2.0
#include "lower/simt/detail/shared_reduction.h"

#include <utility>

namespace tilescope::lower {

// A mean is a sum that is divided when all is summed.
expr::Reducer SharedReduction::reducer() const {
  const expr::Reducer r = s_.stage().reducer;
  return r == expr::Reducer::kMean ? expr::Reducer::kSum : r;
}

void SharedReduction::add_buffers() {
  if (!through_scratchpad()) return;
  const std::string& output = s_.space().output.name;
  const base::Dtype held = s_.expression().accumulate;
  parts_ =
      s_.block.shared(output + "_shares", held,
                      tile::data_tile_elements(s_.space().output, s_.p.block) * sharing_.groups, s_.place.scratchpad);
  other_ = s_.block.registers(output + "_share", held, 1);
}

Body SharedReduction::combine(const Sync& sync) {
  Body body;
  if (sharing_.lanes > 1) body = across_lanes();
  return through_scratchpad() ? with(std::move(body), across_groups(sync)) : body;
}

Body SharedReduction::across_lanes() {
  const Access result{s_.results.accumulators, products_.result_position(1)};
  Body body = nest(joined(products_.result_loops(1)), {{ReduceLanes{result, reducer(), sharing_.lanes}, {}}}, true);
  body.front().note = "the shares of neighbouring lanes";
  return body;
}

// Each group's first lane writes what the group has; then every thread takes in all groups' in their order.
Body SharedReduction::across_groups(const Sync& sync) {
  const std::vector<AxisLoop> results = joined(products_.result_loops(1));
  const Access result{s_.results.accumulators, products_.result_position(1)};
  std::int64_t each = 1;
  for (const AxisLoop& l : results) each *= l.extent;
  IndexMaker& maker = s_.maker();
  const Affine owner = maker.quotient(maker.thread(), s_.p.sharers(), s_.p.threads() / s_.p.sharers(), "owner");
  const Affine first = (owner * each + result.offset) * sharing_.groups;
  const Affine group = maker.quotient(s_.indices.sharer(), sharing_.lanes, 0, "group");
  std::vector<Guard> when;
  s_.add_own_thread(when);
  if (sharing_.lanes > 1) when.push_back({maker.quotient(maker.thread(), 1, sharing_.lanes, "lane"), 1});
  Body body;
  if (s_.any_cached()) body = sync("every thread has read the last step's tiles");
  body.push_back(noted(nest(results, {{Copy{{parts_, first + group}, result, 1, when, {}}, {}}}, true).front(),
                       "the share of this group"));
  body = with(std::move(body), sync("the shares are whole"));
  const int other = maker.loop("other_group", sharing_.groups - 1, 1);
  Body of_other = {{Copy{{other_, {}}, {parts_, first + maker.value(other)}, 1, {}, {}}, {}},
                   {Compute{result, reducer(), {{.kind = expr::NodeKind::kRead}}, {{other_, {}}}, {}}, {}}};
  Body of_result = {{Copy{result, {parts_, first}, 1, {}, {}}, {}}};
  of_result.push_back({Loop{other, sharing_.groups - 1, std::move(of_other)}, {}});
  return with(std::move(body), nest(results, std::move(of_result), true));
}

}  // namespace tilescope::lower
