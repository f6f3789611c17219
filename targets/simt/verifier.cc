// SPDX-License-Identifier: Apache-2.0
#include "targets/simt/detail/verifier.h"

#include <stdexcept>
#include <utility>

#include "backends/cuda/host_run.h"
#include "lower/interpret.h"
#include "sim/simulate.h"

namespace tilescope::targets::simt {
namespace {

class KernelVerifier : public Verifier {
 public:
  explicit KernelVerifier(const arch::ArchSpec& a) : arch_(a), compiler_(a) {}

  std::optional<std::string> refusal() const override { return compiler_.refusal(); }

  int add(const lower::Module& module) override {
    modules_.push_back({&module, compiler_.add(module)});
    return static_cast<int>(modules_.size()) - 1;
  }

  std::optional<std::string> compile(int jobs) override {
    for (const cuda::HostBuild build : {cuda::HostBuild::kValues, cuda::HostBuild::kCounting})
      if (auto why = compiler_.compile(build, jobs)) return why;
    return std::nullopt;
  }

  Execution run(int number, const std::vector<double>& scalars, const std::vector<expr::Values>& inputs,
                std::uint64_t seed) override {
    const auto& [module, compiled] = modules_[static_cast<std::size_t>(number)];
    Execution out;
    lower::interpret(*module, scalars, out.values.emplace_back(inputs));
    for (const cuda::HostBuild build : {cuda::HostBuild::kValues, cuda::HostBuild::kCounting}) {
      cuda::HostResult r = compiler_.run(compiled, {build, seed, scalars, inputs});
      if (!r.ok()) throw std::runtime_error(r.error);
      out.values.push_back(std::move(r.globals));
      out.run = std::move(r.counters);  // of the second build, which counts
    }
    for (sim::KernelReport& k : sim::simulate(*module, arch_, {.mode = sim::Mode::kFull}).kernels)
      out.simulated.push_back(std::move(k.counters));
    return out;
  }

 private:
  const arch::ArchSpec& arch_;
  cuda::HostCompiler compiler_;
  std::vector<std::pair<const lower::Module*, int>> modules_;  // with the compiler's numbers
};

}  // namespace

std::unique_ptr<Verifier> verifier(const arch::ArchSpec& a) { return std::make_unique<KernelVerifier>(a); }

}  // namespace tilescope::targets::simt
