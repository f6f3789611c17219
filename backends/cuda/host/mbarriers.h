// SPDX-License-Identifier: Apache-2.0
#pragma once
// The mbarriers in a block's scratchpad (PTX's mbarrier), their phases numbered as in lower/kernel.h, and their bulk
// copies in flight. Fails (host/place.h) where a phase is not the current one, or where more arrives for it than was
// announced.

#include <cstdint>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "backends/cuda/host/boxes.h"
#include "backends/cuda/host/place.h"

namespace tilescope::cuda::host {

using Random = std::mt19937_64;

// A phase of a ring of mbarriers.
struct RingPhase {
  const void* ring = nullptr;
  int stages = 1, number = 0;
};

class Mbarriers {
 public:
  void begin_block(Random& random);
  // Fails where a bulk copy brought data, or was to bring data, for which no warp waited.
  void end_block() const;

  void set_up(const void* ring, int stages, int arrivals);
  // One warp arrives and announces `bytes` of bulk copies.
  void arrive(const RingPhase& phase, int bytes);
  bool is_over(const RingPhase& phase);
  // A warp has waited for the phase and may use the data that it brought.
  void awaited(const RingPhase& phase);
  // Starts a bulk copy of a box, which lands at once or later, in each of `blocks`, for the phase of the mbarrier
  // there. A block is given by the bytes from the running thread's scratchpad to its own.
  void bring(const RingPhase& phase, const tilescope_tensor_map& tensor, const int* at, char* to,
             const std::vector<long long>& blocks);
  // Advances the time; bulk copies that are due land.
  void pass();
  // Lands one bulk copy that is in flight; false where there is none.
  bool let_come();

  // Number of ended phases of all mbarriers together, so that callers see that one has ended.
  long long phases_ended() const { return phases_ended_; }
  // Text for messages: "use 3: of 8 warps 1 have arrived, 512 B are to come".
  std::string state_of(const RingPhase& phase);

 private:
  // The current phase of a stage.
  struct Stage {
    int arrivals = 0;
    long long phase = 0;
    int arrived = 0;              // warps
    long long to_come = 0;        // bytes announced and not landed
    int under_way = 0;            // copies in flight
    bool brings = false;          // copies were started for it
    bool brought_unseen = false;  // the phase before brought data, and no warp has waited for it
  };
  struct Coming {
    const void* at = nullptr;  // address of the stage
    tilescope_tensor_map tensor{};
    char* to = nullptr;
    std::string bytes;
    long long due = 0;
    Place asked;
  };
  static const void* address_of(const RingPhase& phase);
  Stage& stage_of(const RingPhase& phase);
  Stage& under_way(const RingPhase& phase);
  void start(const RingPhase& phase, const tilescope_tensor_map& tensor, const std::string& bytes, char* to);
  void settle(const void* at, Stage& stage);
  void land(std::size_t n);

  std::map<const void*, Stage> stages_;
  std::vector<Coming> coming_;
  Random* random_ = nullptr;
  long long now_ = 0;
  long long phases_ended_ = 0;
};

}  // namespace tilescope::cuda::host
