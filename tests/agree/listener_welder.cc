// SPDX-License-Identifier: Apache-2.0
#include "tests/agree/listener_welder.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "construct/welder_open.h"
#include "tests/support/build.h"

namespace tilescope::tests {
namespace {

struct FusedOperator {
  const char* expression;
  const char* sizes;
  base::Dtype dtype = base::Dtype::kF32;
};
constexpr std::size_t kConfigurations = 200;  // few are such that bandwidths decide about their threads
constexpr const char* kFusedProduct = "C[m,n] +=! A[m,k] * B[k,n]";

}  // namespace

std::string welder_answer(const arch::ArchSpec& a) {
  if (!a.baselines.welder_open) return {};
  std::string out;
  for (const FusedOperator& o : {FusedOperator{kFusedProduct, "m=1024,n=2048,k=512"},
                                 {"O[n,f,y,x] +=! I[n,c,y+r,x+s] * W[f,c,r,s]", "n=8,f=64,y=28,x=28,c=32,r=3,s=3"},
                                 {"O[i] +=! I[i,k]", "i=65536,k=512"},
                                 {"O[j,i] = A[i,j]", "i=2048,j=4096"},
                                 {kFusedProduct, "m=1024,n=2048,k=512", base::Dtype::kF16},
                                 {kFusedProduct, "m=8192,n=8192,k=512", base::Dtype::kF16},
                                 // Blocks that move more than a sixteenth of a panel; rows that no swizzle takes.
                                 {kFusedProduct, "m=8192,n=8192,k=16384", base::Dtype::kF16},
                                 {kFusedProduct, "m=1024,n=1024,k=272", base::Dtype::kF16}}) {
    const construct::WelderResult r = construct::welder_open(expression(o.expression, o.sizes, "", o.dtype),
                                                             *a.baselines.welder_open, kConfigurations);
    for (const construct::WelderConfiguration& c : r.configurations) {
      out += fmt::format("{} {} {};", fmt::join(c.tile, ","), c.score, c.smem_bytes);
      for (const construct::WelderStage& s : c.stages)
        out += fmt::format("{} {} {};", fmt::join(s.threads, ","), fmt::join(s.steps, ","),
                           s.warps ? fmt::format("{}", fmt::join(s.warps->warp, ",")) : "");
      if (c.panels) out += fmt::format("{};", c.panels->width);
    }
  }
  return out;
}

}  // namespace tilescope::tests
