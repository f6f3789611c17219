// SPDX-License-Identifier: Apache-2.0
#include "model/simt/detail/warm_cache.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace tilescope::model {
namespace {

using tile::Operand;
using tile::StageProgram;

double whole_bytes_of(const Operand& o) { return static_cast<double>(o.elements * o.element.n); }

TensorUse parts_of(const StageProgram& p, const Traffic& traffic) {
  const double bytes = traffic.operand[p.space->inputs.size()].total_bytes;
  return {p.space->tensor_name(p.space->output) + " parts", bytes, bytes, true};
}

const TensorUse* use_of(const KernelUses& kernel, const std::string& tensor) {
  const auto found = std::find_if(kernel.tensors.begin(), kernel.tensors.end(),
                                  [&](const TensorUse& u) { return u.tensor == tensor; });
  return found == kernel.tensors.end() ? nullptr : &*found;
}

void add(KernelUses& uses, TensorUse use) {
  if (use.bytes <= 0) return;
  for (TensorUse& u : uses.tensors) {
    if (u.tensor != use.tensor) continue;
    u.bytes = std::min(u.whole_bytes, u.bytes + use.bytes);
    u.written = u.written || use.written;
    return;
  }
  uses.tensors.push_back(std::move(use));
}

// What a kernel reads and writes, wave by wave.
struct Stream {
  double read = 0, written = 0;
  double wave = 1;  // as a share of the kernel

  void add(const TensorUse& u) { (u.written ? written : read) += u.bytes; }
  // Stores come a wave behind the loads.
  double touched_at_load(double at) const { return read * at + written * std::max(0.0, at - wave); }
  double left_at_load(double at) const { return all() - touched_at_load(at); }
  double left_at_store(double at) const { return written * (1 - at) + read * (1 - std::min(1.0, at + wave)); }
  double all() const { return read + written; }
};

// Whole waves, as long as each other.
double wave_of(double waves) { return 1 / std::max(1.0, std::round(waves)); }

// Share of x in [0, 1] for which what grows evenly from `first` to `last` is at most `room`.
double share_within(double first, double last, double room) {
  if (std::max(first, last) <= room) return 1;
  if (std::min(first, last) > room) return 0;
  const double crossing = (room - first) / (last - first);
  return first <= room ? crossing : 1 - crossing;
}

}  // namespace

void add_uses(KernelUses& uses, const Counts& counts, const Traffic& traffic) {
  const StageProgram& p = *counts.program;
  const std::size_t inputs = p.space->inputs.size();
  for (std::size_t i = 0; i < inputs; ++i) {
    const Operand& o = p.space->inputs[i];
    if (counts.flows[i].moves)
      add(uses, {p.space->tensor_name(o), traffic.operand[i].total_bytes, whole_bytes_of(o), false});
  }
  if (counts.stays) return;
  const Operand& out = p.space->output;
  add(uses, p.is_split()
                ? parts_of(p, traffic)
                : TensorUse{p.space->tensor_name(out), traffic.operand[inputs].total_bytes, whole_bytes_of(out), true});
}

KernelUses uses_of_combining(const StageProgram& p, const Machine& m, const Traffic& traffic) {
  if (!p.is_split()) return {};
  TensorUse parts = parts_of(p, traffic);
  parts.written = false;
  const Operand& out = p.space->output;
  return {{std::move(parts), {p.space->tensor_name(out), whole_bytes_of(out), whole_bytes_of(out), true}},
          static_cast<double>(out.elements) / static_cast<double>(m.cores * m.max_threads)};
}

WarmCache::WarmCache(const Machine& m) {
  double room = 0;
  for (std::size_t c = 0; c < m.device_caches.size(); ++c) {
    room = std::max(room, m.device_caches[c].capacity_bytes / (c == 0 ? m.cache_partitions : 1));
    room_.push_back(room);
  }
}

const WarmCache::Entry* WarmCache::entry_of(const std::string& tensor) const {
  const auto found =
      std::find_if(entries_.begin(), entries_.end(), [&](const Entry& e) { return e.use.tensor == tensor; });
  return found == entries_.end() ? nullptr : &*found;
}

