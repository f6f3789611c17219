// SPDX-License-Identifier: Apache-2.0
#include "construct/detail/welder_threads.h"

#include <algorithm>
#include <array>
#include <numeric>

#include "base/integer.h"
#include "construct/detail/volume.h"

namespace tilescope::construct {
namespace {

using tile::Clip;
using tile::Extents;

constexpr std::int64_t kMaxWelderThreads = 1024;
constexpr std::int64_t kWriteUnit = 8;  // threads whose writes are counted as one
constexpr std::array<std::int64_t, 3> kVectors = {8, 4, 2};
constexpr std::int64_t kMaxVectorBytes = 16;

// Greatest first.
std::vector<std::int64_t> prime_factors(std::int64_t n) {
  std::vector<std::int64_t> out;
  for (std::int64_t p = 2; n > 1; ++p) {
    if (p > n / p) p = n;
    for (; n % p == 0; n /= p) out.push_back(p);
  }
  std::reverse(out.begin(), out.end());
  return out;
}

class ThreadSplit {
 public:
  ThreadSplit(const WelderPolicy& policy, const WelderTile& t) : policy_(policy), t_(t) {}

  bool can_be_shared() const {
    for (std::size_t s = 0; s < t_.tiles.size(); ++s) {
      const Extents& tile = t_.tiles[s];
      if (tile::blocks(policy_.graph(), s, tile) != t_.grid) return false;
      const auto& matrix = policy_.matrix(s);
      if (!matrix) continue;
      const std::int64_t m = tile[matrix->m], n = tile[matrix->n];
      const auto divides = [&](std::int64_t a, std::int64_t b) { return m % a == 0 && n % b == 0; };
      if (!divides(16, 16) && !divides(8, 32) && !divides(32, 8)) return false;
    }
    return true;
  }

  // Numbers of threads, the one that fills partitions and lanes best first.
  std::vector<std::int64_t> block_sizes() const {
    std::vector<std::int64_t> sizes;
    std::int64_t common = 0, least = 0, with_steps = 0;
    for (std::size_t s = 0; s < t_.tiles.size(); ++s) {
      sizes.push_back(volume_of(t_.tiles[s]));
      common = std::gcd(common, sizes.back());
      with_steps = std::gcd(with_steps, sizes.back() * volume_of(t_.steps[s]));
    }
    least = *std::min_element(sizes.begin(), sizes.end());
    const arch::WelderBaseline& c = policy_.constants();
    const bool few = common < c.warp * c.partitions && common == least;
    std::vector<std::int64_t> out = welder_divisors(few ? with_steps : common);
    std::erase_if(out, [&](std::int64_t n) {
      return n > kMaxWelderThreads || (few && n % common != 0) ||
             (few &&
              std::any_of(sizes.begin(), sizes.end(), [&](auto size) { return n % size != 0 && size % n != 0; }));
    });
    const auto cost = [&](std::int64_t n) {
      const auto warps = static_cast<double>(base::ceil_div(n, c.warp)), parts = static_cast<double>(c.partitions);
      const auto threads = static_cast<double>(n);
      return std::pair{std::max(warps / parts, parts / warps),
                       (warps * static_cast<double>(c.warp) - threads) / threads};
    };
    std::stable_sort(out.begin(), out.end(), [&](auto a, auto b) { return cost(a) < cost(b); });
    return out;
  }

  std::optional<WelderStage> stage(std::size_t s, std::int64_t threads) const {
    return policy_.matrix(s) ? by_warps(s, threads) : by_threads(s, threads);
  }

 private:
  // Elements that a stage reads for a part of its tile over the whole reduction.
  double read_elements(std::size_t s, const Extents& part) const {
    double sum = 0;
    const Extents loops = tile::loops_of(part, tile::whole_reduction(policy_.graph().stage(s)));
    for (const int i : policy_.graph().reads[s])
      sum += static_cast<double>(volume_of(tile::read_box(policy_.graph(), s, i, loops, Clip::kTensor)));
    return sum;
  }

  // What a thread shape costs, in no unit.
  double cost(std::size_t s, const Extents& threads) const {
    Extents part;
    for (std::size_t a = 0; a < threads.size(); ++a) part.push_back(base::ceil_div(t_.tiles[s][a], threads[a]));
    double sum = read_elements(s, part) / policy_.constants().smem_gbps;
    if (policy_.graph().is_output(s))
      sum += tile::moved_elements(threads, policy_.graph().output(s).shape, kWriteUnit) / policy_.constants().dram_gbps;
    return sum;
  }

