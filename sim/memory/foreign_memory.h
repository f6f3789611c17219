// SPDX-License-Identifier: Apache-2.0
#pragma once
// A user's memory, behind the last cache (sim/memory/external_dram.h) or behind the cores
// (sim/memory/detail/foreign_caches.h): it sees addresses and bytes, and is held to the order of time.

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

// Times are ticks of the clock of what asks: Clock behind the last cache, Cycle behind the cores.
template <class Tick>
struct ForeignRequest {
  std::uint64_t id = 0;
  std::int64_t address = 0, bytes = 0;  // multiples of a burst, or what is read or written of a line's sectors
  bool write = false;
  bool partial = false;  // a write of a part of what is written whole
  Tick arrival{};        // not before the `until` of the last advance
  // A piece of one request of the caches or of a core, of which the one before is another: ours serve them as one.
  bool continues = false;
  int core = 0;  // that asks
};

template <class Tick>
struct ForeignAnswer {
  std::uint64_t id = 0;
  Tick done{};
  bool row_hit = false;
  bool merges = false;  // the read of a partial write, which is answered once more when it is written
  int level = 0;        // that a core's data come from: caches of the device in the order of reach, then the DRAM
};

template <class Tick>
class ForeignMemory {
 public:
  virtual ~ForeignMemory() = default;
  virtual void request(std::span<const ForeignRequest<Tick>> requests) = 0;
  // Decides what happens before `until` and adds what it has decided; `open` requests are not answered.
  virtual void advance(Tick until, std::size_t open, std::vector<ForeignAnswer<Tick>>& answers) = 0;
  // Whether it tells what is done before `until` only by the next call: it answers in SystemC's time, and turns run
  // ahead of that.
  virtual bool answers_late() const { return false; }
  // Whether it has something left to do although no request is open.
  virtual bool busy() const { return false; }
};

// A user's caches and memory in place of the link, the device's caches and the DRAM.
struct BehindCores {
  std::function<std::unique_ptr<ForeignMemory<Cycle>>()> make;
  std::string name;   // begins what is said of its mistakes,
  std::string hint;   // and ends what is said of an answer in the past
  Cycle lookahead{};  // from a request until data can be used, at least; 0: not known
};

// What a user's memory is asked for and has not answered; of Clock and of Cycle.
template <class Tick>
class ForeignRequests {
 public:
  // A request that is under way for so many ticks, while nothing is answered, is never answered; nor is one whose
  // answer lies further ahead than that.
  static constexpr Tick kPatience{1'000'000};

  struct Answered {
    std::size_t asker = 0;
    ForeignAnswer<Tick> answer;
  };

  // `name` begins what is said of its mistakes: a file's place, a socket's name; `hint` ends what is said of an answer
  // in the past.
  ForeignRequests(std::unique_ptr<ForeignMemory<Tick>> memory, std::string name, std::string hint = {})
      : memory_(std::move(memory)), name_(std::move(name)), hint_(std::move(hint)) {}

  // Numbers it, and hands it over: to a memory that answers late at once, to others in the next run. Not answered
  // `before`.
  void ask(std::size_t asker, ForeignRequest<Tick> request, Tick before);
  // Replaces `answered` by what the memory decides before `until`. Throws SimError, and says what was wrong, where an
  // answer lies before what ask() says or, of a memory that does not answer late, before `earliest`; comes twice,
  // belongs to no request or does not come.
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
    bool partial = false;  // and its read is not told
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
  Tick answered_{};  // when it last answered, or had nothing to answer
};

}  // namespace tilescope::sim
