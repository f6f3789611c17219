// SPDX-License-Identifier: Apache-2.0
#pragma once
// Statements that move elements: copies and their groups, TMA loads and stores, and the mbarriers that complete them.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "lower/access.h"

namespace tilescope::lower {

// A part of an address in memory that is known when the kernel runs: `stride` elements times the index in the register
// at `index`. The thread has loaded the index from `table` in memory, which tells readers that keep no values what it
// is. It is at least 0 and less than `extent`.
struct Gather {
  Access index, table;
  std::int64_t stride = 1, extent = 1;

  bool operator==(const Gather&) const = default;
};

// Copies `elements` neighbouring elements in one access of one thread. Both buffers have one dtype, and the offset in
// memory or scratchpad is a multiple of `elements`. A copy is between memory and registers, between registers and
// scratchpad, or, asynchronous, from memory to the scratchpad. Guards are about the whole access.
struct Copy {
  Access to, from;
  std::int64_t elements = 1;
  std::vector<Guard> when;    // the copy happens only where these hold
  std::vector<Guard> inside;  // it reads only where these hold, else it writes zeros
  bool asynchronous = false;
  std::optional<Gather> gather = {};  // added to the offset of `from`, of a copy from memory

  bool operator==(const Copy&) const = default;
};

// Ends a group of this thread's asynchronous copies.
struct Commit {
  bool operator==(const Commit&) const = default;
};
// Waits until at most `pending` groups of this thread are in flight.
struct Wait {
  std::int64_t pending = 0;

  bool operator==(const Wait&) const = default;
};

// A ring of counted barriers in the scratchpad (PTX's mbarrier), one for each ring buffer stage. Its phases are
// numbered from 0 on: phase u is the (u / stages)-th completion of stage u % stages. A phase is over when `arrivals`
// warps have arrived for it and all bytes that they announced have arrived; then the stage's next phase begins.
struct Mbarrier {
  std::string name;
  std::int64_t stages = 1, arrivals = 1;
  std::int64_t offset_bytes = 0;  // of the first one in the block's scratchpad

  bool operator==(const Mbarrier&) const = default;
};

// Every warp of the role arrives once for a phase of an mbarrier, and announces `bytes` (PTX's
// mbarrier.arrive.expect_tx). An arrival at the `cluster` is one at this mbarrier of all blocks of its cluster (PTX's
// mapa and mbarrier.arrive.shared::cluster), and announces nothing.
struct MbarrierArrive {
  int mbarrier = 0;  // position in Kernel::mbarriers
  Affine phase;
  std::int64_t bytes = 0;
  bool cluster = false;

  bool operator==(const MbarrierArrive&) const = default;
};
// Waits until that phase of the mbarrier is over; a phase before the first of its stage is over from the start.
struct MbarrierWait {
  int mbarrier = 0;
  Affine phase;

  bool operator==(const MbarrierWait&) const = default;
};

// A dimension of a box, which begins at `at` in the tensor and has `box` elements along it. The tensor has `extent`
// elements along it, `stride` apart.
struct BoxDim {
  Affine at;
  std::int64_t extent = 1, stride = 1, box = 1;

  bool operator==(const BoxDim&) const = default;
};
// A box of an array in memory, and the place in the scratchpad where its rows lie, one after the other. The first
// dimension is the outermost; the last one's stride is 1.
struct TmaBox {
  Access shared;
  int memory = 0;  // buffer
  std::vector<BoxDim> dims;

  std::int64_t elements() const;

  bool operator==(const TmaBox&) const = default;
};
// One thread of the role starts the load of the box, which completes on a phase of an mbarrier. Elements beyond the
// tensor are zeros. A `multicast` load writes to the same place in the scratchpad of every block of its cluster and
// completes on the mbarrier of each (PTX's .multicast::cluster).
struct TmaLoad : TmaBox {
  int mbarrier = 0;
  Affine phase;
  bool multicast = false;

  bool operator==(const TmaLoad&) const = default;
};
// One thread of the role, or of the block, starts the store of the box, and continues when the box has been read from
// the scratchpad. Elements beyond the tensor are not stored. The threads that wrote the box ran a ProxyFence afterwards
// and then synchronized with this thread.
struct TmaStore : TmaBox {
  bool operator==(const TmaStore&) const = default;
};

}  // namespace tilescope::lower
