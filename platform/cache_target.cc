// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <deque>
#include <queue>
#include <stdexcept>
#include <utility>

#include <fmt/format.h>

#include "arch/derive.h"
#include "arch/hierarchy.h"
#include "base/check.h"
#include "include/tilescope/systemc.h"
#include "platform/detail/chip.h"
#include "platform/detail/payload.h"
#include "sim/cache_hierarchy.h"
#include "sim/ticks_of_time.h"

namespace tilescope::systemc {
namespace {

using sim::Cycle;

constexpr Cycle kNever = sim::CacheHierarchy::kNever;

template <class T>
using Earliest = std::priority_queue<T, std::vector<T>, std::greater<>>;

// What an initiator asked for.
struct Asked {
  enum class By : std::uint8_t { kApproximate, kLoose, kBatch } by{};
  tlm::tlm_generic_payload* payload = nullptr;  // of kApproximate
  int port = 0;                                 // likewise
  std::uint64_t number = 0;                     // of all of these
  std::uint64_t id = 0;                         // of kBatch
  int left = 0;                                 // lines that are not answered
  Cycle done{};
};

struct PortResponse : Response<Cycle> {
  int port = 0;
};

// A part of what was asked for that no turn has taken.
struct Waiting {
  sim::CacheRequest request;
  std::uint64_t number = 0;
  bool operator>(const Waiting& o) const {
    return request.at != o.request.at ? request.at > o.request.at : number > o.number;
  }
};

// Of one initiator.
struct Port {
  std::deque<Response<Cycle>> due;  // behind one that is not ended
  bool responding = false;          // the initiator has not ended its response
  sc_core::sc_time free;            // the next response does not begin before
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

}  // namespace

struct CacheTarget::Parts {
  base::Hertz clock;
  sim::TicksOfTime<sim::Cycle> time;
  sim::CacheHierarchy caches;
  std::vector<Asked> asked;
  std::vector<int> free;  // places of them
  std::uint64_t numbers = 0, parts = 0;
  Earliest<Waiting> waiting;
  Earliest<Cycle> replies;  // that no turn has passed
  Cycle until{};            // of the last turn
  std::vector<sim::CacheRequest> taken;
  std::vector<sim::CacheReply> fresh;
  Earliest<PortResponse> responses;
  std::vector<Port> ports;
  Earliest<std::pair<sc_core::sc_time, int>> freed;  // ports that have more to say then
  std::vector<Batch::Answer> answers;
  std::int64_t in_system_time = 0;  // requests that the event serves
  Cycle last{};
  sc_core::sc_event event;

  explicit Parts(const arch::ArchSpec& chip) : clock(chip.clock), time(clock), caches(chip) {}

  // Whether there is such a core.
  bool has(int core) const { return core >= 0 && core < caches.cores(); }
  static int core_of(int port, const tlm::tlm_generic_payload& payload) {
    const FromCore* const from = payload.get_extension<FromCore>();
    return from == nullptr ? port : from->core;
  }
  std::optional<tlm::tlm_response_status> refuses(int core, const tlm::tlm_generic_payload& payload) const {
    const auto why = refused(payload);
    return why || has(core) ? why : tlm::TLM_GENERIC_ERROR_RESPONSE;
  }

  int ask(Asked a, int core, std::uint64_t address, std::int64_t bytes, bool write, Cycle at) {
    if (free.empty()) {
      free.push_back(static_cast<int>(asked.size()));
      asked.emplace_back();
    }
    const int place = free.back();
    free.pop_back();
    a.number = numbers++;
    in_system_time += a.by == Asked::By::kApproximate ? 1 : 0;
    const std::int64_t line = caches.line_bytes(), begin = static_cast<std::int64_t>(address), end = begin + bytes;
    for (std::int64_t b = begin, next = b; b < end; b = next) {
      next = std::min((b / line + 1) * line, end);
      waiting.push({{core, place, write, b, next - b, at}, parts++});
      ++a.left;
    }
    asked[static_cast<std::size_t>(place)] = a;
    return place;
  }

  // When the next turn begins: with what comes first of what is asked, what is answered and what the memory does.
  Cycle begin() const {
    Cycle at = caches.next();
    if (!waiting.empty()) at = std::min(at, waiting.top().request.at);
    if (!replies.empty()) at = std::min(at, replies.top());
    return at == kNever ? kNever : std::max(at, until);
  }

