// SPDX-License-Identifier: Apache-2.0
#pragma once
// What the device's caches hold when a kernel begins: tensors that the kernels before it read or wrote.
//
// Caches replace the line that was used longest ago. A line is still there when everything that was touched since its
// last use, lines of its own tensor included, fits the cache. Kernels go through their tensors wave by wave, from
// beginnings to ends. Within a wave the order is any, but that blocks load before they store. So between two uses of a
// line come the rest of the earlier kernel, all that kernels between them touch, and what the later one has touched
// until then; lines that both have touched in that time count once.
//
// Ignores: kernels that go through a tensor in another order, lines that a kernel uses again in a later wave, sets.

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "base/fixed_vector.h"
#include "model/simt/counts.h"
#include "model/simt/detail/traffic.h"
#include "model/simt/machine.h"
#include "tile/program.h"

namespace tilescope::model {

// What a kernel touches of a tensor in memory.
struct TensorUse {
  std::string tensor;
  double bytes = 0;        // distinct
  double whole_bytes = 0;  // of the tensor
  bool written = false;
};

struct KernelUses {
  std::vector<TensorUse> tensors;  // each of them once
  double waves = 1;                // of its blocks, or less than one
};

// With those of one more stage of the kernel. The parts of a split reduction are a tensor of their own.
void add_uses(KernelUses& uses, const Counts& counts, const Traffic& traffic);

// Of the second kernel of a split reduction, one thread an element; no tensors where there is none.
KernelUses uses_of_combining(const tile::StageProgram& p, const Machine& m, const Traffic& traffic);

class WarmCache {
 public:
  // Empty caches. Partitions of the first one each keep what their own cores use, so a reader finds what its own
  // partition has room for.
  explicit WarmCache(const Machine& m);

  // Share of what a kernel fetches of `use`, one of `kernel`, that one of the caches up to `cache` still has.
  double held(const TensorUse& use, const KernelUses& kernel, std::size_t cache) const;

  // Takes from a stage's traffic what the caches hold of its inputs. `kernel`: what its kernel touches.
  void serve(Traffic& t, const tile::StageProgram& p, const KernelUses& kernel) const;

  // That kernel has run.
  void touch(const KernelUses& kernel);

  // What was written and no cache has evicted yet, so that DRAM does not have it.
  double dirty_bytes() const;

 private:
  struct Entry {
    TensorUse use;
    std::size_t kernel = 0;  // that touched it last
    double dirty_bytes = 0;
  };

  const Entry* entry_of(const std::string& tensor) const;
  // Of a tensor's lines, those that `cache` has when the next kernel comes to them, or, where that touches nothing,
  // when it begins.
  double share_left(const Entry& e, const KernelUses& next, std::size_t cache) const;

  base::FixedVector<double, arch::kMaxDeviceCaches> room_;  // of each cache, or of a larger one before it
  std::vector<Entry> entries_;
  std::vector<double> waves_;  // of every kernel
};

}  // namespace tilescope::model
