// SPDX-License-Identifier: Apache-2.0
// A shared cache of yours behind the simulator's cores, in place of the chip's link, caches and DRAM: banks on a ring
// that the cores stand around, each busy with a request for a while, and a memory of a fixed latency.
//
//     tlm_cache CHIP PROGRAM.json [KIB [MEMORY_NS]]

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

class SharedCache : public sc_core::sc_module {
 public:
  tlm_utils::simple_target_socket<SharedCache> socket;
  std::uint64_t requests = 0, misses = 0;

  SharedCache(const sc_core::sc_module_name& name, std::size_t lines, double memory_ns)
      : sc_module(name), socket("socket"), tags_(lines, ~0ULL), memory_(memory_ns, sc_core::SC_NS) {
    socket.register_b_transport(this, &SharedCache::b_transport);
  }

 private:
  static constexpr std::uint64_t kLine = 128, kBanks = 64;
  static constexpr double kHopNs = 0.7, kLookupNs = 60, kBusyNs = 1.4;

  // Never waits: the delay says when the core can use the data. Writes allocate their lines.
  void b_transport(tlm::tlm_generic_payload& payload, sc_core::sc_time& delay) {
    using sc_core::SC_NS, sc_core::sc_time;
    const std::uint64_t line = payload.get_address() / kLine, bank = line % kBanks;
    const auto core = static_cast<std::uint64_t>(payload.get_extension<tilescope::systemc::FromCore>()->core);
    const std::uint64_t apart = (core + kBanks - bank) % kBanks, hops = std::min(apart, kBanks - apart);
    const sc_time way(static_cast<double>(hops) * kHopNs, SC_NS);
    sc_time& free = free_[bank];
    free = std::max(free, sc_core::sc_time_stamp() + delay + way) + sc_time(kBusyNs, SC_NS);
    sc_time done = free + sc_time(kLookupNs, SC_NS) + way;
    ++requests;
    std::uint64_t& tag = tags_[line % tags_.size()];
    if (tag != line) {
      ++misses;
      tag = line;
      if (payload.is_read()) done += memory_;
    }
    delay = done - sc_core::sc_time_stamp();
    payload.set_response_status(tlm::TLM_OK_RESPONSE);
  }

  std::vector<std::uint64_t> tags_;  // direct mapped
  std::vector<sc_core::sc_time> free_ = std::vector<sc_core::sc_time>(kBanks);
  sc_core::sc_time memory_;
};

int sc_main(int argc, char** argv) {
  if (argc < 3 || argc > 5) {
    std::cerr << "usage: tlm_cache CHIP PROGRAM.json [KIB [MEMORY_NS]]\n";
    return 2;
  }
  try {
    tilescope::systemc::GpuOptions options;
    options.below = tilescope::systemc::Below::kCores;
    options.full = true;
    options.lookahead = sc_core::sc_time(60, sc_core::SC_NS);  // no answer is sooner
    tilescope::systemc::Gpu gpu("gpu", argv[1], argv[2], options);
    SharedCache cache("cache", (argc > 3 ? std::strtoul(argv[3], nullptr, 10) : 6144) * 1024 / 128,
                      argc > 4 ? std::atof(argv[4]) : 140);
    gpu.memory.bind(cache.socket);
    const tilescope::systemc::Report report = tilescope::systemc::simulate(gpu);
    std::cout << "cycles " << report.cycles << "\nus " << report.time_us << "\nrequests " << cache.requests
              << "\nmisses " << cache.misses << "\n";
  } catch (const std::exception& e) {
    std::cerr << e.what() << "\n";
    return 1;
  }
  return 0;
}
