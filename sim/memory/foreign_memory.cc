// SPDX-License-Identifier: Apache-2.0
#include "sim/memory/foreign_memory.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "sim/common/report.h"
#include "sim/memory/dram_timing.h"

namespace tilescope::sim {

template <class Tick>
void ForeignRequests<Tick>::refuse(std::string_view what) const {
  throw SimError(fmt::format("{}: {}", name_, what));
}

template <class Tick>
void ForeignRequests<Tick>::ask(std::size_t asker, ForeignRequest<Tick> request, Tick before) {
  request.id = first_id_ + open_.size();
  open_.push_back({asker, request.address, request.arrival, before, false, request.partial});
  if (memory_->answers_late()) {  // it takes its requests at their times too
    if (unanswered_ == 0) answered_ = std::max(until_, request.arrival);
    memory_->request({&request, 1});
  } else {
    unsent_.push_back(request);
  }
  ++unanswered_;
}

template <class Tick>
void ForeignRequests<Tick>::run(Tick until, Tick earliest, std::vector<Answered>& answered) {
  answered.clear();
  if (unanswered_ == unsent_.size()) {  // so far it had nothing to answer, maybe for long
    answered_ = until_;
    if (!unsent_.empty())
      answered_ = std::max(answered_, std::ranges::min(unsent_, {}, &ForeignRequest<Tick>::arrival).arrival);
  }
  if (!unsent_.empty()) memory_->request(unsent_);
  unsent_.clear();
  answers_.clear();
  memory_->advance(until, unanswered_, answers_);
  for (const ForeignAnswer<Tick>& a : answers_) {
    Open& open = find(a, earliest);
    if (a.merges) {
      if (!open.partial) refuse(fmt::format("merges request {}, which is no write of a part, or does so twice", a.id));
      open.partial = false;
    } else {
      open.answered = true;
      --unanswered_;
    }
    answered.push_back({open.asker, a});
  }
  if (!answers_.empty()) answered_ = until;
  while (!open_.empty() && open_.front().answered) {
    open_.pop_front();
    ++first_id_;
  }
  until_ = until;
  if (unanswered_ > 0 && until - answered_ > kPatience)
    refuse(fmt::format("the request of address {:#x}, which arrived at clock {}, is not answered within {} clocks",
                       open_.front().address, open_.front().arrival.count(), kPatience.count()));
}

template <class Tick>
typename ForeignRequests<Tick>::Open& ForeignRequests<Tick>::find(const ForeignAnswer<Tick>& answer, Tick earliest) {
  const std::uint64_t number = answer.id - first_id_;
  if (answer.id >= first_id_ && number >= open_.size())
    refuse(fmt::format("answers a request {} that was never made", answer.id));
  if (answer.id < first_id_ || open_[number].answered) refuse(fmt::format("answers request {} twice", answer.id));
  Open& open = open_[number];
  if (answer.done < (memory_->answers_late() ? open.before : std::max(open.before, earliest)))
    refuse(fmt::format("answers in the past: request {}, which arrived at clock {}, is done at {}, and {} is over{}",
                       answer.id, open.arrival.count(), answer.done.count(), earliest.count(), hint_));
  if (answer.done - std::max(open.arrival, until_) > kPatience)
    refuse(fmt::format("answers request {} at clock {}, more than {} clocks after it arrived at {}", answer.id,
                       answer.done.count(), kPatience.count(), open.arrival.count()));
  return open;
}

template class ForeignRequests<Clock>;
template class ForeignRequests<Cycle>;

}  // namespace tilescope::sim
