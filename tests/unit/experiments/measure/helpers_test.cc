// SPDX-License-Identifier: Apache-2.0
// The kernels that every plan brings, compiled for the CPU as one thread of one block, next to what the host does.

#include <gmock/gmock.h>

#include "backends/cuda/process.h"
#include "experiments/measure/plan.h"
#include "tests/support/paths.h"

namespace tilescope::tests {
namespace {

constexpr const char* kBefore = R"(
#include <cstdio>
#include <cstring>
#include <vector>
#include "backends/cuda/device/elements.h"
#define __global__
#define __device__
struct uint4 { unsigned x, y, z, w; };
struct { unsigned x = 0; } blockIdx, threadIdx;
struct { unsigned x = 1; } gridDim, blockDim;
unsigned long long atomicMin(unsigned long long* to, unsigned long long value) {
  return *to = value < *to ? value : *to;
}
)";

constexpr const char* kMain = R"(
using namespace tilescope;
using namespace tilescope::cuda::device;
int main() {
  int wrong = 0;
  for (const base::Dtype dtype : {base::Dtype::kF32, base::Dtype::kF16, base::Dtype::kBf16, base::Dtype::kI8,
                                  base::Dtype::kI32, base::Dtype::kF64, base::Dtype::kF8E4M3}) {
    constexpr int kElements = 10'000;
    const auto size = static_cast<std::size_t>(base::size_of(dtype).n);
    std::vector<unsigned char> by_host(kElements * size), by_kernel(kElements * size);
    tilescope_kinds kinds{};
    for (int k = 0; k < kInputKinds; ++k)
      write_element(dtype, input_of(dtype, k - kInputKinds / 2), reinterpret_cast<unsigned char*>(&kinds.bits[k]));
    for (int i = 0; i < kElements; ++i)
      write_element(dtype, input_of(dtype, whole_input(77, i)), by_host.data() + i * size);
    tilescope_fill(by_kernel.data(), kElements, 77, static_cast<unsigned>(size), kinds);
    wrong += by_host != by_kernel;
  }
  for (unsigned n = 1; n <= 13; ++n)
    for (unsigned differs = 0; differs <= n; ++differs) {
      alignas(4) unsigned char a[16] = {}, b[16] = {};
      for (unsigned i = differs; i < n; ++i) b[i] = 1;
      unsigned long long first = ~0ULL;
      tilescope_differ(a, b, n, &first);
      wrong += first != (differs == n ? ~0ULL : differs);
    }
  std::printf("%d wrong", wrong);
}
)";

TEST(PlanHelpers, FillAndCompareAsTheHostDoes) {
  const cuda::TemporaryFolder folder;
  const std::string source = folder.file("helpers.cc"), program = folder.file("helpers");
  ASSERT_TRUE(cuda::write_file(source, kBefore + std::string(experiments::helper_text()) + kMain));
  const cuda::Finished compiled =
      cuda::run_program({"g++", "-std=c++20", "-I" + source_path("").string(), source, "-o", program});
  ASSERT_TRUE(compiled.ok()) << compiled.output;
  EXPECT_EQ(cuda::run_program({program}).output, "0 wrong");
}

}  // namespace
}  // namespace tilescope::tests
