#include "sim/gpu/windows.h"

#include <algorithm>
#include <cmath>

namespace tilescope::sim {
namespace {

constexpr std::size_t kMostMarks = 2 * 16 + 1;
// Bytes of the DRAM below this part of the device cache's do not count.
constexpr double kTrafficNoise = 0.01;
// Traffic may be off by so many times the tolerance in time.
constexpr double kTrafficTolerance = 4;

double error_of(double a, double b, double noise) {
  const double apart = std::max(0.0, std::abs(a - b) - noise);
  return apart == 0 ? 0 : apart / (a + b);
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

PaceError error_of(const Pace& a, const Pace& b) {
  const double noise = kTrafficNoise * std::max(a.cache_bytes, b.cache_bytes);
  return {error_of(a.cycles, b.cycles, 0), error_of(a.cache_bytes, b.cache_bytes, noise),
          error_of(a.dram_bytes, b.dram_bytes, noise)};
}

bool within(const PaceError& e, double tolerance) {
  return e[0] <= tolerance && std::max(e[1], e[2]) <= kTrafficTolerance * tolerance;
}

void Marks::add(Mark m) {
  marks_.push_back(std::move(m));
  if (marks_.size() > kMostMarks) marks_.erase(marks_.begin());
}

std::optional<Window> Marks::window(std::size_t width, std::size_t before) const {
  if (width + before >= marks_.size()) return std::nullopt;
  const Mark* const to = &marks_.back() - before;
  return Window{to - width, to};
}

std::optional<std::pair<Window, Window>> Marks::halves() const {
  if (marks_.size() < 3) return std::nullopt;
  const Mark *first = &marks_.front(), *last = &marks_.back(), *middle = first + marks_.size() / 2;
  return std::pair{Window{first, middle}, Window{middle, last}};
}

}  // namespace tilescope::sim
