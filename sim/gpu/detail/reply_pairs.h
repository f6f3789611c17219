// SPDX-License-Identifier: Apache-2.0
#pragma once
// Replies to the requests of a core of a part of a chip (chip_part.h). What a core waits for is a request of the block
// that runs; what memory serves is a sampled one, of that block or of a shadow block. There are as many of the one kind
// as of the other in the mean, of every copy of the kernel, and pairs are made of those that are made in the same turn.
// What is left waits as long as another request of its copy does.

#include <cstdint>
#include <vector>

#include "sim/memory/detail/device_memory.h"

namespace tilescope::sim {

class ReplyPairs {
 public:
  static constexpr int kNobody = -1;              // ticket of a request that none waits for
  static constexpr std::int64_t kNotServed = -1;  // line of a request that is not sampled

  ReplyPairs(std::int64_t cores, std::size_t copies, const MemorySpec& memory);

  // Pairs what one core asks for, whose copies are `copies`; what is not sampled leaves the list.
  void pair(std::vector<MemoryRequest>& asked, const std::vector<int>& copies, Cycle end,
            std::vector<MemoryReply>& replies);
  // Replies from the memory become those that cores wait for.
  void unpack(Cycle end, std::vector<MemoryReply>& replies);

 private:
  static constexpr int kNone = -1;
  struct Ticket {
    int copy = 0;
    Cycle at{};          // when it was asked for,
    Cycle carried_at{};  // and what it is paired with
    int next = kNone;    // ticket that waits for the same reply
  };
  // Of the requests of a turn.
  struct Copy {
    std::vector<std::size_t> waiting, spare;  // without a sampled one; sampled ones that none waits for
    int last = kNone;                         // ticket that has one
    Cycle lasted{};                           // of the reply that came last, and from where
    Stall from = Stall::kDram;
    bool known = false;
  };
  Ticket& ticket(int core, int number);
  void carry(const MemoryRequest& by, int core, int number, Cycle at, int copy);

  Cycle idle_read_, idle_write_;
  std::vector<std::vector<Ticket>> tickets_;  // by core
  std::vector<Copy> copies_;
  std::vector<MemoryReply> unpacked_;
};

}  // namespace tilescope::sim
