// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <utility>

#include <fmt/format.h>

#include "arch/derive.h"
#include "arch/hierarchy.h"
#include "base/check.h"
#include "include/tilescope/systemc.h"
#include "platform/detail/chip.h"
#include "platform/detail/memory_port.h"
#include "platform/detail/payload.h"
#include "platform/detail/port_responses.h"
#include "platform/detail/slots.h"
#include "sim/cache_hierarchy.h"
#include "sim/ticks_of_time.h"

namespace tilescope::systemc {
namespace {

using sim::Cycle;
using sim::operator""_cycles;

constexpr Cycle kNever = sim::CacheHierarchy::kNever;
// What an initiator asked for.
struct Transaction {
  enum class By : std::uint8_t { kApproximate, kLoose, kBatch } by{};
  tlm::tlm_generic_payload* payload = nullptr;  // of kApproximate
  int port = 0;                                 // likewise
  std::uint64_t number = 0;                     // of all of these
  std::uint64_t id = 0;                         // of kBatch
  int next = kNoSlot;                           // that continues it and is answered with it
  int left = 0;                                 // lines that are not answered
  Cycle done{};
  int level = 0;
};

// A part of what was asked for that no turn has taken.
struct Waiting {
  sim::CacheRequest request;
  Cycle turn_at{};  // that the turn which takes it holds: what is handed over in a turn is served in it
  std::uint64_t number = 0;
  bool operator>(const Waiting& o) const { return turn_at != o.turn_at ? turn_at > o.turn_at : number > o.number; }
};

arch::ArchSpec chip_with_caches(const std::string& name, const std::vector<std::string>& overrides) {
  arch::ArchSpec chip = read_chip(name, overrides);
  const arch::DramLevel* dram = arch::dram_of(chip);
  if (dram == nullptr) throw std::runtime_error(fmt::format("{}: has no level of kind dram", chip.name));
  if (arch::device_cache_of(chip) == nullptr)
    throw std::runtime_error(fmt::format("{}: has no cache of the device; a DramTarget is its DRAM alone", chip.name));
  if (dram->model)
    throw std::runtime_error(
        fmt::format("{}: the DRAM of a CacheTarget is the channels that the file describes", dram->model_place));
  return chip;
}

// What initiators ask of the caches, in turns of these.
class CacheRequests {
 public:
  // Hears of requests that are answered, but for those of batches.
  using Answered = std::function<void(const Transaction& a)>;
  CacheRequests(const arch::ArchSpec& chip, Answered answered)
      : time_(chip.clock), caches_(std::make_unique<sim::CacheHierarchy>(chip)), answered_(std::move(answered)) {}

  // `late`: answers from behind these caches come in SystemC's time, and nothing runs ahead of that.
  void use(std::unique_ptr<sim::CacheHierarchy> caches, bool late) {
    caches_ = std::move(caches);
    late_ = late;
  }
  const sim::CacheHierarchy& caches() const { return *caches_; }
  const sim::TicksOfTime<Cycle>& time() const { return time_; }
  bool late() const { return late_; }
  // The cycle of the last answer.
  Cycle last() const { return last_; }

  std::optional<tlm::tlm_response_status> refuses(int core, const tlm::tlm_generic_payload& payload) const {
    const auto why = refused(payload);
    return why || has(core) ? why : tlm::TLM_GENERIC_ERROR_RESPONSE;
  }
  int ask(const Transaction& a, int core, const tlm::tlm_generic_payload& payload, Cycle at) {
    const int slot = open(a);
    std::int64_t none = -1;
    push(slot,
         {.core = core,
          .write = payload.is_write(),
          .address = static_cast<std::int64_t>(payload.get_address()),
          .bytes = payload.get_data_length(),
          .at = at},
         at, none);
    return slot;
  }
  // When a loose request was answered, which is closed then; nothing while it is not.
  std::optional<Cycle> take(int slot) {
    if (asked_[slot].left > 0) return std::nullopt;
    asked_.close(slot);
    return asked_[slot].done;
  }
  // Takes all of the requests or, where one cannot be asked, none.
  tlm::tlm_response_status exchange(Batch& batch) {
    for (const Batch::Request& r : batch.requests) {
      if (const auto why = refused(r.address, r.bytes)) return *why;
      if (!has(r.core)) return tlm::TLM_GENERIC_ERROR_RESPONSE;
    }
    const std::span<const Batch::Request> all = batch.requests;
    const Cycle now = time_.tick_from(batch.until);
    for (std::size_t i = 0, next = 0; i < all.size(); i = next) {
      next = i + 1;
      while (next < all.size() && continues(all[i], all[next])) ++next;
      ask(all.subspan(i, next - i), now);
    }
    advance(now);
    batch.answers.insert(batch.answers.end(), answers_.begin(), answers_.end());
    answers_.clear();
    batch.busy = !waiting_.empty() || caches_->next() != kNever;
    return tlm::TLM_OK_RESPONSE;
  }

