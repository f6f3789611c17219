// SPDX-License-Identifier: Apache-2.0
#include "sim/gpu/sampling_units.h"

#include <algorithm>
#include <array>
#include <boost/math/distributions/students_t.hpp>
#include <cmath>

namespace tilescope::sim {
namespace {

constexpr std::size_t kMaxCheckpoints = 2 * 16 + 1;
// Bytes of the DRAM below this part of the device cache's do not count.
constexpr double kTrafficNoise = 0.01;
// Traffic may be off by so many times the tolerance in time.
constexpr double kTrafficTolerance = 4;

// That the mean of units lies within what it is said to be off by. Of 40 drawn operators on six chips 0.9 leaves time
// 0.67 % off in the mean, 0.8 leaves it 0.68 %, 0.7 0.83 %; the larger, the more is simulated (docs/simulator.md).
constexpr double kConfidence = 0.8;

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

CpiError error_of(std::span<const Cpi> units) {
  const auto n = static_cast<double>(units.size());
  const double students_t = boost::math::quantile(boost::math::students_t(n - 1), 1 - (1 - kConfidence) / 2);
  CpiError errors;
  double noise = 0;  // of bytes
  for (std::size_t k = 0; k < errors.size(); ++k) {
    const auto of = [&](const Cpi& c) { return std::array{c.cycles, c.cache_bytes, c.dram_bytes}[k]; };
    double mean = 0, squares = 0;
    for (const Cpi& c : units) mean += of(c) / n;
    for (const Cpi& c : units) squares += (of(c) - mean) * (of(c) - mean);
    if (k == 1) noise = kTrafficNoise * mean;
    const double half = students_t * std::sqrt(squares / (n - 1) / n);
    errors[k] = half <= noise ? 0 : (half - noise) / mean;
  }
  return errors;
}

bool within(const CpiError& e, double tolerance) {
  return e[0] <= tolerance && std::max(e[1], e[2]) <= kTrafficTolerance * tolerance;
}

void Checkpoints::add(Checkpoint m) {
  checkpoints_.push_back(std::move(m));
  if (checkpoints_.size() > kMaxCheckpoints) checkpoints_.erase(checkpoints_.begin());
}

void Checkpoints::thin() {
  std::vector<Checkpoint> kept;
  for (std::size_t i = (checkpoints_.size() + 1) % 2; i < checkpoints_.size(); i += 2)
    kept.push_back(std::move(checkpoints_[i]));
  checkpoints_.swap(kept);
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
