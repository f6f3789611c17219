// SPDX-License-Identifier: Apache-2.0
#pragma once
// A user's memory, behind the last cache (sim/memory/external_dram.h) or behind the cores
// (sim/memory/detail/foreign_caches.h). It sees addresses and bytes; ForeignRequests checks the times of its answers.

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sim/common/cycle.h"

namespace tilescope::sim {

// Times are ticks of the requester's clock: Clock behind the last cache, Cycle behind the cores.
template <class Tick>
struct ForeignRequest {
  std::uint64_t id = 0;
  std::int64_t address = 0, bytes = 0;  // multiples of a burst, or the accessed bytes of a line's sectors
  bool write = false;
  bool partial = false;  // a partial write of a unit that is written whole
  Tick arrival{};        // not before the `until` of the last advance
  // Belongs to the same request of the caches or of a core as the piece before it; Tilescope's own memories serve such
  // pieces as one.
  bool continues = false;
  int core = 0;  // that sends the request
};

template <class Tick>
struct ForeignAnswer {
  std::uint64_t id = 0;
  Tick done{};
  bool row_hit = false;
  bool merges = false;  // the read of a partial write, which is answered again when the write is done
  int level = 0;        // source of a core's data: caches of the device in the order of reach, then the DRAM
};

template <class Tick>
class ForeignMemory {
 public:
  virtual ~ForeignMemory() = default;
  virtual void request(std::span<const ForeignRequest<Tick>> requests) = 0;
  // Decides what happens before `until` and adds the resulting answers; `open` is the number of unanswered requests.
  virtual void advance(Tick until, std::size_t open, std::vector<ForeignAnswer<Tick>>& answers) = 0;
  // Whether the memory reports what is done before `until` only in the next call, because it answers in SystemC's time
  // and turns run ahead of that time.
  virtual bool answers_late() const { return false; }
  // Whether work is left although no request is open.
  virtual bool busy() const { return false; }
};

// A user's caches and memory in place of the link, the device's caches and the DRAM.
struct BehindCores {
  std::function<std::unique_ptr<ForeignMemory<Cycle>>()> make;
  std::string name;   // starts messages about its errors
  std::string hint;   // ends the message about an answer in the past
  Cycle lookahead{};  // minimum time from a request until its data can be used; 0: unknown
};

// The unanswered requests to a user's memory; instantiated for Clock and Cycle.
template <class Tick>
class ForeignRequests {
 public:
  // Time without any answer after which an open request counts as never answered. An answer further ahead than this is
  // an error too.
  static constexpr Tick kPatience{1'000'000};

  struct Answered {
    std::size_t asker = 0;
    ForeignAnswer<Tick> answer;
  };

  // `name` starts messages about the memory's errors: a place in a file or a socket's name; `hint` ends the message
  // about an answer in the past.
  ForeignRequests(std::unique_ptr<ForeignMemory<Tick>> memory, std::string name, std::string hint = {})
      : memory_(std::move(memory)), name_(std::move(name)), hint_(std::move(hint)) {}

  // Assigns the request's id and hands it over: at once to a memory that answers late, to others in the next run().
  // The answer must not lie before `before`.
  void ask(std::size_t asker, ForeignRequest<Tick> request, Tick before);
  // Replaces `answered` by the answers that the memory decides before `until`. Throws SimError where an answer lies
  // before the `before` of ask() or, for a memory that does not answer late, before `earliest`; where an answer comes
  // twice or belongs to no request; and where a request is never answered.
  void run(Tick until, Tick earliest, std::vector<Answered>& answered);

  Tick until() const { return until_; }  // of the last run
  bool waits() const { return unanswered_ > 0; }
  const ForeignMemory<Tick>& memory() const { return *memory_; }

 private:
  struct Open {
    std::size_t asker = 0;
    std::int64_t address = 0;
    Tick arrival{}, before{};
    bool answered = false;
    bool partial = false;  // a partial write whose read is not answered
  };

  Open& find(const ForeignAnswer<Tick>& answer, Tick earliest);
  [[noreturn]] void refuse(std::string_view what) const;

  std::unique_ptr<ForeignMemory<Tick>> memory_;
  std::string name_, hint_;
  std::deque<Open> open_;  // by id, from first_id_ on
  std::uint64_t first_id_ = 0;
  std::size_t unanswered_ = 0;
  std::vector<ForeignRequest<Tick>> unsent_;
  std::vector<ForeignAnswer<Tick>> answers_;
  Tick until_{};
  Tick answered_{};  // when the memory last answered, or had nothing to answer
};

}  // namespace tilescope::sim
