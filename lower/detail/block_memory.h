// SPDX-License-Identifier: Apache-2.0
#pragma once
// What a block's threads read and write while it is interpreted: values, who wrote and read them, and whether the
// thread that accesses them may. All functions throw Mistake where a kernel breaks a rule of lower/kernel.h.

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "lower/detail/crew.h"
#include "lower/kernel.h"

namespace tilescope::lower {

inline constexpr std::int64_t kNoThread = -1, kSeveral = -2;

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

// By buffer, the others of the scratchpad that have bytes in common with it.
std::vector<std::vector<std::size_t>> overlaps_of(const Kernel& k);

class BlockMemory {
 public:
  // `globals` by position in Module::globals.
  BlockMemory(const Kernel& k, std::vector<Array>& globals) : k_(k), globals_(globals), overlaps_(overlaps_of(k)) {}

  const Kernel& kernel() const { return k_; }

  void begin_block();
  // No copy is left in flight.
  void end_block() const;

  // The first element of an access to `elements` neighbours of a buffer; `more` is what a gather adds.
  std::int64_t begin_of(const Access& a, std::int64_t elements, const Crew& by, std::int64_t t,
                        std::int64_t more = 0) const;
  // As thread t of the crew, or, of what all its threads know, as kSeveral.
  double read(std::size_t buffer, std::int64_t at, const Crew& by, std::int64_t t);
  void write(std::size_t buffer, std::int64_t at, const Crew& by, std::int64_t t, double value);
  // As Wgmma and TmaStore read the scratchpad: it also has to be published.
  double read_published(std::size_t buffer, std::int64_t at, const Crew& by);
  // A sum of products in flight, in the registers of thread t: one that they add to, or that begins at 0 with them.
  double& sum(std::size_t buffer, std::int64_t at, std::int64_t t, bool adds);

  // A sum of products in tensor memory, in a lane's column: one that the crew's next products add to, or that begins at
  // 0 with them; and the same as thread t reads it.
  double& tensor_sum(std::size_t buffer, std::int64_t at, std::int64_t lane, bool adds, const Crew& by);
  double read_tensor(std::size_t buffer, std::int64_t at, const Crew& by, std::int64_t t);

  // A Barrier: threads may touch what others wrote and read.
  void synchronize(const Crew& by);
  // A ProxyFence, of what these threads wrote.
  void publish(const Crew& by);

  // The copy may land at any time from now on: a write now, and one at its wait.
  void launch(const Landing& copy, const Crew& by);
  void commit(const Crew& by);
  void wait(std::int64_t pending, const Crew& by);

  // A TMA load is on its way to the word, which no thread may still be reading.
  void deliver(std::size_t buffer, std::int64_t at, const Crew& by);
  void land(const Landing& load);

 private:
  // One word of the scratchpad and the threads that touched it since the last barrier.
  struct Word {
    double value = 0;
    bool written = false;
    std::int64_t writer = kNoThread;           // thread
    std::int64_t reader = kNoThread;           // thread, or several
    std::int64_t written_at = 0, read_at = 0;  // arrivals of the writer's and the reader's role before
    std::size_t written_by = 0, read_by = 0;   // roles
    bool published = false;                    // since it was written
    int in_flight = 0;                         // asynchronous copies on their way here
  };

  // A column of one lane of tensor memory: who added to it and who read it, as of a Word.
  struct Cell {
    double value = 0;
    bool written = false, read = false;
    std::size_t written_by = 0, read_by = 0;
    std::int64_t written_at = 0, read_at = 0;
  };
  Cell& cell(std::size_t buffer, std::int64_t at, std::int64_t lane) {
    return tensor_[buffer][static_cast<std::size_t>(lane * k_.buffers[buffer].elements + at)];
  }

  Word& word(std::size_t buffer, std::int64_t at) { return shared_[buffer][static_cast<std::size_t>(at)]; }
  // Fails where another thread may still be at the word that this one is about to write.
  void check_free(const Word& w, std::size_t buffer, std::int64_t at, const Crew& by, std::int64_t t) const;
  // No other statement touches what products are added to until they have ended.
  void check_no_products(std::size_t buffer, const Crew& by, std::int64_t t) const;
  // What other arrays of the scratchpad hold in the bytes of an element that is about to be written is gone.
  void overwrite_others(std::size_t buffer, std::int64_t at, const Crew& by, std::int64_t t);
  Array& array(std::size_t buffer);
  static std::size_t index(const Buffer& b, std::int64_t at, std::int64_t t);

  const Kernel& k_;
  std::vector<Array>& globals_;
  std::vector<std::vector<std::size_t>> overlaps_;          // by buffer
  std::vector<std::vector<Word>> shared_;                   // by buffer
  std::vector<Array> registers_;                            // by buffer, thread by thread
  std::vector<std::vector<Cell>> tensor_;                   // by buffer, lane by lane
  std::vector<std::pair<std::int64_t, Landing>> landings_;  // with their group
  std::int64_t group_ = 0;
};

}  // namespace tilescope::lower
