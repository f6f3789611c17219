// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <functional>
#include <limits>
#include <span>
#include <stdexcept>
#include <utility>

#include <fmt/format.h>

#include "arch/derive.h"
#include "include/tilescope/systemc.h"
#include "platform/detail/chip.h"
#include "platform/detail/payload.h"
#include "platform/detail/port_responses.h"
#include "platform/detail/slots.h"
#include "sim/memory/dram_channels.h"
#include "sim/ticks_of_time.h"
#include "sim/trace.h"

namespace tilescope::systemc {
namespace {

using sim::Clock;
using sim::operator""_nck;

// What an initiator asked for.
struct Transaction {
  enum class By : std::uint8_t { kApproximate, kLoose, kPosted, kBatch } by{};
  tlm::tlm_generic_payload* payload = nullptr;  // of kApproximate
  std::uint64_t id = 0;                         // of kBatch
  int left = 0;                                 // requests to the channels
  int reads = 0;                                // of those, that are read first and tell it
  int next = kNoSlot;                           // that continues it and is answered with it
  bool row_hit = true, read_hit = true;
  Clock done{};
};

const arch::DramLevel& dram_level(const arch::ArchSpec& chip) {
  const arch::DramLevel* dram = arch::dram_of(chip);
  if (dram == nullptr) throw std::runtime_error(fmt::format("{}: has no level of kind dram", chip.name));
  if (dram->model)
    throw std::runtime_error(
        fmt::format("{}: a DramTarget is the channels that the file describes", dram->model_place));
  return *dram;
}

// What initiators ask of the channels.
class DramRequests {
 public:
  // Hears of requests that are answered one by one in SystemC's time.
  using Answered = std::function<void(const Transaction& a)>;
  DramRequests(const arch::ArchSpec& chip, Answered answered)
      : time_(dram_level(chip).clock),
        spec_(sim::trace_spec(chip, derived_)),
        dram_(spec_.dram, spec_.channels),
        answered_(std::move(answered)) {}

  const sim::TicksOfTime<Clock>& time() const { return time_; }
  const sim::DramChannels& channels() const { return dram_; }
  std::int64_t burst_bytes() const { return spec_.burst_bytes; }
  // So far: the clock of the last answer, and how many bursts.
  Clock last() const { return last_; }
  std::int64_t bursts() const { return bursts_; }
  // When it has to run in SystemC's time.
  Clock next() const { return in_system_time_ > 0 ? dram_.next() : sim::DramModel::kNever; }

  // Whether the controller of the first burst would take it at once; a write that merges comes as a read first.
  bool accepts(std::int64_t address, std::int64_t bytes, bool write) const {
    const sim::Burst b = spec_.burst_at(address, address + bytes, write);
    return dram_.accepts(b.place.channel, b.place.bank, write && !b.merges);
  }
  void accept(tlm::tlm_generic_payload& payload, Clock at) {
    push_bursts(open(Transaction::By::kApproximate, &payload, 0), static_cast<std::int64_t>(payload.get_address()),
                payload.get_data_length(), payload.is_write(), at);
  }

  // Takes all of the requests or, where one cannot be asked, none.
  tlm::tlm_response_status exchange(Batch& batch) {
    for (const Batch::Request& r : batch.requests)
      if (const auto why = refused(r.address, r.bytes)) return *why;
    const std::span<const Batch::Request> all = batch.requests;
    for (std::size_t i = 0, next = 0; i < all.size(); i = next) {
      next = i + 1;
      const Batch::Request& r = all[i];
      if (batch.cut_at_bursts) {
        push_bursts(open(Transaction::By::kBatch, nullptr, r.id), static_cast<std::int64_t>(r.address), r.bytes,
                    r.write, time_.tick_from(r.at));
        continue;
      }
      while (next < all.size() && all[next].continues) ++next;
      push_trains(all.subspan(i, next - i), batch.tells_merges);
    }
    run(time_.tick_from(batch.until));
    batch.answers.insert(batch.answers.end(), answers_.begin(), answers_.end());
    answers_.clear();
    return tlm::TLM_OK_RESPONSE;
  }

