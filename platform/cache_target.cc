// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <deque>
#include <memory>
#include <optional>
#include <queue>
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
#include "sim/cache_hierarchy.h"
#include "sim/ticks_of_time.h"

namespace tilescope::systemc {
namespace {

using sim::Cycle;
using sim::operator""_cycles;

constexpr Cycle kNever = sim::CacheHierarchy::kNever;
constexpr int kNone = -1;

template <class T>
using Earliest = std::priority_queue<T, std::vector<T>, std::greater<>>;

// What an initiator asked for.
struct Transaction {
  enum class By : std::uint8_t { kApproximate, kLoose, kBatch } by{};
  tlm::tlm_generic_payload* payload = nullptr;  // of kApproximate
  int port = 0;                                 // likewise
  std::uint64_t number = 0;                     // of all of these
  std::uint64_t id = 0;                         // of kBatch
  int next = kNone;                             // that continues it and is answered with it
  int left = 0;                                 // lines that are not answered
  Cycle done{};
  int level = 0;
};

struct PortResponse : Response<Cycle> {
  int port = 0;
};

// A part of what was asked for that no turn has taken.
struct Waiting {
  sim::CacheRequest request;
  Cycle turn_at{};  // that the turn which takes it holds: what is handed over in a turn is served in it
  std::uint64_t number = 0;
  bool operator>(const Waiting& o) const { return turn_at != o.turn_at ? turn_at > o.turn_at : number > o.number; }
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
  arch::ArchSpec chip;
  base::Hertz clock;
  sim::TicksOfTime<Cycle> time;
  MemoryPort dram;
  std::unique_ptr<sim::CacheHierarchy> caches;
  bool late = false;  // answers of `dram` come in SystemC's time, and nothing runs ahead of that
  std::vector<Transaction> asked;
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
  sc_core::sc_event event, answered;  // of a request that waits

  Parts(const arch::ArchSpec& a, MemoryPort::Socket& dram_socket, Protocol protocol)
      : chip(a),
        clock(chip.clock),
        time(clock),
        dram(dram_socket, Below::kCaches, protocol, most_bytes(chip)),
        caches(std::make_unique<sim::CacheHierarchy>(chip)) {}

  // Of one request to the DRAM.
  static std::int64_t most_bytes(const arch::ArchSpec& chip) {
    const arch::Hierarchy h = arch::hierarchy_of(chip);
    return std::max(arch::transaction_of(*h.dram).n, h.device_caches.back()->line.n);
  }
  // What is bound to `dram` stands in for the channels.
  void bind_dram() {
    caches = std::make_unique<sim::CacheHierarchy>(chip, dram.as_dram(chip));
    late = dram.answers_late();
  }

  // Whether there is such a core.
  bool has(int core) const { return core >= 0 && core < caches->cores(); }
  static int core_of(int port, const tlm::tlm_generic_payload& payload) {
    const FromCore* const from = payload.get_extension<FromCore>();
    return from == nullptr ? port : from->core;
  }
  std::optional<tlm::tlm_response_status> refuses(int core, const tlm::tlm_generic_payload& payload) const {
    const auto why = refused(payload);
    return why || has(core) ? why : tlm::TLM_GENERIC_ERROR_RESPONSE;
  }

  int open(Transaction a) {
    if (free.empty()) {
      free.push_back(static_cast<int>(asked.size()));
      asked.emplace_back();
    }
    const int place = free.back();
    free.pop_back();
    a.number = numbers++;
    in_system_time += in_time(a) ? 1 : 0;
    asked[static_cast<std::size_t>(place)] = a;
    return place;
  }
  // Whether the event serves it.
  bool in_time(const Transaction& a) const {
    return a.by == Transaction::By::kApproximate || (late && a.by == Transaction::By::kLoose);
  }

  // Cuts it at lines. What continues a piece of the same line is one request with that.
  void push(int place, sim::CacheRequest r, Cycle turn_at, std::int64_t& last_line) {
    const std::int64_t line = caches->line_bytes(), begin = r.address, end = begin + r.bytes;
    for (std::int64_t b = begin, next = b; b < end; b = next) {
      next = std::min((b / line + 1) * line, end);
      r.ticket = place;
      r.address = b;
      r.bytes = next - b;
      r.continues = b / line == last_line;
      last_line = b / line;
      waiting.push({r, turn_at, parts++});
      asked[static_cast<std::size_t>(place)].left += r.continues ? 0 : 1;
    }
  }
  int ask(const Transaction& a, int core, const tlm::tlm_generic_payload& payload, Cycle at) {
    const int place = open(a);
    std::int64_t none = -1;
    push(place,
         {.core = core,
          .write = payload.is_write(),
          .address = static_cast<std::int64_t>(payload.get_address()),
          .bytes = payload.get_data_length(),
          .at = at},
         at, none);
    return place;
  }
  void ask(std::span<const Batch::Request> pieces, Cycle end) {
    int place = kNone, before = kNone;
    std::int64_t line = -1;
    for (const Batch::Request& r : pieces) {
      const int own = open({.by = Transaction::By::kBatch, .id = r.id});
      if (before == kNone)
        place = own;
      else
        asked[static_cast<std::size_t>(before)].next = own;
      before = own;
      const Cycle at = time.tick_from(r.at);
      push(place,
           {.core = r.core,
            .write = r.write,
            .address = static_cast<std::int64_t>(r.address),
            .bytes = r.bytes,
            .at = at},
           std::min(at, end - 1_cycles), line);
    }
  }

