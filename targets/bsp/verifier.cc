// SPDX-License-Identifier: Apache-2.0
#include "targets/bsp/detail/verifier.h"

#include <map>
#include <numeric>
#include <random>
#include <set>
#include <utility>

#include "backends/ipu_sim/machine.h"
#include "expr/work.h"
#include "lower/bsp/lower.h"
#include "lower/bsp/places.h"
#include "model/bsp/volume.h"
#include "sim/bsp/simulate.h"

namespace tilescope::targets::bsp {
namespace {

constexpr const char *kDelivered = "delivered_bytes", *kReceived = "received_bytes", *kPoints = "points",
                     *kFromDram = "from_dram_bytes", *kToDram = "to_dram_bytes", *kMemory = "memory_bytes";

double total(const std::vector<std::int64_t>& of_cores) {
  return static_cast<double>(std::accumulate(of_cores.begin(), of_cores.end(), std::int64_t{0}));
}

// The first element of what every core has of a tensor, the last one, and drawn ones: about `count` in all.
std::vector<std::int64_t> sampled(const lower::bsp::Program& p, int tensor, double count, std::mt19937_64& random) {
  std::map<std::int64_t, std::vector<lower::bsp::Piece>> parts;  // by core
  lower::bsp::for_each_piece(p, tensor, 0, p.tensors[static_cast<std::size_t>(tensor)].elements,
                             [&](const lower::bsp::Piece& piece) { parts[piece.core].push_back(piece); });
  std::set<std::int64_t> out;
  for (const auto& [core, pieces] : parts) {
    out.insert({pieces.front().first, pieces.back().first + pieces.back().count - 1});
    for (auto drawn = static_cast<std::int64_t>(count / static_cast<double>(parts.size())) - 2; drawn > 0; --drawn) {
      const lower::bsp::Piece& piece = pieces[random() % pieces.size()];
      out.insert(piece.first + static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(piece.count)));
    }
  }
  return {out.begin(), out.end()};
}

class MachineVerifier : public Verifier {
 public:
  explicit MachineVerifier(const arch::ArchSpec& a) : arch_(a) {}

  std::optional<std::string> why_unsupported() const override { return std::nullopt; }

  double slow_points(const tile::RProgram& program) const override {
    double points = 0;
    for (std::size_t s = 0; s < program.stages(); ++s)
      if (const expr::Expression& e = program.space(s).expression; !ipu_sim::multiplies(e))
        points += expr::points_of(e);
    return points;
  }

  std::optional<int> add(const tile::RProgram& program, base::Diagnostics& diags, base::Position at) override {
    auto lowered = lower::bsp::lower(program.bsp(), arch_, diags, at);
    if (!lowered) return std::nullopt;
    programs_.emplace_back(&program, std::move(*lowered));
    return static_cast<int>(programs_.size()) - 1;
  }

  std::optional<std::string> compile(int /*jobs*/) override { return std::nullopt; }

  std::optional<Amounts> modelled(int number) const override {
    const model::bsp::Volume v = model::bsp::volume_of(programs_[static_cast<std::size_t>(number)].first->bsp(), arch_);
    return Amounts{
        {kDelivered, v.delivered_bytes}, {kFromDram, v.from_dram}, {kToDram, v.to_dram}, {kPoints, v.points}};
  }

  Elements sample(int number, double points, std::uint64_t seed) const override {
    const lower::bsp::Program& p = programs_[static_cast<std::size_t>(number)].second;
    std::mt19937_64 random(seed);
    Elements out;
    for (std::size_t t = 0; t < p.tensors.size(); ++t)
      if (const int stage = p.tensors[t].home.stage; stage >= 0) {
        const auto& e = p.expressions[static_cast<std::size_t>(stage)];
        const double elements = static_cast<double>(p.tensors[t].elements);
        const double outputs = points / static_cast<double>(p.stages.size()) / expr::points_of(e) * elements;
        out[p.tensors[t].name] = sampled(p, static_cast<int>(t), outputs, random);
      }
    return out;
  }

  Execution run(int number, const lower::NamedValues& values, std::uint64_t /*seed*/) override {
    const lower::bsp::Program& p = programs_[static_cast<std::size_t>(number)].second;
    std::vector<expr::Values> inputs;
    for (const lower::bsp::Tensor& t : p.tensors)
      inputs.push_back(t.home.stage < 0 ? values.at(t.name) : expr::Values{});
    std::vector<std::vector<double>> scalars;
    for (const expr::Expression& e : p.expressions) scalars.emplace_back(e.scalars.size(), lower::kScalar);
    ipu_sim::Result ran = ipu_sim::run(p, scalars, inputs);
    sim::bsp::Counts counted;
    sim::bsp::simulate(p, arch_, {.mode = sim::Mode::kFull}, &counted);
    Execution out;
    lower::NamedValues& outputs = out.outputs.emplace_back();
    for (std::size_t t = 0; t < p.tensors.size(); ++t)
      if (p.tensors[t].home.stage >= 0) outputs[p.tensors[t].name] = std::move(ran.tensors[t]);
    const ipu_sim::Counts& c = ran.counts;
    out.run = {{kDelivered, static_cast<double>(c.delivered)},
               {kFromDram, static_cast<double>(c.from_dram)},
               {kToDram, static_cast<double>(c.to_dram)},
               {kPoints, static_cast<double>(c.points)},
               {kReceived, total(c.received)},
               {kMemory, static_cast<double>(c.memory)}};
    out.simulated = {{kDelivered, static_cast<double>(counted.delivered)},
                     {kFromDram, static_cast<double>(counted.from_dram)},
                     {kToDram, static_cast<double>(counted.to_dram)},
                     {kPoints, static_cast<double>(counted.points)},
                     {kReceived, total(counted.received)},
                     {kMemory, static_cast<double>(p.memory)}};
    out.counters_equal = c.sent == counted.sent && c.received == counted.received && c.delivered == counted.delivered &&
                         c.from_dram == counted.from_dram && c.to_dram == counted.to_dram &&
                         c.points == counted.points && c.memory <= p.memory;
    return out;
  }

 private:
  const arch::ArchSpec& arch_;
  std::vector<std::pair<const tile::RProgram*, lower::bsp::Program>> programs_;
};

}  // namespace

std::unique_ptr<Verifier> verifier(const arch::ArchSpec& a) { return std::make_unique<MachineVerifier>(a); }

}  // namespace tilescope::targets::bsp
