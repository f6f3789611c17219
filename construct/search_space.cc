// SPDX-License-Identifier: Apache-2.0
#include "construct/search_space.h"

#include <algorithm>
#include <limits>
#include <set>

#include "arch/derive.h"
#include "base/integer.h"
#include "construct/detail/layout.h"
#include "construct/detail/tiles.h"
#include "model/simt/registers.h"
#include "tile/align.h"
#include "tile/fit.h"
#include "tile/transfer/vectors.h"

namespace tilescope::construct {
namespace {

using tile::StageProgram;
using tile::TileSpace;

constexpr std::int64_t kLongestStep = 16;  // transactions, as in construction
constexpr std::int64_t kMaxNumStages = 4;  // likewise: how far the search looks, whatever the chip
constexpr double kMaxWaste = 1;            // of an axis; the loosest that ROLLER relaxes rule 4 to

std::vector<std::int64_t> powers_up_to(std::int64_t most) {
  std::vector<std::int64_t> out;
  for (std::int64_t n = 1; n <= most; n *= 2) out.push_back(n);
  return out;
}

// Powers of two; and of what fits a step, everything, its half, a quarter, and twice and four times those.
std::vector<std::int64_t> step_options(std::int64_t length, std::int64_t most) {
  std::set<std::int64_t> out;
  for (const std::int64_t n : powers_up_to(std::min(length, most))) out.insert(n);
  for (std::int64_t part = length; length <= most && part > 0; part /= 2)
    for (std::int64_t n = part; n <= std::min(length, 4 * part); n *= 2) out.insert(n);
  return {out.begin(), out.end()};
}

std::vector<Knob> knobs_of(const TileSpace& space, const SearchLimits& limits, std::int64_t max_threads) {
  std::vector<Knob> out;
  bool overlap = false;  // which neighbours share, as many as a thread keeps
  for (std::size_t a = space.spatial; a < space.axes.size(); ++a) overlap = overlap || tile::taps_overlap(space, a);
  for (std::size_t a = 0; a < space.spatial; ++a) {
    const std::int64_t length = space.axes[a].extent;
    const std::int64_t kept = std::min(kWidestRegisterExtent, 2 * length - 1);
    std::set<std::int64_t> threads;
    each_number_of_threads(length, [&](std::int64_t n) {
      if (n <= max_threads) threads.insert(n);
    });
    out.push_back({KnobKind::kThreads, a, {threads.begin(), threads.end()}});
    out.push_back({KnobKind::kVthread, a, powers_up_to(kept)});
    out.push_back({KnobKind::kPerThread, a, powers_up_to(overlap ? kept : std::min(kept, limits.vector))});
  }
  const std::optional<std::size_t> longest = tile::longest_reduced_axis(space);
  for (std::size_t a = space.spatial; a < space.axes.size(); ++a) {
    const std::int64_t length = space.axes[a].extent;
    out.push_back({KnobKind::kStep, a, step_options(length, kLongestStep * limits.transaction)});
    if (length > 1 && tile::taps_overlap(space, a)) out.push_back({KnobKind::kReductionTile, a, {1, length}});
    if (a == longest) out.push_back({KnobKind::kSplit, a, powers_up_to(std::min(kMaxParts, length))});
  }
  for (std::size_t i = 0; i < space.inputs.size(); ++i) {
    out.push_back({KnobKind::kCachePolicy, i, {}});
    for (std::int64_t policy = 0; policy < kCachePolicies; ++policy) out.back().options.push_back(policy);
  }
  if (longest) {
    out.push_back({KnobKind::kNumStages, 0, {}});
    for (std::int64_t n = 1; n <= kMaxNumStages; ++n) out.back().options.push_back(n);
  }
  if (space.spatial > 1)
    out.push_back(
        {KnobKind::kBlockOrder,
         0,
         {static_cast<std::int64_t>(tile::BlockOrder::kRow), static_cast<std::int64_t>(tile::BlockOrder::kColumn)}});
  if (space.spatial > 1 && limits.group_m > 1) out.push_back({KnobKind::kGroupM, 0, {1, limits.group_m}});
  return out;
}

// One point, read knob by knob, as a program.
class Decoder {
 public:
  Decoder(const std::shared_ptr<const TileSpace>& space, const std::vector<Knob>& knobs, const Point& point,
          const arch::ArchSpec& chip, const SearchLimits& limits)
      : space_(space),
        chip_(chip),
        limits_(limits),
        mapping_(space->spatial, {}),
        step_(space->axes.size(), 1),
        reduction_tile_(space->axes.size(), 1),
        split_(space->axes.size(), 1) {
    for (std::size_t g = 0; g < knobs.size(); ++g) take(knobs[g], knobs[g].options[point.options[g]]);
  }

