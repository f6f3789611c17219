// SPDX-License-Identifier: Apache-2.0
#include "experiments/measure/sampled_outputs.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <random>
#include <set>
#include <string>
#include <unordered_map>

#include "api/verify/compare_values.h"
#include "backends/cuda/device/elements.h"
#include "base/check.h"
#include "lower/expected_values.h"

namespace tilescope::experiments {
namespace {

// Elements that all samples of an output may read together.
constexpr std::int64_t kMaxReads = 1 << 22;

// A program's tensors, element by element as they are asked for. What a stage computes is kept.
class LazyValues {
 public:
  LazyValues(const tile::RProgram& p, const lower::Module& m) : program_(p), kept_(p.stages()) {
    std::map<std::string, std::size_t> producers;
    for (std::size_t s = 0; s < p.stages(); ++s) {
      const expr::Expression& e = p.space(s).expression;
      std::vector<Source>& sources = sources_.emplace_back();
      for (const expr::Tensor& t : e.tensors) {
        const auto producer = producers.find(t.name);
        const bool produced = producer != producers.end();
        const auto global =
            std::find_if(m.globals.begin(), m.globals.end(), [&](const lower::Global& g) { return g.name == t.name; });
        // A tensor that stays in the scratchpad has none; a stage computes it.
        const bool written = &t == &e.tensors[static_cast<std::size_t>(e.stages.front().output)];
        base::check(global != m.globals.end() || produced || written, "every input has its array");
        sources.push_back(
            {produced, produced ? producer->second : 0,
             global == m.globals.end() ? 0 : seed_of(static_cast<std::size_t>(global - m.globals.begin())), t.dtype});
      }
      producers[e.tensors[static_cast<std::size_t>(e.stages.front().output)].name] = s;
    }
    producers_ = std::move(producers);
  }

  double of(const std::string& tensor, std::int64_t element) { return value(producers_.at(tensor), element); }
  std::int64_t reads() const { return reads_; }

 private:
  // Where a tensor that a stage reads comes from.
  struct Source {
    bool produced = false;
    std::size_t stage = 0;   // by which
    std::uint64_t seed = 0;  // else
    base::Dtype dtype{};
  };

  double value(std::size_t stage, std::int64_t element) {
    if (const auto known = kept_[stage].find(element); known != kept_[stage].end()) return known->second;
    const expr::Expression& e = program_.space(stage).expression;
    const double v = expr::evaluate_element(
        e, 0, element, std::vector<double>(e.scalars.size(), lower::kScalar), [&](int tensor, std::int64_t at) {
          ++reads_;
          const Source& source = sources_[stage][static_cast<std::size_t>(tensor)];
          return source.produced ? value(source.stage, at)
                                 : cuda::device::input_of(source.dtype, cuda::device::whole_input(source.seed, at));
        });
    kept_[stage][element] = v;
    return v;
  }

  const tile::RProgram& program_;
  std::vector<std::vector<Source>> sources_;  // by stage and tensor
  std::map<std::string, std::size_t> producers_;
  std::vector<std::unordered_map<std::int64_t, double>> kept_;  // by stage
  std::int64_t reads_ = 0;
};

// Both ends first, then others by chance, none twice.
std::vector<std::int64_t> places(std::int64_t elements, std::size_t most) {
  std::vector<std::int64_t> out = {0};
  if (elements > 1) out.push_back(elements - 1);
  std::set<std::int64_t> taken(out.begin(), out.end());
  std::mt19937_64 random(1);
  while (out.size() < std::min(most, static_cast<std::size_t>(elements)))
    if (const auto e = static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(elements));
        taken.insert(e).second)
      out.push_back(e);
  return out;
}

}  // namespace

bool SampledOutput::is_loose() const {
  constexpr double kShare = 0.25;  // of the greatest expected value
  double greatest = 0;
  for (const double v : expected)
    if (std::isfinite(v)) greatest = std::max(greatest, std::abs(v));
  return tolerance > kShare * greatest;
}

std::vector<SampledOutput> sampled_outputs(const tile::RProgram& p, const lower::Module& m, std::size_t most) {
  constexpr std::size_t kEnds = 2;
  const api::ValueErrors allowed = api::allowed_errors(p);
  LazyValues values(p, m);
  std::vector<SampledOutput> out;
  for (std::size_t g = 0; g < m.globals.size(); ++g) {
    const lower::Global& global = m.globals[g];
    if (global.role != lower::Role::kOutput) continue;
    std::map<std::int64_t, double> sampled;
    const std::int64_t before = values.reads();
    for (const std::int64_t e : places(global.elements, most)) {
      if (sampled.size() >= kEnds && values.reads() - before > kMaxReads) break;
      sampled[e] = values.of(global.name, e);
    }
    SampledOutput& s = out.emplace_back();
    s.global = g;
    for (const auto& [element, value] : sampled) {
      s.elements.push_back(element);
      s.expected.push_back(value);
    }
    s.tolerance = api::tolerance_of(global.dtype, allowed, s.expected);
  }
  return out;
}

}  // namespace tilescope::experiments