  void turn() {
    until = begin() + caches.turn();
    taken.clear();
    for (; !waiting.empty() && waiting.top().request.at < until; waiting.pop()) taken.push_back(waiting.top().request);
    while (!replies.empty() && replies.top() < until) replies.pop();
    fresh.clear();
    caches.run(taken, until, fresh);
    for (const sim::CacheReply& r : fresh) {
      replies.push(r.at);
      Asked& a = asked[static_cast<std::size_t>(r.ticket)];
      a.done = std::max(a.done, r.at);
      last = std::max(last, r.at);
      if (--a.left == 0) end(r.ticket);
    }
  }

  void end(int place) {
    const Asked& a = asked[static_cast<std::size_t>(place)];
    if (a.by == Asked::By::kApproximate) {
      responses.push({{a.done, a.number, a.payload}, a.port});
      --in_system_time;
    }
    if (a.by == Asked::By::kBatch) answers.push_back({a.id, time.begin_of(a.done), false});
    if (a.by != Asked::By::kLoose) free.push_back(place);
  }

  // Turns that are over by then, of which all is known that is asked in them.
  void advance(Cycle now) {
    for (Cycle b = begin(); b != kNever && b + caches.turn() <= now; b = begin()) turn();
  }

  // Takes all of the requests or, where one cannot be asked, none.
  tlm::tlm_response_status exchange(Batch& batch) {
    for (const Batch::Request& r : batch.requests) {
      if (const auto why = refused(r.address, r.bytes)) return *why;
      if (!has(r.core)) return tlm::TLM_GENERIC_ERROR_RESPONSE;
    }
    for (const Batch::Request& r : batch.requests)
      ask({.by = Asked::By::kBatch, .id = r.id}, r.core, r.address, r.bytes, r.write, time.tick_from(r.at));
    advance(time.tick_from(batch.until));
    batch.answers.insert(batch.answers.end(), answers.begin(), answers.end());
    answers.clear();
    return tlm::TLM_OK_RESPONSE;
  }

  // When there is something to do in SystemC's time.
  void notify() {
    Cycle next = responses.empty() ? kNever : responses.top().at;
    if (const Cycle b = begin(); in_system_time > 0 && b != kNever) next = std::min(next, b + caches.turn());
    if (next != kNever) event.notify(time.until(next));
    if (!freed.empty()) event.notify(std::max(freed.top().first, sc_core::sc_time_stamp()) - sc_core::sc_time_stamp());
  }

