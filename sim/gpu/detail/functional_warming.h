// SPDX-License-Identifier: Apache-2.0
#pragma once
// What a core's blocks would have touched in steps that they leave out: addresses alone, no time, nothing counted.
//
// Ignores: pages, rows and what is in flight, which the next few steps restore.

#include <cstdint>
#include <span>
#include <vector>

#include "sim/gpu/detail/core_cache.h"
#include "sim/gpu/detail/fast_forward.h"
#include "sim/gpu/detail/part_requests.h"
#include "sim/gpu/detail/resident_warps.h"
#include "sim/gpu/detail/warp_code.h"
#include "sim/memory/detail/device_memory.h"

namespace tilescope::sim {

class FunctionalWarming {
 public:
  // `part`: of a part of a chip, else null.
  FunctionalWarming(int core, WarpCode& code, CoreCache& cache, PartRequests* part)
      : core_(core), code_(code), cache_(cache), part_(part) {}

  // Loads into the caches what the warps of one place would touch in one of the skipped steps. A step goes from where a
  // warp stands in the loop to the same place one step further. A block's first one begins with the block, its last one
  // ends with it.
  void step(std::span<const Warp> warps, const SkippedSteps& skipped, std::int64_t step, DeviceMemory& memory);

 private:
  void walk(const Warp& w, bool from_begin, bool to_end, DeviceMemory& memory);
  void touch(const Warp& w, const WarpOp& op, DeviceMemory& memory);
  void touch_of_shadows(const Warp& w, const WarpOp& op, DeviceMemory& memory);
  void touch_box(const WarpOp& op, const std::vector<BoxLine>& lines, DeviceMemory& memory) const;
  void touch_device(DeviceMemory& memory, std::int64_t line, std::uint32_t sectors, bool write,
                    const Written& written) const;

  int core_;
  WarpCode& code_;
  CoreCache& cache_;
  PartRequests* part_;
  Uniforms uniforms_;                   // of the warp in hand
  std::vector<std::uint32_t> sectors_;  // of the lines that an access of it touches, which the core's cache lacks
};

}  // namespace tilescope::sim
