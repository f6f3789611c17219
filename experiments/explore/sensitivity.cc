// SPDX-License-Identifier: Apache-2.0
#include "experiments/explore/sensitivity.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <random>
#include <utility>

#include "base/check.h"

namespace tilescope::experiments {
namespace {

constexpr std::size_t kResamples = 500;
constexpr double kTail = 0.025;  // on each side of an interval

// The root above 1 of x^(n + 1) = x + 1.
double golden_ratio(std::size_t n) {
  double x = 2;
  constexpr int kSteps = 100;  // each gains more than a bit
  for (int i = 0; i < kSteps; ++i) x = std::pow(1 + x, 1 / static_cast<double>(n + 1));
  return x;
}

struct Sums {
  double first = 0, total = 0;
};

// Variance of the values of those rows; 0 where they differ by no more than sums of doubles do by their order.
double variance_of(const SaltelliValues& v, const std::vector<std::size_t>& rows) {
  constexpr double kRounding = 1e-12;
  const auto n = static_cast<double>(rows.size());
  double mean = 0, variance = 0;
  for (const std::size_t r : rows) mean += (v.a[r] + v.b[r]) / (2 * n);
  for (const std::size_t r : rows)
    variance += ((v.a[r] - mean) * (v.a[r] - mean) + (v.b[r] - mean) * (v.b[r] - mean)) / (2 * n - 1);
  return std::sqrt(variance) > kRounding * std::abs(mean) ? variance : 0;
}

// The indices of an axis from those rows.
Sums indices_of(const SaltelliValues& v, std::size_t axis, const std::vector<std::size_t>& rows) {
  const auto n = static_cast<double>(rows.size());
  const double variance = variance_of(v, rows);
  if (!(variance > 0)) return {};
  Sums out{1, 0};
  for (const std::size_t r : rows) {
    const double of_b = v.b[r] - v.ab[axis][r], of_a = v.a[r] - v.ab[axis][r];
    out.first -= of_b * of_b / (2 * n * variance);
    out.total += of_a * of_a / (2 * n * variance);
  }
  return out;
}

// As indices_of, of the share that both axes of a pair have a part in.
double interaction_of(const SaltelliValues& v, const PairInteraction& pair, const std::vector<std::size_t>& rows) {
  const auto n = static_cast<double>(rows.size());
  const double variance = variance_of(v, rows);
  double both = 0;
  for (const std::size_t r : rows) {
    const double of_first = v.a[r] - v.ab[pair.first][r], of_second = v.a[r] - v.ab[pair.second][r],
                 of_pair = v.ab[pair.first][r] - v.ab[pair.second][r];
    both += (of_first * of_first + of_second * of_second - of_pair * of_pair) / (2 * n);
  }
  return variance > 0 ? both / variance : 0;
}

// Rows drawn anew, kResamples times.
template <class Use>
void resample(std::size_t count, std::int64_t seed, const Use& use) {
  std::mt19937_64 engine(static_cast<std::uint64_t>(seed));
  std::vector<std::size_t> rows(count);
  for (std::size_t s = 0; s < kResamples; ++s) {
    for (std::size_t& r : rows) r = static_cast<std::size_t>(engine() % count);
    use(rows);
  }
}

std::vector<std::size_t> all_rows(std::size_t count) {
  std::vector<std::size_t> rows(count);
  std::iota(rows.begin(), rows.end(), std::size_t{0});
  return rows;
}

Interval interval_of(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const auto at = [&](double share) {
    return values[static_cast<std::size_t>(share * static_cast<double>(values.size()))];
  };
  return {at(kTail), at(1 - kTail)};
}

}  // namespace

std::vector<std::vector<double>> SaltelliDesign::mixed(std::size_t axis) const {
  std::vector<std::vector<double>> out = a;
  for (std::size_t r = 0; r < out.size(); ++r) out[r][axis] = b[r][axis];
  return out;
}

SaltelliDesign saltelli_design(std::size_t rows, std::size_t axes, std::int64_t seed) {
  const double ratio = golden_ratio(2 * axes);
  std::mt19937_64 engine(static_cast<std::uint64_t>(seed));
  std::vector<double> step, at;
  for (std::size_t i = 0; i < 2 * axes; ++i) {
    step.push_back(std::pow(ratio, -static_cast<double>(i + 1)));
    at.push_back(std::ldexp(static_cast<double>(engine() >> 11), -53));
  }
  SaltelliDesign out;
  for (std::size_t r = 0; r < rows; ++r) {
    for (std::size_t i = 0; i < 2 * axes; ++i) at[i] = std::fmod(at[i] + step[i], 1);
    out.a.emplace_back(at.begin(), at.begin() + static_cast<std::ptrdiff_t>(axes));
    out.b.emplace_back(at.begin() + static_cast<std::ptrdiff_t>(axes), at.end());
  }
  return out;
}

std::vector<SobolIndex> sobol_indices(const SaltelliValues& v, std::int64_t seed) {
  base::check(!v.a.empty() && v.a.size() == v.b.size(), "a design has as many rows of each kind");
  std::vector<SobolIndex> out;
  for (std::size_t axis = 0; axis < v.ab.size(); ++axis) {
    const Sums all = indices_of(v, axis, all_rows(v.a.size()));
    out.push_back({all.first, all.total, {}, {}});
  }
  std::vector<std::vector<double>> first(out.size()), total(out.size());
  resample(v.a.size(), seed, [&](const std::vector<std::size_t>& rows) {
    for (std::size_t axis = 0; axis < out.size(); ++axis) {
      const Sums some = indices_of(v, axis, rows);
      first[axis].push_back(some.first);
      total[axis].push_back(some.total);
    }
  });
  for (std::size_t axis = 0; axis < out.size(); ++axis) {
    out[axis].first_interval = interval_of(std::move(first[axis]));
    out[axis].total_interval = interval_of(std::move(total[axis]));
  }
  return out;
}

std::vector<PairInteraction> pair_interactions(const SaltelliValues& v, std::int64_t seed) {
  base::check(!v.a.empty() && v.a.size() == v.b.size(), "a design has as many rows of each kind");
  std::vector<PairInteraction> out;
  for (std::size_t i = 0; i < v.ab.size(); ++i)
    for (std::size_t j = i + 1; j < v.ab.size(); ++j) out.push_back({i, j, 0, {}});
  for (PairInteraction& p : out) p.index = interaction_of(v, p, all_rows(v.a.size()));
  std::vector<std::vector<double>> again(out.size());
  resample(v.a.size(), seed, [&](const std::vector<std::size_t>& rows) {
    for (std::size_t p = 0; p < out.size(); ++p) again[p].push_back(interaction_of(v, out[p], rows));
  });
  for (std::size_t p = 0; p < out.size(); ++p) out[p].interval = interval_of(std::move(again[p]));
  std::stable_sort(out.begin(), out.end(),
                   [](const PairInteraction& a, const PairInteraction& b) { return a.index > b.index; });
  return out;
}

std::optional<EffectSplit> split_of_effect(const SaltelliValues& v, std::size_t axis,
                                           const std::vector<std::size_t>& at, bool ordered) {
  base::check(at.size() == v.a.size(), "every row has a value of the other axis");
  struct Part {
    double rows = 0, effect = 0;
  };
  std::map<std::size_t, Part> parts;  // by value
  Part all;
  for (std::size_t r = 0; r < at.size(); ++r) {
    const double effect = std::pow(v.a[r] - v.ab[axis][r], 2);
    for (Part* p : {&parts[at[r]], &all}) p->rows += 1, p->effect += effect;
  }
  if (parts.size() < 2 || !(all.effect > 0)) return std::nullopt;
  std::optional<EffectSplit> out;
  double most = -1;
  Part side;
  const auto last = ordered ? std::prev(parts.end()) : parts.end();  // no value is beyond the last one
  for (auto p = parts.begin(); p != last; ++p) {
    if (!ordered) side = {};
    side.rows += p->second.rows;
    side.effect += p->second.effect;
    const Part other{all.rows - side.rows, all.effect - side.effect};
    const double apart = side.effect / side.rows - other.effect / other.rows;
    const double between = side.rows * other.rows * apart * apart;  // the variance that the split explains
    if (between > most) {
      most = between;
      const bool here = apart > 0;
      const Part& larger = here ? side : other;
      using Side = EffectSplit::Side;
      const Side where = ordered ? (here ? Side::kUpTo : Side::kFrom) : (here ? Side::kOnly : Side::kExcept);
      const std::size_t value = where == Side::kFrom ? std::next(p)->first : p->first;
      out = EffectSplit{where, value, larger.rows / all.rows, std::min(1.0, larger.effect / all.effect)};
    }
  }
  return out;
}

}  // namespace tilescope::experiments