  void end_response(int port, const sc_core::sc_time& delay) {
    Port& p = ports[static_cast<std::size_t>(port)];
    p.responding = false;
    p.free = sc_core::sc_time_stamp() + delay;
    if (!p.due.empty()) freed.emplace(p.free, port);
  }
};

CacheTarget::CacheTarget(const sc_core::sc_module_name& name, const std::string& chip,
                         const std::vector<std::string>& overrides)
    : sc_module(name), socket("socket"), parts_(std::make_unique<Parts>(chip_with_caches(chip, overrides))) {
  socket.register_b_transport(this, &CacheTarget::b_transport);
  socket.register_nb_transport_fw(this, &CacheTarget::nb_transport_fw);
  SC_HAS_PROCESS(CacheTarget);
  SC_METHOD(run);
  sensitive << parts_->event;
  dont_initialize();
}

CacheTarget::~CacheTarget() = default;

void CacheTarget::before_end_of_elaboration() {
  const int bound = socket.get_base_port().bind_count();
  if (bound == 0) refuse_unbound(socket.name(), "a CacheTarget wants an initiator");
  if (bound > cores())
    SC_REPORT_ERROR("/tilescope/bound", fmt::format("socket '{}' is bound to {} initiators: the chip has {} cores",
                                                    socket.name(), bound, cores())
                                            .c_str());
  parts_->ports.resize(static_cast<std::size_t>(bound));
}

void CacheTarget::b_transport(int port, tlm::tlm_generic_payload& payload, sc_core::sc_time& delay) {
  Parts& p = *parts_;
  if (auto* const batch = payload.get_extension<Batch>()) {
    payload.set_response_status(p.exchange(*batch));
    return;
  }
  const int core = Parts::core_of(port, payload);
  const auto why = p.refuses(core, payload);
  payload.set_response_status(why.value_or(tlm::TLM_OK_RESPONSE));
  if (why) return;
  const sc_core::sc_time& now = sc_core::sc_time_stamp();
  const Cycle at = p.time.tick_from(now + delay);
  p.advance(at);
  const int place =
      p.ask({.by = Asked::By::kLoose}, core, payload.get_address(), payload.get_data_length(), payload.is_write(), at);
  const auto own = static_cast<std::size_t>(place);
  while (p.asked[own].left > 0) {
    base::check(p.begin() != kNever, "what is asked is answered");
    p.turn();
  }
  p.free.push_back(place);
  delay = std::max(delay, p.time.begin_of(p.asked[own].done) - now);
  p.notify();
}

tlm::tlm_sync_enum CacheTarget::nb_transport_fw(int port, tlm::tlm_generic_payload& payload, tlm::tlm_phase& phase,
                                                sc_core::sc_time& delay) {
  Parts& p = *parts_;
  if (phase == tlm::END_RESP) {
    if (payload.has_mm()) payload.release();
    p.end_response(port, delay);
    p.notify();
    return tlm::TLM_COMPLETED;
  }
  if (phase != tlm::BEGIN_REQ) return tlm::TLM_ACCEPTED;
  const int core = Parts::core_of(port, payload);
  const auto why = p.refuses(core, payload);
  payload.set_response_status(why.value_or(tlm::TLM_OK_RESPONSE));
  if (why) return tlm::TLM_COMPLETED;
  if (payload.has_mm()) payload.acquire();
  p.advance(p.time.now());
  p.ask({.by = Asked::By::kApproximate, .payload = &payload, .port = port}, core, payload.get_address(),
        payload.get_data_length(), payload.is_write(), p.time.tick_from(sc_core::sc_time_stamp() + delay));
  p.notify();
  phase = tlm::END_REQ;
  return tlm::TLM_UPDATED;
}

void CacheTarget::run() {
  Parts& p = *parts_;
  const Cycle now = p.time.now();
  p.advance(now);
  while (!p.freed.empty() && p.freed.top().first <= sc_core::sc_time_stamp()) {
    const int port = p.freed.top().second;
    p.freed.pop();
    respond(port);
  }
  while (!p.responses.empty() && p.responses.top().at <= now) {
    const PortResponse r = p.responses.top();
    p.responses.pop();
    p.ports[static_cast<std::size_t>(r.port)].due.push_back(r);
    respond(r.port);
  }
  p.notify();
}

void CacheTarget::respond(int port) {
  Port& p = parts_->ports[static_cast<std::size_t>(port)];
  while (!p.responding && !p.due.empty() && p.free <= sc_core::sc_time_stamp()) {
    tlm::tlm_generic_payload& payload = *p.due.front().payload;
    p.due.pop_front();
    tlm::tlm_phase phase = tlm::BEGIN_RESP;
    sc_core::sc_time delay = sc_core::SC_ZERO_TIME;
    p.responding = true;
    const tlm::tlm_sync_enum answer = socket[port]->nb_transport_bw(payload, phase, delay);
    if (answer == tlm::TLM_ACCEPTED || (answer == tlm::TLM_UPDATED && phase != tlm::END_RESP)) continue;
    if (payload.has_mm()) payload.release();
    parts_->end_response(port, delay);
  }
}

double CacheTarget::clock_hz() const { return static_cast<double>(parts_->clock.n); }
sc_core::sc_time CacheTarget::begin_of(std::int64_t cycle) const { return parts_->time.begin_of(Cycle(cycle)); }
std::int64_t CacheTarget::cores() const { return parts_->caches.cores(); }
std::int64_t CacheTarget::misses_of_core() const { return parts_->caches.misses(); }
std::int64_t CacheTarget::line_bytes() const { return parts_->caches.line_bytes(); }
void CacheTarget::drain() { parts_->advance(kNever); }
std::int64_t CacheTarget::cycles() const { return parts_->last.count(); }

std::vector<LevelReport> CacheTarget::levels() const { return reports_of(parts_->caches.levels()); }

}  // namespace tilescope::systemc