  Clock read(std::int64_t address, std::int64_t bytes, Clock at) {
    const int place = open(Transaction::By::kLoose, nullptr, 0);
    push_bursts(place, address, bytes, false, at);
    while (asked_[place].left > 0) run(dram_.next() + 1_nck);
    asked_.close(place);
    return asked_[place].done;
  }

  Clock write(std::int64_t address, std::int64_t bytes, Clock at) {
    Clock accepted = at;
    while (!accepts(address, bytes, true) && dram_.next() != sim::DramModel::kNever) {
      accepted = std::max(accepted, dram_.next());
      run(dram_.next() + 1_nck);
    }
    push_bursts(open(Transaction::By::kPosted, nullptr, 0), address, bytes, true, accepted);
    return accepted + sim::kDramHandshake;
  }

  void run(Clock until) {
    served_.clear();
    dram_.run(until, served_);
    for (const sim::DramServed& s : served_) {
      bursts_ += s.bursts;
      last_ = std::max(last_, s.done);
      Transaction& a = asked_[s.id];
      if (s.merges) {
        a.read_hit = a.read_hit && s.row_hit;
        if (a.reads > 0) {
          --a.reads;
          if (a.reads == 0) answer(s.id, s.done, a.read_hit, true);
        }
        continue;
      }
      a.done = std::max(a.done, s.done);
      a.row_hit = a.row_hit && s.row_hit;
      if (--a.left == 0) end(s.id);
    }
  }

 private:
  int open(Transaction::By by, tlm::tlm_generic_payload* payload, std::uint64_t id) {
    in_system_time_ += by == Transaction::By::kBatch ? 0 : 1;
    return asked_.open({by, payload, id});
  }

  void push(int place, std::int64_t channel, sim::DramRequest r) {
    r.id = place;
    r.bank += spec_.dram.first_bank_of(channel);
    ++asked_[place].left;
    dram_.push({.request = r, .channel = channel});
  }

  void push_bursts(int place, std::int64_t address, std::int64_t bytes, bool write, Clock at) {
    for (std::int64_t a = address; a < address + bytes;) {
      const sim::Burst b = spec_.burst_at(a, address + bytes, write);
      push(place, b.place.channel, {0, write, b.place.bank, b.place.row, 1, at, a, b.merges});
      a = b.end;
    }
  }

  // As a cache asks: bursts of one row together.
  void push_trains(std::span<const Batch::Request> pieces, bool tells_merges) {
    const Batch::Request& r = pieces.front();
    const int place = open(Transaction::By::kBatch, nullptr, r.id);
    int before = place;
    for (const Batch::Request& more : pieces.subspan(1)) {
      const int own = open(Transaction::By::kBatch, nullptr, more.id);
      asked_[before].next = own;
      before = own;
    }
    sim::BurstPlace train;
    std::int64_t length = 0;
    const auto send = [&] {
      if (length == 0) return;
      if (r.partial && tells_merges) ++asked_[place].reads;
      push(place, train.channel,
           {.write = r.write,
            .bank = train.bank,
            .row = train.row,
            .bursts = length,
            .arrival = time_.tick_from(r.at),
            .merges = r.partial});
    };
    for (const Batch::Request& piece : pieces) {
      const auto begin = static_cast<std::int64_t>(piece.address) / spec_.burst_bytes * spec_.burst_bytes;
      const auto end = static_cast<std::int64_t>(piece.address + piece.bytes);
      for (std::int64_t a = begin; a < end; a += spec_.burst_bytes) {
        const sim::BurstPlace p = spec_.place(a);
        if (length > 0 && (p.channel != train.channel || p.bank != train.bank || p.row != train.row)) {
          send();
          length = 0;
        }
        train = p;
        ++length;
      }
    }
    send();
  }

