// SPDX-License-Identifier: Apache-2.0
#include "model/simt/batch.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <utility>

#include "base/check.h"
#include "model/simt/detail/kernel_time.h"
#include "model/simt/detail/spills.h"
#include "model/simt/registers.h"

namespace tilescope::model {
namespace {

// Whether a block does the same on a core of either, and as many of a program's are there at a time: the chips differ
// in nothing but how many cores they have, how fast these are clocked, and what is beyond them.
bool same_core(const Machine& a, const Machine& b) {
  const auto same_name = [](const arch::ComputeSpec& x, const arch::ComputeSpec& y) {
    return x.name == y.name && x.dtype == y.dtype && x.accumulate == y.accumulate;
  };
  if (!std::ranges::equal(a.arch->compute, b.arch->compute, same_name)) return false;
  return static_cast<const CoreRates&>(a) == static_cast<const CoreRates&>(b);
}

// Whether as many blocks a core move the same between the levels of either: all that traffic_of() and add_spills() read
// of rates, as the tests hold it to for every figure of a chip.
bool same_reuse(const Rates& a, const Rates& b) {
  if (a.device_caches.size() != b.device_caches.size()) return false;
  for (std::size_t d = 0; d < a.device_caches.size(); ++d)
    if (a.device_caches[d].capacity_bytes != b.device_caches[d].capacity_bytes) return false;
  return a.cores == b.cores && a.core_cache_bytes == b.core_cache_bytes && a.cache_partitions == b.cache_partitions &&
         a.dram_rows == b.dram_rows && a.bounds == b.bounds;
}

template <class Same>
std::vector<std::size_t> last_same(const std::vector<Machine>& machines, const Same& same) {
  std::vector<std::size_t> out;
  for (std::size_t i = 0; i < machines.size(); ++i) {
    out.push_back(i);
    for (std::size_t before = i; before-- > 0 && out.back() == i;)
      if (same(machines[before], machines[i])) out.back() = before;
  }
  return out;
}

bool same_block_bytes(const Traffic& a, const Traffic& b) {
  for (std::size_t o = 0; o < a.operand.size(); ++o)
    if (a.operand[o].block_bytes != b.operand[o].block_bytes) return false;
  return a.spilled.read == b.spilled.read;
}

// The waves of a kernel, and what they go through: the same on machines that agree in these.
struct SharedWaves {
  std::int64_t blocks_per_core = 0, cores = 0, partitions = 0;
  bool dispatched = false;
  KernelWaves waves;
  KernelTime::StageRounds rounds;
};

}  // namespace

// What a program costs on each machine, of some by the pieces of one before.
class Batch::Costs {
 public:
  Costs(const std::vector<Machine>& machines, const std::vector<std::size_t>& core,
        const std::vector<std::size_t>& reuse)
      : all_(machines), same_core_(core), same_reuse_(reuse), of_(machines.size()) {}

  void times(const Counts& counts, std::span<const std::int64_t> registers, std::span<double> us) {
    waves_.clear();
    for (std::size_t i = 0; i < all_.size(); ++i) of_[i].kernel.reset();
    for (std::size_t begin = 0; begin < all_.size(); begin += kTogether)
      times(counts, registers, us, begin, std::min(all_.size(), begin + kTogether));
  }

 private:
  struct OfMachine {
    StageStorage storage;
    StageCosts costs;
    std::optional<KernelTime> kernel;  // none where the machine is not asked
    std::size_t waves = 0;
    KernelTime::Questions questions;
  };

  // Machines whose networks stay in a core's first cache; any number has the same results.
  static constexpr std::size_t kTogether = 16;

  void times(const Counts& counts, std::span<const std::int64_t> registers, std::span<double> us, std::size_t begin,
             std::size_t end) {
    networks_.clear();
    for (std::size_t i = begin; i < end; ++i) {
      if (registers[i] < 0) continue;
      if (!find(counts, registers, i)) {
        us[i] = std::numeric_limits<double>::infinity();
        continue;
      }
      of_[i].waves = waves_of(i);
      const SharedWaves& w = waves_[of_[i].waves];
      of_[i].kernel->ask(w.waves, w.rounds, networks_, of_[i].questions);
    }
    networks_.solve();
    for (std::size_t i = begin; i < end; ++i) {
      if (!of_[i].kernel) continue;
      const SharedWaves& w = waves_[of_[i].waves];
      us[i] = of_[i].kernel->total_us(of_[i].kernel->elapsed_us(w.waves, w.rounds, of_[i].questions, networks_));
    }
  }

