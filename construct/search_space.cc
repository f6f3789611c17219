#include "construct/search_space.h"

#include <algorithm>
#include <limits>
#include <set>

#include "arch/derive.h"
#include "base/integer.h"
#include "construct/layout.h"
#include "construct/tiles.h"
#include "model/simt/registers.h"
#include "tile/align.h"
#include "tile/fit.h"
#include "tile/transfer/vectors.h"

namespace tilescope::construct {
namespace {

using tile::StageProgram;
using tile::TileSpace;

constexpr std::int64_t kLongestStep = 16;        // transactions, as in construction
constexpr std::int64_t kMostPipelineStages = 4;  // likewise: how far the search looks, whatever the chip
constexpr double kMostWaste = 1;                 // of an axis; the loosest that ROLLER relaxes rule 4 to

std::vector<std::int64_t> powers_up_to(std::int64_t most) {
  std::vector<std::int64_t> out;
  for (std::int64_t n = 1; n <= most; n *= 2) out.push_back(n);
  return out;
}

// Powers of two, and what cuts the axis into few equal parts, whatever a thread keeps.
std::vector<std::int64_t> thread_options(std::int64_t length, std::int64_t most) {
  std::set<std::int64_t> out;
  for (const std::int64_t n : powers_up_to(std::min(length, most))) out.insert(n);
  for (std::int64_t kept = 1; kept <= kWidestRegisterExtent; kept *= 2)
    for (std::int64_t parts = 1; parts <= kMostEqualParts; ++parts)
      if (const std::int64_t n = base::ceil_div(base::ceil_div(length, kept), parts); n <= most) out.insert(n);
  return {out.begin(), out.end()};
}

// Powers of two; and of what fits a step, everything, its half, a quarter, and twice and four times those.
std::vector<std::int64_t> step_options(std::int64_t length, std::int64_t most) {
  std::set<std::int64_t> out;
  for (const std::int64_t n : powers_up_to(std::min(length, most))) out.insert(n);
  for (std::int64_t part = length; length <= most && part > 0; part /= 2)
    for (std::int64_t n = part; n <= std::min(length, 4 * part); n *= 2) out.insert(n);
  return {out.begin(), out.end()};
}

std::vector<Gene> genes_of(const TileSpace& space, const SearchLimits& limits, std::int64_t most_threads) {
  std::vector<Gene> out;
  bool windows = false;  // which neighbours share, as many as a thread keeps
  for (std::size_t a = space.spatial; a < space.axes.size(); ++a) windows = windows || tile::taps_overlap(space, a);
  for (std::size_t a = 0; a < space.spatial; ++a) {
    const std::int64_t length = space.axes[a].extent;
    const std::int64_t kept = std::min(kWidestRegisterExtent, 2 * length - 1);
    out.push_back({Choice::kThreads, a, thread_options(length, most_threads)});
    out.push_back({Choice::kVirtual, a, powers_up_to(kept)});
    out.push_back({Choice::kSerial, a, powers_up_to(windows ? kept : std::min(kept, limits.vector))});
  }
  const std::optional<std::size_t> longest = tile::longest_reduced_axis(space);
  for (std::size_t a = space.spatial; a < space.axes.size(); ++a) {
    const std::int64_t length = space.axes[a].extent;
    out.push_back({Choice::kStep, a, step_options(length, kLongestStep * limits.transaction)});
    if (length > 1 && tile::taps_overlap(space, a)) out.push_back({Choice::kWindow, a, {1, length}});
    if (a == longest) out.push_back({Choice::kSplit, a, powers_up_to(std::min(kMostParts, length))});
  }
  for (std::size_t i = 0; i < space.inputs.size(); ++i) {
    out.push_back({Choice::kWay, i, {}});
    for (std::int64_t way = 0; way < kWays; ++way) out.back().options.push_back(way);
  }
  if (longest) {
    out.push_back({Choice::kPipeline, 0, {}});
    for (std::int64_t n = 1; n <= kMostPipelineStages; ++n) out.back().options.push_back(n);
  }
  if (space.spatial > 1)
    out.push_back({Choice::kRaster,
                   0,
                   {static_cast<std::int64_t>(tile::Raster::kRow), static_cast<std::int64_t>(tile::Raster::kColumn)}});
  if (space.spatial > 1 && limits.band > 1) out.push_back({Choice::kBand, 0, {1, limits.band}});
  return out;
}

// One point, read gene by gene, as a program.
class Decoder {
 public:
  Decoder(const std::shared_ptr<const TileSpace>& space, const std::vector<Gene>& genes, const Point& point,
          const arch::ArchSpec& chip, const SearchLimits& limits)
      : space_(space),
        chip_(chip),
        limits_(limits),
        mapping_(space->spatial, {}),
        step_(space->axes.size(), 1),
        window_(space->axes.size(), 1),
        split_(space->axes.size(), 1) {
    for (std::size_t g = 0; g < genes.size(); ++g) take(genes[g], genes[g].options[point.options[g]]);
  }