  void end(int slot) {
    const Transaction a = asked_[slot];
    if (a.by == Transaction::By::kApproximate) answered_(a);
    if (a.by != Transaction::By::kBatch) --in_system_time_;
    if (a.by == Transaction::By::kBatch) answer(slot, a.done, a.row_hit, false);
    if (a.by == Transaction::By::kLoose) return;
    asked_.visit_all_of(slot, [&](int s, const Transaction&) { asked_.close(s); });
  }

  // And what continues it.
  void answer(int slot, Clock done, bool row_hit, bool merges) {
    asked_.visit_all_of(
        slot, [&](int, const Transaction& a) { answers_.push_back({a.id, time_.begin_of(done), row_hit, merges}); });
  }

  sim::TicksOfTime<Clock> time_;
  std::string derived_;  // where addresses lie, in words, if the chip has no mapping
  sim::TraceSpec spec_;
  sim::DramChannels dram_;
  Answered answered_;
  Slots<Transaction> asked_;
  std::vector<sim::DramServed> served_;
  std::vector<Batch::Answer> answers_;
  std::int64_t in_system_time_ = 0;  // requests that are served in it
  Clock last_{};
  std::int64_t bursts_ = 0;
};

}  // namespace

struct DramTarget::Parts {
  bool bounded = false;
  base::Hertz clock;
  DramRequests requests;
  Earliest<Response<Clock>> responses;
  std::uint64_t responded = 0;
  tlm::tlm_generic_payload* held = nullptr;  // its controller has no place for it
  Clock held_at{};                           // and it arrives then
  Clock phase_of{-1};                        // the clock that the delta cycles are of
  int deltas = 0;
  bool responding = false;  // an initiator has not ended its response
  sc_core::sc_event event;

  Parts(const arch::ArchSpec& chip, bool holds)
      : bounded(holds),
        clock(dram_level(chip).clock),
        requests(chip, [this](const Transaction& t) { responses.push({t.done, responded++, t.payload}); }) {}

  // Whether a request can be accepted now, by the controller of its first burst.
  bool takes(const tlm::tlm_generic_payload& payload) const {
    return !bounded || requests.accepts(static_cast<std::int64_t>(payload.get_address()), payload.get_data_length(),
                                        payload.is_write());
  }

  // Whether the controllers' room is asked for by what comes at this clock before they decide: initiators that hear of
  // a place send in the delta cycle after it.
  bool decides_later(Clock now) {
    if (now != phase_of) deltas = 0;
    phase_of = now;
    return deltas++ < 2;
  }