  // The last machine before one that is asked too, is the same in that, and agrees.
  template <class Agrees>
  const OfMachine* before(std::size_t i, const std::vector<std::size_t>& same, const Agrees& agrees) const {
    while (same[i] < i) {
      i = same[i];
      if (of_[i].kernel && agrees(i)) return &of_[i];
    }
    return nullptr;
  }

  // The costs on one machine after those before it; false where it lacks the instruction.
  bool find(const Counts& counts, std::span<const std::int64_t> registers, std::size_t i) {
    const Machine& m = all_[i];
    OfMachine& of = of_[i];
    const OfMachine* core = before(i, same_core_, [&](std::size_t other) { return registers[other] == registers[i]; });
    if (core == nullptr) {
      if (!find_occupancy(counts, m, registers[i], of.storage, of.costs)) return false;
    } else {
      of.storage.arithmetic = core->storage.arithmetic;
      of.costs.counts = core->costs.counts;
      of.costs.occupancy = core->costs.occupancy;
    }
    const std::int64_t per_core = of.costs.occupancy.blocks_per_core;
    const OfMachine* reuse = before(i, same_reuse_, [&](std::size_t other) {
      const Occupancy& known = of_[other].costs.occupancy;
      return known.blocks_per_core == per_core && known.registers_per_thread == of.costs.occupancy.registers_per_thread;
    });
    if (reuse == nullptr) {
      of.storage.traffic = traffic_of(counts, m, per_core);
      add_spills(counts, m, of.costs.occupancy, per_core, of.storage.traffic);
    }
    of.costs.traffic = reuse == nullptr ? &of.storage.traffic : reuse->costs.traffic;
    const bool as_before = core != nullptr && same_block_bytes(*core->costs.traffic, *of.costs.traffic);
    if (!as_before)
      of.storage.work = work_of_block(counts, m, of.storage.arithmetic, of.costs.occupancy, *of.costs.traffic);
    of.costs.work = as_before ? core->costs.work : &of.storage.work;
    of.costs.core.emplace(counts, *of.costs.work, *of.costs.traffic, m);
    of.costs.timed = &counts;
    of.kernel.emplace(std::span(&of.costs, 1), m);
    return true;
  }

  std::size_t waves_of(std::size_t i) {
    const Machine& m = all_[i];
    const std::int64_t blocks_per_core = of_[i].costs.occupancy.blocks_per_core;
    const bool dispatched = m.block_interval_us.has_value();
    const auto known = std::find_if(waves_.begin(), waves_.end(), [&](const SharedWaves& w) {
      return w.blocks_per_core == blocks_per_core && w.cores == m.cores && w.partitions == m.partitions &&
             w.dispatched == dispatched;
    });
    const auto place = static_cast<std::size_t>(known - waves_.begin());
    if (known != waves_.end()) return place;
    SharedWaves& w = waves_.emplace_back();
    w.blocks_per_core = blocks_per_core, w.cores = m.cores, w.partitions = m.partitions, w.dispatched = dispatched;
    w.waves = of_[i].kernel->waves();
    w.rounds = of_[i].kernel->rounds(w.waves);
    return place;
  }

  const std::vector<Machine>& all_;
  const std::vector<std::size_t>&same_core_, &same_reuse_;
  std::vector<OfMachine> of_;
  std::vector<SharedWaves> waves_;
  Networks networks_;
};

Batch::Batch(std::vector<Machine> machines)
    : machines_(std::move(machines)),
      same_core_(last_same(machines_, same_core)),
      same_reuse_(last_same(machines_, same_reuse)),
      costs_(std::make_unique<Costs>(machines_, same_core_, same_reuse_)) {
  for (const Machine& m : machines_)
    base::check(static_cast<const Geometry&>(m) == static_cast<const Geometry&>(machines_.front()),
                "machines of a batch are of one geometry");
}
Batch::~Batch() = default;

void Batch::held_registers(const Counts& counts, std::span<std::int64_t> out) const {
  for (std::size_t i = 0; i < machines_.size(); ++i)
    out[i] = same_core_[i] < i ? out[same_core_[i]] : model::held_registers(counts, machines_[i]);
}

void Batch::times(const Counts& counts, std::span<const std::int64_t> registers, std::span<double> us) {
  costs_->times(counts, registers, us);
}

}  // namespace tilescope::model
