// SPDX-License-Identifier: Apache-2.0
#pragma once
// Counted barriers of a block's scratchpad (PTX's mbarrier), their phases numbered as lower/kernel.h numbers them, and
// the bulk copies that are under way for them. Fails (host/place.h) where a phase is not the one under way, or where
// more comes for it than was said.

#include <cstdint>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "backends/cuda/host/boxes.h"
#include "backends/cuda/host/place.h"

namespace tilescope::cuda::host {

using Random = std::mt19937_64;

// A phase of a ring of barriers.
struct RingPhase {
  const void* ring = nullptr;
  int stages = 1, number = 0;
};

class Mbarriers {
 public:
  void begin_block(Random& random);
  // Fails where something came, or should have, that no warp awaited.
  void end_block() const;

  void set_up(const void* ring, int stages, int arrivals);
  // One warp arrives.
  void arrive(const RingPhase& phase, int bytes);
  bool is_over(const RingPhase& phase);
  // A warp awaited it, and may rely on what it brought.
  void awaited(const RingPhase& phase);
  // A box comes, at once or later.
  void bring(const RingPhase& phase, const tilescope_tensor_map& tensor, const int* at, char* to);
  // Time passes: what is due comes.
  void pass();
  // Lets something come that is under way; false where nothing is.
  bool let_come();

  // Of all mbarriers together, so that callers see that there was one.
  long long phases_ended() const { return phases_ended_; }
  // "use 3: of 8 warps 1 have arrived, 512 B are to come"
  std::string state_of(const RingPhase& phase);

 private:
  // The phase of a stage that is under way.
  struct Stage {
    int arrivals = 0;
    long long phase = 0;
    int arrived = 0;              // warps
    long long to_come = 0;        // bytes
    int under_way = 0;            // copies
    bool brings = false;          // copies were asked for
    bool brought_unseen = false;  // by a phase that is over, and no warp awaited
  };
  struct Coming {
    const void* at = nullptr;  // the stage
    tilescope_tensor_map tensor{};
    char* to = nullptr;
    std::string bytes;
    long long due = 0;
    Place asked;
  };
  static const void* address_of(const RingPhase& phase);
  Stage& stage_of(const RingPhase& phase);
  Stage& under_way(const RingPhase& phase);
  void settle(const void* at, Stage& stage);
  void land(std::size_t n);

  std::map<const void*, Stage> stages_;
  std::vector<Coming> coming_;
  Random* random_ = nullptr;
  long long now_ = 0;
  long long phases_ended_ = 0;
};

}  // namespace tilescope::cuda::host
