// SPDX-License-Identifier: Apache-2.0
#include "construct/detail/candidate_pool.h"

#include <algorithm>
#include <limits>
#include <utility>
#include <variant>

#include "base/check.h"
#include "construct/candidate_pools.h"
#include "construct/detail/batched_times.h"
#include "construct/detail/neighbouring_tiles.h"
#include "construct/detail/shared_reductions.h"
#include "construct/microkernel/detail/knobs.h"
#include "construct/transfer/detail/knobs.h"
#include "tile/microkernel/rules.h"

namespace tilescope::construct {
namespace {

using tile::Extents;
using tile::StageProgram;
using SpacePtr = std::shared_ptr<const tile::TileSpace>;

bool same(const Restrictions& a, const Restrictions& b) {
  return a.pads == b.pads && a.direct_stores == b.direct_stores && a.lowering_refusal == b.lowering_refusal &&
         a.instruction == b.instruction && a.block == b.block;
}

// Knobs that ask how many cores a chip has.
bool asks_for_cores(LayoutKnob knob) {
  return knob == other_splits || knob == other_block_orders || knob == other_clusters || knob == other_tile_loops;
}

}  // namespace

CandidatePool::CandidatePool(const expr::Expression& one_stage, const arch::ArchSpec& a, const Restrictions& given)
    : stage_(one_stage),
      geometry_(geometry_key(a)),
      given_(given),
      chip_(geometry_),
      candidates_(geometry_),
      layouts_(candidates_.costs()),
      seeds_(seeds_of(stage_, geometry_, given_)) {}

CandidatePool::~CandidatePool() = default;

void CandidatePool::expect(const std::vector<const arch::ArchSpec*>& chips) {
  if (expected_ == nullptr) expected_ = std::make_unique<BatchedTimes>(chips);
}
void CandidatePool::expect_none() { expected_.reset(); }

bool CandidatePool::is_of(const expr::Expression& one_stage, const arch::ArchSpec& neutral,
                          const Restrictions& given) const {
  return stage_ == one_stage && same(given_, given) && is_of_geometry(neutral);
}

LayoutRules CandidatePool::rules(bool pads, std::int64_t cores) {
  chip_.core.count = cores;
  return {chip_, pads, &layouts_, given_.direct_stores};
}

// --- tiles

SeedTiles& CandidatePool::tiles(std::size_t seed, const GrowthLimits& limits) {
  const auto [found, fresh] = tiles_.try_emplace({seed, limits});
  if (fresh) {
    found->second = tiles_of(seeds_[seed], limits, given_.block);
    tile_bytes_ += found->second.all.size() * sizeof(SeedTile);
  }
  return found->second;
}

CandidatePool::Id CandidatePool::laid_out(std::size_t seed, const GrowthLimits& limits, SeedTile& tile) {
  if (!tile.laid_out) {
    StageProgram p = program_of(seeds_[seed], limits, tile.registers, tile.block);
    apply_layout(p, rules(given_.pads));
    choose_first_transfer(p, rules(given_.pads).arch);
    tile.laid_out = candidates_.add(std::move(p));
  }
  return *tile.laid_out;
}

std::vector<CandidatePool::Id> CandidatePool::unaligned(std::size_t seed, GrowthLimits limits) {
  limits.cached_bytes = std::numeric_limits<std::int64_t>::max();
  const SpacePtr& space = seeds_[seed].space;
  const Extents one(space->axes.size(), 1), step = first_step(*space, limits);
  const AxisChoices choices = block_choices(*space, limits, one, step, kEpsilons.back());
  std::vector<Id> out;
  for (const LevelTile& block : block_tiles(*space, limits, choices, step, Alignment::kAny)) {
    StageProgram p = program_of({space, one, 0, {}, {}}, limits, one, block.extents);
    for (std::size_t i = 0; i < space->inputs.size(); ++i) p.operands[i] = {};
    out.push_back(candidates_.add(std::move(p)));
  }
  return out;
}

// --- layouts

CandidatePool::Id CandidatePool::with_plain_rows(Id id) {
  const auto found = plain_.find(id);
  if (found != plain_.end()) return found->second;
  StageProgram p = candidates_[id].program;
  apply_layout(p, rules(false));
  const Id plain = candidates_.add(std::move(p));
  plain_.emplace(id, plain);
  return plain;
}

template <class Known, class Make>
std::optional<CandidatePool::Id> CandidatePool::once(Known& known, const typename Known::key_type& key,
                                                     const Make& make) {
  const auto [found, fresh] = known.try_emplace(key);
  if (fresh)
    if (std::optional<StageProgram> p = make()) found->second = candidates_.add(std::move(*p));
  return found->second;
}

std::optional<CandidatePool::Id> CandidatePool::split(Id id, std::int64_t parts) {
  return once(split_, {id, parts}, [&] { return split_into(candidates_[id].program, parts, rules(given_.pads)); });
}

std::optional<CandidatePool::Id> CandidatePool::with_deepest_pipeline(Id id) {
  return once(deepest_, id,
              [&] { return construct::with_deepest_pipeline(candidates_[id].program, rules(given_.pads)); });
}

std::optional<CandidatePool::Id> CandidatePool::with_long_rows(Id id) {
  return once(long_rows_, id, [&] { return construct::with_long_rows(candidates_[id].program, rules(given_.pads)); });
}

CandidatePool::Ids CandidatePool::made_by(LayoutKnob knob, Id id, std::int64_t cores) {
  made_.clear();
  knob(candidates_[id].program, rules(given_.pads, cores), made_);
  auto* ids = static_cast<Id*>(arena_->allocate(made_.size() * sizeof(Id), alignof(Id)));
  for (std::size_t i = 0; i < made_.size(); ++i) ids[i] = candidates_.add(std::move(made_[i]));
  return {ids, made_.size()};
}

std::span<const CandidatePool::Id> CandidatePool::others(Id id, LayoutKnob knob, std::int64_t cores) {
  const auto knobs = layout_knobs();
  const auto place = static_cast<std::size_t>(std::find(knobs.begin(), knobs.end(), knob) - knobs.begin());
  base::check(place < kLayoutKnobs, "a choice is one of layout_knobs()");
  if (others_.size() <= id) others_.resize(candidates_.size());
  const bool by_cores = asks_for_cores(knob);
  Ids& known = by_cores ? others_by_cores_[{id, place, cores}] : others_[id][place];
  if (known.data() == nullptr) known = made_by(knob, id, by_cores ? cores : 1);
  return known;
}

std::span<const CandidatePool::Id> CandidatePool::neighbouring(Id id) {
  if (!given_.block.empty()) return {};
  const auto [found, fresh] = neighbouring_.try_emplace(id);
  if (fresh) found->second = made_by(neighbouring_tiles, id, 1);
  return found->second;
}

const std::vector<CandidatePool::Id>& CandidatePool::sharing(const GrowthLimits& limits, std::int64_t cores,
                                                             std::int64_t max_threads) {
  const auto [found, fresh] = sharing_.try_emplace({limits, cores, max_threads});
  if (!fresh) return found->second;
  arch::ArchSpec chip = geometry_;
  chip.core.count = cores;
  chip.core.max_threads = max_threads;
  for (const Seed& seed : seeds_)
    if (std::visit([](const auto& kernel) { return tile::adds_by_threads(kernel); }, seed.kernel) &&
        seed.unit == Extents(seed.space->axes.size(), 1))
      for (StageProgram& p : sharing_programs(seed.space, limits, chip))
        found->second.push_back(candidates_.add(std::move(p)));
  return found->second;
}

std::size_t CandidatePool::bytes() const {
  return candidates_.bytes() + tile_bytes_ + (expected_ == nullptr ? 0 : expected_->bytes());
}

}  // namespace tilescope::construct
