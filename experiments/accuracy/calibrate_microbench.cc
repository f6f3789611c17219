// SPDX-License-Identifier: Apache-2.0
// A chip's ratios from microbenchmarks of it: each the bandwidth that a curve reaches over the one that the chip
// derives.

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <set>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "api/given.h"
#include "arch/derive.h"
#include "base/parse_number.h"
#include "experiments/accuracy/calibrate.h"
#include "experiments/microbench/simulate.h"
#include "targets/target.h"

namespace tilescope::experiments {
namespace {

constexpr std::string_view kUnit = "GB/s";
constexpr double kMaxRise = 0.1;    // of a curve from its last but one point to its last
constexpr double kMaxSpread = 0.1;  // of what a ratio is taken from
// Over resident threads. Which ratio of the dram each gives.
constexpr std::pair<std::string_view, std::string_view> kDramCurves[] = {
    {"read", "read"}, {"write", "write"}, {"scale", "copy"}};
constexpr std::string_view kSameBuffer = "same_buffer";  // over KiB that every core reads

bool is_used(std::string_view curve) {
  return curve == kSameBuffer ||
         std::any_of(std::begin(kDramCurves), std::end(kDramCurves), [&](const auto& c) { return c.first == curve; });
}

struct Point {
  double x = 0, gbps = 0;
  std::string source;
};

struct Curves {
  std::map<std::string, std::vector<Point>, std::less<>> points;  // of the chip, by curve, from the least x on
  std::size_t count = 0;
  std::vector<std::string> refused;
};

// What is wrong with a board that a point is of; nothing where it is the chip's. Two boards of one die differ in what
// they reach of a peak, and the chip's own is the only one that its file speaks for.
std::string wrong_board(std::string_view board, const arch::ArchSpec& a) {
  if (board == a.board.value_or(a.name)) return {};
  const std::string own = a.board ? *a.board : fmt::format("{} (its file names no board)", a.name);
  return fmt::format("board: expected that of {}, {}, got '{}'", a.name, own, board);
}

// Takes one line; says what is wrong with it. A source, which comes last, may hold commas.
std::string take_line(std::string_view line, const arch::ArchSpec& a, Curves& to) {
  std::array<std::string_view, 6> cells;  // chip, curve, x, unit, measured, board
  for (std::string_view& cell : cells) {
    const std::size_t comma = line.find(',');
    if (comma == std::string_view::npos) return fmt::format("expected {}", kMicrobenchmarkHeader);
    cell = line.substr(0, comma);
    line.remove_prefix(comma + 1);
  }
  const auto& [of, curve, x, unit, measured, board] = cells;
  if (of != a.name) return {};
  const auto at = base::parse_real(x), value = base::parse_real(measured);
  if (!at) return fmt::format("x: expected a number, got '{}'", x);
  if (!value || *value <= 0) return fmt::format("measured: expected a number above 0, got '{}'", measured);
  if (is_used(curve) && unit != kUnit) return fmt::format("unit: expected {} of {}, got '{}'", kUnit, curve, unit);
  if (std::string wrong = is_used(curve) ? wrong_board(board, a) : std::string(); !wrong.empty()) return wrong;
  ++to.count;
  to.points[std::string(curve)].push_back({*at, *value, std::string(line)});
  return {};
}

Curves read_curves(const api::NamedText& file, const arch::ArchSpec& a) {
  Curves out;
  for (auto [number, line] : api::batch_lines(file.text)) {
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (line == kMicrobenchmarkHeader) continue;
    const std::string wrong = take_line(line, a, out);
    if (!wrong.empty()) out.refused.push_back(fmt::format("{}:{}: {}", file.name, number, wrong));
  }
  for (auto& [curve, points] : out.points)
    std::stable_sort(points.begin(), points.end(), [](const Point& one, const Point& two) { return one.x < two.x; });
  return out;
}

// What a curve says of one bandwidth.
struct Reached {
  double gbps = 0, peak_gbps = 0;
  std::optional<double> spread;  // relative
  std::string how;               // "best of 13 points of read"
  std::set<std::string> sources;
  std::string why_not;
};

// Of these points, from the least bandwidth on, and where they are from.
struct Sorted {
  std::vector<double> gbps;
  std::set<std::string> sources;

