// SPDX-License-Identifier: Apache-2.0
// Constructs, predicts and simulates a product on a chip with twice the banks: consumer [DEVICE]
#include <cstdio>
#include <tilescope/tilescope.hpp>

int main(int argc, char** argv) {
  try {
    tilescope::Chip chip(argc > 1 ? argv[1] : "v100");
    chip.set("memory.smem.banks", "64");
    const auto work = tilescope::Work::op("C[m,n] +=! A[m,k] * B[k,n]", "m=512,n=512,k=512");
    const tilescope::Table best = construct(work, chip, tilescope::Options().set("top", "1"));
    const auto programs = tilescope::Work::programs(best.programs());
    const tilescope::Table simulated = simulate(programs, chip);
    std::printf("predicted_us %.3f\nsimulated_us %.3f\nbottleneck %s\n", best.number(0, "predicted_us"),
                simulated.number(0, "simulated_us"), best.text(0, "bottleneck").value_or("").c_str());
  } catch (const tilescope::InputError& e) {
    std::fprintf(stderr, "%s\n", e.what());
    return 2;
  }
}
