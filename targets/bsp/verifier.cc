// SPDX-License-Identifier: Apache-2.0
#include "targets/bsp/detail/verifier.h"

#include <numeric>
#include <utility>

#include "backends/ipu_sim/machine.h"
#include "lower/bsp/lower.h"
#include "model/bsp/volume.h"
#include "sim/bsp/simulate.h"

namespace tilescope::targets::bsp {
namespace {

constexpr const char *kDelivered = "delivered_bytes", *kReceived = "received_bytes", *kPoints = "points",
                     *kFromDram = "from_dram_bytes", *kToDram = "to_dram_bytes", *kMemory = "memory_bytes";

double total(const std::vector<std::int64_t>& of_cores) {
  return static_cast<double>(std::accumulate(of_cores.begin(), of_cores.end(), std::int64_t{0}));
}

class MachineVerifier : public Verifier {
 public:
  explicit MachineVerifier(const arch::ArchSpec& a) : arch_(a) {}

  std::optional<std::string> refusal() const override { return std::nullopt; }

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
