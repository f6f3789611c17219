// SPDX-License-Identifier: Apache-2.0
#pragma once
// The responses of a target to its initiators, one at a time to each, as TLM's base protocol asks.

#include <algorithm>
#include <deque>
#include <functional>
#include <optional>
#include <queue>
#include <systemc>
#include <tlm>
#include <utility>
#include <vector>

#include "platform/detail/payload.h"

namespace tilescope::systemc {

template <class T>
using Earliest = std::priority_queue<T, std::vector<T>, std::greater<>>;

// Begins a response. The delay after which its initiator has ended it; nothing where the initiator will say so.
inline std::optional<sc_core::sc_time> begin_response(tlm::tlm_bw_transport_if<>& initiator,
                                                      tlm::tlm_generic_payload& payload) {
  tlm::tlm_phase phase = tlm::BEGIN_RESP;
  sc_core::sc_time delay = sc_core::SC_ZERO_TIME;
  const tlm::tlm_sync_enum answer = initiator.nb_transport_bw(payload, phase, delay);
  if (answer == tlm::TLM_ACCEPTED || (answer == tlm::TLM_UPDATED && phase != tlm::END_RESP)) return std::nullopt;
  if (payload.has_mm()) payload.release();
  return delay;
}

template <class Tick>
class PortResponses {
 public:
  // Begins a response at the port of that number, as begin_response.
  using Begin = std::function<std::optional<sc_core::sc_time>(int port, tlm::tlm_generic_payload& payload)>;
  explicit PortResponses(Begin begin) : begin_(std::move(begin)) {}

  void resize(std::size_t ports) { ports_.resize(ports); }
  void push(const Response<Tick>& r, int port) { due_.push({r, port}); }
  // The initiator ends its response after `delay`.
  void end(int port, const sc_core::sc_time& delay) {
    Port& p = ports_[static_cast<std::size_t>(port)];
    p.responding = false;
    p.free = sc_core::sc_time_stamp() + delay;
    if (!p.due.empty()) freed_.emplace(p.free, port);
  }
  // Begins those that are due at `now`, which SystemC's time is, and whose initiators have ended the ones before.
  void run(Tick now) {
    while (!freed_.empty() && freed_.top().first <= sc_core::sc_time_stamp()) {
      const int port = freed_.top().second;
      freed_.pop();
      respond(port);
    }
    while (!due_.empty() && due_.top().at <= now) {
      const Due r = due_.top();
      due_.pop();
      ports_[static_cast<std::size_t>(r.port)].due.push_back(r.payload);
      respond(r.port);
    }
  }
  // When one is due next, and in how much time one can begin that has waited for the end of another.
  std::optional<Tick> next() const { return due_.empty() ? std::nullopt : std::optional(due_.top().at); }
  std::optional<sc_core::sc_time> until_freed() const {
    const sc_core::sc_time& now = sc_core::sc_time_stamp();
    return freed_.empty() ? std::nullopt : std::optional(std::max(freed_.top().first, now) - now);
  }

 private:
  struct Due : Response<Tick> {
    int port = 0;
  };
  struct Port {
    std::deque<tlm::tlm_generic_payload*> due;  // behind one that is not ended
    bool responding = false;                    // the initiator has not ended its response
    sc_core::sc_time free;                      // the next response does not begin before
  };
  void respond(int port) {
    Port& p = ports_[static_cast<std::size_t>(port)];
    while (!p.responding && !p.due.empty() && p.free <= sc_core::sc_time_stamp()) {
      tlm::tlm_generic_payload& payload = *p.due.front();
      p.due.pop_front();
      p.responding = true;
      if (const auto ended = begin_(port, payload)) end(port, *ended);
    }
  }

  Begin begin_;
  Earliest<Due> due_;
  std::vector<Port> ports_;
  Earliest<std::pair<sc_core::sc_time, int>> freed_;  // ports that have more to say then
};

}  // namespace tilescope::systemc
