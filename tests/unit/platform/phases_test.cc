// SPDX-License-Identifier: Apache-2.0
// Delays annotated to phases of the base protocol: what they hold up, and what keeps its own.

#include <deque>
#include <fstream>
#include <unistd.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/paths.h"
#include "tests/unit/platform/alone.h"

namespace tilescope::systemc {
namespace {

using sc_core::SC_NS;
using sc_core::sc_time;

// Ends each request some time later: by the return path, by its own call, or with the response itself.
class SlowPort : public sc_core::sc_module {
 public:
  enum class Way : std::uint8_t { kReturns, kCalls, kResponds };
  tlm_utils::simple_target_socket<SlowPort> socket;

  SlowPort(const sc_core::sc_module_name& name, Way way, const sc_time& takes)
      : sc_module(name), socket("socket"), way_(way), takes_(takes) {
    socket.register_nb_transport_fw(this, &SlowPort::nb_transport_fw);
    SC_HAS_PROCESS(SlowPort);
    SC_METHOD(end_request);
    sensitive << called_;
    dont_initialize();
    SC_METHOD(respond);
    sensitive << due_;
    dont_initialize();
  }

  int requests = 0;
  sc_time least = sc_core::sc_max_time();  // between two that begin

 private:
  tlm::tlm_sync_enum nb_transport_fw(tlm::tlm_generic_payload& payload, tlm::tlm_phase& phase, sc_time& delay) {
    if (phase != tlm::BEGIN_REQ) return tlm::TLM_ACCEPTED;
    const sc_time now = sc_core::sc_time_stamp() + delay;
    if (requests++ > 0) least = std::min(least, now - before_);
    before_ = now;
    payload.set_response_status(tlm::TLM_OK_RESPONSE);
    if (way_ == Way::kResponds) {
      delay += takes_;
      phase = tlm::BEGIN_RESP;
      return tlm::TLM_UPDATED;
    }
    payload.acquire();
    waiting_.push_back(&payload);
    due_.notify(sc_time(100, SC_NS));
    if (way_ == Way::kCalls) {
      ended_ = &payload;
      called_.notify(sc_core::SC_ZERO_TIME);
      return tlm::TLM_ACCEPTED;
    }
    delay += takes_;
    phase = tlm::END_REQ;
    return tlm::TLM_UPDATED;
  }
  void end_request() {
    tlm::tlm_phase phase = tlm::END_REQ;
    sc_time delay = takes_;
    socket->nb_transport_bw(*ended_, phase, delay);
  }
  void respond() {
    for (; !waiting_.empty(); waiting_.pop_front()) {
      tlm::tlm_phase phase = tlm::BEGIN_RESP;
      sc_time delay = sc_core::SC_ZERO_TIME;
      socket->nb_transport_bw(*waiting_.front(), phase, delay);
      waiting_.front()->release();
    }
  }

  Way way_;
  sc_time takes_, before_;
  std::deque<tlm::tlm_generic_payload*> waiting_;
  tlm::tlm_generic_payload* ended_ = nullptr;
  sc_core::sc_event called_, due_;
};

std::string small_program() {
  const std::string path = testing::TempDir() + "phases_test_" + std::to_string(::getpid()) + ".json";
  std::ofstream(path) << R"({"arch": "v100", "nodes": [{"expr": "C[m,n] +=! A[m,k] * B[k,n]",
    "sizes": {"m": 64, "n": 64, "k": 64}, "dtype": "f32",
    "tiles": {"smem": {"m": 32, "n": 64, "k": 32}, "reg": {"m": 4, "n": 4}},
    "mapping": {"m": {"threads": 8, "per_thread": 4}, "n": {"threads": 16, "per_thread": 4}}, "padding": {"A": 4}}],
    "edges": []})";
  return path;
}

TEST(Phases, ADelayOfTheEndOfARequestHoldsUpTheNext) {
  using Way = SlowPort::Way;
  const sc_time takes(7, SC_NS);
  for (const Way way : {Way::kReturns, Way::kCalls, Way::kResponds}) {
    const sim::SimulationContext context;
    Gpu gpu("gpu", "v100", small_program(), {Protocol::kApproximate, true, {}});
    SlowPort memory("memory", way, takes);
    gpu.memory.bind(memory.socket);
    simulate(gpu);
    EXPECT_GT(memory.requests, 100) << static_cast<int>(way);
    EXPECT_EQ(memory.least, takes) << static_cast<int>(way);
  }
}

// Asks for reads at once, one of which arrives later.
class Reader : public sc_core::sc_module {
 public:
  tlm_utils::simple_initiator_socket<Reader> socket;

  Reader(const sc_core::sc_module_name& name, std::size_t reads, std::size_t late)
      : sc_module(name), socket("socket"), payloads_(reads), late_(late) {
    socket.register_nb_transport_bw(this, &Reader::nb_transport_bw);
    SC_HAS_PROCESS(Reader);
    SC_METHOD(send);
    sensitive << event_;
  }

  static sc_time delay_of_late() { return {20, sc_core::SC_US}; }
  std::size_t first_held = 0;
  sc_time late_done;

 private:
  void send() {
    while (next_ < payloads_.size() && !waits_) {
      tlm::tlm_generic_payload& p = payloads_[next_];
      p.set_command(tlm::TLM_READ_COMMAND);
      p.set_address(next_ * 8192);
      p.set_data_length(64);
      tlm::tlm_phase phase = tlm::BEGIN_REQ;
      sc_time delay = next_ == late_ ? delay_of_late() : sc_core::SC_ZERO_TIME;
      waits_ = socket->nb_transport_fw(p, phase, delay) == tlm::TLM_ACCEPTED;
      if (waits_ && first_held == 0) first_held = next_;
      ++next_;
    }
  }
  tlm::tlm_sync_enum nb_transport_bw(tlm::tlm_generic_payload& payload, tlm::tlm_phase& phase, sc_time&) {
    if (phase == tlm::END_REQ) {
      waits_ = false;
      return tlm::TLM_ACCEPTED;
    }
    if (late_ < payloads_.size() && &payload == &payloads_[late_]) late_done = sc_core::sc_time_stamp();
    return tlm::TLM_COMPLETED;
  }

  std::deque<tlm::tlm_generic_payload> payloads_;
  std::size_t next_ = 0, late_;
  bool waits_ = false;
  sc_core::sc_event event_;
};

TEST(Phases, AHeldRequestKeepsItsOwnDelay) {
  constexpr std::size_t kReads = 200;
  std::size_t held = kReads;
  sc_time done;
  for (int run = 0; run < 2; ++run) {
    const sim::SimulationContext context;
    DramTarget dram("dram", tests::source_path("arch/devices/memory/ddr4_8gb_x8_3200.yaml").string(), {true, {}});
    Reader reader("reader", kReads, held);
    reader.socket.bind(dram.socket);
    sc_core::sc_start();
    ASSERT_GT(reader.first_held, 0);
    if (run == 1) {
      EXPECT_EQ(reader.first_held, held);
    }
    held = reader.first_held;
    done = reader.late_done;
  }
  EXPECT_GT(done, Reader::delay_of_late());
}

}  // namespace
}  // namespace tilescope::systemc
