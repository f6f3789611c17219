// SPDX-License-Identifier: Apache-2.0
// Cores of yours before a chip's link, caches and DRAM: each plays its share of a trace, a line after the other, and
// the platform prints the cycles and what the levels moved.
//
//     tlm_caches CHIP TRACE CORES LINES
//
// LINES: that a core has under way. With one core and L lines `tilescope trace --level l2 --inject win:L` takes as many
// cycles on a chip of one core (--set core.count=1).

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <deque>
#include <fstream>
#include <iostream>
#include <memory>
#include <stdexcept>
#include <string>
#include <systemc>
#include <tilescope/systemc.h>
#include <tlm>
#include <tlm_utils/simple_initiator_socket.h>
#include <vector>

using tilescope::systemc::CacheTarget;

struct Request {
  std::uint64_t address = 0, bytes = 0;
  bool write = false;
};

// The lines of `<hex address> <R|W> <bytes>` lines.
std::vector<Request> read_lines(const std::string& path, std::uint64_t line) {
  std::ifstream file(path);
  if (!file) throw std::runtime_error(path + ": cannot be read");
  std::vector<Request> lines;
  std::string address, kind;
  for (std::uint64_t bytes = 0; file >> address >> kind >> bytes;)
    for (std::uint64_t a = std::stoull(address, nullptr, 16), end = a + bytes, next = a; a < end; a = next) {
      next = std::min((a / line + 1) * line, end);
      lines.push_back({a, next - a, kind == "W"});
    }
  return lines;
}

class Core : public sc_core::sc_module {
 public:
  tlm_utils::simple_initiator_socket<Core> socket;

  Core(const sc_core::sc_module_name& name, std::size_t lines) : sc_module(name), socket("socket"), free_(lines) {
    socket.register_nb_transport_bw(this, &Core::nb_transport_bw);
    SC_HAS_PROCESS(Core);
    SC_METHOD(send);
    sensitive << answered_;
  }

  void play(const Request& r) {
    tlm::tlm_generic_payload& payload = payloads_.emplace_back();
    payload.set_command(r.write ? tlm::TLM_WRITE_COMMAND : tlm::TLM_READ_COMMAND);
    payload.set_address(r.address);
    payload.set_data_length(static_cast<unsigned>(r.bytes));
  }

 private:
  // Requests are accepted at once: how many are under way is the core's to bound.
  void send() {
    for (; next_ < payloads_.size() && free_ > 0; ++next_, --free_) {
      tlm::tlm_phase phase = tlm::BEGIN_REQ;
      sc_core::sc_time delay = sc_core::SC_ZERO_TIME;
      if (socket->nb_transport_fw(payloads_[next_], phase, delay) != tlm::TLM_UPDATED)
        SC_REPORT_ERROR(name(), payloads_[next_].get_response_string().c_str());
    }
  }
  tlm::tlm_sync_enum nb_transport_bw(tlm::tlm_generic_payload&, tlm::tlm_phase& phase, sc_core::sc_time&) {
    ++free_;
    answered_.notify(sc_core::SC_ZERO_TIME);
    phase = tlm::END_RESP;
    return tlm::TLM_COMPLETED;
  }

  std::deque<tlm::tlm_generic_payload> payloads_;
  std::size_t next_ = 0, free_;
  sc_core::sc_event answered_;
};

int sc_main(int argc, char** argv) {
  if (argc != 5) {
    std::cerr << "usage: tlm_caches CHIP TRACE CORES LINES\n";
    return 2;
  }
  try {
    CacheTarget caches("caches", argv[1], {"core.count=" + std::string(argv[3])});
    std::vector<std::unique_ptr<Core>> cores;
    for (std::int64_t c = 0; c < caches.cores(); ++c) {
      cores.push_back(
          std::make_unique<Core>(("core_" + std::to_string(c)).c_str(), std::strtoul(argv[4], nullptr, 10)));
      cores.back()->socket.bind(caches.socket);
    }
    std::size_t next = 0;
    for (const Request& r : read_lines(argv[2], static_cast<std::uint64_t>(caches.line_bytes())))
      cores[next++ % cores.size()]->play(r);
    sc_core::sc_start();
    caches.drain();
    std::cout << "cycles " << caches.cycles() << "\n";
    for (const tilescope::systemc::LevelReport& l : caches.levels())
      std::cout << l.name << " requests " << l.requests << ", hits " << l.hits << ", bytes read " << l.read_bytes
                << ", written " << l.written_bytes << "\n";
  } catch (const std::exception& e) {
    std::cerr << e.what() << "\n";
    return 1;
  }
  return 0;
}
