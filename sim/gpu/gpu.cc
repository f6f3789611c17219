// SPDX-License-Identifier: Apache-2.0
#include "sim/gpu/detail/gpu.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <span>

#include "sim/gpu/detail/step_jumps.h"
#include "sim/memory/detail/device_memory.h"
#include "sim/memory/detail/foreign_caches.h"
#include "sim/timeline.h"

namespace tilescope::sim {
namespace {

// Times that the device's caches were filled before steps and waves are looked at.
constexpr double kUsed = 0.25, kReplaced = 2;

// Replies ahead of the one in hand whose memory is asked for.
constexpr std::size_t kAhead = 8;

Statistics& unused_statistics() {
  static Statistics statistics;  // until the first kernel begins
  return statistics;
}

std::unique_ptr<MemorySystem> memory_of(const Machine& m) {
  if (m.behind_cores) return std::make_unique<ForeignCaches>(*m.behind_cores, m.memory, m.device_cache_names.size());
  return std::make_unique<DeviceMemory>(m.memory, unused_statistics());
}

}  // namespace

Gpu::Gpu(const Machine& machine, std::int64_t max_blocks, double tolerance, Timeline* timeline)
    : machine_(machine),
      tolerance_(tolerance),
      timeline_(timeline),
      memory_(memory_of(machine)),
      own_(dynamic_cast<DeviceMemory*>(memory_.get())),
      turn_(memory_->min_latency()),
      due_(static_cast<std::size_t>(std::min(machine.cores, std::max<std::int64_t>(1, max_blocks)))),
      rate_(machine.block_interval, turn_) {
  const std::int64_t used = std::min(machine.cores, std::max<std::int64_t>(1, max_blocks));
  for (int c = 0; c < used; ++c) cores_.emplace_back(c, machine);
  if (timeline == nullptr) return;
  if (own_ != nullptr) own_->watch(*timeline);
  for (int c = 0; c < cores(); ++c)
    if (timeline->shows(c)) core(c).watch(*timeline);
}

void Gpu::begin(WarpCode& code, const Occupancy& occupancy, Statistics& statistics, bool sampled,
                std::int64_t footprint, Cycle now) {
  code_ = &code;
  statistics_ = &statistics;
  statistics.copies.assign(code.counted(), {});
  statistics.operations.assign(machine_.instructions, 0);
  if (own_ != nullptr) own_->use(statistics);
  for (Core& c : cores_) c.prepare(code, occupancy, statistics);
  blocks_ = code.blocks();
  cluster_ = code.indices().kernel().cluster;
  ended_.clear();
  if (machine_.part) pairs_.emplace(machine_.cores, code.counted(), machine_.memory);
  next_block_ = 0;
  resident_blocks_ = 0;
  roomy_.resize(cores_.size());
  std::iota(roomy_.begin(), roomy_.end(), 0);
  warps_per_block_ = occupancy.warps;
  footprint_ = footprint;
  end_ = now;
  rate_.begin(now);
  sampler_.emplace(SamplerSpec{.enabled = sampled,
                               .resident = occupancy.blocks_per_core * machine_.cores / cluster_ * cluster_,
                               .clusters = cluster_ > 1,
                               .steps = code.steps(),
                               .uneven = code.loops().uneven(),
                               .step_period = code.step_period(),
                               .cache_bytes = own_ != nullptr ? own_->bytes_of_caches() : std::vector<std::int64_t>(),
                               .tolerance = tolerance_},
                   statistics);
}

Cycle Gpu::end() const {
  Cycle last = end_;
  for (const Core& c : cores_) last = std::max(last, c.memory().stored());
  return last;
}

std::int64_t Gpu::dram_refreshes(Cycle until) const { return own_ != nullptr ? own_->refreshes(until) : 0; }

std::optional<std::string> Gpu::stuck() const {
  for (const Core& c : cores_)
    if (auto why = c.stuck()) return why;
  return std::nullopt;
}

void Gpu::settle(Cycle end, std::vector<int>& ran) {
  std::sort(ran.begin(), ran.end());
  for (const int c : ran) due_.add(c);
  if (cluster_ > 1) take_ended_clusters(ran);
  take_finished(end, ran);
  take_requests(end, ran);
  if (cluster_ > 1) tell_clusters(end, ran);
  dispatch(end);
  sample(end);
  if (timeline_ != nullptr) show(end);
  due_.take(ran);
}

void Gpu::take_finished(Cycle end, const std::vector<int>& ran) {
  for (const int c : ran)
    if (const Core::Finished f = core(c).take_finished(); f.blocks > 0) {
      statistics_->blocks += f.blocks;
      statistics_->block_cycles += (f.ends + f.blocks * sampler_->skipped() - f.stamps).count();
      resident_blocks_ -= f.blocks;
      end_ = std::max(end_, std::min(end, f.last));
      roomy_.push_back(c);
      sampler_->residents_changed(end);
    }
}

void Gpu::take_requests(Cycle end, const std::vector<int>& ran) {
  replies_.clear();
  requests_.clear();
  unserved_.clear();
  for (const int c : ran) {
    std::vector<MemoryRequest>& asked = core(c).memory().outbox();
    if (pairs_) pairs_->pair(asked, core(c).take_copies(), end, unserved_);
    requests_.insert(requests_.end(), asked.begin(), asked.end());
    asked.clear();
  }
  std::stable_sort(requests_.begin(), requests_.end(),
                   [](const MemoryRequest& a, const MemoryRequest& b) { return a.at < b.at; });
  memory_->run(requests_, end, replies_);
  if (pairs_) {
    pairs_->unpack(end, replies_);
    replies_.insert(replies_.end(), unserved_.begin(), unserved_.end());
  }
  for (std::size_t i = 0; i < replies_.size(); ++i) {
    if (const std::size_t soon = i + 2 * kAhead; soon < replies_.size())
      core(replies_[soon].core).memory().expect(replies_[soon].ticket);
    if (const std::size_t next = i + kAhead; next < replies_.size())
      core(replies_[next].core).memory().expect_now(replies_[next].ticket);
    core(replies_[i].core).reply(replies_[i]);
    due_.add(replies_[i].core);
  }
}

// Messages come to cores that have run until `end`. Lines that are multicast pass the port of each core that they come
// to.
void Gpu::tell_clusters(Cycle end, const std::vector<int>& ran) {
  std::vector<ClusterMessage> all;
  const auto take = [&](int c) {
    std::vector<ClusterMessage>& from = core(c).warps().to_peers();
    all.insert(all.end(), from.begin(), from.end());
    from.clear();
  };
  for (const int c : ran) take(c);
  for (const int c : due_.all()) take(c);  // replies came to these
  std::stable_sort(all.begin(), all.end(), [](const auto& a, const auto& b) { return a.at < b.at; });
  for (ClusterMessage& m : all) {
    if (m.from_memory && own_ != nullptr) m.at = own_->receive_too(m.to.core, m.bytes, m.at);
    m.at = std::max(m.at, end);
    core(m.to.core).hear(m);
    due_.add(m.to.core);
  }
}

// A cluster leaves its cores when all of its blocks have ended; these cores join `ran`.
void Gpu::take_ended_clusters(std::vector<int>& ran) {
  for (std::size_t i = 0, before = ran.size(); i < before; ++i)
    for (const Core::Ended& e : core(ran[i]).take_ended()) {
      EndedCluster& cluster = ended_[e.cluster];
      cluster.blocks.push_back({ran[i], e.place});
      cluster.last = std::max(cluster.last, e.at);
      if (std::ssize(cluster.blocks) < cluster_) continue;
      for (const ClusterBlock& b : cluster.blocks) {
        core(b.core).release(b.place, cluster.last);
        ran.push_back(b.core);
      }
      ended_.erase(e.cluster);
    }
  std::sort(ran.begin(), ran.end());
  ran.erase(std::unique(ran.begin(), ran.end()), ran.end());
}

void Gpu::dispatch(Cycle now) {
  if (cluster_ > 1) return start_clusters(now);
  start_blocks(now);
  roomy_.clear();  // what has room from here on has no block to come
}

// The blocks of a cluster to neighbours among the cores with a free CTA slot, on each one. They begin together.
void Gpu::start_clusters(Cycle now) {
  std::sort(roomy_.begin(), roomy_.end());
  roomy_.erase(std::unique(roomy_.begin(), roomy_.end()), roomy_.end());
  const auto size = static_cast<std::size_t>(cluster_);
  while (next_block_ < blocks_ && roomy_.size() >= size) {
    for (std::size_t first = 0; first + size <= roomy_.size() && next_block_ < blocks_; first += size) {
      const std::span<const int> cores(roomy_.data() + first, size);
      Cycle room{}, handed{};
      for (const int c : cores) room = std::max(room, core(c).room_since(now));
      for (std::size_t b = 0; b < size; ++b) handed = rate_.hand_out(room, now);
      std::vector<ClusterBlock> blocks;
      for (const int c : cores) {
        blocks.push_back({c, core(c).start(next_block_ + std::ssize(blocks), now, handed, sampler_->skipped())});
        due_.add(c);
      }
      for (std::size_t b = 0; b < size; ++b) {
        std::vector<ClusterBlock> peers = blocks;
        peers.erase(peers.begin() + static_cast<std::ptrdiff_t>(b));
        core(blocks[b].core).join_cluster(blocks[b].place, next_block_ / cluster_, std::move(peers));
      }
      next_block_ += cluster_;
      resident_blocks_ += cluster_;
    }
    std::erase_if(roomy_, [&](int c) { return !core(c).has_room(); });
    sampler_->residents_changed(now);
  }
}

// One block to every core with a free CTA slot, then the next round: neighbours spread over the cores as they start.
void Gpu::start_blocks(Cycle now) {
  while (next_block_ < blocks_ && !roomy_.empty()) {
    for (const int c : roomy_) {
      if (next_block_ == blocks_) break;
      core(c).start(next_block_++, now, rate_.hand_out(core(c).room_since(now), now), sampler_->skipped());
      ++resident_blocks_;
      due_.add(c);
    }
    std::erase_if(roomy_, [&](int c) { return !core(c).has_room(); });
    sampler_->residents_changed(now);
  }
}

// Steps are looked at once a part of the device's caches is filled; waves when what fills it has itself been replaced,
// for before that what leaves it is what came first, and what came first need not be like the rest.
void Gpu::sample(Cycle now) {
  if (own_ == nullptr) return;  // a user's caches cannot be warmed
  const double filled = own_->times_filled(footprint_).value_or(kReplaced);
  const Cycle skipped = sampler_->skipped();
  if (filled >= kReplaced) {
    const std::int64_t left_out = sampler_->jump_waves(now, blocks_ - next_block_);
    next_block_ += left_out;
    if (left_out > 0 && timeline_ != nullptr) timeline_->left_out_blocks(now, sampler_->skipped() - skipped, left_out);
  }
  if (filled < kUsed) return;
  if (code_->step_loop() < 0 || !sampler_->steps_due(resident_blocks_ * warps_per_block_)) return;
  std::vector<StepProgress> progress;
  for (int c = 0; c < cores(); ++c) add_progress(core(c).warps(), *code_, c, progress);
  const FastForward t = sampler_->jump_steps(now, progress, next_block_, blocks_ - next_block_);
  if (t.jumps.empty()) return;
  next_block_ += t.blocks;
  warm(t);
  jump(t);
  if (timeline_ != nullptr) timeline_->left_out_steps(now, sampler_->skipped() - skipped, progress, t.jumps);
}

// The caches see what the last of a jump's steps would have touched, in the order in which they would have run
// (Wunderlich et al., SMARTS, ISCA 2003, call it functional warming). Else a block that lags behind would read again
// what those ahead of it have read in steps that were skipped.
void Gpu::warm(const FastForward& t) {
  struct Step {
    double at;
    const SkippedSteps* skipped;
    std::int64_t number;
  };
  std::vector<Step> steps;
  for (const SkippedSteps& skipped : t.skipped) {
    if (skipped.steps == 0) continue;
    const double each = (skipped.to - skipped.from) / static_cast<double>(skipped.steps);
    const auto before = static_cast<std::int64_t>(std::max(0.0, (t.cycles - t.warmed - skipped.from) / each));
    for (std::int64_t n = skipped.steps - 1; n >= before; --n)
      steps.push_back({skipped.from + (static_cast<double>(n) + 1) * each, &skipped, n});
  }
  std::stable_sort(steps.begin(), steps.end(), [](const Step& a, const Step& b) {
    return a.at != b.at ? a.at < b.at : a.skipped->place < b.skipped->place;
  });
  const auto places = static_cast<std::size_t>(core(0).capacity());
  for (const Step& s : steps)
    core(static_cast<int>(s.skipped->place / places))
        .warm_caches(s.skipped->place % places, *s.skipped, s.number, *own_);
  sampler_->cleaned(own_->take_cleaned());
}

// Blocks jump, and those that started meanwhile were dealt to their cores' partitions as any.
void Gpu::jump(const FastForward& t) {
  const auto places = static_cast<std::size_t>(core(0).capacity());
  std::map<std::int64_t, std::size_t> started;  // by block, which is their order; where
  for (const SkippedSteps& skipped : t.skipped)
    if (skipped.block >= 0) started[skipped.block] = skipped.place;
  std::vector<std::vector<std::size_t>> on_core(cores_.size());
  for (const auto& [block, place] : started) on_core[place / places].push_back(place % places);
  std::span<const StepJump> left = t.jumps;
  for (std::size_t c = 0; c < cores_.size(); ++c) left = jump_steps(cores_[c].warps(), *code_, left, on_core[c]);
}

void Gpu::show(Cycle until) {
  for (const Core& c : cores_) c.show(until);
  if (own_ != nullptr) own_->show(*timeline_, until);
  std::int64_t outstanding = 0;
  for (const Core& c : cores_) outstanding += c.memory().outstanding();
  timeline_->sample(Counter::kOutstanding, until, static_cast<double>(outstanding));
  timeline_->sample(Counter::kResidentWarps, until, static_cast<double>(resident_blocks_ * warps_per_block_));
  timeline_->settled(until);
}

}  // namespace tilescope::sim