double WarmCache::share_left(const Entry& e, const KernelUses& next, std::size_t cache) const {
  Stream earlier{.wave = wave_of(waves_[e.kernel])}, later{.wave = wave_of(next.waves)};
  double between = 0;
  for (const Entry& other : entries_) {
    if (other.kernel == e.kernel) earlier.add(other.use);
    if (other.kernel > e.kernel) between += other.use.bytes;
  }
  // What kernels between them have touched counts once, though the later kernel touches it again.
  for (const TensorUse& u : next.tensors) {
    const Entry* known = entry_of(u.tensor);
    if (known == nullptr || known->kernel <= e.kernel) later.add(u);
  }
  if (earlier.all() + between + later.all() <= room_[cache]) return 1;
  if (between > room_[cache]) return 0;
  const TensorUse* again = use_of(next, e.use.tensor);
  const double own = again != nullptr ? again->bytes : 0;

  // The tensor is cut into the waves of the kernel that has fewer, of which so many are looked at. Both kernels come to
  // a line of a wave in any order: the later one at so many samples, the earlier one evenly.
  constexpr int kWaves = 64, kSamples = 16;
  const double waves = std::round(1 / std::max(earlier.wave, later.wave));
  const int looked_at = static_cast<int>(std::min(waves, double{kWaves}));
  const auto left = [&](double at) { return e.use.written ? earlier.left_at_store(at) : earlier.left_at_load(at); };
  double sum = 0;
  for (int w = 0; w < looked_at; ++w) {
    const double wave = std::floor((w + 0.5) * waves / looked_at);
    const double begin = wave / waves, end = (wave + 1) / waves;
    for (int i = 0; i < kSamples; ++i) {
      const double of_wave = (i + 0.5) / kSamples;
      const double touched = between + later.touched_at_load(begin + of_wave / waves);
      // Of the wave's first line, what the later kernel has touched is in `left` as well.
      const double twice = own * of_wave / waves;
      sum += share_within(left(begin) + touched - twice, left(end) + touched, room_[cache]);
    }
  }
  return sum / (looked_at * kSamples);
}

double WarmCache::held(const TensorUse& use, const KernelUses& kernel, std::size_t cache) const {
  const Entry* e = entry_of(use.tensor);
  if (e == nullptr || use.bytes <= 0) return 0;
  // Which parts of a tensor two kernels touch is not known: no more of them is the same than has to be.
  const double common = std::clamp((e->use.bytes + use.bytes - use.whole_bytes) / use.bytes, 0.0, 1.0);
  return common * share_left(*e, kernel, cache);
}

void WarmCache::serve(Traffic& t, const StageProgram& p, const KernelUses& kernel) const {
  for (std::size_t i = 0; i < p.space->inputs.size(); ++i) {
    OperandTraffic& o = t.operand[i];
    const TensorUse* use = use_of(kernel, p.space->tensor_name(p.space->inputs[i]));
    if (o.total_bytes <= 0 || use == nullptr) continue;
    for (std::size_t c = 0; c < room_.size(); ++c) {
      const double found = held(*use, kernel, c) * o.total_bytes;
      const bool last = c + 1 == room_.size();
      double& behind = last ? t.dram.read : t.caches[c + 1].read;
      behind = std::max(0.0, behind - found);
      if (last) o.dram_bytes = std::max(0.0, o.dram_bytes - found);
    }
  }
}

void WarmCache::touch(const KernelUses& kernel) {
  std::vector<Entry> touched;
  for (const TensorUse& use : kernel.tensors) {
    double dirty = use.written ? use.bytes : 0;
    if (const Entry* e = entry_of(use.tensor); e != nullptr && !use.written && !room_.empty())
      dirty = e->dirty_bytes * share_left(*e, kernel, room_.size() - 1);
    touched.push_back({use, waves_.size(), dirty});
  }
  std::erase_if(entries_, [&](const Entry& e) { return use_of(kernel, e.use.tensor) != nullptr; });
  entries_.insert(entries_.end(), touched.begin(), touched.end());
  waves_.push_back(kernel.waves);
}

double WarmCache::dirty_bytes() const {
  if (room_.empty()) return 0;
  double sum = 0;
  for (const Entry& e : entries_) sum += e.dirty_bytes * share_left(e, {{}, waves_[e.kernel]}, room_.size() - 1);
  return std::min(sum, room_.back());  // of many waves only some are looked at
}

}  // namespace tilescope::model
