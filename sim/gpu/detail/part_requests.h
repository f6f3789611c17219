// SPDX-License-Identifier: Apache-2.0
#pragma once
// Observes a core of a part of a chip (chip_part.h): what its blocks ask of the device's memory becomes what is sampled
// of what they and their shadow blocks ask for.
//
// A shadow block makes the same accesses at the same moment, from the same place of its loops, and finds in its core's
// cache what the one that runs finds there.

#include <cstdint>
#include <optional>
#include <vector>

#include "sim/gpu/detail/chip_part.h"
#include "sim/gpu/detail/resident_warps.h"
#include "sim/gpu/detail/shadow_blocks.h"
#include "sim/gpu/detail/warp_code.h"
#include "sim/memory/detail/memory_system.h"

namespace tilescope::sim {

class PartRequests {
 public:
  // `outbox`: the core's requests, among which it puts those of shadow blocks.
  PartRequests(int core, const ChipPart& part, std::vector<MemoryRequest>& outbox)
      : core_(core), lines_(part), outbox_(outbox) {}

  void prepare(WarpCode& code);

  // The copies of the kernel that the outbox's requests are of, since the last call.
  const std::vector<int>& take_copies() {
    taken_copies_.clear();
    taken_copies_.swap(copies_);
    return taken_copies_;
  }

  // What the outbox has from `first` on, asked for by an access, becomes what is sampled of what its group asks for.
  void access(const Warp& w, const WarpOp& op, const AccessPatterns::Found& found, std::size_t first);
  // An access by which the block that runs touches nothing: its shadow blocks miss as much as it usually does, where it
  // is `cached`.
  void access_of_shadows(const Warp& w, const WarpOp& op, bool cached, Cycle at);
  // The outbox's last request, the n-th of a box's `lines`; `shadows` are the boxes of shadow blocks.
  void box_line(const std::vector<std::vector<BoxLine>>& shadows, std::size_t n, std::size_t lines, int copy);

  // The same box of shadow blocks.
  std::vector<std::vector<BoxLine>> shadow_boxes(const Uniforms& u, const TmaBoxLines& box);
  // The same access of shadow blocks, each pattern of those that are alike once: visit(found).
  template <class Visit>
  void visit_accesses(const Warp& w, const Uniforms& u, int access, Visit visit) {
    for (const ShadowBlocks::Alike& alike : shadows_->of(u[lower::kBlockIndex], access).others)
      visit(code_->access(access).at(w.number, shadow(alike.block, u)));
  }
  // The number by which the part knows a line; nothing where it is not the part's.
  std::optional<std::int64_t> number(std::int64_t line) const { return lines_.number(line); }

 private:
  // Lines of a copy by what the core's cache did with them.
  struct Misses {
    std::int64_t touched = 0, missed = 0;
    std::int64_t owed = 0;  // lines by `touched`, of shadow blocks whose fellow touches nothing
  };
  struct Asked {
    MemoryRequest request;
    std::size_t touch = 0;
    std::uint32_t touched = 0;  // sectors, whether the core's cache has them or not
  };

  // Visits the uniforms of the shadow blocks of the block whose `u` are.
  template <class Visit>
  void visit_shadows(const Uniforms& u, Visit visit);
  const Uniforms& shadow(std::int64_t block, const Uniforms& u);
  void send(MemoryRequest r, int copy);

  int core_;
  SampledLines lines_;
  std::vector<MemoryRequest>& outbox_;
  WarpCode* code_ = nullptr;
  std::optional<ShadowBlocks> shadows_;
  Uniforms shadow_;                         // of the one in hand
  std::vector<int> copies_, taken_copies_;  // by request of the outbox
  std::vector<Misses> missed_by_;           // by copy
  std::vector<Asked> asked_;                // by the access in hand
};

}  // namespace tilescope::sim
