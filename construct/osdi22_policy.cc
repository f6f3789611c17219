// SPDX-License-Identifier: Apache-2.0
#include "construct/detail/osdi22_policy.h"

#include <algorithm>
#include <array>
#include <numeric>

#include "base/integer.h"

namespace tilescope::construct {
namespace {

using tile::Extents;

constexpr Osdi22Figures kWithReuse = {
    .eps_step = 0.2, .multiples = 32, .first_transactions = 1, .step_growth = 4, .longest_step = 32};
constexpr Osdi22Figures kWithoutReuse = {
    .eps_step = 0.1, .multiples = 512, .first_transactions = 4, .step_growth = 2, .longest_step = 128};

constexpr std::array<std::int64_t, 6> kRegisterExtents = {1, 2, 4, 8, 16, 32};
constexpr double kMaxOsdi22Threads = 512;
constexpr std::int64_t kMaxTransaction = std::int64_t{1} << 40;  // elements; longer ones end no tile either
constexpr double kMinRegisterTile = 2;                           // elements, of the policy without reuse

// Whether tiles of `extent` compute at most `eps` of the axis for nothing.
bool wastes_at_most(double eps, std::int64_t length, std::int64_t extent) {
  return static_cast<double>(base::round_up(length, extent)) <= static_cast<double>(length) * (1 + eps);
}

}  // namespace

Osdi22Policy::Osdi22Policy(const tile::TileSpace& space, const arch::RollerBaseline& constants)
    : space_(space),
      constants_(constants),
      quantities_(space),
      io_dependent_(quantities_.io_dependent()),
      figures_(io_dependent_ ? kWithReuse : kWithoutReuse),
      transaction_(std::clamp<std::int64_t>(constants.dram_transaction.n / base::size_of(space.expression.dtype).n, 1,
                                            kMaxTransaction)) {}

Osdi22Steps Osdi22Policy::register_steps(double eps) const {
  Osdi22Steps steps(space_.axes.size());
  for (std::size_t a = 0; a < steps.size(); ++a) {
    if (a >= space_.spatial) {
      steps[a] = {1};
      continue;
    }
    for (const std::int64_t extent : kRegisterExtents)
      if (wastes_at_most(eps, space_.axes[a].extent, extent)) steps[a].push_back(extent);
  }
  return steps;
}

Osdi22Steps Osdi22Policy::block_steps(const Extents& thread, double eps) const {
  Osdi22Steps steps(space_.axes.size());
  for (std::size_t a = 0; a < steps.size(); ++a) {
    const std::int64_t length = space_.axes[a].extent;
    if (a >= space_.spatial) {
      steps[a] = reduction_steps(length);
      continue;
    }
    const std::int64_t unit = a + 1 == space_.spatial ? std::lcm(thread[a], transaction_) : thread[a];
    for (std::int64_t k = 1; k <= figures_.multiples; ++k)
      if (wastes_at_most(eps, length, unit * k)) steps[a].push_back(unit * k);
  }
  return steps;
}

// Whole transactions, growing, and the cap last of all.
std::vector<std::int64_t> Osdi22Policy::reduction_steps(std::int64_t length) const {
  const std::int64_t cap = std::min(length, figures_.longest_step);
  std::vector<std::int64_t> steps;
  for (std::int64_t x = figures_.first_transactions * transaction_; x < cap; x *= figures_.step_growth)
    steps.push_back(x);
  steps.push_back(cap);
  return steps;
}

double Osdi22Policy::threads(const Osdi22Tiles& p) const {
  double n = 1;
  for (std::size_t a = 0; a < space_.spatial; ++a) n *= static_cast<double>(base::ceil_div(p.block[a], p.thread[a]));
  return n;
}

double Osdi22Policy::blocks(const Osdi22Tiles& p) const {
  double n = 1;
  for (std::size_t a = 0; a < space_.spatial; ++a)
    n *= static_cast<double>(base::ceil_div(space_.axes[a].extent, p.block[a]));
  return n;
}

bool Osdi22Policy::fits(const Osdi22Tiles& p) const {
  const double registers = quantities_.registers(p.thread);
  if (p.in_registers()) return registers <= static_cast<double>(constants_.registers_per_thread);
  const double n = threads(p);
  return n <= kMaxOsdi22Threads && registers * n <= static_cast<double>(constants_.registers_per_block) &&
         quantities_.footprint_bytes(p.block) < static_cast<double>(constants_.smem_per_block.n);
}

bool Osdi22Policy::fills_partitions(const Osdi22Tiles& p) const {
  if (p.in_registers()) return true;
  const auto n = static_cast<std::int64_t>(threads(p));
  return n % constants_.warp == 0 && n / constants_.warp % constants_.partitions == 0;
}

// Whether the level outside delivers the tile's bytes faster than the chip computes on them.
bool Osdi22Policy::is_intensive(const Osdi22Tiles& p) const {
  const double gbps = p.in_registers() ? constants_.smem_gbps : constants_.dram_gbps;
  return quantities_.operations(p.current()) / constants_.peak_gflops > quantities_.traffic_bytes(p.current()) / gbps;
}

bool Osdi22Policy::accepts(const Osdi22Tiles& p) const {
  if (io_dependent_) return fills_partitions(p) && is_intensive(p);
  double elements = 1;
  for (std::size_t a = 0; a < space_.spatial; ++a) elements *= static_cast<double>(p.thread[a]);
  if (elements < kMinRegisterTile) return false;
  if (p.in_registers()) return true;
  return static_cast<std::int64_t>(threads(p)) % constants_.warp == 0 &&
         quantities_.fills_transactions(p.block, transaction_);
}

base::FixedVector<int, tile::kMaxAxes> Osdi22Policy::axis_order(const Extents& t) const {
  base::FixedVector<int, tile::kMaxAxes> order;
  for (std::size_t a = 0; a < t.size(); ++a) order.push_back(static_cast<int>(a));
  if (!io_dependent_) {
    std::reverse(order.begin(), order.end());
    return order;
  }
  // What an axis is worth: operations per byte of the tile that is longer by one there.
  base::FixedVector<double, tile::kMaxAxes> worth;
  for (std::size_t a = 0; a < t.size(); ++a) {
    Extents longer = t;
    ++longer[a];
    worth.push_back(quantities_.operations(longer) / quantities_.traffic_bytes(longer));
  }
  std::sort(order.begin(), order.end(), [&](int a, int b) {
    const double of_a = worth[static_cast<std::size_t>(a)], of_b = worth[static_cast<std::size_t>(b)];
    return of_a != of_b ? of_a > of_b : a < b;
  });
  return order;
}

Osdi22Tiles Osdi22Policy::shrunk(Osdi22Tiles p) const {
  if (!io_dependent_) return p;
  const auto can_halve = [&] {
    return std::any_of(p.block.begin(), p.block.begin() + space_.spatial, [](std::int64_t n) { return n > 1; });
  };
  while (blocks(p) < static_cast<double>(constants_.cores) && can_halve()) {
    for (std::size_t a = 0; a < space_.spatial; ++a) {
      p.block[a] = base::ceil_div(p.block[a], 2);
      p.thread[a] = base::ceil_div(p.thread[a], 2);
    }
  }
  return p;
}

}  // namespace tilescope::construct
