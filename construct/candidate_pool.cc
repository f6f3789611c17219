// SPDX-License-Identifier: Apache-2.0
#include "construct/detail/candidate_pool.h"

#include <algorithm>
#include <limits>
#include <utility>
#include <variant>

#include "arch/derive.h"
#include "base/check.h"
#include "base/integer.h"
#include "construct/candidate_pools.h"
#include "construct/detail/batched_times.h"
#include "construct/detail/matrix_kernels.h"
#include "construct/detail/neighbouring_tiles.h"
#include "construct/detail/shared_reductions.h"
#include "construct/microkernel/detail/knobs.h"
#include "construct/transfer/detail/knobs.h"
#include "model/simt/registers.h"
#include "tile/microkernel/mma.h"
#include "tile/microkernel/rules.h"
#include "tile/microkernel/wgmma.h"
#include "tile/staging.h"

namespace tilescope::construct {
namespace {

using tile::Extents;
using tile::StageProgram;
using tile::TileSpace;
using SpacePtr = std::shared_ptr<const TileSpace>;

constexpr std::size_t kFewTiles = 24;    // of one seed: fewer are no choice, so that tiles may waste more
constexpr std::size_t kManyTiles = 200;  // with those that waste more
// Tiles of one seed that the cost model sees, of those that waste little and more.
constexpr std::size_t kEvaluated = 128;
constexpr std::size_t kEvaluatedOfOthers = 32;  // of loops as they stand where they are seen as a matrix product too
constexpr std::int64_t kSomeRegisters = 1;      // that programs state until a chip says how many

// A seed for every instruction of the chip that may multiply the stage.
void add_matrix_seeds(const SpacePtr& space, const arch::ArchSpec& a, const Restrictions& given,
                      std::vector<Seed>& out) {
  for (tile::MicroKernel& kernel : matrix_kernels(*space, a, given)) {
    const tile::MatrixUnit u = *tile::unit_of(kernel);
    const auto spec = std::find_if(a.compute.begin(), a.compute.end(),
                                   [&](const arch::ComputeSpec& c) { return c.name == u.instruction; });
    Seed seed{space, Extents(space->axes.size(), 1), kEvaluated, static_cast<std::size_t>(spec - a.compute.begin()),
              std::move(kernel)};
    seed.unit[u.rows] = u.m;
    seed.unit[u.columns] = u.n;
    seed.unit[u.depth] = tile::depth_of_steps(*space, u);
    out.push_back(std::move(seed));
  }
}

// The ways to collapse a stage's loops: as a matrix product where it is one, there also by the chip's matrix
// instructions, and as it is, also with register tiles of the innermost axis of taps or of all of them.
std::vector<Seed> seeds_of(const expr::Expression& e, const arch::ArchSpec& chip, const Restrictions& given) {
  std::vector<Seed> out;
  const auto add = [&](const tile::AxisCollapse& collapse) {
    const SpacePtr space = tile::make_space(e, collapse);
    add_matrix_seeds(space, chip, given, out);
    out.push_back({space, Extents(space->axes.size(), 1), kEvaluated, {}, {}});
  };
  const auto product = tile::contraction_collapse(e);
  if (product) add(*product);
  add(tile::contiguous_collapse(e));
  if (product) {
    out.back().evaluated = kEvaluatedOfOthers;
    out.back().apart = true;
  }
  Seed tiled = out.back();
  tiled.evaluated = kEvaluated;
  for (std::size_t a = tiled.space->axes.size(); a-- > tiled.space->spatial;) {
    if (!tile::taps_overlap(*tiled.space, a) || tiled.space->axes[a].extent == 1) continue;
    tiled.unit[a] = tiled.space->axes[a].extent;
    out.push_back(tiled);
  }
  return out;
}

// Elements of a register tile are strided over the threads, so that neighbouring threads touch neighbouring words
// (ROLLER's vthreads); without reuse the innermost axis is kept whole for wide accesses, and neighbours share a
// register tile.
StageProgram program_of(const Seed& seed, const GrowthLimits& limits, const Extents& registers, const Extents& block) {
  const TileSpace& space = *seed.space;
  const bool reduces = space.axes.size() > space.spatial;
  const bool tiles_reduction = seed.unit != Extents(space.axes.size(), 1);
  const std::int64_t widest = elements_in(limits.max_access, base::size_of(space.expression.dtype));
  Mapping mapping;
  for (std::size_t a = 0; a < space.spatial; ++a) {
    const bool wide = !reduces && a + 1 == space.spatial;
    const std::int64_t per_thread = tiles_reduction ? registers[a] : wide ? std::min(registers[a], widest) : 1;
    mapping.push_back({registers[a] / per_thread, block[a] / registers[a], per_thread});
  }
  StageProgram p = tile::make_stage_program(seed.space, mapping, block, limits.max_access);
  for (std::size_t a = space.spatial; a < space.axes.size(); ++a) p.thread[a] = seed.unit[a];
  return tile::with_micro_kernel(std::move(p), seed.kernel, limits.max_access);
}

class Hash {
 public:
  explicit Hash(const StageProgram& p) : value_(reinterpret_cast<std::uintptr_t>(p.space.get())) {}
  void add(auto... words) {
    ((value_ = (value_ ^ static_cast<std::uint64_t>(words)) * 0x9e3779b97f4a7c15U, value_ ^= value_ >> 32), ...);
  }
  std::size_t value() const { return value_; }