  // When something next happens that is asked, is answered or comes of itself.
  Cycle begin() const {
    Cycle at = caches_->next();
    if (!waiting_.empty()) at = std::min(at, waiting_.top().turn_at);
    if (!replies_.empty()) at = std::min(at, replies_.top());
    return at == kNever ? kNever : std::max(at, until_);
  }
  // The turn that holds that.
  void turn() {
    until_ = end_of(begin());
    taken_.clear();
    for (; !waiting_.empty() && waiting_.top().turn_at < until_; waiting_.pop())
      taken_.push_back(waiting_.top().request);
    while (!replies_.empty() && replies_.top() < until_) replies_.pop();
    fresh_.clear();
    caches_->run(taken_, until_, fresh_);
    for (const sim::CacheReply& r : fresh_) {
      replies_.push(r.at);
      Transaction& a = asked_[r.ticket];
      a.done = std::max(a.done, r.at);
      a.level = std::max(a.level, r.level);
      last_ = std::max(last_, r.at);
      if (--a.left == 0) end(r.ticket);
    }
  }
  // Turns that are over by then, of which all is known that is asked in them.
  void advance(Cycle now) {
    for (Cycle b = begin(); b != kNever && end_of(b) <= now; b = begin()) turn();
  }
  // When it has to advance in SystemC's time.
  Cycle next() const {
    const Cycle b = begin();
    return (in_system_time_ > 0 || late_) && b != kNever ? end_of(b) : kNever;
  }

 private:
  // Whether there is such a core.
  bool has(int core) const { return core >= 0 && core < caches_->cores(); }
  // When the turn ends that holds a cycle.
  Cycle end_of(Cycle at) const { return caches_->turn_of(at) + caches_->turn(); }
  // Whether it is served in SystemC's time.
  bool in_time(const Transaction& a) const {
    return a.by == Transaction::By::kApproximate || (late_ && a.by == Transaction::By::kLoose);
  }
  static bool continues(const Batch::Request& first, const Batch::Request& r) {
    return r.continues && r.core == first.core && r.write == first.write && r.at == first.at;
  }

  int open(Transaction a) {
    a.number = numbers_++;
    in_system_time_ += in_time(a) ? 1 : 0;
    return asked_.open(a);
  }
  // Cuts it at lines. What continues a piece of the same line is one request with that.
  void push(int slot, sim::CacheRequest r, Cycle turn_at, std::int64_t& last_line) {
    const std::int64_t line = caches_->line_bytes(), begin = r.address, end = begin + r.bytes;
    for (std::int64_t b = begin, next = b; b < end; b = next) {
      next = std::min((b / line + 1) * line, end);
      r.ticket = slot;
      r.address = b;
      r.bytes = next - b;
      r.continues = b / line == last_line;
      last_line = b / line;
      waiting_.push({r, turn_at, parts_++});
      asked_[slot].left += r.continues ? 0 : 1;
    }
  }
  void ask(std::span<const Batch::Request> pieces, Cycle end) {
    int first = kNoSlot, before = kNoSlot;
    std::int64_t line = -1;
    for (const Batch::Request& r : pieces) {
      const int own = open({.by = Transaction::By::kBatch, .id = r.id});
      if (first == kNoSlot)
        first = own;
      else
        asked_[before].next = own;
      before = own;
      const Cycle at = time_.tick_from(r.at);
      push(first,
           {.core = r.core,
            .write = r.write,
            .address = static_cast<std::int64_t>(r.address),
            .bytes = r.bytes,
            .at = at},
           std::min(at, end - 1_cycles), line);
    }
  }
  void end(int slot) {
    const Transaction a = asked_[slot];
    if (in_time(a)) --in_system_time_;
    if (a.by != Transaction::By::kBatch) answered_(a);
    if (a.by == Transaction::By::kLoose) return;
    const sc_core::sc_time done = time_.begin_of(a.done);
    asked_.visit_all_of(slot, [&](int s, const Transaction& piece) {
      if (piece.by == Transaction::By::kBatch)
        answers_.push_back({.id = piece.id, .done = done, .row_hit = false, .merges = false, .level = a.level});
      asked_.close(s);
    });
  }

