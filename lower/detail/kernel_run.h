// SPDX-License-Identifier: Apache-2.0
#pragma once
// One kernel that is interpreted: what its blocks and threads hold, and which thread touched it. lower/interpret.cc
// runs loops, copies and arithmetic, lower/interpret_matrices.cc what warps do together, lower/interpret_roles.cc roles
// and mbarriers.

#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "lower/detail/lanes.h"
#include "lower/interpret.h"

namespace tilescope::lower {

inline constexpr std::int64_t kNoThread = -1, kSeveral = -2;

// One word of a block's scratchpad and the threads that touched it since the last barrier.
struct SharedWord {
  double value = 0;
  bool written = false;
  std::int64_t writer = kNoThread;           // thread
  std::int64_t reader = kNoThread;           // thread, or several
  std::int64_t written_at = 0, read_at = 0;  // arrivals of the writer's and the reader's role before
  std::size_t written_by = 0, read_by = 0;   // roles
  bool published = false;                    // since it was written
  int in_flight = 0;                         // asynchronous copies on their way here
};

// One array that a block or a thread sees.
struct Array {
  std::vector<double> value;
  std::vector<char> written;
};

// The data of an asynchronous copy, until a wait lets it land.
struct Landing {
  std::size_t buffer = 0;
  std::int64_t offset = 0, thread = 0;
  std::vector<double> values;
};

// How many arrivals of each role are known to have happened.
using Clock = std::vector<std::int64_t>;

// Threads that go through a body together: all of a block, or those of a role.
struct Crew {
  struct Place {
    const std::vector<Statement>* body = nullptr;
    std::size_t next = 0;
    const Loop* loop = nullptr;
    std::int64_t value = 0, last = 0;  // of the loop
  };
  std::size_t number = 0;
  std::int64_t first = 0, end = 0;  // threads
  Lanes lanes;
  std::vector<Place> places;  // the innermost last
  Clock seen;
  std::optional<int> products_of;  // buffer, between WgmmaFence and WgmmaCommitWait
  std::int64_t met = 0;            // of its own arrivals, those of which all its threads know
};

// The phase of an mbarrier's stage that is under way, and what warps that waited for earlier ones have seen.
struct Phase {
  std::int64_t number = 0;
  std::int64_t arrived = 0, to_come = 0, asked = 0;  // warps, bytes
  std::vector<Landing> landings;
  Clock arriving, over;
};

// By buffer, the others of the scratchpad that have bytes in common with it.
std::vector<std::vector<std::size_t>> overlaps_of(const Kernel& k);

class KernelRun {
 public:
  KernelRun(const Module& m, const Kernel& k, const std::vector<double>& scalars, std::vector<Array>& memory)
      : m_(m), k_(k), scalars_(scalars), memory_(memory), all_(k, 0, k.threads), overlaps_(overlaps_of(k)) {}
  void run();

 private:
  void begin_block();
  void end_block();
  // The crew's next statement; false where it is through, or waits for others.
  bool advance();

  // lower/interpret.cc.
  void run(const Loop& l);
  void run(const If& branch);
  void run(const Copy& c);
  void run(const Compute& c);
  void run(const ReduceLanes& r);
  void run(const Barrier&);
  void run(const Commit&);
  void run(const Wait& wait);
  double value_of(const Compute& c, const expr::Node& n, expr::Numbers numbers, const std::vector<double>& nodes,
                  std::int64_t t);
  // The copy may land at any time from now on: a write now, and one at its wait.
  void launch(std::size_t buffer, std::int64_t offset, std::int64_t thread, std::vector<double> values);

