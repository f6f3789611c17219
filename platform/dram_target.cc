// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <limits>
#include <queue>
#include <span>
#include <stdexcept>
#include <utility>

#include <fmt/format.h>

#include "arch/derive.h"
#include "include/tilescope/systemc.h"
#include "platform/detail/chip.h"
#include "platform/detail/payload.h"
#include "sim/memory/dram_channels.h"
#include "sim/ticks_of_time.h"
#include "sim/trace.h"

namespace tilescope::systemc {
namespace {

using sim::Clock;
using sim::operator""_nck;

constexpr int kNone = -1;

// What an initiator asked for.
struct Transaction {
  enum class By : std::uint8_t { kApproximate, kLoose, kPosted, kBatch } by{};
  tlm::tlm_generic_payload* payload = nullptr;  // of kApproximate
  std::uint64_t id = 0;                         // of kBatch
  int left = 0;                                 // requests to the channels
  int reads = 0;                                // of those, that are read first and tell it
  int next = kNone;                             // that continues it and is answered with it
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

}  // namespace

struct DramTarget::Parts {
  bool bounded = false;
  base::Hertz clock;
  sim::TicksOfTime<Clock> time;
  std::string derived;  // where addresses lie, in words, if the chip has no mapping
  sim::TraceSpec spec;
  sim::DramChannels dram;
  std::vector<Transaction> asked;
  std::vector<int> free;  // places of them
  std::vector<sim::DramServed> served;
  std::priority_queue<Response<Clock>, std::vector<Response<Clock>>, std::greater<>> responses;
  std::uint64_t responded = 0;
  tlm::tlm_generic_payload* held = nullptr;  // its controller has no place for it
  Clock held_at{};                           // and it arrives then
  Clock phase_of{-1};                        // so many delta cycles of this clock
  int deltas = 0;
  bool responding = false;  // an initiator has not ended its response
  std::vector<Batch::Answer> answers;
  std::int64_t in_system_time = 0;  // requests that the event serves
  Clock last{};
  std::int64_t bursts = 0;
  sc_core::sc_event event;

  Parts(const arch::ArchSpec& chip, bool holds)
      : bounded(holds),
        clock(dram_level(chip).clock),
        time(clock),
        spec(sim::trace_spec(chip, derived)),
        dram(spec.dram, spec.channels) {}

  int open(Transaction::By by, tlm::tlm_generic_payload* payload, std::uint64_t id) {
    if (free.empty()) {
      free.push_back(static_cast<int>(asked.size()));
      asked.emplace_back();
    }
    const int place = free.back();
    free.pop_back();
    asked[static_cast<std::size_t>(place)] = {by, payload, id};
    in_system_time += by == Transaction::By::kBatch ? 0 : 1;
    return place;
  }

  void push(int place, std::int64_t channel, sim::DramRequest r) {
    r.id = place;
    r.bank += spec.dram.first_bank_of(channel);
    ++asked[static_cast<std::size_t>(place)].left;
    dram.push({.request = r, .channel = channel});
  }

  void push_bursts(int place, std::int64_t address, std::int64_t bytes, bool write, Clock at) {
    for (std::int64_t a = address; a < address + bytes;) {
      const sim::Burst b = spec.burst_at(a, address + bytes, write);
      push(place, b.place.channel, {0, write, b.place.bank, b.place.row, 1, at, a, b.merges});
      a = b.end;
    }
  }

  // Whether the controller of the first burst would take it at once; a write that merges comes as a read first.
  bool accepts(std::int64_t address, std::int64_t bytes, bool write) const {
    const sim::Burst b = spec.burst_at(address, address + bytes, write);
    return dram.accepts(b.place.channel, b.place.bank, write && !b.merges);
  }

