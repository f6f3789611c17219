// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
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
#include "sim/simulation.h"
#include "sim/ticks_of_time.h"
#include "tile/program_json.h"

namespace tilescope::systemc {
namespace {

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
    if (auto taken = lower::retargeted_to(std::move(program->simt()[s]), chip, diags, at.at(s)))
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
  Below below;
  arch::ArchSpec chip;
  lower::Module module;
  MemoryPort port;
  std::optional<sim::Simulation> simulation;
  std::optional<Report> report;
  std::string failed;
  sc_core::sc_event ended;

  Parts(Gpu& gpu, const std::string& name, const std::string& program, const GpuOptions& options)
      : below(options.below),
        chip(gpu_of(name, options.overrides)),
        module(read_kernels(program, chip)),
        port(gpu.memory, options.below, options.protocol, line_bytes()) {
    if (options.below == Below::kCores && !options.full)
      throw std::runtime_error(
          fmt::format("{}: caches behind the cores cannot be warmed: GpuOptions::full", gpu.name()));
    const sim::SimOptions of_simulation{options.full ? sim::Mode::kFull : sim::Mode::kSampled};
    try {
      simulation.emplace(module, chip, of_simulation, foreign(options));
    } catch (const sim::SimError& e) {
      throw std::runtime_error(fmt::format("{}: {}", program, e.what()));
    }
  }

  sim::Foreign foreign(const GpuOptions& options) {
    if (options.below == Below::kCaches) return port.as_dram(chip);
    return sim::BehindCores{port.as_memory(chip), port.name(),
                            "; GpuOptions::lookahead says how soon an answer may lie behind its request",
                            lookahead(options.lookahead)};
  }
  // In cycles, one if it is less.
  sim::Cycle lookahead(const sc_core::sc_time& t) const {
    if (t == sc_core::SC_ZERO_TIME) return sim::Cycle{};
    return std::max(sim::Cycle{1}, sim::TicksOfTime<sim::Cycle>(chip.clock).tick_of(t));
  }

  // Of the cache that asks.
  std::int64_t line_bytes() const {
    const arch::Hierarchy h = arch::hierarchy_of(chip);
    std::int64_t line = arch::transaction_of(*h.dram).n;
    if (!h.device_caches.empty())
      line = std::max(line, (below == Below::kCores ? h.device_caches.front() : h.device_caches.back())->line.n);
    return line;
  }
};

Gpu::Gpu(const sc_core::sc_module_name& name, const std::string& chip, const std::string& program,
         const GpuOptions& options)
    : sc_module(name), memory("memory"), parts_(std::make_unique<Parts>(*this, chip, program, options)) {
  memory.register_nb_transport_bw(this, &Gpu::nb_transport_bw);
  SC_HAS_PROCESS(Gpu);
  SC_THREAD(run);
  parts_->port.spawn();
}

Gpu::~Gpu() = default;

void Gpu::before_end_of_elaboration() {
  if (memory.get_base_port().bind_count() == 0)
    refuse_unbound(memory.name(), parts_->below == Below::kCores ? "a Gpu wants caches or a memory behind its cores"
                                                                 : "a Gpu wants a memory behind its last cache");
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
