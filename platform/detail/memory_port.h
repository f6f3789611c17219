// SPDX-License-Identifier: Apache-2.0
#pragma once
// What a user has behind our last cache or our cores, asked through a socket by one of the three protocols.

#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <queue>
#include <span>
#include <string>
#include <vector>

#include "arch/spec.h"
#include "include/tilescope/systemc.h"
#include "sim/memory/dram_model.h"
#include "sim/memory/foreign_memory.h"

namespace tilescope::systemc {

// Payloads that are used again once both sides have released them.
class PayloadPool : public tlm::tlm_mm_interface {
 public:
  explicit PayloadPool(bool from_cores) : from_cores_(from_cores) {}
  ~PayloadPool() override;
  tlm::tlm_generic_payload& take();
  void free(tlm::tlm_generic_payload* payload) override;

 private:
  bool from_cores_;                             // payloads say which core asks
  std::vector<tlm::tlm_generic_payload*> all_;  // those under way too, which the pool deletes
  std::vector<tlm::tlm_generic_payload*> idle_;
};

class MemoryPort {
 public:
  using Socket = sc_core::sc_port_b<tlm::tlm_fw_transport_if<>>;

  // Requests of at most `bytes`.
  MemoryPort(Socket& socket, Below below, Protocol protocol, std::int64_t bytes);

  // As of sim::ForeignMemory, in SystemC's time.
  void request(std::span<const Batch::Request> requests);
  void advance(const sc_core::sc_time& until, std::vector<Batch::Answer>& answers);
  bool answers_late() const { return protocol_ != Protocol::kBatch; }
  bool busy() const { return batch_.busy; }
  // The simulator's side, in place of the channels of a chip; of its link, its caches and its channels.
  sim::DramFactory as_dram(const arch::ArchSpec& chip);
  std::function<std::unique_ptr<sim::ForeignMemory<sim::Cycle>>()> as_memory(const arch::ArchSpec& chip);
  std::string name() const { return socket_.name(); }
  // Makes the process that sends, of the module under construction.
  void spawn();
  tlm::tlm_sync_enum answer(tlm::tlm_generic_payload& payload, tlm::tlm_phase& phase, const sc_core::sc_time& delay);

 private:
  struct Waiting {
    Batch::Request request;
    bool operator>(const Waiting& o) const {
      return request.at != o.request.at ? request.at > o.request.at : request.id > o.request.id;
    }
  };

  void send();
  void exchange(const sc_core::sc_time& until, std::vector<Batch::Answer>& answers);
  void begin(const Batch::Request& r);
  // When the next request can be sent, in SystemC's time; nothing while the memory holds one or none waits.
  std::optional<sc_core::sc_time> next() const;
  void notify();
  void ask_loosely();
  void set(tlm::tlm_generic_payload& payload, const Batch::Request& r);
  void take(const tlm::tlm_generic_payload& payload, std::uint64_t id, const sc_core::sc_time& at);
  void require_ok(const tlm::tlm_generic_payload& payload);

  Socket& socket_;
  sc_core::sc_event due_;
  Protocol protocol_;
  std::vector<unsigned char> data_;  // that reads and writes share: no one looks at it
  PayloadPool pool_;
  tlm::tlm_generic_payload turn_;  // extended by the batch
  Batch batch_;
  std::priority_queue<Waiting, std::vector<Waiting>, std::greater<>> waiting_;  // to be sent at their times
  tlm::tlm_generic_payload* requesting_ = nullptr;                              // the memory has not ended its request
  sc_core::sc_time free_;             // it ended the one before then: the next one does not begin before
  std::deque<Batch::Request> ready_;  // for a thread
  int idle_ = 0, threads_ = 0;
  sc_core::sc_event ready_event_;
  std::vector<Batch::Answer> answers_;
  std::string failed_;
};

}  // namespace tilescope::systemc
