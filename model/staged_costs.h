#pragma once
// What a block's use of a staged operand costs the scratchpad, and a memory of it: of the programs that a search asks
// about, most use their operands as others before them did.

#include <cstdint>
#include <vector>

#include "arch/spec.h"
#include "model/staged_use.h"
#include "model/warp_access.h"
#include "tile/program.h"

namespace tilescope::model {

// One access instruction of one warp.
struct StagedAccess {
  BankUse use;
  std::int64_t served = 0;  // passes, where groups of lanes whose neighbours agree are served together
  double accesses = 0;      // of all warps, in one reduction step
  double instructions = 0;  // as many, or none where the instruction that multiplies reads for itself
};

struct StagedCost {
  StagedAccess write, read;
};

// What of a chip it hangs on.
struct StagingChip {
  explicit StagingChip(const arch::ArchSpec& a);

  std::int64_t warp = 0, banks = 0, bank_width = 0, uniform_groups = 1;
  base::Bytes max_access;
};

StagedCost staged_cost(const tile::StageProgram& p, std::size_t operand, const StagingChip& chip);

// The same, each asked of the addresses once. It belongs to one caller, who asks on one thread; what it answers does
// not depend on what it was asked before.
class StagedCosts {
 public:
  explicit StagedCosts(const arch::ArchSpec& a);

  // Valid until the next question.
  const StagedCost& of(const tile::StageProgram& p, std::size_t operand);

 private:
  // Everything of a program that its use of one operand hangs on.
  using Key = std::vector<std::int64_t>;
  struct Entry {
    std::uint64_t hash = 0;
    std::size_t begin = 0, size = 0;  // of its key, in words_
    StagedCost cost;
  };

  void read_key(const tile::StageProgram& p, std::size_t operand);
  void grow();

  StagingChip chip_;
  Key key_;  // of the question
  std::vector<std::int64_t> words_;
  std::vector<Entry> entries_;
  std::vector<std::uint32_t> places_;  // a hash table of them: their numbers from one on
};

}  // namespace tilescope::model