  // When something next happens that is asked, is answered or comes of itself.
  Cycle begin() const {
    Cycle at = caches->next();
    if (!waiting.empty()) at = std::min(at, waiting.top().turn_at);
    if (!replies.empty()) at = std::min(at, replies.top());
    return at == kNever ? kNever : std::max(at, until);
  }
  // When the turn ends that holds a cycle.
  Cycle end_of(Cycle at) const { return caches->turn_of(at) + caches->turn(); }

  void turn() {
    until = end_of(begin());
    taken.clear();
    for (; !waiting.empty() && waiting.top().turn_at < until; waiting.pop()) taken.push_back(waiting.top().request);
    while (!replies.empty() && replies.top() < until) replies.pop();
    fresh.clear();
    caches->run(taken, until, fresh);
    for (const sim::CacheReply& r : fresh) {
      replies.push(r.at);
      Transaction& a = asked[static_cast<std::size_t>(r.ticket)];
      a.done = std::max(a.done, r.at);
      a.level = std::max(a.level, r.level);
      last = std::max(last, r.at);
      if (--a.left == 0) end(r.ticket);
    }
  }

  void end(int place) {
    const Transaction& a = asked[static_cast<std::size_t>(place)];
    if (in_time(a)) --in_system_time;
    if (a.by == Transaction::By::kApproximate) responses.push({{a.done, a.number, a.payload}, a.port});
    if (a.by == Transaction::By::kLoose) {
      if (late) answered.notify(sc_core::SC_ZERO_TIME);
      return;
    }
    const sc_core::sc_time done = time.begin_of(a.done);
    const int level = a.level;
    for (int p = place; p != kNone; p = asked[static_cast<std::size_t>(p)].next) {
      const Transaction& piece = asked[static_cast<std::size_t>(p)];
      if (piece.by == Transaction::By::kBatch)
        answers.push_back({.id = piece.id, .done = done, .row_hit = false, .merges = false, .level = level});
      free.push_back(p);
    }
  }

  // Turns that are over by then, of which all is known that is asked in them.
  void advance(Cycle now) {
    for (Cycle b = begin(); b != kNever && end_of(b) <= now; b = begin()) turn();
  }

  static bool continues(const Batch::Request& first, const Batch::Request& r) {
    return r.continues && r.core == first.core && r.write == first.write && r.at == first.at;
  }

  // Takes all of the requests or, where one cannot be asked, none.
  tlm::tlm_response_status exchange(Batch& batch) {
    for (const Batch::Request& r : batch.requests) {
      if (const auto why = refused(r.address, r.bytes)) return *why;
      if (!has(r.core)) return tlm::TLM_GENERIC_ERROR_RESPONSE;
    }
    const std::span<const Batch::Request> all = batch.requests;
    const Cycle now = time.tick_from(batch.until);
    for (std::size_t i = 0, next = 0; i < all.size(); i = next) {
      next = i + 1;
      while (next < all.size() && continues(all[i], all[next])) ++next;
      ask(all.subspan(i, next - i), now);
    }
    advance(now);
    batch.answers.insert(batch.answers.end(), answers.begin(), answers.end());
    answers.clear();
    batch.busy = !waiting.empty() || caches->next() != kNever;
    return tlm::TLM_OK_RESPONSE;
  }

  // When there is something to do in SystemC's time.
  void notify() {
    Cycle next = responses.empty() ? kNever : responses.top().at;
    if (const Cycle b = begin(); (in_system_time > 0 || late) && b != kNever) next = std::min(next, end_of(b));
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
                         const std::vector<std::string>& overrides, Protocol protocol)
    : sc_module(name),
      socket("socket"),
      dram("dram"),
      parts_(std::make_unique<Parts>(chip_with_caches(chip, overrides), dram, protocol)) {
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
  parts_->ports.resize(static_cast<std::size_t>(bound));
  if (dram.get_base_port().bind_count() > 0) parts_->bind_dram();
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
  p.advance(p.late ? p.time.now() : at);
  const int place = p.ask({.by = Transaction::By::kLoose}, core, payload, at);
  const auto own = static_cast<std::size_t>(place);
  p.notify();
  while (p.asked[own].left > 0) {
    if (p.late) {
      wait(p.answered);
      continue;
    }
    base::check(p.begin() != kNever, "what is asked is answered");
    p.turn();
  }
  p.free.push_back(place);
  const sc_core::sc_time done = p.time.begin_of(p.asked[own].done);
  delay = std::max(done, now + delay) - now;
  p.notify();
}

tlm::tlm_sync_enum CacheTarget::nb_transport_bw(tlm::tlm_generic_payload& payload, tlm::tlm_phase& phase,
                                                sc_core::sc_time& delay) {
  return parts_->dram.answer(payload, phase, delay);
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
  p.ask({.by = Transaction::By::kApproximate, .payload = &payload, .port = port}, core, payload,
        p.time.tick_from(sc_core::sc_time_stamp() + delay));
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
std::int64_t CacheTarget::cores() const { return parts_->caches->cores(); }
std::int64_t CacheTarget::misses_of_core() const { return parts_->caches->misses(); }
std::int64_t CacheTarget::line_bytes() const { return parts_->caches->line_bytes(); }
void CacheTarget::drain() { parts_->advance(parts_->late ? parts_->time.now() : kNever); }
std::int64_t CacheTarget::cycles() const { return parts_->last.count(); }

std::vector<LevelReport> CacheTarget::levels() const { return reports_of(parts_->caches->levels()); }

}  // namespace tilescope::systemc
