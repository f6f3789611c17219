// SPDX-License-Identifier: Apache-2.0
#define SC_INCLUDE_DYNAMIC_PROCESSES  // threads are made as memories make them wait
#include "platform/detail/memory_port.h"

#include <algorithm>

#include <fmt/format.h>

#include "arch/derive.h"
#include "arch/hierarchy.h"
#include "sim/common/report.h"
#include "sim/memory/dram_spec.h"
#include "sim/memory/external_dram.h"
#include "sim/ticks_of_time.h"

namespace tilescope::systemc {
namespace {

// Of one socket: what a memory that makes its callers wait can have under way at a time.
constexpr int kMaxThreads = 1024;

// Which request a payload is.
struct Number : tlm::tlm_extension<Number> {
  std::uint64_t id = 0;
  tlm::tlm_extension_base* clone() const override { return new Number(*this); }
  void copy_from(const tlm::tlm_extension_base& other) override { *this = static_cast<const Number&>(other); }
};

// The side of what asks, in ticks of its clock.
template <class Tick>
class AtPort final : public sim::ForeignMemory<Tick> {
 public:
  AtPort(MemoryPort& port, const sim::TicksOfTime<Tick>& time) : port_(port), time_(time) {}

  void request(std::span<const sim::ForeignRequest<Tick>> requests) override {
    requests_.clear();
    for (const sim::ForeignRequest<Tick>& r : requests)
      requests_.push_back({r.id, static_cast<std::uint64_t>(r.address), static_cast<std::uint32_t>(r.bytes), r.write,
                           r.partial, time_.begin_of(r.arrival), r.core, r.continues});
    port_.request(requests_);
  }
  void advance(Tick until, std::size_t, std::vector<sim::ForeignAnswer<Tick>>& answers) override {
    answers_.clear();
    port_.advance(time_.begin_of(until), answers_);
    for (const Batch::Answer& a : answers_)
      answers.push_back({a.id, time_.tick_from(a.done), a.row_hit, a.merges, a.level});
  }
  bool answers_late() const override { return port_.answers_late(); }
  bool busy() const override { return port_.busy(); }