  std::optional<WelderStage> by_threads(std::size_t s, std::int64_t threads) const {
    WelderStage out;
    out.block = t_.tiles[s];
    out.steps = t_.steps[s];
    out.threads.assign(out.block.size(), 1);
    out.reduction_threads.assign(out.steps.size(), 1);
    for (const std::int64_t factor : prime_factors(threads)) {
      std::optional<std::pair<double, std::size_t>> best;
      for (std::size_t a = 0; a < out.block.size(); ++a) {
        if (out.threads[a] >= out.block[a] || out.block[a] % (out.threads[a] * factor) != 0) continue;
        Extents more = out.threads;
        more[a] *= factor;
        if (const std::pair p{cost(s, more), a}; !best || p < *best) best = p;
      }
      if (best) {
        out.threads[best->second] *= factor;
        continue;
      }
      std::size_t a = out.steps.size();
      while (a > 0 && out.steps[a - 1] % (out.reduction_threads[a - 1] * factor) != 0) --a;
      if (a == 0) return std::nullopt;
      out.reduction_threads[a - 1] *= factor;
    }
    if (base::size_of(policy_.graph().output(s).dtype) == base::Bytes{2}) out.packed = packed(out);
    out.vectors = vectors(s, threads);
    return out;
  }

  // Two elements of 16 bits side by side, along the innermost axis of which a thread has an even number.
  static Extents packed(const WelderStage& stage) {
    Extents out(stage.block.size(), 1);
    for (std::size_t a = out.size(); a-- > 0;) {
      if (stage.block[a] / stage.threads[a] % 2 != 0) continue;
      out[a] = 2;
      break;
    }
    return out;
  }

  std::vector<std::pair<int, std::int64_t>> vectors(std::size_t s, std::int64_t threads) const {
    std::vector<std::pair<int, std::int64_t>> out;
    if (policy_.graph().stage(s).reducer == expr::Reducer::kNone) return out;
    for (const int i : policy_.graph().reads[s]) {
      const auto box = tile::read_box(policy_.graph(), s, i, tile::loops_of(t_.tiles[s], t_.steps[s]), Clip::kNone);
      const std::int64_t element = base::size_of(policy_.graph().tensor(i).dtype).n;
      const auto last = std::find_if(box.rbegin(), box.rend(), [](std::int64_t n) { return n != 1; });
      if (last == box.rend()) continue;
      for (const std::int64_t v : kVectors) {
        if (volume_of(box) % (threads * v) != 0 || *last % v != 0 || v * element > kMaxVectorBytes) continue;
        out.emplace_back(i, v);
        break;
      }
    }
    return out;
  }

  std::optional<WelderStage> by_warps(std::size_t s, std::int64_t threads) const {
    if (threads % policy_.constants().warp != 0) return std::nullopt;
    const std::int64_t count = threads / policy_.constants().warp;
    WelderStage out;
    out.block = t_.tiles[s];
    out.steps = t_.steps[s];
    const std::size_t m = policy_.matrix(s)->m, n = policy_.matrix(s)->n;
    WelderWarps w;
    w.cutlass = policy_.uses_cutlass(s, out.block, out.steps);
    if (w.cutlass) {
      const arch::WelderMma& mma = *policy_.constants().mma;
      w.m = mma.m, w.n = mma.n, w.k = mma.k;
    } else {
      w.m = out.block[m] > out.block[n] ? 32 : out.block[m] < out.block[n] ? 8 : 16;
      w.n = 256 / w.m;
      w.k = 16;
    }
    w.warp.assign(out.block.size(), 1);
    w.warp[m] = w.m;
    w.warp[n] = w.n;
    std::int64_t fragments = 1;
    for (std::size_t a = 0; a < out.block.size(); ++a) {
      if (out.block[a] % w.warp[a] != 0) return std::nullopt;
      fragments *= out.block[a] / w.warp[a];
    }
    if (fragments % count != 0) return std::nullopt;
    for (const std::int64_t factor : prime_factors(fragments / count)) {
      std::optional<std::pair<double, std::size_t>> best;
      for (std::size_t a = 0; a < out.block.size(); ++a) {
        if (out.block[a] % (w.warp[a] * factor) != 0) continue;
        Extents warps;  // of a block, where this axis of the warp's tile is longer: the open code counts so
        for (std::size_t b = 0; b < out.block.size(); ++b)
          warps.push_back(out.block[b] / (w.warp[b] * (b == a ? factor : 1)));
        if (const std::pair p{read_elements(s, warps), a}; !best || p < *best) best = p;
      }
      if (!best) return std::nullopt;
      w.warp[best->second] *= factor;
    }
    out.warps = w;
    return out;
  }

  const WelderPolicy& policy_;
  const WelderTile& t_;
};

}  // namespace

std::optional<std::vector<WelderStage>> share_among_threads(const WelderPolicy& policy, const WelderTile& longer) {
  const ThreadSplit sharing(policy, longer);
  if (!sharing.can_be_shared()) return std::nullopt;
  for (const std::int64_t threads : sharing.block_sizes()) {
    std::vector<WelderStage> out;
    for (std::size_t s = 0; s < longer.tiles.size(); ++s) {
      auto stage = sharing.stage(s, threads);
      if (!stage) break;
      out.push_back(std::move(*stage));
    }
    if (out.size() == longer.tiles.size()) return out;
  }
  return std::nullopt;
}

}  // namespace tilescope::construct
