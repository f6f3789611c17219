#include "sim/gpu/windows.h"

#include <algorithm>
#include <cmath>

namespace tilescope::sim {
namespace {

constexpr std::size_t kMostMarks = 2 * 9 + 1;
// Differences of traffic below this part of the whole traffic do not count.
constexpr double kTrafficNoise = 0.01;

bool close(double a, double b, double tolerance, double noise) {
  return std::abs(a - b) <= tolerance * std::max(a, b) + noise;
}

}  // namespace

double Window::bytes(LevelRole r) const {
  const LevelTally &a = from->tally.level(r), &b = to->tally.level(r);
  return static_cast<double>(b.read_bytes + b.written_bytes - a.read_bytes - a.written_bytes);
}

Pace pace_of(const Window& w, Progress p) {
  const auto units = static_cast<double>(w.progress(p));
  return {static_cast<double>(w.cycles()) / units, w.bytes(LevelRole::kDeviceCache) / units,
          w.bytes(LevelRole::kDram) / units};
}

bool agree(const Pace& a, const Pace& b, const PaceTolerance& tolerance) {
  const double noise = kTrafficNoise * std::max(a.cache_bytes, b.cache_bytes);
  return close(a.cycles, b.cycles, tolerance.time, 0) &&
         close(a.cache_bytes, b.cache_bytes, tolerance.traffic, noise) &&
         close(a.dram_bytes, b.dram_bytes, tolerance.traffic, noise);
}

void Marks::add(Mark m) {
  marks_.push_back(std::move(m));
  if (marks_.size() > kMostMarks) marks_.erase(marks_.begin());
}

std::optional<Window> Marks::last(std::size_t width) const {
  if (width >= marks_.size()) return std::nullopt;
  return Window{&marks_.back() - width, &marks_.back()};
}

std::optional<std::pair<Window, Window>> Marks::halves() const {
  if (marks_.size() < 3) return std::nullopt;
  const Mark *first = &marks_.front(), *last = &marks_.back(), *middle = first + marks_.size() / 2;
  return std::pair{Window{first, middle}, Window{middle, last}};
}

std::optional<Window> Marks::steady(std::span<const std::size_t> widths, Progress p,
                                    const PaceTolerance& tolerance) const {
  for (const std::size_t width : widths) {
    const std::optional<Window> both = last(2 * width), second = last(width);
    if (!both) break;
    if (agree(pace_of({both->from, second->from}, p), pace_of(*second, p), tolerance)) return both;
  }
  return std::nullopt;
}

}  // namespace tilescope::sim
