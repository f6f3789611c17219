// SPDX-License-Identifier: Apache-2.0
// Simulates a program file with nothing of model/ and construct/ in the binary, and prints the cycles: that they are
// those of `tilescope simulate` shows that the simulator knows nothing of the model.
//
//   simulate_alone CHIP PROGRAM.json full|sampled

#include <cstdio>
#include <exception>
#include <string>

#include "lower/lower.h"
#include "sim/simulate.h"
#include "tests/support/expected.h"
#include "tests/support/lowered.h"

int main(int argc, char** argv) {
  using namespace tilescope;
  if (argc != 4) return 2;
  try {
    const arch::ArchSpec chip = tests::chip(argv[1]);
    sim::SimOptions options;
    options.mode = std::string(argv[3]) == "full" ? sim::Mode::kFull : sim::Mode::kSampled;
    const lower::Module module = tests::lowered(tests::program(tests::text_of_file(argv[2]), chip), chip);
    std::printf("%lld\n", static_cast<long long>(sim::simulate(module, chip, options).cycles));
  } catch (const std::exception& e) {
    std::fprintf(stderr, "%s\n", e.what());
    return 1;
  }
  return 0;
}
