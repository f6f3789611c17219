// SPDX-License-Identifier: Apache-2.0
#include "targets/simt/detail/verifier.h"

#include <stdexcept>
#include <utility>
#include <vector>

#include "arch/hierarchy.h"
#include "backends/cuda/host_run.h"
#include "expr/work.h"
#include "lower/interpret.h"
#include "lower/lower.h"
#include "model/simt/estimate.h"
#include "sim/simulate.h"

namespace tilescope::targets::simt {
namespace {

// Of the device cache, and of the scratchpad.
constexpr const char *kRequests = "requests", *kSectors = "sectors", *kBankPasses = "bank_passes";

Amounts totals_of(const std::vector<lower::KernelCounters>& kernels) {
  double requests = 0, sectors = 0, passes = 0;
  for (const lower::KernelCounters& k : kernels)
    for (const lower::CopyCount& c : k) {
      requests += static_cast<double>(c.global.requests);
      sectors += static_cast<double>(c.global.sectors);
      passes += static_cast<double>(c.shared.passes);
    }
  return {{kRequests, requests}, {kSectors, sectors}, {kBankPasses, passes}};
}

lower::NamedValues outputs_of(const lower::Module& m, std::vector<expr::Values> globals) {
  lower::NamedValues out;
  for (std::size_t g = 0; g < globals.size(); ++g)
    if (m.globals[g].role == lower::Role::kOutput) out[m.globals[g].name] = std::move(globals[g]);
  return out;
}

// The module with what its tables of indices held when it ran, which the simulator would draw where a stage computes
// them.
lower::Module with_known_tables(const lower::Module& m, const std::vector<expr::Values>& globals) {
  lower::Module out = m;
  const auto tables = lower::index_tables(m);
  for (std::size_t g = 0; g < globals.size(); ++g)
    if (tables[g] != nullptr)
      out.globals[g].entries = std::make_shared<const std::vector<std::int32_t>>(globals[g].begin(), globals[g].end());
  return out;
}

class KernelVerifier : public Verifier {
 public:
  explicit KernelVerifier(const arch::ArchSpec& a) : arch_(a), compiler_(a), machine_(model::make_machine(a)) {}

  std::optional<std::string> why_unsupported() const override { return compiler_.why_unsupported(); }

  double slow_points(const tile::RProgram& program) const override {
    double points = 0;
    for (std::size_t s = 0; s < program.stages(); ++s) points += expr::points_of(program.space(s).expression);
    return points;
  }

  std::optional<int> add(const tile::RProgram& program, base::Diagnostics& diags, base::Position at) override {
    auto module = lower::lower(program, arch_, diags, at);
    if (!module) return std::nullopt;
    return keep(&program, std::move(*module));
  }

  std::optional<int> add_kernels(lower::Module kernels) override { return keep(nullptr, std::move(kernels)); }

  std::optional<std::string> compile(int jobs) override {
    for (const cuda::HostBuild build : {cuda::HostBuild::kValues, cuda::HostBuild::kCounting})
      if (auto why = compiler_.compile(build, jobs)) return why;
    return std::nullopt;
  }

  std::optional<Amounts> modelled(int number) const override {
    const tile::RProgram* program = programs_[static_cast<std::size_t>(number)].program;
    const auto e = program == nullptr ? std::nullopt : model::estimate(*program, machine_);
    if (!e) return std::nullopt;
    return Amounts{{kSectors, e->core_sectors}, {kBankPasses, e->level(arch::scratchpad_of(arch_)->name).transactions}};
  }

  Execution run(int number, const lower::NamedValues& values, std::uint64_t seed) override {
    const Added& p = programs_[static_cast<std::size_t>(number)];
    const std::vector<double> scalars(p.module->scalars.size(), lower::kScalar);
    const std::vector<expr::Values> inputs = lower::globals_of(*p.module, values);
    Execution out;
    std::vector<expr::Values> interpreted = inputs;
    lower::interpret(*p.module, scalars, interpreted);
    out.outputs.push_back(outputs_of(*p.module, std::move(interpreted)));
    std::vector<lower::KernelCounters> counted, simulated;
    const bool gathers = lower::gathers(*p.module);
    lower::Module known;
    for (const cuda::HostBuild build : {cuda::HostBuild::kValues, cuda::HostBuild::kCounting}) {
      cuda::HostResult r = compiler_.run(p.compiled, {build, seed, scalars, inputs});
      if (!r.ok()) throw std::runtime_error(r.error);
      if (gathers) known = with_known_tables(*p.module, r.globals);
      out.outputs.push_back(outputs_of(*p.module, std::move(r.globals)));
      counted = std::move(r.counters);  // of the second build, which counts
    }
    for (sim::KernelReport& k : sim::simulate(gathers ? known : *p.module, arch_, {.mode = sim::Mode::kFull}).kernels)
      simulated.push_back(std::move(k.counters));
    out.run = totals_of(counted);
    out.simulated = totals_of(simulated);
    out.counters_equal = counted == simulated;
    return out;
  }

 private:
  struct Added {
    const tile::RProgram* program;  // null of kernels alone
    std::unique_ptr<const lower::Module> module;
    int compiled;  // the compiler's number
  };
  int keep(const tile::RProgram* program, lower::Module module) {
    auto kept = std::make_unique<const lower::Module>(std::move(module));
    const int compiled = compiler_.add(*kept);
    programs_.push_back({program, std::move(kept), compiled});
    return static_cast<int>(programs_.size()) - 1;
  }

  const arch::ArchSpec& arch_;
  cuda::HostCompiler compiler_;
  model::Machine machine_;
  std::vector<Added> programs_;
};

}  // namespace

std::unique_ptr<Verifier> verifier(const arch::ArchSpec& a) { return std::make_unique<KernelVerifier>(a); }

}  // namespace tilescope::targets::simt