  sim::TicksOfTime<Cycle> time_;
  std::unique_ptr<sim::CacheHierarchy> caches_;
  bool late_ = false;
  Answered answered_;
  Slots<Transaction> asked_;
  std::uint64_t numbers_ = 0, parts_ = 0;
  Earliest<Waiting> waiting_;
  Earliest<Cycle> replies_;  // that no turn has passed
  Cycle until_{};            // of the last turn
  std::vector<sim::CacheRequest> taken_;
  std::vector<sim::CacheReply> fresh_;
  std::vector<Batch::Answer> answers_;
  std::int64_t in_system_time_ = 0;  // requests that are served in it
  Cycle last_{};
};

int core_of(int port, const tlm::tlm_generic_payload& payload) {
  const FromCore* const from = payload.get_extension<FromCore>();
  return from == nullptr ? port : from->core;
}

// Of one request to the DRAM.
std::int64_t most_bytes(const arch::ArchSpec& chip) {
  const arch::Hierarchy h = arch::hierarchy_of(chip);
  return std::max(arch::transaction_of(*h.dram).n, h.device_caches.back()->line.n);
}

}  // namespace

struct CacheTarget::Parts {
  arch::ArchSpec chip;
  MemoryPort dram;
  PortResponses<Cycle> responses;
  CacheRequests requests;
  sc_core::sc_event event, answered;  // of a request that waits

  Parts(const arch::ArchSpec& a, MemoryPort::Socket& dram_socket, Protocol protocol,
        PortResponses<Cycle>::Begin begin_response)
      : chip(a),
        dram(dram_socket, Below::kCaches, protocol, most_bytes(chip)),
        responses(std::move(begin_response)),
        requests(chip, [this](const Transaction& t) {
          if (t.by == Transaction::By::kApproximate)
            responses.push({t.done, t.number, t.payload}, t.port);
          else if (requests.late())
            answered.notify(sc_core::SC_ZERO_TIME);
        }) {}