  std::optional<StageProgram> program() const {
    if (!threads_make_sense()) return std::nullopt;
    StageProgram p = tile::make_stage_program(space_, mapping_, step_, arch::widest_access_of(chip_));
    p.split = split_;
    p.num_stages = num_stages_;
    p.block_order = block_order_;
    p.group_m = group_m_;
    for (std::size_t a = space_->spatial; a < space_->axes.size(); ++a) {
      if (p.iterations_along(a) % reduction_tile_[a] != 0) return std::nullopt;
      p.thread[a] = reduction_tile_[a];
    }
    if (!parts_are_distinct(p) || !block_order_matters(p)) return std::nullopt;
    for (std::size_t i = 0; i < space_->inputs.size(); ++i)
      if (!handle(p, i)) return std::nullopt;
    if (num_stages_ > 1 && !num_stages_matters(p)) return std::nullopt;
    p.operands.back().vector = tile::default_vector(p, space_->inputs.size(), arch::widest_access_of(chip_));
    if (!tile::fits(p, chip_)) return std::nullopt;
    return p;
  }

 private:
  void take(const Knob& knob, std::int64_t option) {
    switch (knob.kind) {
      case KnobKind::kThreads:
        mapping_[knob.of].threads = option;
        break;
      case KnobKind::kVthread:
        mapping_[knob.of].vthread = option;
        break;
      case KnobKind::kPerThread:
        mapping_[knob.of].per_thread = option;
        break;
      case KnobKind::kStep:
        step_[knob.of] = option;
        break;
      case KnobKind::kReductionTile:
        reduction_tile_[knob.of] = option;
        break;
      case KnobKind::kSplit:
        split_[knob.of] = option;
        break;
      case KnobKind::kCachePolicy:
        ways_.push_back(static_cast<CachePolicy>(option));
        break;
      case KnobKind::kNumStages:
        num_stages_ = option;
        break;
      case KnobKind::kBlockOrder:
        block_order_ = static_cast<tile::BlockOrder>(option);
        break;
      case KnobKind::kGroupM:
        group_m_ = option;
        break;
    }
  }

  bool threads_make_sense() const {
    std::int64_t threads = 1, results = 1;
    bool everything = true;
    for (std::size_t a = 0; a < space_->spatial; ++a) {
      const tile::AxisMapping& m = mapping_[a];
      const std::int64_t length = space_->axes[a].extent;
      if (m.thread_extent() > kWidestRegisterExtent || tile::wasted_ratio(length, m.block_extent()) > kMaxWaste)
        return false;
      threads *= m.threads;
      results *= m.thread_extent();
      everything = everything && m.block_extent() >= length;
      if (threads > chip_.core.max_block_threads || results > limits_.thread_results) return false;
    }
    return everything || threads >= chip_.core.warp;
  }

  // Every part of a split reduction has something to do.
  bool parts_are_distinct(const StageProgram& p) const {
    for (std::size_t a = space_->spatial; a < space_->axes.size(); ++a) {
      const std::int64_t length = space_->axes[a].extent, part = base::ceil_div(length, p.split[a]);
      if (part * (p.split[a] - 1) >= length || p.block[a] > part) return false;
    }
    return true;
  }

  // Blocks lie along two axes at least, so that their order is a choice, and groups are whole.
  bool block_order_matters(const StageProgram& p) const {
    if (p.group_m > 1 && !groups_fit(p, chip_.core.count)) return false;
    if (p.block_order == tile::BlockOrder::kRow && p.group_m == 1) return true;
    std::size_t cut = 0;
    for (std::size_t a = 0; a < space_->spatial; ++a) cut += p.block[a] < space_->axes[a].extent ? 1 : 0;
    return cut > 1;
  }

  static bool num_stages_matters(const StageProgram& p) {
    return p.steps() >= p.num_stages &&
           std::any_of(p.operands.begin(), p.operands.end(), [](const tile::OperandPlan& o) { return o.cached; });
  }

  // Rows of a cached tile are longer by this.
  std::int64_t padding(const StageProgram& p, std::size_t i, CachePolicy policy) const {
    if (policy == CachePolicy::kPadBank) return limits_.bank;
    if (policy == CachePolicy::kPadVector) return limits_.vector;
    if (policy != CachePolicy::kPadRule) return 0;
    const tile::TileShape shape = tile::data_tile(space_->inputs[i], p.block);
    return tile::bank_padding(shape.empty() ? 1 : shape.back(), 1, limits_.banks, limits_.bank);
  }