 private:
  std::uint64_t value_;
};

std::size_t hash_of_tiles(const StageProgram& p) {
  Hash hash(p);
  for (std::size_t a = 0; a < p.block.size(); ++a) hash.add(p.block[a], p.thread[a], p.reduction_threads[a]);
  return hash.value();
}

std::size_t hash_of_size(const StageProgram& p) {
  Hash hash(p);
  for (const std::int64_t extent : p.thread) hash.add(extent);
  hash.add(p.threads());
  return hash.value();
}

std::size_t hash_of(const StageProgram& p) {
  Hash hash(p);
  hash.add(hash_of_tiles(p));
  for (const std::int64_t parts : p.split) hash.add(parts);
  for (const tile::AxisMapping& m : p.mapping) hash.add(m.vthread, m.threads, m.per_thread);
  for (const tile::OperandPlan& o : p.operands) hash.add(o.cached, o.padding, o.vector, o.rotate, o.box);
  hash.add(p.num_stages, p.unroll, p.group_m, p.block_order, p.cluster.axis, p.cluster.blocks);
  return hash.value();
}

bool same_tiles(const StageProgram& p, const StageProgram& q) {
  return p.space == q.space && p.block == q.block && p.thread == q.thread && p.reduction_threads == q.reduction_threads;
}

bool same_size(const StageProgram& p, const StageProgram& q) {
  return p.space == q.space && p.thread == q.thread && p.threads() == q.threads();
}

bool same(const Restrictions& a, const Restrictions& b) {
  return a.pads == b.pads && a.direct_stores == b.direct_stores && a.lowering_refusal == b.lowering_refusal &&
         a.instruction == b.instruction && a.block == b.block;
}

// Knobs that ask how many cores a chip has.
bool asks_for_cores(LayoutKnob knob) {
  return knob == other_splits || knob == other_block_orders || knob == other_clusters;
}

}  // namespace

std::optional<std::int64_t> stated_registers(const Candidate& c, const model::Counts& counts, std::int64_t held,
                                             const arch::ArchSpec& a) {
  if (held > arch::max_registers(a, c.threads)) return std::nullopt;  // as tile::holds_registers
  if (!model::is_worth_compiling(c.program, counts.registers, held)) return std::nullopt;
  return held;
}

CandidatePool::CandidatePool(const expr::Expression& one_stage, const arch::ArchSpec& a, const Restrictions& given)
    : stage_(one_stage),
      geometry_(geometry_key(a)),
      given_(given),
      chip_(geometry_),
      counted_by_(model::make_geometry(geometry_)),
      known_(counted_by_),
      layouts_(known_),
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

// Warps in place of threads where lanes work together.
GrowthLimits CandidatePool::limits_of(const Seed& seed, GrowthLimits limits) const {
  const std::int64_t lanes = tile::lanes_of(seed.kernel);
  limits.max_threads /= lanes;
  limits.registers *= lanes;
  if (lanes > 1) limits.warp = 1;
  return limits;
}

CandidatePool::Tiles& CandidatePool::tiles(std::size_t seed, const GrowthLimits& limits) {
  const auto [found, fresh] = tiles_.try_emplace({seed, limits});
  if (fresh) {
    add_tiles(seeds_[seed], limits_of(seeds_[seed], limits), found->second);
    tile_bytes_ += found->second.all.size() * sizeof(Tile);
  }
  return found->second;
}

// What wastes little of an axis first, until there are tiles to choose from; then what wastes more, until there are
// many: irregular shapes have few of the first, and the cost model finds some of the others faster.
void CandidatePool::add_tiles(const Seed& seed, const GrowthLimits& limits, Tiles& out) {
  Extents step = first_step(*seed.space, limits);
  for (std::size_t a = seed.space->spatial; a < step.size(); ++a)
    step[a] = std::max(step[a] / seed.unit[a], std::int64_t{1}) * seed.unit[a];
  std::vector<RegisterTile> registers;
  for (LevelTile& tile : register_tiles(*seed.space, limits, seed.unit))
    if (std::visit([&](const auto& k) { return suits_scales(k, *seed.space, tile.extents); }, seed.kernel))
      registers.push_back({std::move(tile), {}, {}});
  for (const double epsilon : kEpsilons) {
    for (RegisterTile& r : registers) add_pairs(seed, limits, r, step, epsilon, out);
    if (out.strict == 0 && (out.all.size() >= kFewTiles || epsilon == kEpsilons.back())) out.strict = out.all.size();
    if (out.all.size() >= kManyTiles || !given_.block.empty()) break;
  }
  if (out.strict == 0) out.strict = out.all.size();
}

// The block tiles over one register tile that waste at most so much and are not among the tiles yet.
void CandidatePool::add_pairs(const Seed& seed, const GrowthLimits& limits, RegisterTile& registers,
                              const Extents& step, double epsilon, Tiles& out) {
  std::vector<LevelTile> blocks;
  if (given_.block.empty()) {
    AxisChoices more = block_choices(*seed.space, limits, registers.tile.extents, step, epsilon);
    if (more == registers.choices) return;  // the same tiles as with the last share
    registers.choices = std::move(more);
    blocks = block_tiles(*seed.space, limits, registers.choices, step);
  } else {
    blocks = given_tile(seed, limits, registers.tile.extents, step);
  }
  const std::vector<std::size_t> before = registers.pairs;
  for (const LevelTile& b : blocks) {
    const bool known =
        std::any_of(before.begin(), before.end(), [&](std::size_t pair) { return out.all[pair].block == b.extents; });
    if (known) continue;
    registers.pairs.push_back(out.all.size());
    out.all.push_back({registers.tile.extents, b.extents, work_of(*seed.space, registers.tile, b)});
  }
}

// The block tile that is given over a register tile; nothing where it does not cut it, or into more threads than a
// block may have.
std::vector<LevelTile> CandidatePool::given_tile(const Seed& seed, const GrowthLimits& limits, const Extents& registers,
                                                 const Extents& step) const {
  const TileSpace& space = *seed.space;
  if (given_.block.size() != space.spatial) return {};
  Extents e = step;
  std::int64_t threads = 1;
  for (std::size_t a = 0; a < space.spatial; ++a) {
    const std::int64_t along = given_.block[a] / registers[a];
    if (along * registers[a] != given_.block[a] || along > limits.max_threads / threads) return {};
    threads *= along;
    e[a] = given_.block[a];
  }
  return {{e, 0, 0}};
}

CandidatePool::Id CandidatePool::laid_out(std::size_t seed, const GrowthLimits& limits, Tile& tile) {
  if (!tile.laid_out) {
    StageProgram p = program_of(seeds_[seed], limits_of(seeds_[seed], limits), tile.registers, tile.block);
    apply_layout(p, rules(given_.pads));
    choose_first_transfer(p, rules(given_.pads).arch);
    tile.laid_out = add(std::move(p));
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
    out.push_back(add(std::move(p)));
  }
  return out;
}

// --- layouts

CandidatePool::Id CandidatePool::with_plain_rows(Id id) {
  const auto found = plain_.find(id);
  if (found != plain_.end()) return found->second;
  StageProgram p = candidates_[id].program;
  apply_layout(p, rules(false));
  const Id plain = add(std::move(p));
  plain_.emplace(id, plain);
  return plain;
}

std::optional<CandidatePool::Id> CandidatePool::split(Id id, std::int64_t parts) {
  const auto [found, fresh] = split_.try_emplace({id, parts});
  if (fresh)
    if (std::optional<StageProgram> p = split_into(candidates_[id].program, parts, rules(given_.pads)))
      found->second = add(std::move(*p));
  return found->second;
}

std::optional<CandidatePool::Id> CandidatePool::with_deepest_pipeline(Id id) {
  const auto [found, fresh] = deepest_.try_emplace(id);
  if (fresh)
    if (std::optional<StageProgram> p = construct::with_deepest_pipeline(candidates_[id].program, rules(given_.pads)))
      found->second = add(std::move(*p));
  return found->second;
}

std::optional<CandidatePool::Id> CandidatePool::with_long_rows(Id id) {
  const auto [found, fresh] = long_rows_.try_emplace(id);
  if (fresh)
    if (std::optional<StageProgram> p = construct::with_long_rows(candidates_[id].program, rules(given_.pads)))
      found->second = add(std::move(*p));
  return found->second;
}

CandidatePool::Ids CandidatePool::made_by(LayoutKnob knob, Id id, std::int64_t cores) {
  made_.clear();
  knob(candidates_[id].program, rules(given_.pads, cores), made_);
  auto* ids = static_cast<Id*>(arena_.allocate(made_.size() * sizeof(Id), alignof(Id)));
  for (std::size_t i = 0; i < made_.size(); ++i) ids[i] = add(std::move(made_[i]));
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
      for (StageProgram& p : sharing_programs(seed.space, limits, chip)) found->second.push_back(add(std::move(p)));
  return found->second;
}

// --- candidates

template <class Same>
CandidatePool::Id CandidatePool::first_of(ByHash& known, std::size_t hash, Id id, const Same& same) {
  const auto [begin, end] = known.equal_range(hash);
  for (auto k = begin; k != end; ++k)
    if (same(candidates_[k->second].program, candidates_[id].program)) return k->second;
  known.emplace(hash, id);
  return id;
}

CandidatePool::Id CandidatePool::add(StageProgram&& p) {
  p.registers = kSomeRegisters;
  const std::size_t hash = hash_of(p);
  const auto [begin, end] = by_hash_.equal_range(hash);
  for (auto known = begin; known != end; ++known)
    if (candidates_[known->second].program == p) return known->second;

  const auto id = static_cast<Id>(candidates_.size());
  Candidate& c = candidates_.emplace_back();
  c.program = std::move(p);
  c.threads = c.program.threads_with_producers(counted_by_.warp);
  c.scratchpad = tile::staging_of(c.program, counted_by_.engines).bytes;
  c.tiles = first_of(by_tiles_, hash_of_tiles(c.program), id, same_tiles);
  c.size = first_of(by_size_, hash_of_size(c.program), id, same_size);
  by_hash_.emplace(hash, id);
  return id;
}

const model::Counts& CandidatePool::counts(Id id) {
  Candidate& c = candidates_[id];
  if (!c.counts) {
    model::CountsStorage storage;
    c.counts = model::count(c.program, model::alone(c.program, counted_by_.engines), counted_by_, storage, &known_);
    ++counted_;
    model::keep_in(*c.counts, arena_);
  }
  return *c.counts;
}

std::size_t CandidatePool::bytes() const {
  return memory_.bytes() + tile_bytes_ + (expected_ == nullptr ? 0 : expected_->bytes());
}

}  // namespace tilescope::construct