  // When there is something to do in SystemC's time.
  void notify() {
    const Cycle next = std::min(requests.next(), responses.next().value_or(kNever));
    if (next != kNever) event.notify(requests.time().until(next));
    if (const auto freed = responses.until_freed()) event.notify(*freed);
  }
};

CacheTarget::CacheTarget(const sc_core::sc_module_name& name, const std::string& chip,
                         const std::vector<std::string>& overrides, Protocol protocol)
    : sc_module(name),
      socket("socket"),
      dram("dram"),
      parts_(std::make_unique<Parts>(
          chip_with_caches(chip, overrides), dram, protocol,
          [this](int port, tlm::tlm_generic_payload& payload) { return begin_response(*socket[port], payload); })) {
  socket.register_b_transport(this, &CacheTarget::b_transport);
  socket.register_nb_transport_fw(this, &CacheTarget::nb_transport_fw);
  dram.register_nb_transport_bw(this, &CacheTarget::nb_transport_bw);
  SC_HAS_PROCESS(CacheTarget);
  SC_METHOD(run);
  sensitive << parts_->event;
  dont_initialize();
  parts_->dram.spawn();
}

CacheTarget::~CacheTarget() = default;

void CacheTarget::before_end_of_elaboration() {
  const int bound = socket.get_base_port().bind_count();
  if (bound == 0) refuse_unbound(socket.name(), "a CacheTarget wants an initiator");
  if (bound > cores())
    SC_REPORT_ERROR("/tilescope/bound", fmt::format("socket '{}' is bound to {} initiators: the chip has {} cores",
                                                    socket.name(), bound, cores())
                                            .c_str());
  parts_->responses.resize(static_cast<std::size_t>(bound));
  if (dram.get_base_port().bind_count() == 0) return;
  // What is bound stands in for the channels.
  const arch::ArchSpec& c = parts_->chip;
  parts_->requests.use(std::make_unique<sim::CacheHierarchy>(c, parts_->dram.as_dram(c)), parts_->dram.answers_late());
}

void CacheTarget::b_transport(int port, tlm::tlm_generic_payload& payload, sc_core::sc_time& delay) {
  CacheRequests& requests = parts_->requests;
  if (auto* const batch = payload.get_extension<Batch>()) {
    payload.set_response_status(requests.exchange(*batch));
    return;
  }
  const int core = core_of(port, payload);
  const auto why = requests.refuses(core, payload);
  payload.set_response_status(why.value_or(tlm::TLM_OK_RESPONSE));
  if (why) return;
  const sc_core::sc_time& now = sc_core::sc_time_stamp();
  const Cycle at = requests.time().tick_from(now + delay);
  requests.advance(requests.late() ? requests.time().now() : at);
  const int slot = requests.ask({.by = Transaction::By::kLoose}, core, payload, at);
  parts_->notify();
  std::optional<Cycle> done;
  while (!(done = requests.take(slot))) {
    if (requests.late()) {
      wait(parts_->answered);
      continue;
    }
    base::check(requests.begin() != kNever, "what is asked is answered");
    requests.turn();
  }
  delay = std::max(requests.time().begin_of(*done), now + delay) - now;
  parts_->notify();
}

tlm::tlm_sync_enum CacheTarget::nb_transport_bw(tlm::tlm_generic_payload& payload, tlm::tlm_phase& phase,
                                                sc_core::sc_time& delay) {
  return parts_->dram.answer(payload, phase, delay);
}

tlm::tlm_sync_enum CacheTarget::nb_transport_fw(int port, tlm::tlm_generic_payload& payload, tlm::tlm_phase& phase,
                                                sc_core::sc_time& delay) {
  CacheRequests& requests = parts_->requests;
  if (phase == tlm::END_RESP) {
    if (payload.has_mm()) payload.release();
    parts_->responses.end(port, delay);
    parts_->notify();
    return tlm::TLM_COMPLETED;
  }
  if (phase != tlm::BEGIN_REQ) return tlm::TLM_ACCEPTED;
  const int core = core_of(port, payload);
  const auto why = requests.refuses(core, payload);
  payload.set_response_status(why.value_or(tlm::TLM_OK_RESPONSE));
  if (why) return tlm::TLM_COMPLETED;
  if (payload.has_mm()) payload.acquire();
  requests.advance(requests.time().now());
  requests.ask({.by = Transaction::By::kApproximate, .payload = &payload, .port = port}, core, payload,
               requests.time().tick_from(sc_core::sc_time_stamp() + delay));
  parts_->notify();
  phase = tlm::END_REQ;
  return tlm::TLM_UPDATED;
}

void CacheTarget::run() {
  const Cycle now = parts_->requests.time().now();
  parts_->requests.advance(now);
  parts_->responses.run(now);
  parts_->notify();
}

double CacheTarget::clock_hz() const { return static_cast<double>(parts_->chip.clock.n); }
sc_core::sc_time CacheTarget::begin_of(std::int64_t cycle) const {
  return parts_->requests.time().begin_of(Cycle(cycle));
}
std::int64_t CacheTarget::cores() const { return parts_->requests.caches().cores(); }
std::int64_t CacheTarget::misses_of_core() const { return parts_->requests.caches().misses(); }
std::int64_t CacheTarget::line_bytes() const { return parts_->requests.caches().line_bytes(); }
void CacheTarget::drain() {
  parts_->requests.advance(parts_->requests.late() ? parts_->requests.time().now() : kNever);
}
std::int64_t CacheTarget::cycles() const { return parts_->requests.last().count(); }

std::vector<LevelReport> CacheTarget::levels() const { return reports_of(parts_->requests.caches().levels()); }

}  // namespace tilescope::systemc
