// SPDX-License-Identifier: Apache-2.0
#include "model/bsp/detail/phase.h"

#include <algorithm>
#include <cmath>

#include "arch/derive.h"
#include "arch/hierarchy.h"
#include "base/integer.h"
#include "model/bsp/detail/halo.h"
#include "model/bsp/detail/real.h"

namespace tilescope::model::bsp {
namespace {

using base::ceil_div;
using tile::Dataflow;

// The slice that a ring's core brings of what they gather.
tile::Extents cut(tile::Extents tile, const tile::OperandDataflow& m) {
  std::int64_t& along = tile[static_cast<std::size_t>(m.axis)];
  along = ceil_div(along, m.ring);
  return tile;
}

// Runs of neighbouring elements that a smaller box is in a larger one.
std::int64_t runs_in(const tile::Operand& o, const tile::Extents& smaller, const tile::Extents& larger) {
  const tile::TileShape one = tile::data_tile(o, smaller), all = tile::data_tile(o, larger);
  std::int64_t runs = 1;
  std::size_t inner = one.size() - 1;
  while (inner > 0 && one[inner] == all[inner]) --inner;
  for (std::size_t d = 0; d < inner; ++d) runs *= one[d];
  return runs;
}

}  // namespace

// The busiest home sends what of its share any core wants: of dimensions that a share spans, the part that all cores
// together want; once where the link's multicast reaches all receivers, else once to each.
struct StageHomes::FromHome {
  double bytes = 0;    // of the busiest home's share that any core wants
  double times = 1;    // that it sends them
  double sources = 1;  // homes of all that is wanted
};

StageHomes::StageHomes(std::span<const tile::BspStage> stages, std::size_t number, const arch::ArchSpec& a)
    : s_(stages[number]), a_(a), link_(a, s_), dram_(a), stored_(tile::is_stored(stages, number, a)) {
  const bool in_dram = tile::homes_in_dram(stages, a);
  for (std::size_t i = 0; i < s_.dataflow.size(); ++i)
    outside_.push_back(in_dram && tile::is_outside(stages, number, i));
}

std::int64_t StageHomes::home_of(std::size_t input) const {
  // An even share, of whole words.
  const tile::Operand& o = s_.space->inputs[input];
  const std::int64_t bytes = ceil_div(o.elements, a_.core.count) * o.element.n;
  return base::round_up(bytes, arch::scratchpad_of(a_)->bank_width.n) / o.element.n;
}

Traffic StageHomes::brought(std::size_t i, const tile::Windows& windows) const {
  tile::Extents tile = tile::window_extents(s_, windows);
  if (s_.dataflow[i].gathers()) tile = cut(tile, s_.dataflow[i]);
  return outside_[i] ? from_dram(i, tile) : from_homes(i, tile);
}

// From the DRAM, once for all cores that want the same where the link sends to several at a time.
Traffic StageHomes::from_dram(std::size_t i, const tile::Extents& tile) const {
  const tile::Operand& o = s_.space->inputs[i];
  const tile::OperandDataflow& m = s_.dataflow[i];
  const double bytes = of(tile::data_tile_elements_inside(o, tile) * o.element.n);
  const double cores = of(s_.cores()), parts = pieces_in_dram(o, tile);
  const bool one_by_one = arch::core_link(a_).multicast == arch::Multicast::kNone;
  // Cores of one ring bring slices of their own; those that have the same one do not lie side by side.
  const bool apart = m.ring > 1;
  const double groups = cores * of(m.ring) / of(s_.sharing(o));
  const double sendings = (apart ? cores : groups * link_.sendings(o)) / dram_.ports();
  Traffic t{bytes, bytes * sendings, parts, std::max(1.0, parts * sendings)};
  t.read = bytes * (one_by_one ? cores : groups);
  link_.add_ways_of_ports(apart ? nullptr : &o, bytes * sendings, t);
  return t;
}

// Runs of neighbouring elements, cut where the next channel begins.
double StageHomes::pieces_in_dram(const tile::Operand& o, const tile::Extents& tile) const {
  const tile::Runs runs = tile::runs_of(o, tile);
  const double run = of(runs.length * o.element.n), granule = of(arch::dram_of(a_)->interleave->n);
  return of(runs.count) * std::max(1.0, run / granule) * link_.packets(std::min(run, granule));
}

Traffic StageHomes::stored_block() const {
  const tile::Operand& o = s_.space->output;
  const tile::Extents tile = tile::window_extents(s_, tile::result_windows(s_, true));
  const double parts = of(tile::partial_sums(s_)), cores = of(s_.cores());
  const double bytes = of(tile::data_tile_elements_inside(o, tile) * o.element.n) / parts;
  const double pieces = std::max(1.0, pieces_in_dram(o, tile) / parts);
  Traffic t{bytes * cores / dram_.ports(), bytes, pieces * cores / dram_.ports(), pieces};
  t.written = bytes * cores;
  link_.add_ways_of_ports(nullptr, bytes * cores / dram_.ports(), t);
  return t;
}

Traffic StageHomes::from_homes(std::size_t i, const tile::Extents& tile) const {
  const tile::Operand& o = s_.space->inputs[i];
  const tile::OperandDataflow& m = s_.dataflow[i];
  const double bytes = of(tile::data_tile_elements_inside(o, tile) * o.element.n);
  const std::int64_t home = home_of(i), run = std::min(tile::runs_of(o, tile).length, home);
  const FromHome from = from_home(i, tile, home);
  const double away = 1 - share_at_home(o, home), sent = from.bytes * from.times;
  Traffic t{bytes * away, sent * away, pieces(o, tile, home), std::max(1.0, sent / of(run * o.element.n))};
  if (away == 0) t.pieces = t.sent_pieces = 0;
  if (!m.gathers() && link_.pairs(o)) t.paired = t.received;
  link_.add_ways(o, bytes * away, from.sources, t, m.gathers() ? m.ring : 1);
  return t;
}

// From the cores of a ring, which have a slice each, to all of them: a receiver waits for every other one's slice.
Traffic StageHomes::gathered(std::size_t i, const tile::Windows& windows) const {
  const tile::Operand& o = s_.space->inputs[i];
  const tile::OperandDataflow& m = s_.dataflow[i];
  const tile::Extents all = tile::window_extents(s_, windows), slice = cut(all, m);
  const double bytes = of(tile::data_tile_elements_inside(o, all) * o.element.n);
  const auto axis = static_cast<std::size_t>(m.axis);
  const std::int64_t slices = ceil_div(all[axis], slice[axis]);
  const double own = of(tile::data_tile_elements_inside(o, slice) * o.element.n);
  // Rows of the slice lie apart in the buffer, but those of its outermost dimension.
  const double runs = of(runs_in(o, slice, all));
  const double pieces = runs * link_.packets(own / runs), times = link_.gather_sendings(o, m.ring);
  Traffic t{bytes - bytes / of(slices), own * times, of(slices - 1) * pieces, pieces * times};
  // Ports that work together bring a slice to all others at once, so that no two cores send theirs at a time.
  if (link_.pairs(o)) {
    t.waited = own, t.pieces += pieces;
    t.paired = t.received + t.waited;
  }
  link_.add_gather(o, m.ring, own, t);
  return t;
}

Traffic StageHomes::shifted(std::size_t i) const {
  const tile::Operand& o = s_.space->inputs[i];
  const tile::Extents slice = tile::window_extents(s_, tile::input_windows(s_, i));
  const double bytes = of(tile::data_tile_elements_inside(o, slice) * o.element.n), packets = link_.packets(bytes);
  Traffic t{bytes, bytes, packets, packets};
  link_.add_shift(o, s_.dataflow[i].ring, bytes, t);
  return t;
}

Traffic StageHomes::halo(std::size_t i) const {
  Traffic t;
  const std::int64_t core = core_of_most_halo(s_);
  for (const HaloPart& p : halo_parts(s_, i, core)) {
    t.received += of(p.bytes);
    t.pieces += of(p.runs) * link_.packets(of(p.bytes) / of(p.runs));
    link_.add_neighbour(p.from - core, of(p.bytes), t);
  }
  // A core sends to the neighbours on one side what it gets from those on the other.
  t.sent = t.received, t.sent_pieces = t.pieces;
  return t;
}

double StageHomes::halo_way(std::size_t i) const {
  double way = 0;
  const std::int64_t core = core_of_most_halo(s_);
  for (const HaloPart& p : halo_parts(s_, i, core)) way = std::max(way, link_.way_to(p.from - core));
  return way;
}

StageHomes::SumShares StageHomes::sum_shares() const {
  SumShares out;
  out.parts = tile::partial_sums(s_);
  out.sums = tile::data_tile_elements_inside(s_.space->output, tile::window_extents(s_, tile::sums_windows(s_)));
  out.share = ceil_div(out.sums, out.parts);
  out.receivers = ceil_div(out.sums, out.share);
  out.element_bytes = of(base::size_of(s_.space->expression.accumulate).n);
  return out;
}

double StageHomes::mean_reduced_bytes() const {
  const SumShares s = sum_shares();
  return of(s.sums * (s.parts - 1)) / of(s.parts) * s.element_bytes;
}

Traffic StageHomes::reduced() const {
  const SumShares s = sum_shares();
  const double received = of(s.share * (s.parts - 1)) * s.element_bytes;
  const bool all_receive = s.receivers == s.parts;
  const double sent = of(s.sums - (all_receive ? s.share : 0)) * s.element_bytes;
  Traffic t{received, sent, of(s.parts - 1), of(all_receive ? s.parts - 1 : s.receivers)};
  link_.add_ways(s_.space->output, mean_reduced_bytes(), of(s_.cores()), t);
  return t;
}

// How much of what its part reads a core has at home at least: parts that follow each other in the tensor as the
// cores do drift away from the even shares.
double StageHomes::share_at_home(const tile::Operand& o, std::int64_t home) const {
  const tile::Extents part = tile::window_extents(s_, tile::Windows(s_.grid.size(), tile::Window::kPart));
  const std::int64_t elements = tile::data_tile_elements_inside(o, part);
  if (tile::runs_of(o, part).count > 1 || s_.sharing(o) > 1) return 0;
  std::int64_t stride = 1;
  for (std::size_t d = o.dims.size(); d-- > 0;) {
    for (const expr::Term& t : o.dims[d].terms) {
      const auto a = static_cast<std::size_t>(t.axis);
      if (s_.grid[a] > 1 && t.coefficient * s_.part(a) * stride != elements * s_.core_stride(a)) return 0;
    }
    stride *= o.dims[d].extent;
  }
  const std::int64_t drift = std::abs(elements - home) * (s_.cores() - 1);
  return of(std::max<std::int64_t>(0, std::min(elements, home) - drift)) / of(elements);
}

// Runs of neighbouring elements, each cut where another core's share begins and where a packet ends.
double StageHomes::pieces(const tile::Operand& o, const tile::Extents& tile, std::int64_t home) const {
  const tile::Runs runs = tile::runs_of(o, tile);
  const double of_run = std::max(1.0, of(runs.length) / of(home));
  const double packets = link_.packets(of(std::min(runs.length, home) * o.element.n));
  // Short neighbouring runs of a tensor whose rows are one after another at one home are still pieces.
  return of(runs.count) * of_run * packets;
}

StageHomes::FromHome StageHomes::from_home(std::size_t i, const tile::Extents& tile, std::int64_t home) const {
  const tile::Operand& o = s_.space->inputs[i];
  const tile::OperandDataflow& m = s_.dataflow[i];
  const std::int64_t ring = m.gathers() ? m.ring : 1;
  tile::Extents all = tile;
  // Slices that are gathered or pass round are at first all on some core.
  if (ring > 1) all[static_cast<std::size_t>(m.axis)] *= ring;
  if (m.how == Dataflow::kShift) all[static_cast<std::size_t>(m.axis)] = s_.part(static_cast<std::size_t>(m.axis));
  for (std::size_t x = 0; x < all.size(); ++x) all[x] = std::min(s_.space->axes[x].extent, all[x] * s_.grid[x]);
  const tile::TileShape wanted = tile::data_tile(o, all), own = tile::data_tile(o, tile);
  double bytes = of(home * o.element.n), distinct = 1, own_elements = 1;
  std::int64_t stride = 1;
  for (std::size_t d = o.dims.size(); d-- > 0;) {
    const std::int64_t extent = o.dims[d].extent;
    const double part = of(std::min(wanted[d], extent)) / of(extent);
    distinct *= of(std::min(wanted[d], extent));
    own_elements *= of(std::min(own[d], extent));
    if (stride * extent <= home) {
      bytes *= part;
    } else if (stride <= home) {
      // Of the indices that a share spans, those of the ranges that lie among them.
      const double spanned = of(home) / of(stride), apart = of(extent) * of(own[d]) / of(wanted[d]);
      bytes *= std::min(1.0, std::ceil(spanned / apart) * of(own[d]) / spanned);
    }
    stride *= extent;
  }
  FromHome out;
  out.bytes = std::min(bytes, distinct * of(o.element.n));
  const bool one_by_one = arch::core_link(a_).multicast == arch::Multicast::kNone;
  out.times = one_by_one ? std::max(1.0, own_elements * of(s_.cores()) / distinct) : link_.sendings(o, ring);
  out.sources = std::clamp(distinct * of(o.element.n) / std::max(1.0, out.bytes), 1.0, of(a_.core.count));
  return out;
}

Phase::Phase(const StageHomes& of, bool counted) : of_(of) {
  if (counted) mesh_.emplace(of.chip(), of.stage());
}

void Phase::bring(std::size_t input) {
  const tile::Windows windows = tile::input_windows(of_.stage(), input);
  sum_ += of_.brought(input, windows);
  if (!mesh_) return;
  if (of_.outside(input))
    mesh_->add_from_dram(input, windows);
  else
    mesh_->add_from_homes(input, windows, of_.home_of(input));
}

void Phase::gather(std::size_t input) {
  const tile::Windows windows = tile::input_windows(of_.stage(), input);
  sum_ += of_.gathered(input, windows);
  if (mesh_) mesh_->add_gather(input, windows);
}

void Phase::shift(std::size_t input) {
  sum_ += of_.shifted(input);
  if (mesh_) mesh_->add_shift(input);
}

void Phase::halo(std::size_t input) {
  sum_ += of_.halo(input);
  of_neighbours_ = std::max(of_neighbours_.value_or(0), of_.halo_way(input));
  if (mesh_) mesh_->add_halo(input);
}

void Phase::reduce() {
  sum_ += of_.reduced();
  if (!mesh_) return;
  const StageHomes::SumShares s = of_.sum_shares();
  mesh_->add_sums(of(s.share) * s.element_bytes, s.receivers);
}

void Phase::store() {
  sum_ += of_.stored_block();
  if (mesh_) mesh_->add_store();
}

}  // namespace tilescope::model::bsp
