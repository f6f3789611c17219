// SPDX-License-Identifier: Apache-2.0
// A memory of yours behind the simulator's last cache: banks that are busy for a while with each request, and a bus.
//
//     tlm_memory CHIP PROGRAM.json [BANKS [BUSY_NS]]

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <stdexcept>
#include <systemc>
#include <tilescope/systemc.h>
#include <tlm>
#include <tlm_utils/simple_target_socket.h>
#include <vector>

class Memory : public sc_core::sc_module {
 public:
  tlm_utils::simple_target_socket<Memory> socket;

  Memory(const sc_core::sc_module_name& name, std::size_t banks, double busy_ns)
      : sc_module(name), socket("socket"), busy_(busy_ns, sc_core::SC_NS), free_(banks, sc_core::SC_ZERO_TIME) {
    socket.register_b_transport(this, &Memory::b_transport);
  }

 private:
  static constexpr std::uint64_t kInterleave = 256;  // neighbouring bytes in one bank

  // Never waits: the delay says when the request is done.
  void b_transport(tlm::tlm_generic_payload& payload, sc_core::sc_time& delay) {
    const sc_core::sc_time arrives = sc_core::sc_time_stamp() + delay;
    sc_core::sc_time& free = free_[payload.get_address() / kInterleave % free_.size()];
    free = std::max(free, arrives) + busy_;
    delay = free - sc_core::sc_time_stamp();
    payload.set_response_status(tlm::TLM_OK_RESPONSE);
  }

  sc_core::sc_time busy_;
  std::vector<sc_core::sc_time> free_;  // by bank
};

int sc_main(int argc, char** argv) {
  if (argc < 3 || argc > 5) {
    std::cerr << "usage: tlm_memory CHIP PROGRAM.json [BANKS [BUSY_NS]]\n";
    return 2;
  }
  try {
    tilescope::systemc::Gpu gpu("gpu", argv[1], argv[2]);
    Memory memory("memory", argc > 3 ? std::strtoul(argv[3], nullptr, 10) : 512, argc > 4 ? std::atof(argv[4]) : 40);
    gpu.memory.bind(memory.socket);
    const tilescope::systemc::Report report = tilescope::systemc::simulate(gpu);
    std::cout << "cycles " << report.cycles << "\nus " << report.time_us << "\n";
    for (const tilescope::systemc::LevelReport& l : report.levels)
      std::cout << l.name << " bytes read " << l.read_bytes << ", written " << l.written_bytes << "\n";
  } catch (const std::exception& e) {
    std::cerr << e.what() << "\n";
    return 1;
  }
  return 0;
}
