// SPDX-License-Identifier: Apache-2.0
// Construction against trying everything: plain nested loops over the same family of programs.

#include <algorithm>

#include <gtest/gtest.h>

#include "construct/roller.h"
#include "tests/unit/construct/construct_on.h"
#include "tile/fit.h"
#include "tile/transfer/vectors.h"

namespace tilescope::construct {
namespace {

// Every mapping of the spatial axes (strided or side by side), every step, cached or not, with some paddings.
class Search {
 public:
  Search(std::shared_ptr<const tile::TileSpace> space, const tests::ChipWithCostModel& chip)
      : space_(std::move(space)), chip_(chip), mapping_(space_->spatial, {}), step_(space_->axes.size(), 1) {}

  double best_us() {
    map_axis(0, 1);
    return best_us_;
  }
  long tried() const { return tried_; }

 private:
  void map_axis(std::size_t axis, std::int64_t threads) {
    if (axis == space_->spatial) {
      if (threads % chip_.spec.core.warp == 0) reduce_axis(space_->spatial);
      return;
    }
    const std::int64_t extent = space_->axes[axis].extent;
    for (std::int64_t t = 1; t * threads <= chip_.spec.core.max_block_threads && t <= extent; t *= 2)
      for (std::int64_t kept = 1; kept <= 16 && kept * t < 2 * extent; kept *= 2)
        for (std::int64_t per_thread = 1; per_thread <= std::min<std::int64_t>(4, kept); per_thread *= 2) {
          if (per_thread > 1 && axis + 1 < space_->spatial) break;
          mapping_[axis] = {kept / per_thread, t, per_thread};
          map_axis(axis + 1, threads * t);
        }
  }

  void reduce_axis(std::size_t axis) {
    if (axis == space_->axes.size()) return cost_model();
    for (const std::int64_t step : {8, 16, 32}) {
      step_[axis] = std::min(step, space_->axes[axis].extent);
      reduce_axis(axis + 1);
      if (step >= space_->axes[axis].extent) break;
    }
  }

  void cost_model() {
    const tile::StageProgram plain = tile::make_stage_program(space_, mapping_, step_, {16});
    tile::StageProgram direct = plain;
    for (std::size_t i = 0; i < space_->inputs.size(); ++i) direct.operands[i] = {false, 0, 1};
    consider(direct);
    for (const std::int64_t padding : {0, 1, 4}) {
      tile::StageProgram p = plain;
      for (std::size_t i = 0; i < space_->inputs.size(); ++i)
        p.operands[i] = {true, padding, tile::widest_vector(space_->inputs[i], p.block, padding, {16})};
      consider(p);
    }
  }

  void consider(const tile::StageProgram& p) {
    ++tried_;
    if (tile::fits(p, chip_.spec)) best_us_ = std::min(best_us_, chip_.time_of(p));
  }

  std::shared_ptr<const tile::TileSpace> space_;
  const tests::ChipWithCostModel& chip_;
  base::FixedVector<tile::AxisMapping, tile::kMaxAxes> mapping_;
  tile::Extents step_;
  double best_us_ = std::numeric_limits<double>::infinity();
  long tried_ = 0;
};

struct Small {
  const char* op;
  const char* sizes;
};

class Exhaustive : public testing::TestWithParam<Small> {};

TEST_P(Exhaustive, FindsNothingThatConstructionMisses) {
  const tests::ChipWithCostModel chip("v100");
  const expr::Expression e = tests::expression(GetParam().op, GetParam().sizes);
  const auto found = roller(e, chip.spec, chip.cost_model(), 10);
  ASSERT_FALSE(found.empty());
  const auto collapse = tile::contraction_collapse(e).value_or(tile::contiguous_collapse(e));
  Search search(tile::make_space(e, collapse), chip);
  const double best = search.best_us();
  EXPECT_LE(found.front().time.v, best) << "of " << search.tried() << " programs";
}

INSTANTIATE_TEST_SUITE_P(
    Operators, Exhaustive,
    testing::Values(Small{"C[m,n] +=! A[m,k] * B[k,n]", "m=512,n=512,k=512"},
                    Small{"C[m,n] +=! A[m,k] * B[k,n]", "m=2048,n=1024,k=256"},
                    Small{"C[m,n] +=! A[m,k] * B[k,n]", "m=1000,n=96,k=700"},
                    Small{"O[n,f,y,x] +=! I[n,c,y+r,x+s] * W[f,c,r,s]", "n=8,f=64,y=14,x=14,c=32,r=3,s=3"},
                    Small{"O[i] +=! I[i,j]", "i=4096,j=1024"}, Small{"O[i] = relu(I[i])", "i=1048576"}));

}  // namespace
}  // namespace tilescope::construct
