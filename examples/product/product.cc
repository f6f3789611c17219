// SPDX-License-Identifier: Apache-2.0
// Constructs, predicts and simulates a product on a chip file: product CHIP.yaml
#include <cstdio>

#include "api/compile.h"
#include "api/simulate/simulate.h"
#include "arch/load.h"

int main(int argc, char** argv) {
  using namespace tilescope;
  base::Diagnostics diags;
  const auto silent = [](std::size_t, std::size_t) {};
  const auto chip = argc == 2 ? arch::load_arch(argv[1], {}, diags) : std::nullopt;
  api::Workload work;
  work.op = "C[m,n] +=! A[m,k] * B[k,n]";
  work.sizes = "m=1024,n=1024,k=1024";
  api::ProgramSource source;
  source.workload = work;
  const auto compiled = chip ? api::compile(work, *chip, {}, 10, 1, silent, diags) : std::nullopt;
  const auto simulated =
      compiled ? api::simulate(source, *chip, api::SimulationMode::kSampled, 1, {}, silent, diags) : std::nullopt;
  for (const std::string& error : diags.formatted_errors()) std::fprintf(stderr, "%s\n", error.c_str());
  if (!simulated || !simulated->front().simulation) return 1;
  std::printf("predicted %.2f us, simulated %.2f us\n", compiled->front().programs.front().prediction.predicted_us,
              simulated->front().simulation->simulated_us);
}
