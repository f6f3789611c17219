// SPDX-License-Identifier: Apache-2.0
#include "experiments/programs/constructor.h"

#include <algorithm>
#include <ctime>
#include <limits>
#include <tuple>

#include <fmt/format.h>

#include "experiments/programs/detail/welder.h"
#include "expr/infer.h"
#include "expr/rewrite.h"
#include "targets/constructed_stage.h"
#include "tile/group.h"

namespace tilescope::experiments {
namespace {

// So many programs of a stage are looked at for the front of time and memory.
constexpr std::size_t kOfFront = 10'000;

double thread_cpu_ms() {
  timespec t{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) * 1e3 + static_cast<double>(t.tv_nsec) * 1e-6;
}

}  // namespace

Constructor::Constructor(const arch::ArchSpec& a, const SearchOptions& search, std::size_t keep,
                         construct::Restrictions given)
    : arch_(a),
      target_(targets::target_of(a)),
      estimate_(target_.estimate(a)),
      search_(search),
      keep_(keep),
      given_(std::move(given)) {}

std::optional<Configurations> Constructor::configurations(const expr::Expression& e) const {
  if (search_.search != targets::Search::kWelderOpen) return std::nullopt;
  return welder_configurations(e, arch_, keep_);
}

Constructed Constructor::construct(const expr::Expression& e, construct::CandidatePools* pools) const {
  Constructed out;
  const double start_ms = thread_cpu_ms();
  SearchOptions how = search_;
  how.pools = pools;
  out.programs = programs(e, how, out);
  if (search_.pareto) keep_front(out.programs);
  out.construct_ms = thread_cpu_ms() - start_ms;
  return out;
}

// By time; each needs less memory than all before it.
void Constructor::keep_front(std::vector<tile::RProgram>& programs) const {
  struct Evaluated {
    double us = 0;
    std::int64_t bytes = 0;
    std::size_t number = 0;
  };
  std::vector<Evaluated> judged;
  for (std::size_t i = 0; i < programs.size(); ++i)
    if (const auto e = estimate_(programs[i], nullptr, {}))
      judged.push_back({e->total_us, target_.core_bytes(programs[i], arch_).n, i});
  std::stable_sort(judged.begin(), judged.end(), [](const Evaluated& a, const Evaluated& b) {
    return std::tie(a.us, a.bytes) < std::tie(b.us, b.bytes);
  });
  std::vector<tile::RProgram> front;
  std::int64_t least = std::numeric_limits<std::int64_t>::max();
  for (const Evaluated& j : judged) {
    if (j.bytes >= least) continue;
    least = j.bytes;
    front.push_back(std::move(programs[j.number]));
  }
  programs = std::move(front);
}

std::optional<BestProgram> Constructor::best(const expr::Expression& e, base::Diagnostics& diags) const {
  Constructed found = construct(e);
  std::optional<BestProgram> best;
  for (tile::RProgram& p : found.programs) {
    const auto estimate = estimate_(p, &diags, {});
    if (estimate && (!best || estimate->total_us < best->estimate.total_us)) best = {std::move(p), *estimate};
  }
  if (!found.error.empty()) diags.error({}, std::move(found.error));
  return best;
}

std::optional<BestProgram> best_on(const arch::ArchSpec& a, const targets::Estimator& estimate,
                                   const std::vector<const tile::RProgram*>& programs, base::Diagnostics& diags) {
  const targets::Target& target = targets::target_of(a);
  std::optional<BestProgram> best;
  for (auto at = programs.begin(); at != programs.end(); ++at) {
    const tile::RProgram* p = *at;
    // Chips that differ little have many programs in common.
    const auto is_same = [&](const tile::RProgram* other) {
      return other->nodes == p->nodes && other->edges == p->edges;
    };
    if (std::any_of(programs.begin(), at, is_same)) continue;
    auto taken = target.retargeted_to(*p, a, diags, {});
    auto time = taken ? estimate(*taken, &diags, {}) : std::nullopt;
    if (!time || (best && time->total_us >= best->estimate.total_us)) continue;
    best = {std::move(*taken), *time};
  }
  return best;
}

std::vector<tile::RProgram> Constructor::programs(const expr::Expression& e, const SearchOptions& how,
                                                  Constructed& out) const {
  const std::size_t keep = search_.pareto ? kOfFront : keep_;
  std::vector<tile::RProgram> programs = apart(e, how, keep, out);
  const bool connects = target_.connect.why_unsupported().empty() && search_.search == targets::Search::kRoller;
  if (e.stages.size() == 1 || !connects || given_.fuse == construct::Fuse::kNone) return programs;
  // What is fused comes first where it is faster; equal programs keep their order.
  const auto add_connected = [&](const expr::Expression& expression, const std::vector<tile::RProgram>& stages) {
    if (stages.empty() || given_.fuse != construct::Fuse::kAll) return;
    if (auto connected = target_.connect(expression, stages.front(), arch_, given_))
      programs.push_back(std::move(*connected));
  };
  add_connected(e, programs);
  if (const expr::Expression inlined = expr::with_everything_inlined(e); inlined.stages.size() < e.stages.size()) {
    const std::vector<tile::RProgram> of_inlined = apart(inlined, how, keep, out);
    programs.insert(programs.end(), of_inlined.begin(), of_inlined.end());
    if (inlined.stages.size() > 1) add_connected(inlined, of_inlined);
  }
  if (const auto behind = expr::with_divisions_sunk(e)) {
    Constructed more;
    add_connected(*behind, apart(*behind, how, keep, more));
    if (more.statistics && out.statistics) out.statistics->add(*more.statistics);
  }
  return fastest(std::move(programs), keep);
}

std::vector<tile::RProgram> Constructor::fastest(std::vector<tile::RProgram> programs, std::size_t keep) const {
  std::vector<std::pair<double, std::size_t>> order;
  for (std::size_t i = 0; i < programs.size(); ++i)
    if (const auto e = estimate_(programs[i], nullptr, {})) order.emplace_back(e->total_us, i);
  std::stable_sort(order.begin(), order.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<tile::RProgram> out;
  for (const auto& [us, i] : order)
    if (out.size() < keep) out.push_back(std::move(programs[i]));
  return out;
}

// Every stage a kernel of its own.
std::vector<tile::RProgram> Constructor::apart(const expr::Expression& e, const SearchOptions& how, std::size_t keep,
                                               Constructed& out) const {
  std::vector<tile::Nodes> stages;
  std::size_t count = keep;
  for (std::size_t s = 0; s < e.stages.size(); ++s) {
    targets::ConstructedStage found = target_.construct(expr::single_stage(e, s), arch_, how, keep, given_);
    count = std::min(count, found.count());
    stages.push_back(std::move(found.programs));
    out.rounds.insert(out.rounds.end(), found.rounds.begin(), found.rounds.end());
    if (found.statistics && out.statistics)
      out.statistics->add(*found.statistics);
    else if (found.statistics)
      out.statistics = found.statistics;
    if (found.why.empty() || !out.error.empty()) continue;
    out.error = (e.stages.size() > 1 ? fmt::format("node {}: ", s + 1) : "") + found.why;
  }
  std::vector<tile::RProgram> programs(count);
  for (std::size_t r = 0; r < count; ++r) {
    programs[r] = {arch_.name, {}, tile::edges_of(e, arch_)};
    for (tile::Nodes& stage : stages) std::visit([&](auto& found) { programs[r].add(std::move(found[r])); }, stage);
  }
  return programs;
}

}  // namespace tilescope::experiments