  explicit Sorted(const std::vector<Point>& points) {
    for (const Point& p : points) {
      gbps.push_back(p.gbps);
      sources.insert(p.source);
    }
    std::sort(gbps.begin(), gbps.end());
  }
};

// The best of what was measured at the same place, in the order of places.
std::vector<Point> best_of_each(const std::vector<Point>& sorted_by_x) {
  std::vector<Point> out;
  for (const Point& p : sorted_by_x) {
    if (out.empty() || out.back().x != p.x)
      out.push_back(p);
    else if (p.gbps > out.back().gbps)
      out.back() = p;
  }
  return out;
}

// The best of a curve, which the second best, at another place, confirms.
Reached best_of(std::string_view curve, const std::vector<Point>& all) {
  const std::vector<Point> points = best_of_each(all);
  const Sorted sorted(points);
  const std::size_t n = points.size();
  Reached out{sorted.gbps.back(), 0, {}, fmt::format("best of {} points of {}", n, curve), sorted.sources, {}};
  if (n < 2) {
    out.why_not = fmt::format("{} has one point", curve);
    return out;
  }
  out.spread = 1 - sorted.gbps[n - 2] / sorted.gbps.back();
  const double rise = points.back().gbps / points[n - 2].gbps - 1;
  if (rise > kMaxRise) out.why_not = fmt::format("{} still rises by {:.0f} % at its end", curve, 100 * rise);
  return out;
}

// The median of points that lie on one plateau, and half of their range.
Reached median_of(std::string_view curve, const std::vector<Point>& points) {
  const auto [gbps, sources] = Sorted(points);
  const std::size_t n = gbps.size();
  Reached out{
      (gbps[(n - 1) / 2] + gbps[n / 2]) / 2, 0, {}, fmt::format("median of {} points of {}", n, curve), sources, {}};
  if (n < 2)
    out.why_not = fmt::format("{} has one point there", curve);
  else
    out.spread = (gbps.back() - gbps.front()) / 2 / out.gbps;
  return out;
}

// The points of a buffer that fits `level` and not the one inside of it.
std::vector<Point> within(const std::vector<Point>& points, const arch::CacheLevel* inner,
                          const arch::CacheLevel& level) {
  const auto fits = [](double kib, const arch::CacheLevel& l) {
    return kib * 1024 <= static_cast<double>(l.capacity.n) / static_cast<double>(l.l2_partitions);
  };
  std::vector<Point> out;
  for (const Point& p : points)
    if (fits(p.x, level) && (inner == nullptr || !fits(p.x, *inner))) out.push_back(p);
  return out;
}

CalibratedRatio ratio_from(CalibratedRatio r, const Reached& reached) {
  const double ratio = std::round(reached.gbps / reached.peak_gbps * 1e4) / 1e4;
  r.error_ratio = reached.spread;
  r.source = fmt::format("{}, {:.5g} of {:.5g} GB/s ({})", reached.how, reached.gbps, reached.peak_gbps,
                         fmt::join(reached.sources, "; "));
  r.why = reached.why_not;
  if (const double spread = reached.spread.value_or(0); r.why.empty() && spread > kMaxSpread)
    r.why = fmt::format("what it is taken from is {:.0f} % apart", 100 * spread);
  if (r.why.empty() && (ratio < kMinRatio || ratio > kMaxRatio))
    r.why = fmt::format("{}: outside of {} to {}", r.source, kMinRatio, kMaxRatio);
  r.identified = r.why.empty();
  if (!r.identified) return r;
  r.after = ratio;
  r.residual = reached.spread;
  return r;
}

// What the curves say of each ratio by its name; ratios that are not there none of them reaches.
std::map<std::string, Reached> reached_by(const Curves& curves, const arch::ArchSpec& a) {
  std::map<std::string, Reached> out;
  const auto add = [&](const auto& level, std::string_view transfer, Reached reached) {
    reached.peak_gbps = arch::bandwidth_of(a, level).v / 1e9;
    out[fmt::format("{}.{}", level.name, transfer)] = std::move(reached);
  };
  if (const arch::DramLevel* dram = arch::dram_of(a))
    for (const auto& [curve, transfer] : kDramCurves)
      if (const auto found = curves.points.find(curve); found != curves.points.end())
        add(*dram, transfer, best_of(curve, found->second));
  const auto buffer = curves.points.find(kSameBuffer);
  std::vector<const arch::CacheLevel*> caches;
  if (const arch::CacheLevel* of_core = arch::core_cache_of(a)) caches.push_back(of_core);
  for (const arch::CacheLevel* of_device : arch::hierarchy_of(a).device_caches) caches.push_back(of_device);
  const arch::CacheLevel* inner = nullptr;
  for (const arch::CacheLevel* level : caches) {
    if (buffer != curves.points.end())
      if (const std::vector<Point> there = within(buffer->second, inner, *level); !there.empty())
        add(*level, "read", median_of(kSameBuffer, there));
    inner = level;
  }
  return out;
}

}  // namespace

CalibrationRun calibrate_by_microbenchmarks(const api::NamedText& file, const arch::ArchSpec& a) {
  CalibrationRun run;
  run.method = CalibrationMethod::kMicrobenchmarks;
  run.file = file.name;
  Curves curves = read_curves(file, a);
  run.rows = curves.count;
  run.refused = std::move(curves.refused);
  const std::map<std::string, Reached> reached = reached_by(curves, a);
  for (const std::string& name : targets::target_of(a).ratios(a)) {
    const double before = arch::ratio_of(a, name);
    CalibratedRatio r{name, before, before, {}, {}, false, "no curve of the file says anything of it", {}, {}};
    const auto found = reached.find(name);
    run.ratios.push_back(found == reached.end() ? std::move(r) : ratio_from(std::move(r), found->second));
  }
  return run;
}

}  // namespace tilescope::experiments