 private:
  MemoryPort& port_;
  sim::TicksOfTime<Tick> time_;
  std::vector<Batch::Request> requests_;
  std::vector<Batch::Answer> answers_;
};

}  // namespace

PayloadPool::~PayloadPool() {
  for (tlm::tlm_generic_payload* p : all_) delete p;
}

tlm::tlm_generic_payload& PayloadPool::take() {
  if (idle_.empty()) {
    idle_.push_back(all_.emplace_back(new tlm::tlm_generic_payload(this)));
    idle_.back()->set_extension(new Number);
    if (from_cores_) idle_.back()->set_extension(new FromCore);
  }
  tlm::tlm_generic_payload& p = *idle_.back();
  idle_.pop_back();
  p.acquire();
  return p;
}

void PayloadPool::free(tlm::tlm_generic_payload* payload) { idle_.push_back(payload); }

MemoryPort::MemoryPort(Socket& socket, Below below, Protocol protocol, std::int64_t bytes)
    : socket_(socket), protocol_(protocol), data_(static_cast<std::size_t>(bytes)), pool_(below == Below::kCores) {
  batch_.tells_merges = below == Below::kCaches;
}

sim::DramFactory MemoryPort::as_dram(const arch::ArchSpec& chip) {
  const arch::DramLevel& level = *arch::dram_of(chip);
  return [this, time = sim::TicksOfTime<sim::Clock>(level.clock), burst = arch::transaction_of(level).n,
          channels = level.channels, pseudo = sim::dram_spec(level).pseudo_channels] {
    return std::make_unique<sim::ExternalDram>(std::make_unique<AtPort<sim::Clock>>(*this, time), name(), burst,
                                               channels, pseudo);
  };
}

std::function<std::unique_ptr<sim::ForeignMemory<sim::Cycle>>()> MemoryPort::as_memory(const arch::ArchSpec& chip) {
  return [this, time = sim::TicksOfTime<sim::Cycle>(chip.clock)] {
    return std::make_unique<AtPort<sim::Cycle>>(*this, time);
  };
}

void MemoryPort::spawn() {
  sc_core::sc_spawn_options sends;
  sends.spawn_method();
  sends.dont_initialize();
  sends.set_sensitivity(&due_);
  sc_core::sc_spawn([this] { send(); }, "send", &sends);
}

void MemoryPort::set(tlm::tlm_generic_payload& payload, const Batch::Request& r) {
  payload.set_command(r.write ? tlm::TLM_WRITE_COMMAND : tlm::TLM_READ_COMMAND);
  payload.set_address(r.address);
  payload.set_data_ptr(data_.data());
  payload.set_data_length(r.bytes);
  payload.set_streaming_width(r.bytes);
  payload.set_byte_enable_ptr(nullptr);
  payload.set_byte_enable_length(0);
  payload.set_dmi_allowed(false);
  payload.set_response_status(tlm::TLM_INCOMPLETE_RESPONSE);
  if (auto* const from = payload.get_extension<FromCore>()) from->core = r.core;
}

// What goes wrong in a process of SystemC is told by the next advance, from where it can be thrown.
void MemoryPort::require_ok(const tlm::tlm_generic_payload& payload) {
  if (payload.is_response_error() && failed_.empty())
    failed_ = fmt::format("{}: the memory answers {} to address {:#x}", socket_.name(), payload.get_response_string(),
                          payload.get_address());
}

void MemoryPort::take(const tlm::tlm_generic_payload& payload, std::uint64_t id, const sc_core::sc_time& at) {
  require_ok(payload);
  answers_.push_back({.id = id, .done = at});
}

void MemoryPort::request(std::span<const Batch::Request> requests) {
  if (protocol_ == Protocol::kBatch) {
    batch_.requests.insert(batch_.requests.end(), requests.begin(), requests.end());
    return;
  }
  for (const Batch::Request& r : requests) waiting_.push({r});
  notify();
}

std::optional<sc_core::sc_time> MemoryPort::next() const {
  if (waiting_.empty() || requesting_ != nullptr) return std::nullopt;
  return std::max(waiting_.top().request.at, free_);
}

void MemoryPort::notify() {
  if (const auto at = next()) due_.notify(std::max(*at, sc_core::sc_time_stamp()) - sc_core::sc_time_stamp());
}

void MemoryPort::advance(const sc_core::sc_time& until, std::vector<Batch::Answer>& answers) {
  if (protocol_ == Protocol::kBatch) exchange(until, answers);
  if (!failed_.empty()) throw sim::SimError(failed_);
  // Annotated delays may lie beyond what is asked for; the caches take them too.
  answers.insert(answers.end(), answers_.begin(), answers_.end());
  answers_.clear();
}

void MemoryPort::exchange(const sc_core::sc_time& until, std::vector<Batch::Answer>& answers) {
  batch_.until = until;
  batch_.busy = false;
  set(turn_, {});
  turn_.set_command(tlm::TLM_IGNORE_COMMAND);
  turn_.set_extension(&batch_);
  sc_core::sc_time delay = sc_core::SC_ZERO_TIME;
  try {
    socket_->b_transport(turn_, delay);
  } catch (...) {
    turn_.clear_extension(&batch_);  // a payload that ends would delete it
    throw;
  }
  turn_.clear_extension(&batch_);
  if (turn_.is_response_error())
    throw sim::SimError(fmt::format("{}: the memory answers {} to a Batch; Protocol::kLoose or kApproximate would do",
                                    socket_.name(), turn_.get_response_string()));
  batch_.requests.clear();
  answers.insert(answers.end(), batch_.answers.begin(), batch_.answers.end());
  batch_.answers.clear();
}

void MemoryPort::send() {
  while (true) {
    const auto at = next();
    if (!at || *at > sc_core::sc_time_stamp()) break;
    const Batch::Request r = waiting_.top().request;
    waiting_.pop();
    if (protocol_ == Protocol::kLoose)
      ready_.push_back(r);
    else
      begin(r);
  }
  notify();
  if (ready_.empty()) return;
  if (idle_ > 0) {
    ready_event_.notify(sc_core::SC_ZERO_TIME);
  } else if (threads_ < kMaxThreads) {
    ++threads_;
    sc_core::sc_spawn([this] { ask_loosely(); });
    due_.notify(sc_core::SC_ZERO_TIME);  // for another one, if this one waits
  }
}

void MemoryPort::ask_loosely() {
  tlm::tlm_generic_payload& payload = pool_.take();  // the port's: a thread that still waits at the end frees nothing
  for (;;) {
    while (ready_.empty()) {
      ++idle_;
      sc_core::wait(ready_event_);
      --idle_;
    }
    const Batch::Request r = ready_.front();
    ready_.pop_front();
    if (!ready_.empty()) due_.notify(sc_core::SC_ZERO_TIME);
    set(payload, r);
    sc_core::sc_time delay = sc_core::SC_ZERO_TIME;
    socket_->b_transport(payload, delay);
    take(payload, r.id, sc_core::sc_time_stamp() + delay);
  }
}

void MemoryPort::begin(const Batch::Request& r) {
  tlm::tlm_generic_payload& payload = pool_.take();
  set(payload, r);
  payload.get_extension<Number>()->id = r.id;
  tlm::tlm_phase phase = tlm::BEGIN_REQ;
  sc_core::sc_time delay = sc_core::SC_ZERO_TIME;
  requesting_ = &payload;
  const tlm::tlm_sync_enum said = socket_->nb_transport_fw(payload, phase, delay);
  if (said == tlm::TLM_ACCEPTED) return;
  requesting_ = nullptr;
  const sc_core::sc_time at = sc_core::sc_time_stamp() + delay;
  if (said == tlm::TLM_COMPLETED) {
    take(payload, r.id, at);
    payload.release();
    return;
  }
  free_ = at;
  if (phase != tlm::BEGIN_RESP) return;
  take(payload, r.id, at);
  phase = tlm::END_RESP;
  socket_->nb_transport_fw(payload, phase, delay);
  payload.release();
}

tlm::tlm_sync_enum MemoryPort::answer(tlm::tlm_generic_payload& payload, tlm::tlm_phase& phase,
                                      const sc_core::sc_time& delay) {
  if (requesting_ == &payload && (phase == tlm::END_REQ || phase == tlm::BEGIN_RESP)) {
    requesting_ = nullptr;
    free_ = sc_core::sc_time_stamp() + delay;
    notify();
  }
  if (phase != tlm::BEGIN_RESP) return tlm::TLM_ACCEPTED;
  const Number* number = payload.get_extension<Number>();
  if (number == nullptr) {
    failed_ = fmt::format("{}: the memory answers a payload that it was never given", socket_.name());
    return tlm::TLM_COMPLETED;
  }
  take(payload, number->id, sc_core::sc_time_stamp() + delay);
  phase = tlm::END_RESP;
  payload.release();
  return tlm::TLM_COMPLETED;
}

}  // namespace tilescope::systemc
