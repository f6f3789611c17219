// SPDX-License-Identifier: Apache-2.0
#pragma once
// The memory behind a Gpu's last cache, asked through its socket by one of the three protocols.

#include <deque>
#include <functional>
#include <optional>
#include <queue>
#include <span>
#include <string>
#include <vector>

#include "include/tilescope/systemc.h"
#include "sim/memory/foreign_dram.h"
#include "sim/ticks_of_time.h"

namespace tilescope::systemc {

// Payloads that are used again once both sides have released them.
class PayloadPool : public tlm::tlm_mm_interface {
 public:
  ~PayloadPool() override;
  tlm::tlm_generic_payload& take();
  void free(tlm::tlm_generic_payload* payload) override;

 private:
  std::vector<tlm::tlm_generic_payload*> all_;  // those under way too, which the pool deletes
  std::vector<tlm::tlm_generic_payload*> idle_;
};

class MemoryPort {
 public:
  // Requests of at most `bytes`; times of the level's clock.
  MemoryPort(tlm_utils::simple_initiator_socket<Gpu>& socket, Protocol protocol, base::Hertz clock, std::int64_t bytes);

  void request(std::span<const sim::ForeignRequest> requests);
  void advance(sim::Clock until, std::vector<sim::ForeignAnswer>& answers);
  bool answers_late() const { return protocol_ != Protocol::kBatch; }
  // Of the Gpu's SC_METHOD on `due`.
  void send();
  tlm::tlm_sync_enum answer(tlm::tlm_generic_payload& payload, tlm::tlm_phase& phase, const sc_core::sc_time& delay);

  sc_core::sc_event due;

 private:
  struct Waiting {
    sim::ForeignRequest request;
    bool operator>(const Waiting& o) const {
      return request.arrival != o.request.arrival ? request.arrival > o.request.arrival : request.id > o.request.id;
    }
  };

  void exchange(sim::Clock until, std::vector<sim::ForeignAnswer>& answers);
  void begin(const sim::ForeignRequest& r);
  // When the next request can be sent, in SystemC's time; nothing while the memory holds one or none waits.
  std::optional<sc_core::sc_time> next() const;
  void notify();
  void ask_loosely();
  void set(tlm::tlm_generic_payload& payload, const sim::ForeignRequest& r);
  void take(const tlm::tlm_generic_payload& payload, std::uint64_t id, const sc_core::sc_time& at);
  void require_ok(const tlm::tlm_generic_payload& payload);

  tlm_utils::simple_initiator_socket<Gpu>& socket_;
  Protocol protocol_;
  sim::TicksOfTime<sim::Clock> time_;
  std::vector<unsigned char> data_;  // that reads and writes share: no one looks at it
  PayloadPool pool_;
  tlm::tlm_generic_payload turn_;  // extended by the batch
  Batch batch_;
  std::priority_queue<Waiting, std::vector<Waiting>, std::greater<>> waiting_;  // to be sent at their times
  tlm::tlm_generic_payload* requesting_ = nullptr;                              // the memory has not ended its request
  sc_core::sc_time free_;                  // it ended the one before then: the next one does not begin before
  std::deque<sim::ForeignRequest> ready_;  // for a thread
  int idle_ = 0, threads_ = 0;
  sc_core::sc_event ready_event_;
  std::vector<sim::ForeignAnswer> answers_;
  std::string failed_;
};

}  // namespace tilescope::systemc
