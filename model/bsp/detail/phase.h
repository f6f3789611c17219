// SPDX-License-Identifier: Apache-2.0
#pragma once
// What one exchange takes: its bytes on the busiest port or link, at the DRAM, and the way of its last word. Links of a
// mesh of few cores are counted one by one where that is asked for, others known in closed form.

#include <optional>
#include <span>
#include <vector>

#include "arch/spec.h"
#include "model/bsp/detail/link.h"
#include "model/bsp/detail/mesh.h"
#include "tile/bsp/memory.h"
#include "tile/bsp/schedule.h"

namespace tilescope::model::bsp {

// Where a stage's inputs and results are at home, and what lies between there and the cores.
class StageHomes {
 public:
  StageHomes(std::span<const tile::BspStage> stages, std::size_t number, const arch::ArchSpec& a);

  const tile::BspStage& stage() const { return s_; }
  const arch::ArchSpec& chip() const { return a_; }
  const LinkModel& link() const { return link_; }
  const DramModel& dram() const { return dram_; }
  bool outside(std::size_t input) const { return outside_[input]; }
  bool stored() const { return stored_; }
  // Elements of an input that a core has at home.
  std::int64_t home_of(std::size_t input) const;

  // Of an input's windows on every core: from where it is at home, of what is gathered a slice; from the other cores of
  // a ring that gathers it; to the next core of its ring.
  Traffic brought(std::size_t i, const tile::Windows& windows) const;
  Traffic gathered(std::size_t i, const tile::Windows& windows) const;
  Traffic shifted(std::size_t i) const;
  // Of a prearranged input, what neighbours have of a core's window: of the core that gets most.
  Traffic halo(std::size_t i) const;
  double halo_way(std::size_t i) const;  // of its last word
  // Cores that hold parts of the same sums each add up a share. Where sums are fewer than cores, the last ones have
  // none.
  struct SumShares {
    std::int64_t parts = 1, sums = 0, share = 0, receivers = 0;
    double element_bytes = 0;
  };
  SumShares sum_shares() const;
  // Shares of partial sums, of the core that gets most; the bytes that a core gets in the mean. One block of every
  // core's results to the DRAM.
  Traffic reduced() const;
  double mean_reduced_bytes() const;
  Traffic stored_block() const;

 private:
  struct FromHome;
  FromHome from_home(std::size_t i, const tile::Extents& tile, std::int64_t home) const;
  Traffic from_dram(std::size_t i, const tile::Extents& tile) const;
  Traffic from_homes(std::size_t i, const tile::Extents& tile) const;
  double share_at_home(const tile::Operand& o, std::int64_t home) const;
  double pieces(const tile::Operand& o, const tile::Extents& tile, std::int64_t home) const;
  double pieces_in_dram(const tile::Operand& o, const tile::Extents& tile) const;

  const tile::BspStage& s_;
  const arch::ArchSpec& a_;
  LinkModel link_;
  DramModel dram_;
  bool stored_;
  std::vector<bool> outside_;  // by input: it is at home in the DRAM
};

class Phase {
 public:
  Phase(const StageHomes& of, bool counted);

  void bring(std::size_t input);
  void gather(std::size_t input);
  void shift(std::size_t input);
  void halo(std::size_t input);  // in a phase of halos alone
  void reduce();
  void store();

  bool empty() const { return sum_.received == 0; }
  const Traffic& traffic() const { return sum_; }
  // Cycles of the bytes at the busiest link or port, of the last word's way; of the DRAM's channels, of its latency.
  double link() const { return mesh_ ? mesh_->mesh().busiest() : of_.link().cycles(sum_); }
  double way() const { return mesh_ ? mesh_->mesh().longest_way() : of_neighbours_.value_or(of_.link().horizon()); }
  double dram() const { return of_.dram().cycles(sum_); }
  double latency() const { return sum_.read > 0 ? of_.dram().latency() : 0; }
  // The DRAM's channels fill the link as they drain.
  double cycles() const { return empty() ? 0 : std::max(link(), dram()) + way() + latency(); }

 private:
  const StageHomes& of_;
  Traffic sum_;
  std::optional<MeshTraffic> mesh_;
  std::optional<double> of_neighbours_;  // the way of the last word where only neighbours send to each other
};

}  // namespace tilescope::model::bsp
