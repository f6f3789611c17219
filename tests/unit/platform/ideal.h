// SPDX-License-Identifier: Apache-2.0
#pragma once
// A user's memory that answers each request after a fixed time and keeps what it was asked.

#include <cstdint>
#include <deque>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "include/tilescope/systemc.h"

namespace tilescope::tests {

// In the way that it is made for.
class Ideal : public sc_core::sc_module {
 public:
  enum class Way : std::uint8_t { kAnnotates, kWaits, kPhases, kBatch, kNever, kTwice, kRefuses };
  tlm_utils::simple_target_socket<Ideal> socket;

  Ideal(const sc_core::sc_module_name& name, Way way, const sc_core::sc_time& latency)
      : sc_module(name), socket("socket"), way_(way), latency_(latency) {
    socket.register_b_transport(this, &Ideal::b_transport);
    socket.register_nb_transport_fw(this, &Ideal::nb_transport_fw);
    SC_HAS_PROCESS(Ideal);
    SC_METHOD(respond);
    sensitive << event_;
    dont_initialize();
  }

  static systemc::Protocol protocol_of(Way way) {
    if (way == Way::kBatch) return systemc::Protocol::kBatch;
    return way == Way::kPhases ? systemc::Protocol::kApproximate : systemc::Protocol::kLoose;
  }

  struct Seen {
    int core = 0;
    std::uint64_t address = 0;
    unsigned bytes = 0;
    bool write = false;
  };
  std::vector<Seen> seen;

 private:
  void note(const tlm::tlm_generic_payload& payload) {
    const auto* const from = payload.get_extension<systemc::FromCore>();
    seen.push_back(
        {from == nullptr ? -1 : from->core, payload.get_address(), payload.get_data_length(), payload.is_write()});
  }
  void answer(systemc::Batch& batch) {
    for (const systemc::Batch::Request& r : batch.requests) {
      seen.push_back({r.core, r.address, r.bytes, r.write});
      if (way_ == Way::kNever) continue;
      batch.answers.push_back({r.id, r.at + latency_});
      if (way_ == Way::kTwice) batch.answers.push_back({r.id, r.at + latency_});
    }
  }
  void b_transport(tlm::tlm_generic_payload& payload, sc_core::sc_time& delay) {
    payload.set_response_status(way_ == Way::kRefuses ? tlm::TLM_ADDRESS_ERROR_RESPONSE : tlm::TLM_OK_RESPONSE);
    if (auto* const batch = payload.get_extension<systemc::Batch>()) return answer(*batch);
    note(payload);
    if (way_ == Way::kNever) wait(sc_core::sc_event());
    if (way_ == Way::kWaits)
      wait(latency_);
    else
      delay += latency_;
  }
  tlm::tlm_sync_enum nb_transport_fw(tlm::tlm_generic_payload& payload, tlm::tlm_phase& phase, sc_core::sc_time&) {
    if (phase != tlm::BEGIN_REQ) return tlm::TLM_ACCEPTED;
    note(payload);
    payload.acquire();
    payload.set_response_status(tlm::TLM_OK_RESPONSE);
    waiting_.emplace_back(sc_core::sc_time_stamp() + latency_, &payload);
    event_.notify(waiting_.front().first - sc_core::sc_time_stamp());
    phase = tlm::END_REQ;
    return tlm::TLM_UPDATED;
  }
  void respond() {
    while (!waiting_.empty() && waiting_.front().first <= sc_core::sc_time_stamp()) {
      tlm::tlm_generic_payload& payload = *waiting_.front().second;
      waiting_.pop_front();
      for (int i = way_ == Way::kTwice ? 2 : 1; i > 0; --i) {
        tlm::tlm_phase phase = tlm::BEGIN_RESP;
        sc_core::sc_time delay = sc_core::SC_ZERO_TIME;
        EXPECT_EQ(socket->nb_transport_bw(payload, phase, delay), tlm::TLM_COMPLETED);
      }
      payload.release();
    }
    if (!waiting_.empty()) event_.notify(waiting_.front().first - sc_core::sc_time_stamp());
  }

  Way way_;
  sc_core::sc_time latency_;
  std::deque<std::pair<sc_core::sc_time, tlm::tlm_generic_payload*>> waiting_;
  sc_core::sc_event event_;
};

}  // namespace tilescope::tests
