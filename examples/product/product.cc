// SPDX-License-Identifier: Apache-2.0
// Constructs, predicts and simulates a product on a chip: product CHIP, a device's name or a YAML file
#include <cstdio>
#include <tilescope/tilescope.hpp>

int main(int argc, char** argv) {
  try {
    const tilescope::Chip chip(argc > 1 ? argv[1] : "v100");
    const auto work = tilescope::Work::op("C[m,n] +=! A[m,k] * B[k,n]", "m=1024,n=1024,k=1024");
    const tilescope::Table best = construct(work, chip);
    const tilescope::Table simulated = simulate(work, chip);
    std::printf("predicted %.2f us, simulated %.2f us, bound by %s\n", best.number(0, "predicted_us"),
                simulated.number(0, "simulated_us"), best.text(0, "bottleneck").value_or("").c_str());
  } catch (const tilescope::InputError& e) {
    std::fprintf(stderr, "%s\n", e.what());
    return 2;
  }
}