  // When there is something to do in SystemC's time.
  void notify() {
    Clock next = requests.next();
    if (held != nullptr) next = std::min(next, requests.time().now() + 1_nck);
    if (!responding && !responses.empty()) next = std::min(next, responses.top().at);
    if (next != sim::DramModel::kNever) event.notify(requests.time().until(next));
  }
};

DramTarget::DramTarget(const sc_core::sc_module_name& name, const std::string& chip, const DramOptions& options)
    : sc_module(name),
      socket("socket"),
      parts_(std::make_unique<Parts>(read_chip(chip, options.overrides), options.bounded)) {
  socket.register_b_transport(this, &DramTarget::b_transport);
  socket.register_nb_transport_fw(this, &DramTarget::nb_transport_fw);
  SC_HAS_PROCESS(DramTarget);
  SC_METHOD(run);
  sensitive << parts_->event;
  dont_initialize();
}

DramTarget::~DramTarget() = default;

void DramTarget::before_end_of_elaboration() {
  if (socket.get_base_port().bind_count() == 0) refuse_unbound(socket.name(), "a DramTarget wants an initiator");
}

void DramTarget::b_transport(tlm::tlm_generic_payload& payload, sc_core::sc_time& delay) {
  Parts& p = *parts_;
  if (auto* const batch = payload.get_extension<Batch>()) {
    payload.set_response_status(p.requests.exchange(*batch));
    return;
  }
  const auto why = refused(payload);
  payload.set_response_status(why.value_or(tlm::TLM_OK_RESPONSE));
  if (why) return;
  const sc_core::sc_time& now = sc_core::sc_time_stamp();
  const auto address = static_cast<std::int64_t>(payload.get_address());
  const Clock at = p.requests.time().tick_from(now + delay);
  const Clock done = payload.is_write() ? p.requests.write(address, payload.get_data_length(), at)
                                        : p.requests.read(address, payload.get_data_length(), at);
  delay = std::max(delay, p.requests.time().begin_of(done) - now);
  p.notify();
}

tlm::tlm_sync_enum DramTarget::nb_transport_fw(tlm::tlm_generic_payload& payload, tlm::tlm_phase& phase,
                                               sc_core::sc_time& delay) {
  Parts& p = *parts_;
  if (phase == tlm::END_RESP) {
    if (payload.has_mm()) payload.release();
    p.responding = false;
    p.notify();
    return tlm::TLM_COMPLETED;
  }
  if (phase != tlm::BEGIN_REQ) return tlm::TLM_ACCEPTED;
  const auto why = refused(payload);
  payload.set_response_status(why.value_or(tlm::TLM_OK_RESPONSE));
  if (why) return tlm::TLM_COMPLETED;
  if (payload.has_mm()) payload.acquire();
  const Clock at = p.requests.time().tick_from(sc_core::sc_time_stamp() + delay);
  p.requests.run(p.requests.time().now());
  if (!p.takes(payload)) {
    p.held = &payload;
    p.held_at = at;
    p.notify();
    return tlm::TLM_ACCEPTED;
  }
  p.requests.accept(payload, at);
  p.notify();
  phase = tlm::END_REQ;
  return tlm::TLM_UPDATED;
}

void DramTarget::run() {
  Parts& p = *parts_;
  const Clock now = p.requests.time().now();
  if (p.bounded && p.decides_later(now)) {
    p.requests.run(now);
    accept_held();
    respond();
    p.event.notify(sc_core::SC_ZERO_TIME);
    return;
  }
  p.requests.run(now + 1_nck);
  respond();
  p.notify();
}

void DramTarget::accept_held() {
  Parts& p = *parts_;
  if (p.held == nullptr || !p.takes(*p.held)) return;
  tlm::tlm_generic_payload& payload = *std::exchange(p.held, nullptr);
  p.requests.accept(payload, std::max(p.requests.time().now(), p.held_at));
  tlm::tlm_phase phase = tlm::END_REQ;
  sc_core::sc_time delay = sc_core::SC_ZERO_TIME;
  socket->nb_transport_bw(payload, phase, delay);
}

void DramTarget::respond() {
  Parts& p = *parts_;
  const Clock now = p.requests.time().now();
  while (!p.responding && !p.responses.empty() && p.responses.top().at <= now) {
    tlm::tlm_generic_payload& payload = *p.responses.top().payload;
    p.responses.pop();
    p.responding = true;
    if (begin_response(*socket.operator->(), payload)) p.responding = false;
  }
}

double DramTarget::clock_hz() const { return static_cast<double>(parts_->clock.n); }
std::int64_t DramTarget::burst_bytes() const { return parts_->requests.burst_bytes(); }
sc_core::sc_time DramTarget::begin_of(std::int64_t clock) const {
  return parts_->requests.time().begin_of(Clock(clock));
}
void DramTarget::drain() { parts_->requests.run(sim::DramModel::kNever); }
std::int64_t DramTarget::clocks() const { return parts_->requests.last().count(); }
std::int64_t DramTarget::bursts() const { return parts_->requests.bursts(); }
std::int64_t DramTarget::activates() const { return parts_->requests.channels().activates(); }

}  // namespace tilescope::systemc
