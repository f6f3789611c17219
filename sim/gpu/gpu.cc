#include "sim/gpu/gpu.h"

#include <algorithm>

namespace tilescope::sim {
namespace {

Tally& nobodys() {
  static Tally tally;  // until the first kernel begins
  return tally;
}

}  // namespace

Gpu::Gpu(const Machine& machine, double tolerance)
    : machine_(machine), tolerance_(tolerance), memory_(machine.memory, nobodys()) {
  for (int c = 0; c < machine.cores; ++c) cores_.emplace_back(c, machine);
}

void Gpu::begin(WarpCode& code, const Occupancy& occupancy, Tally& tally, bool sampled, bool fits_cache, Cycle now) {
  tally_ = &tally;
  tally.copies.assign(code.copies(), {});
  memory_.use(tally);
  for (Core& c : cores_) c.prepare(code, occupancy, tally);
  blocks_ = code.indices().kernel().blocks;
  next_block_ = 0;
  resident_blocks_ = 0;
  warps_per_block_ = occupancy.warps;
  has_steps_ = code.step_loop() >= 0;
  fits_cache_ = fits_cache;
  end_ = now;
  sampler_.emplace(SamplerSpec{sampled, blocks_, occupancy.blocks_per_core * machine_.cores, tolerance_}, tally);
}

void Gpu::settle(Cycle now, std::vector<int>& ran) {
  std::sort(ran.begin(), ran.end());
  take_finished(now, ran);
  take_requests(now, ran);
  dispatch(now, ran);
  sample(now);
  std::sort(ran.begin(), ran.end());
  ran.erase(std::unique(ran.begin(), ran.end()), ran.end());
}

void Gpu::take_finished(Cycle now, const std::vector<int>& ran) {
  for (const int c : ran)
    if (const Core::Finished f = core(c).take_finished(); f.blocks > 0) {
      tally_->blocks += f.blocks;
      tally_->block_cycles += f.blocks * (now + sampler_->skipped()) - f.stamps;
      resident_blocks_ -= f.blocks;
      end_ = std::max(end_, now);
      sampler_->residents_changed();
    }
}

void Gpu::take_requests(Cycle now, std::vector<int>& ran) {
  replies_.clear();
  memory_.advance(now, replies_);
  for (const int c : ran) {
    for (const MemoryRequest& r : core(c).outbox()) memory_.accept(r, replies_);
    core(c).outbox().clear();
  }
  for (const MemoryReply& r : replies_) {
    core(r.core).reply(r);
    ran.push_back(r.core);
  }
}

// One block to every core that has room, then the next round: neighbours spread over the cores as they start.
void Gpu::dispatch(Cycle now, std::vector<int>& ran) {
  bool some = next_block_ < blocks_ && resident_blocks_ < static_cast<std::int64_t>(cores_.size()) * core(0).capacity();
  while (some) {
    some = false;
    for (int c = 0; c < cores() && next_block_ < blocks_; ++c) {
      if (!core(c).has_room()) continue;
      core(c).start(next_block_++, now, now + sampler_->skipped());
      ++resident_blocks_;
      ran.push_back(c);
      some = true;
    }
    sampler_->residents_changed();
  }
}

void Gpu::sample(Cycle now) {
  if (!fits_cache_ && !memory_.turned_over()) return;
  next_block_ += sampler_->jump_waves(now, blocks_ - next_block_);
  if (!has_steps_ || !sampler_->steps_due(resident_blocks_ * warps_per_block_)) return;
  std::vector<StepProgress> progress;
  for (const Core& c : cores_) progress.push_back(c.progress());
  const std::vector<std::int64_t> jumps = sampler_->jump_steps(now, progress);
  for (std::size_t c = 0; c < jumps.size(); ++c) cores_[c].jump(jumps[c]);
}

}  // namespace tilescope::sim
