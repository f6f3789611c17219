// SPDX-License-Identifier: Apache-2.0
#include <fstream>
#include <iterator>
#include <optional>
#include <stdexcept>

#include <fmt/format.h>

#include "arch/derive.h"
#include "arch/hierarchy.h"
#include "include/tilescope/systemc.h"
#include "lower/lower.h"
#include "platform/detail/chip.h"
#include "platform/detail/memory_port.h"
#include "sim/memory/dram_spec.h"
#include "sim/memory/foreign_dram.h"
#include "sim/simulation.h"
#include "tile/program_json.h"

namespace tilescope::systemc {
namespace {

// The simulator's side of the port.
class AtPort final : public sim::ForeignMemory {
 public:
  explicit AtPort(MemoryPort& port) : port_(port) {}
  void request(std::span<const sim::ForeignRequest> requests) override { port_.request(requests); }
  void advance(sim::Clock until, std::size_t, std::vector<sim::ForeignAnswer>& answers) override {
    port_.advance(until, answers);
  }
  bool answers_late() const override { return port_.answers_late(); }

 private:
  MemoryPort& port_;
};

lower::Module read_kernels(const std::string& path, const arch::ArchSpec& chip) {
  base::Diagnostics diags;
  const base::SourceId source = diags.add_source(path);
  std::ifstream file(path, std::ios::binary);
  if (!file) diags.error({source}, "cannot be read");
  const std::string text(std::istreambuf_iterator<char>(file), {});
  const auto document = diags.ok() ? base::read_json(text, source, diags) : std::nullopt;
  auto program = document ? tile::read_program(*document, chip, diags) : std::nullopt;
  if (!program) refuse(diags);
  const tile::ProgramPlaces at = tile::places_of(*document, chip);
  for (std::size_t s = 0; s < program->stages(); ++s)
    if (auto taken = lower::taken_by(std::move(program->simt()[s]), chip, diags, at.at(s)))
      program->simt()[s] = std::move(*taken);
  if (!diags.ok()) refuse(diags);
  auto module = lower::lower(*program, chip, diags, at);
  if (!module) refuse(diags);
  return std::move(*module);
}

arch::ArchSpec gpu_of(const std::string& chip, const std::vector<std::string>& overrides) {
  arch::ArchSpec a = read_chip(chip, overrides);
  if (arch::hierarchy_of(a).dram == nullptr)
    throw std::runtime_error(fmt::format("{}: has no level of kind dram", a.name));
  return a;
}

Report report_of(const sim::SimReport& r) {
  Report out{r.time.v, r.cycles, {}, reports_of(r.levels)};
  for (const sim::StallReport& s : r.stalls) out.stalls.emplace_back(s.name, s.cycles);
  return out;
}

}  // namespace

struct Gpu::Parts {
  arch::ArchSpec chip;
  lower::Module module;
  MemoryPort port;
  std::optional<sim::Simulation> simulation;
  std::optional<Report> report;
  std::string failed;
  sc_core::sc_event ended;

  Parts(Gpu& gpu, const std::string& name, const std::string& program, const GpuOptions& options)
      : chip(gpu_of(name, options.overrides)),
        module(read_kernels(program, chip)),
        port(gpu.dram, options.protocol, level().clock, line_bytes()) {
    const sim::SimOptions of_simulation{options.full ? sim::Mode::kFull : sim::Mode::kSampled};
    const std::string at = gpu.dram.name();
    try {
      simulation.emplace(module, chip, of_simulation, [this, at] {
        return std::make_unique<sim::ForeignDram>(std::make_unique<AtPort>(port), at, arch::transaction_of(level()).n,
                                                  level().channels, sim::dram_spec(level()).pseudo_channels);
      });
    } catch (const sim::SimError& e) {
      throw std::runtime_error(fmt::format("{}: {}", program, e.what()));
    }
  }

  const arch::DramLevel& level() const { return *arch::hierarchy_of(chip).dram; }
  std::int64_t line_bytes() const {
    const arch::Hierarchy h = arch::hierarchy_of(chip);
    return std::max(arch::transaction_of(*h.dram).n, h.device_caches.empty() ? 0 : h.device_caches.back()->line.n);
  }
};

Gpu::Gpu(const sc_core::sc_module_name& name, const std::string& chip, const std::string& program,
         const GpuOptions& options)
    : sc_module(name), dram("dram"), parts_(std::make_unique<Parts>(*this, chip, program, options)) {
  dram.register_nb_transport_bw(this, &Gpu::nb_transport_bw);
  SC_HAS_PROCESS(Gpu);
  SC_THREAD(run);
  sc_core::sc_spawn_options sends;
  sends.spawn_method();
  sends.dont_initialize();
  sends.set_sensitivity(&parts_->port.due);
  sc_core::sc_spawn([this] { parts_->port.send(); }, "send", &sends);
}

Gpu::~Gpu() = default;

void Gpu::before_end_of_elaboration() {
  if (dram.get_base_port().bind_count() == 0) refuse_unbound(dram.name(), "a Gpu wants a memory behind its last cache");
}

tlm::tlm_sync_enum Gpu::nb_transport_bw(tlm::tlm_generic_payload& payload, tlm::tlm_phase& phase,
                                        sc_core::sc_time& delay) {
  return parts_->port.answer(payload, phase, delay);
}

void Gpu::run() {
  try {
    parts_->report = report_of(parts_->simulation->run());
  } catch (const sim::SimError& e) {
    parts_->failed = e.what();
  }
  parts_->ended.notify(sc_core::SC_ZERO_TIME);
}

const sc_core::sc_event& Gpu::ended() const { return parts_->ended; }

const Report& Gpu::report() const {
  if (!parts_->failed.empty()) throw std::runtime_error(parts_->failed);
  if (!parts_->report) throw std::runtime_error(std::string(name()) + ": its program has not ended");
  return *parts_->report;
}

Report simulate(Gpu& gpu) {
  sc_core::sc_start();
  return gpu.report();
}

}  // namespace tilescope::systemc