  std::int64_t rotation(CachePolicy policy) const {
    return policy == CachePolicy::kRotated ? limits_.vector : policy == CachePolicy::kRotatedBank ? limits_.bank : 0;
  }

  // Sets how an input is handled; false where another way does the same.
  bool handle(StageProgram& p, std::size_t i) const {
    const CachePolicy policy = ways_[i];
    if (i >= space_->values && policy >= CachePolicy::kCached) return false;
    tile::OperandPlan& plan = p.operands[i];
    plan = {.cached = policy >= CachePolicy::kCached, .padding = padding(p, i, policy), .rotate = rotation(policy)};
    if (policy == CachePolicy::kSingle) return true;
    for (const CachePolicy before : {CachePolicy::kCached, CachePolicy::kPadBank, CachePolicy::kPadVector})
      if (before < policy && policy <= CachePolicy::kPadRule && plan.padding == padding(p, i, before)) return false;
    if (policy == CachePolicy::kRotatedBank && limits_.bank == limits_.vector) return false;
    plan.vector = tile::default_vector(p, i, arch::widest_access_of(chip_));
    return policy != CachePolicy::kDirect || plan.vector > 1;
  }

  const std::shared_ptr<const TileSpace>& space_;
  const arch::ArchSpec& chip_;
  const SearchLimits& limits_;
  Mapping mapping_;
  tile::Extents step_, reduction_tile_, split_;
  base::FixedVector<CachePolicy, tile::kMaxOperands> ways_;
  std::int64_t num_stages_ = 1;
  tile::BlockOrder block_order_ = tile::BlockOrder::kRow;
  std::int64_t group_m_ = 1;
};

SearchLimits limits_of(const expr::Expression& e, const arch::ArchSpec& a) {
  const arch::ScratchpadLevel* scratchpad = arch::scratchpad_of(a);
  const auto elements = [&](base::Bytes b) { return elements_in(b, base::size_of(e.dtype)); };
  SearchLimits out;
  out.transaction = elements(arch::device_transaction_of(a));
  out.vector = elements(arch::widest_access_of(a));
  if (scratchpad != nullptr) {
    out.bank = elements(scratchpad->bank_width);
    out.banks = scratchpad->banks;
  }
  const std::int64_t of_result = base::ceil_div(base::size_of(e.accumulate).n, arch::kRegisterBytes);
  out.thread_results = arch::registers_of(a)->per_thread.value_or(std::numeric_limits<std::int64_t>::max()) / of_result;
  out.group_m = square_group(a.core.count);
  return out;
}

}  // namespace

std::size_t any_below(Random& random, std::size_t n) {
  return std::uniform_int_distribution<std::size_t>(0, n - 1)(random);
}

SearchSpace::SearchSpace(const expr::Expression& one_stage, const arch::ArchSpec& a)
    : chip_(a), machine_(model::make_machine(a)), limits_(limits_of(one_stage, a)) {
  std::vector<tile::AxisCollapse> known;
  const auto add = [&](const tile::AxisCollapse& collapse) {
    if (std::find(known.begin(), known.end(), collapse) != known.end()) return;
    known.push_back(collapse);
    const auto space = tile::make_space(one_stage, collapse);
    collapses_.push_back({space, knobs_of(*space, limits_, a.core.max_block_threads)});
  };
  if (const auto product = tile::contraction_collapse(one_stage)) add(*product);
  add(tile::contiguous_collapse(one_stage));
  constructed_ = collapses_.size();
  add(tile::no_collapse(one_stage.stages.front()));
}

double SearchSpace::points() const {
  double sum = 0;
  for (const Collapsed& f : collapses_) {
    double product = 1;
    for (const Knob& g : f.knobs) product *= static_cast<double>(g.options.size());
    sum += product;
  }
  return sum;
}

std::optional<StageProgram> SearchSpace::program_at(const Point& p) const {
  const Collapsed& f = collapses_[p.collapse];
  std::optional<StageProgram> program = Decoder(f.space, f.knobs, p, chip_, limits_).program();
  if (program) program = model::with_max_registers(std::move(*program), machine_);
  if (program && !tile::holds_registers(*program, chip_)) return std::nullopt;
  return program;
}

Point SearchSpace::any_point(Random& random, std::size_t collapse) const {
  Point out{collapse, {}};
  for (const Knob& g : collapses_[collapse].knobs) out.options.push_back(any_below(random, g.options.size()));
  return out;
}

}  // namespace tilescope::construct