  std::optional<StageProgram> program() const {
    if (!threads_make_sense()) return std::nullopt;
    StageProgram p = tile::make_stage_program(space_, mapping_, step_, arch::widest_access_of(chip_));
    p.split = split_;
    p.pipeline = pipeline_;
    p.raster = raster_;
    p.band = band_;
    for (std::size_t a = space_->spatial; a < space_->axes.size(); ++a) {
      if (p.points_along(a) % window_[a] != 0) return std::nullopt;
      p.thread[a] = window_[a];
    }
    if (!parts_are_distinct(p) || !raster_matters(p)) return std::nullopt;
    for (std::size_t i = 0; i < space_->inputs.size(); ++i)
      if (!handle(p, i)) return std::nullopt;
    if (pipeline_ > 1 && !pipeline_matters(p)) return std::nullopt;
    p.operands.back().vector = tile::default_vector(p, space_->inputs.size(), arch::widest_access_of(chip_));
    if (!tile::fits(p, chip_)) return std::nullopt;
    return p;
  }

 private:
  void take(const Gene& gene, std::int64_t option) {
    switch (gene.choice) {
      case Choice::kThreads:
        mapping_[gene.of].threads = option;
        break;
      case Choice::kVirtual:
        mapping_[gene.of].virtual_threads = option;
        break;
      case Choice::kSerial:
        mapping_[gene.of].serial = option;
        break;
      case Choice::kStep:
        step_[gene.of] = option;
        break;
      case Choice::kWindow:
        window_[gene.of] = option;
        break;
      case Choice::kSplit:
        split_[gene.of] = option;
        break;
      case Choice::kWay:
        ways_.push_back(static_cast<Way>(option));
        break;
      case Choice::kPipeline:
        pipeline_ = option;
        break;
      case Choice::kRaster:
        raster_ = static_cast<tile::Raster>(option);
        break;
      case Choice::kBand:
        band_ = option;
        break;
    }
  }