  // As a cache asks: bursts of one row together.
  void push_trains(std::span<const Batch::Request> pieces, bool tells_merges) {
    const Batch::Request& r = pieces.front();
    const int place = open(Transaction::By::kBatch, nullptr, r.id);
    int before = place;
    for (const Batch::Request& more : pieces.subspan(1)) {
      const int own = open(Transaction::By::kBatch, nullptr, more.id);
      asked[static_cast<std::size_t>(before)].next = own;
      before = own;
    }
    sim::BurstPlace train;
    std::int64_t length = 0;
    const auto send = [&] {
      if (length == 0) return;
      if (r.partial && tells_merges) ++asked[static_cast<std::size_t>(place)].reads;
      push(place, train.channel,
           {.write = r.write,
            .bank = train.bank,
            .row = train.row,
            .bursts = length,
            .arrival = time.tick_from(r.at),
            .merges = r.partial});
    };
    for (const Batch::Request& piece : pieces) {
      const auto begin = static_cast<std::int64_t>(piece.address) / spec.burst_bytes * spec.burst_bytes;
      const auto end = static_cast<std::int64_t>(piece.address + piece.bytes);
      for (std::int64_t a = begin; a < end; a += spec.burst_bytes) {
        const sim::BurstPlace p = spec.place(a);
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

  void run(Clock until) {
    served.clear();
    dram.run(until, served);
    for (const sim::DramServed& s : served) {
      bursts += s.bursts;
      last = std::max(last, s.done);
      Transaction& a = asked[static_cast<std::size_t>(s.id)];
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

  void end(int place) {
    const Transaction& a = asked[static_cast<std::size_t>(place)];
    if (a.by == Transaction::By::kApproximate) responses.push({a.done, responded++, a.payload});
    if (a.by != Transaction::By::kBatch) --in_system_time;
    if (a.by == Transaction::By::kBatch) answer(place, a.done, a.row_hit, false);
    if (a.by == Transaction::By::kLoose) return;
    for (int p = place; p != kNone; p = asked[static_cast<std::size_t>(p)].next) free.push_back(p);
  }

  // And what continues it.
  void answer(int place, Clock done, bool row_hit, bool merges) {
    for (int p = place; p != kNone; p = asked[static_cast<std::size_t>(p)].next)
      answers.push_back({asked[static_cast<std::size_t>(p)].id, time.begin_of(done), row_hit, merges});
  }

  // Whether a request can be accepted now, by the controller of its first burst.
  bool takes(const tlm::tlm_generic_payload& payload) const {
    return !bounded ||
           accepts(static_cast<std::int64_t>(payload.get_address()), payload.get_data_length(), payload.is_write());
  }

  void accept(tlm::tlm_generic_payload& payload, Clock at) {
    push_bursts(open(Transaction::By::kApproximate, &payload, 0), static_cast<std::int64_t>(payload.get_address()),
                payload.get_data_length(), payload.is_write(), at);
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
    Clock next = sim::DramModel::kNever;
    if (in_system_time > 0) next = dram.next();
    if (held != nullptr) next = std::min(next, time.now() + 1_nck);
    if (!responding && !responses.empty()) next = std::min(next, responses.top().at);
    if (next != sim::DramModel::kNever) event.notify(time.until(next));
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
                    r.write, time.tick_from(r.at));
        continue;
      }
      while (next < all.size() && all[next].continues) ++next;
      push_trains(all.subspan(i, next - i), batch.tells_merges);
    }
    run(time.tick_from(batch.until));
    batch.answers.insert(batch.answers.end(), answers.begin(), answers.end());
    answers.clear();
    return tlm::TLM_OK_RESPONSE;
  }

  Clock read(std::int64_t address, std::int64_t bytes, Clock at) {
    const int place = open(Transaction::By::kLoose, nullptr, 0);
    push_bursts(place, address, bytes, false, at);
    const auto own = static_cast<std::size_t>(place);
    while (asked[own].left > 0) run(dram.next() + 1_nck);
    free.push_back(place);
    return asked[own].done;
  }

  Clock write(std::int64_t address, std::int64_t bytes, Clock at) {
    Clock accepted = at;
    while (!accepts(address, bytes, true) && dram.next() != sim::DramModel::kNever) {
      accepted = std::max(accepted, dram.next());
      run(dram.next() + 1_nck);
    }
    push_bursts(open(Transaction::By::kPosted, nullptr, 0), address, bytes, true, accepted);
    return accepted + sim::kDramHandshake;
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
    payload.set_response_status(p.exchange(*batch));
    return;
  }
  const auto why = refused(payload);
  payload.set_response_status(why.value_or(tlm::TLM_OK_RESPONSE));
  if (why) return;
  const sc_core::sc_time& now = sc_core::sc_time_stamp();
  const auto address = static_cast<std::int64_t>(payload.get_address());
  const Clock at = p.time.tick_from(now + delay);
  const Clock done = payload.is_write() ? p.write(address, payload.get_data_length(), at)
                                        : p.read(address, payload.get_data_length(), at);
  delay = std::max(delay, p.time.begin_of(done) - now);
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
  const Clock at = p.time.tick_from(sc_core::sc_time_stamp() + delay);
  p.run(p.time.now());
  if (!p.takes(payload)) {
    p.held = &payload;
    p.held_at = at;
    p.notify();
    return tlm::TLM_ACCEPTED;
  }
  p.accept(payload, at);
  p.notify();
  phase = tlm::END_REQ;
  return tlm::TLM_UPDATED;
}

void DramTarget::run() {
  Parts& p = *parts_;
  const Clock now = p.time.now();
  if (p.bounded && p.decides_later(now)) {
    p.run(now);
    accept_held();
    respond();
    p.event.notify(sc_core::SC_ZERO_TIME);
    return;
  }
  p.run(now + 1_nck);
  respond();
  p.notify();
}

void DramTarget::accept_held() {
  Parts& p = *parts_;
  if (p.held == nullptr || !p.takes(*p.held)) return;
  tlm::tlm_generic_payload& payload = *std::exchange(p.held, nullptr);
  p.accept(payload, std::max(p.time.now(), p.held_at));
  tlm::tlm_phase phase = tlm::END_REQ;
  sc_core::sc_time delay = sc_core::SC_ZERO_TIME;
  socket->nb_transport_bw(payload, phase, delay);
}

void DramTarget::respond() {
  Parts& p = *parts_;
  const Clock now = p.time.now();
  while (!p.responding && !p.responses.empty() && p.responses.top().at <= now) {
    tlm::tlm_generic_payload& payload = *p.responses.top().payload;
    p.responses.pop();
    tlm::tlm_phase phase = tlm::BEGIN_RESP;
    sc_core::sc_time delay = sc_core::SC_ZERO_TIME;
    p.responding = true;
    const tlm::tlm_sync_enum answer = socket->nb_transport_bw(payload, phase, delay);
    if (answer == tlm::TLM_ACCEPTED || (answer == tlm::TLM_UPDATED && phase != tlm::END_RESP)) continue;
    if (payload.has_mm()) payload.release();
    p.responding = false;
  }
}

double DramTarget::clock_hz() const { return static_cast<double>(parts_->clock.n); }
std::int64_t DramTarget::burst_bytes() const { return parts_->spec.burst_bytes; }
sc_core::sc_time DramTarget::begin_of(std::int64_t clock) const { return parts_->time.begin_of(Clock(clock)); }
void DramTarget::drain() { parts_->run(sim::DramModel::kNever); }
std::int64_t DramTarget::clocks() const { return parts_->last.count(); }
std::int64_t DramTarget::bursts() const { return parts_->bursts; }
std::int64_t DramTarget::activates() const { return parts_->dram.activates(); }

}  // namespace tilescope::systemc
