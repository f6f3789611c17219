// SPDX-License-Identifier: Apache-2.0
#include "sim/gpu/sampling_units.h"

#include <algorithm>
#include <cmath>

namespace tilescope::sim {
namespace {

constexpr std::size_t kMaxCheckpoints = 2 * 16 + 1;
// Bytes of the DRAM below this part of the device cache's do not count.
constexpr double kTrafficNoise = 0.01;
// Traffic may be off by so many times the tolerance in time.
constexpr double kTrafficTolerance = 4;

double error_of(double a, double b, double noise) {
  const double apart = std::max(0.0, std::abs(a - b) - noise);
  return apart == 0 ? 0 : apart / (a + b);
}

}  // namespace

double SamplingUnit::bytes(LevelRole r) const {
  const LevelStatistics &a = from->statistics.level(r), &b = to->statistics.level(r);
  return static_cast<double>(b.read_bytes + b.written_bytes - a.read_bytes - a.written_bytes);
}

Cpi cpi_of(const SamplingUnit& w, Progress p) {
  const auto units = static_cast<double>(w.progress(p));
  return {static_cast<double>(w.cycles()) / units, w.bytes(LevelRole::kDeviceCache) / units,
          w.bytes(LevelRole::kDram) / units};
}

CpiError error_of(const Cpi& a, const Cpi& b) {
  const double noise = kTrafficNoise * std::max(a.cache_bytes, b.cache_bytes);
  return {error_of(a.cycles, b.cycles, 0), error_of(a.cache_bytes, b.cache_bytes, noise),
          error_of(a.dram_bytes, b.dram_bytes, noise)};
}

bool within(const CpiError& e, double tolerance) {
  return e[0] <= tolerance && std::max(e[1], e[2]) <= kTrafficTolerance * tolerance;
}

void Checkpoints::add(Checkpoint m) {
  checkpoints_.push_back(std::move(m));
  if (checkpoints_.size() > kMaxCheckpoints) checkpoints_.erase(checkpoints_.begin());
}

std::optional<SamplingUnit> Checkpoints::unit(std::size_t width, std::size_t before) const {
  if (width + before >= checkpoints_.size()) return std::nullopt;
  const Checkpoint* const to = &checkpoints_.back() - before;
  return SamplingUnit{to - width, to};
}

std::optional<std::pair<SamplingUnit, SamplingUnit>> Checkpoints::halves() const {
  if (checkpoints_.size() < 3) return std::nullopt;
  const Checkpoint *first = &checkpoints_.front(), *last = &checkpoints_.back(),
                   *middle = first + checkpoints_.size() / 2;
  return std::pair{SamplingUnit{first, middle}, SamplingUnit{middle, last}};
}

}  // namespace tilescope::sim