  // lower/interpret_matrices.cc.
  void run(const LoadMatrix& l);
  void run(const Mma& m);
  void run(const Wgmma& m);
  void run(const WgmmaFence& begin);
  void run(const WgmmaCommitWait& end);
  void run(const ProxyFence&);
  // The first threads of those that do something together, so many at a time.
  std::vector<std::int64_t> groups(std::int64_t lanes) const;
  const MatrixInstruction& instruction(int number) const;
  // An operand from the registers of lanes from `first` on.
  void gather(const Access& from, const arch::FragmentMap& map, bool of_a, std::int64_t first,
              std::vector<double>& matrix, std::int64_t columns);
  // The sum and the products of the row of a and the column of b of that place.
  static double product(double sum, const std::vector<double>& a, const std::vector<double>& b,
                        const arch::FragmentPlace& at, const MatrixShape& shape, base::Dtype dtype);
  // The operand's element at that place along m or n, and along k.
  double read(const SharedOperand& f, std::int64_t first, std::int64_t along, std::int64_t deep);
  // No other statement touches what products are added to until they have ended.
  void check_no_products(std::size_t buffer, std::int64_t t) const;

  // lower/interpret_roles.cc.
  void run(const WarpSpecialized& w);
  void run(const MbarrierArrive& a);
  void run(const MbarrierWait& a);
  void run(const TmaLoad& b);
  void run(const TmaStore& b);
  // Calls visit(e, at) for the elements of the box that lie in the tensor: its number in the box, and in the array.
  template <class Visit>
  void elements_of(const TmaBox& b, const Visit& visit);
  bool is_over(const MbarrierWait& a);
  Phase& phase_of(int mbarrier, std::int64_t phase);
  std::int64_t phase_number(int mbarrier, std::int64_t phase) const;
  // The phase of an mbarrier's stage; it has to be under way.
  Phase& under_way(int mbarrier, const Affine& number);
  // Completes the phase once all warps have arrived and all bytes have come: its TMA loads land now.
  void settle(int mbarrier, Phase& p);
  // A TMA load is on its way to the word, which no thread may still be reading.
  void deliver(std::size_t buffer, std::int64_t at);

  // `more`: what a gather adds to the offset.
  std::int64_t begin_of(const Access& a, std::int64_t elements, std::int64_t t, std::int64_t more = 0);
  // What a gather adds; its index has to be the table's, and one that there is.
  std::int64_t gathered(const Gather& g, std::int64_t t);
  double read(std::size_t buffer, std::int64_t at, std::int64_t t);
  void write(std::size_t buffer, std::int64_t at, std::int64_t t, double value);
  // Fails where another thread may still be at the word that this one is about to write.
  void check_free(const SharedWord& w, std::size_t buffer, std::int64_t at, std::int64_t t) const;
  // What other arrays of the scratchpad hold in the bytes of an element that is about to be written is gone.
  void overwrite_others(std::size_t buffer, std::int64_t at, std::int64_t t);
  Array& array(std::size_t buffer);
  static std::size_t index(const Buffer& b, std::int64_t at, std::int64_t t);
  // The value that all lanes of a group have, or all threads of the crew.
  std::int64_t common(const Affine& a, std::int64_t first, std::int64_t lanes);
  std::int64_t common(const Affine& a) { return common(a, now_->first, now_->end - now_->first); }
  // Whether all threads of the crew know what one of a role did before so many of its arrivals.
  bool known(std::size_t role, std::int64_t arrivals) const { return role == now_->number && arrivals < now_->met; }
  [[noreturn]] void fail(std::string_view what, std::int64_t thread) const;

  const Module& m_;
  const Kernel& k_;
  const std::vector<double>& scalars_;
  std::vector<Array>& memory_;  // by global
  Lanes all_;                   // of a block, before its threads go anywhere
  std::vector<Crew> crews_;     // of the block: one, or its roles
  Crew* now_ = nullptr;         // the one that runs
  bool specialized_ = false;
  std::vector<std::vector<Phase>> mbarriers_;               // by mbarrier and stage
  std::vector<std::vector<SharedWord>> shared_;             // by buffer
  std::vector<std::vector<std::size_t>> overlaps_;          // by buffer
  std::vector<Array> registers_;                            // by buffer, thread by thread
  std::vector<std::pair<std::int64_t, Landing>> landings_;  // with their group
  std::int64_t group_ = 0;
  std::int64_t block_ = 0;
  const Statement* statement_ = nullptr;
};

}  // namespace tilescope::lower
