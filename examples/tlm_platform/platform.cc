// SPDX-License-Identifier: Apache-2.0
// A platform that drives a chip's DRAM with the requests of a trace, and prints the cycles that `tilescope trace` does.
//
//     tlm_platform CHIP TRACE sat|batch|win:N
//
// sat: every request is there at time 0; batch: the same as one call; win:N: N bursts under way, writes until the
// controller has them.

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <deque>
#include <fstream>
#include <iostream>
#include <stdexcept>
#include <string>
#include <systemc>
#include <tilescope/systemc.h>
#include <tlm>
#include <tlm_utils/simple_initiator_socket.h>
#include <vector>

using tilescope::systemc::Batch;
using tilescope::systemc::DramTarget;

struct Request {
  std::uint64_t address = 0, bytes = 0;
  bool write = false;
};

// The bursts of `<hex address> <R|W> <bytes>` lines.
std::vector<Request> read_bursts(const std::string& path, std::uint64_t burst) {
  std::ifstream file(path);
  if (!file) throw std::runtime_error(path + ": cannot be read");
  std::vector<Request> bursts;
  std::string address, kind;
  for (std::uint64_t bytes = 0; file >> address >> kind >> bytes;)
    for (std::uint64_t a = std::stoull(address, nullptr, 16), end = a + bytes, next = a; a < end; a = next) {
      next = (a / burst + 1) * burst;
      bursts.push_back({a, std::min(next, end) - a, kind == "W"});
    }
  return bursts;
}

// Approximately timed: so many requests under way, in order.
class Initiator : public sc_core::sc_module {
 public:
  tlm_utils::simple_initiator_socket<Initiator> socket;

  Initiator(const sc_core::sc_module_name& name, const DramTarget& dram, const std::vector<Request>& bursts,
            std::size_t window)
      : sc_module(name), socket("socket"), dram_(dram), payloads_(bursts.size()), free_(window) {
    socket.register_nb_transport_bw(this, &Initiator::nb_transport_bw);
    for (std::size_t i = 0; i < bursts.size(); ++i) {
      payloads_[i].set_command(bursts[i].write ? tlm::TLM_WRITE_COMMAND : tlm::TLM_READ_COMMAND);
      payloads_[i].set_address(bursts[i].address);
      payloads_[i].set_data_length(static_cast<unsigned>(bursts[i].bytes));
    }
    SC_HAS_PROCESS(Initiator);
    SC_METHOD(send);
    sensitive << event_;
  }

 private:
  void send() {
    const sc_core::sc_time now = sc_core::sc_time_stamp();
    for (; !frees_.empty() && frees_.front() <= now; frees_.pop_front()) ++free_;
    for (; next_ < payloads_.size() && free_ > 0 && !held_; ++next_) {
      --free_;
      tlm::tlm_phase phase = tlm::BEGIN_REQ;
      sc_core::sc_time delay = sc_core::SC_ZERO_TIME;
      const tlm::tlm_sync_enum said = socket->nb_transport_fw(payloads_[next_], phase, delay);
      held_ = said == tlm::TLM_ACCEPTED;
      if (said == tlm::TLM_UPDATED) accepted(payloads_[next_]);
    }
    if (!frees_.empty()) event_.notify(frees_.front() - now);
  }

  // A window's place is free a clock after what it was for: a write that is accepted, a read that is there.
  void accepted(const tlm::tlm_generic_payload& payload) {
    if (payload.is_write()) free_later();
  }
  void free_later() {
    frees_.push_back(clock_after(sc_core::sc_time_stamp()));
    event_.notify(frees_.front() - sc_core::sc_time_stamp());
  }
  sc_core::sc_time clock_after(const sc_core::sc_time& t) const {
    const auto clock = static_cast<std::int64_t>(t.to_seconds() * dram_.clock_hz() + 0.5);
    return dram_.begin_of(clock + 1);
  }

  tlm::tlm_sync_enum nb_transport_bw(tlm::tlm_generic_payload& payload, tlm::tlm_phase& phase, sc_core::sc_time&) {
    if (phase == tlm::END_REQ) {
      held_ = false;
      accepted(payload);
      event_.notify(sc_core::SC_ZERO_TIME);
      return tlm::TLM_ACCEPTED;
    }
    if (!payload.is_write()) free_later();
    phase = tlm::END_RESP;
    return tlm::TLM_COMPLETED;
  }

  const DramTarget& dram_;
  std::deque<tlm::tlm_generic_payload> payloads_;
  std::size_t free_, next_ = 0;
  bool held_ = false;
  std::deque<sc_core::sc_time> frees_;  // when places of the window become free
  sc_core::sc_event event_;
};

// All requests in one call.
void exchange(tlm_utils::simple_initiator_socket<Initiator>& socket, const std::vector<Request>& bursts) {
  Batch batch;
  batch.until = sc_core::sc_max_time();
  batch.cut_at_bursts = true;
  for (const Request& r : bursts)
    batch.requests.push_back(
        {batch.requests.size(), r.address, static_cast<std::uint32_t>(r.bytes), r.write, false, {}});
  tlm::tlm_generic_payload payload;
  payload.set_extension(&batch);
  sc_core::sc_time delay = sc_core::SC_ZERO_TIME;
  socket->b_transport(payload, delay);
  payload.clear_extension(&batch);
}

int sc_main(int argc, char** argv) {
  if (argc != 4) {
    std::cerr << "usage: tlm_platform CHIP TRACE sat|batch|win:N\n";
    return 2;
  }
  try {
    const std::string inject = argv[3];
    const bool window = inject.rfind("win:", 0) == 0;
    DramTarget dram("dram", argv[1], {window, {}});
    const std::vector<Request> bursts = read_bursts(argv[2], static_cast<std::uint64_t>(dram.burst_bytes()));
    const std::size_t places = window ? std::strtoul(inject.c_str() + 4, nullptr, 10) : bursts.size() + 1;
    Initiator initiator("initiator", dram, inject == "batch" ? std::vector<Request>() : bursts, places);
    initiator.socket.bind(dram.socket);
    sc_core::sc_start(sc_core::SC_ZERO_TIME);
    if (inject == "batch") exchange(initiator.socket, bursts);
    sc_core::sc_start();
    dram.drain();
    std::cout << "bursts " << dram.bursts() << "\ncycles " << dram.clocks() << "\n";
  } catch (const std::exception& e) {
    std::cerr << e.what() << "\n";
    return 1;
  }
  return 0;
}