  bool threads_make_sense() const {
    std::int64_t threads = 1, results = 1;
    bool everything = true;
    for (std::size_t a = 0; a < space_->spatial; ++a) {
      const tile::AxisMapping& m = mapping_[a];
      const std::int64_t length = space_->axes[a].extent;
      if (m.thread_extent() > kWidestRegisterExtent || tile::wasted_ratio(length, m.block_extent()) > kMostWaste)
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

  // Blocks lie along two axes at least, so that their order is a choice, and bands are whole.
  bool raster_matters(const StageProgram& p) const {
    if (p.band > 1 && !bands_fit(p, chip_.core.count)) return false;
    if (p.raster == tile::Raster::kRow && p.band == 1) return true;
    std::size_t cut = 0;
    for (std::size_t a = 0; a < space_->spatial; ++a) cut += p.block[a] < space_->axes[a].extent ? 1 : 0;
    return cut > 1;
  }

  static bool pipeline_matters(const StageProgram& p) {
    return p.steps() >= p.pipeline &&
           std::any_of(p.operands.begin(), p.operands.end(), [](const tile::OperandPlan& o) { return o.staged; });
  }

  // Rows of a staged tile are longer by this.
  std::int64_t padding(const StageProgram& p, std::size_t i, Way way) const {
    if (way == Way::kPadBank) return limits_.bank;
    if (way == Way::kPadVector) return limits_.vector;
    if (way != Way::kPadRule) return 0;
    const tile::TileShape shape = tile::data_tile(space_->inputs[i], p.block);
    return tile::bank_padding(shape.empty() ? 1 : shape.back(), 1, limits_.banks, limits_.bank);
  }

  std::int64_t rotation(Way way) const {
    return way == Way::kRotated ? limits_.vector : way == Way::kRotatedBank ? limits_.bank : 0;
  }

  // Sets how an input is handled; false where another way does the same.
  bool handle(StageProgram& p, std::size_t i) const {
    const Way way = ways_[i];
    tile::OperandPlan& plan = p.operands[i];
    plan = {.staged = way >= Way::kStaged, .padding = padding(p, i, way), .swizzle = rotation(way)};
    if (way == Way::kSingle) return true;
    for (const Way before : {Way::kStaged, Way::kPadBank, Way::kPadVector})
      if (before < way && way <= Way::kPadRule && plan.padding == padding(p, i, before)) return false;
    if (way == Way::kRotatedBank && limits_.bank == limits_.vector) return false;
    plan.vector = tile::default_vector(p, i, arch::widest_access_of(chip_));
    return way != Way::kDirect || plan.vector > 1;
  }

  const std::shared_ptr<const TileSpace>& space_;
  const arch::ArchSpec& chip_;
  const SearchLimits& limits_;
  base::FixedVector<tile::AxisMapping, tile::kMaxAxes> mapping_;
  tile::Extents step_, window_, split_;
  base::FixedVector<Way, tile::kMaxOperands> ways_;
  std::int64_t pipeline_ = 1;
  tile::Raster raster_ = tile::Raster::kRow;
  std::int64_t band_ = 1;
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
  out.band = square_band(a.core.count);
  return out;
}

}  // namespace

std::size_t any_below(Random& random, std::size_t n) {
  return std::uniform_int_distribution<std::size_t>(0, n - 1)(random);
}

SearchSpace::SearchSpace(const expr::Expression& one_stage, const arch::ArchSpec& a)
    : chip_(a), machine_(model::make_machine(a)), limits_(limits_of(one_stage, a)) {
  std::vector<tile::Fusion> known;
  const auto add = [&](const tile::Fusion& fusion) {
    if (std::find(known.begin(), known.end(), fusion) != known.end()) return;
    known.push_back(fusion);
    const auto space = tile::make_space(one_stage, fusion);
    fusions_.push_back({space, genes_of(*space, limits_, a.core.max_block_threads)});
  };
  if (const auto product = tile::contraction_fusion(one_stage)) add(*product);
  add(tile::contiguous_fusion(one_stage));
  constructed_ = fusions_.size();
  add(tile::no_fusion(one_stage.stages.front()));
}

double SearchSpace::points() const {
  double sum = 0;
  for (const Fused& f : fusions_) {
    double product = 1;
    for (const Gene& g : f.genes) product *= static_cast<double>(g.options.size());
    sum += product;
  }
  return sum;
}

std::optional<StageProgram> SearchSpace::program_at(const Point& p) const {
  const Fused& f = fusions_[p.fusion];
  std::optional<StageProgram> program = Decoder(f.space, f.genes, p, chip_, limits_).program();
  if (program) program = model::held_to_registers(std::move(*program), machine_);
  if (program && !tile::holds_registers(*program, chip_)) return std::nullopt;
  return program;
}

Point SearchSpace::any_point(Random& random, std::size_t fusion) const {
  Point out{fusion, {}};
  for (const Gene& g : fusions_[fusion].genes) out.options.push_back(any_below(random, g.options.size()));
  return out;
}

}  // namespace tilescope::construct
