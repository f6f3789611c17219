// SPDX-License-Identifier: Apache-2.0
// A chip's DRAM behind a socket: driven by the base protocol and by batches it takes the clocks that a trace takes.

#include <cmath>
#include <deque>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "sim/trace.h"
#include "tests/support/build.h"
#include "tests/support/paths.h"
#include "tests/unit/platform/alone.h"

namespace tilescope::systemc {
namespace {

using tests::source_path;

std::string memory_chip(const std::string& name) {
  return source_path("arch/devices/memory/" + name + ".yaml").string();
}

// Sends bursts at their times, and notes when each is answered.
class Initiator : public sc_core::sc_module {
 public:
  tlm_utils::simple_initiator_socket<Initiator> socket;

  Initiator(const sc_core::sc_module_name& name, const std::vector<sim::TraceRequest>& bursts,
            std::vector<sc_core::sc_time> at)
      : sc_module(name), socket("socket"), at_(std::move(at)), payloads_(bursts.size()) {
    socket.register_nb_transport_bw(this, &Initiator::nb_transport_bw);
    for (std::size_t i = 0; i < bursts.size(); ++i) {
      payloads_[i].set_command(bursts[i].write ? tlm::TLM_WRITE_COMMAND : tlm::TLM_READ_COMMAND);
      payloads_[i].set_address(static_cast<std::uint64_t>(bursts[i].address));
      payloads_[i].set_data_length(static_cast<unsigned>(bursts[i].bytes));
    }
    SC_HAS_PROCESS(Initiator);
    SC_METHOD(send);
    sensitive << event_;
  }

  sc_core::sc_time last;
  std::size_t answered = 0;

 private:
  void send() {
    for (; next_ < at_.size() && at_[next_] <= sc_core::sc_time_stamp(); ++next_) {
      tlm::tlm_phase phase = tlm::BEGIN_REQ;
      sc_core::sc_time delay = sc_core::SC_ZERO_TIME;
      RC_ASSERT(socket->nb_transport_fw(payloads_[next_], phase, delay) == tlm::TLM_UPDATED);
    }
    if (next_ < at_.size()) event_.notify(at_[next_] - sc_core::sc_time_stamp());
  }
  tlm::tlm_sync_enum nb_transport_bw(tlm::tlm_generic_payload& payload, tlm::tlm_phase& phase, sc_core::sc_time&) {
    RC_ASSERT(phase == tlm::BEGIN_RESP);
    RC_ASSERT(payload.is_response_ok());
    last = sc_core::sc_time_stamp();
    ++answered;
    return tlm::TLM_COMPLETED;
  }

  std::vector<sc_core::sc_time> at_;
  std::deque<tlm::tlm_generic_payload> payloads_;
  std::size_t next_ = 0;
  sc_core::sc_event event_;
};

// Bursts of random places, some of them twice, and a whole number of clocks between them where they come by a rate.
struct DrawnBursts {
  std::string chip;
  sim::TraceSpec spec;
  std::vector<sim::TraceRequest> bursts;
};

DrawnBursts any_bursts() {
  DrawnBursts d;
  d.chip = memory_chip(*rc::gen::element<std::string>("ddr4_8gb_x8_3200", "hbm2_8gb_x128", "gddr6_8gb_x16"));
  base::Diagnostics diags;
  const auto a = arch::load_arch(d.chip, {}, diags, arch::Use::kLook);
  RC_ASSERT(a.has_value());
  std::string derived;
  d.spec = sim::trace_spec(*a, derived);
  const std::int64_t places = *rc::gen::element<std::int64_t>(8, 1000, 1 << 20);
  for (int i = *rc::gen::inRange(1, 300); i > 0; --i)
    d.bursts.push_back({*rc::gen::inRange<std::int64_t>(0, places) * d.spec.burst_bytes, d.spec.burst_bytes,
                        *rc::gen::inRange(0, 4) == 0});
  return d;
}

RC_GTEST_PROP(DramTarget, TakesTheClocksOfATrace, ()) {
  const DrawnBursts d = any_bursts();
  const bool at_once = *rc::gen::arbitrary<bool>();
  const double rate = *rc::gen::element(0.1, 0.5, 2.0);
  const sim::Injection injection =
      at_once ? sim::Injection{} : sim::Injection{.kind = sim::Injection::Kind::kRate, .rate = rate};
  const sim::TraceResult expected = sim::replay(d.bursts, d.spec, injection);

  const sim::SimulationContext context;
  DramTarget dram("dram", d.chip);
  const double peak = static_cast<double>(d.spec.channels) / static_cast<double>(d.spec.dram.clocks_per_burst());
  std::vector<sc_core::sc_time> at;
  for (std::size_t i = 0; i < d.bursts.size(); ++i)
    at.push_back(at_once ? sc_core::SC_ZERO_TIME
                         : dram.begin_of(static_cast<std::int64_t>(std::ceil(static_cast<double>(i) / (rate * peak)))));
  Initiator initiator("initiator", d.bursts, at);
  initiator.socket.bind(dram.socket);
  sc_core::sc_start();
  RC_ASSERT(initiator.answered == d.bursts.size());
  RC_ASSERT(dram.clocks() == expected.clocks.count());
  RC_ASSERT(dram.bursts() == expected.bursts);
  RC_ASSERT(dram.activates() == expected.activates);
  RC_ASSERT(initiator.last == dram.begin_of(expected.clocks.count()));
}

// In batches of random turns.
RC_GTEST_PROP(DramTarget, AnswersBatchesLikeATrace, ()) {
  const DrawnBursts d = any_bursts();
  const sim::TraceResult expected = sim::replay(d.bursts, d.spec, {});
  const sim::SimulationContext context;
  DramTarget dram("dram", d.chip);
  Initiator initiator("initiator", {}, {});
  initiator.socket.bind(dram.socket);
  sc_core::sc_start(sc_core::SC_ZERO_TIME);
  Batch batch;
  batch.cut_at_bursts = true;
  for (const sim::TraceRequest& r : d.bursts)
    batch.requests.push_back({batch.requests.size(),
                              static_cast<std::uint64_t>(r.address),
                              static_cast<std::uint32_t>(r.bytes),
                              r.write,
                              false,
                              {}});
  const std::int64_t turn = *rc::gen::inRange<std::int64_t>(1, 500);
  sc_core::sc_time last;
  std::size_t answered = 0;
  tlm::tlm_generic_payload payload;
  payload.set_extension(&batch);
  for (std::int64_t until = turn; answered < d.bursts.size(); until += turn) {
    RC_ASSERT(until < 1'000'000);
    batch.until = dram.begin_of(until);
    sc_core::sc_time delay = sc_core::SC_ZERO_TIME;
    initiator.socket->b_transport(payload, delay);
    RC_ASSERT(payload.is_response_ok());
    for (const Batch::Answer& a : batch.answers) last = std::max(last, a.done);
    answered += batch.answers.size();
    batch.requests.clear();
    batch.answers.clear();
  }
  payload.clear_extension(&batch);
  RC_ASSERT(last == dram.begin_of(expected.clocks.count()));
}

// Loosely timed, one after the other: reads as a window of one burst has them.
TEST(DramTarget, LooselyTimedReadsAreAWindowOfOne) {
  const std::string chip = memory_chip("ddr4_8gb_x8_3200");
  base::Diagnostics diags;
  std::string derived;
  const sim::TraceSpec spec = sim::trace_spec(*arch::load_arch(chip, {}, diags, arch::Use::kLook), derived);
  std::vector<sim::TraceRequest> reads;
  for (std::int64_t i = 0; i < 200; ++i) reads.push_back({i * i * 4096 % (1 << 28), spec.burst_bytes, false});
  const sim::TraceResult expected = sim::replay(reads, spec, {sim::Injection::Kind::kWindow, 1});
  const sim::SimulationContext context;
  DramTarget dram("dram", chip);
  Initiator initiator("initiator", {}, {});
  initiator.socket.bind(dram.socket);
  sc_core::sc_start(sc_core::SC_ZERO_TIME);
  sc_core::sc_time delay = sc_core::SC_ZERO_TIME;
  std::int64_t clock = 0;
  for (const sim::TraceRequest& r : reads) {
    tlm::tlm_generic_payload payload;
    payload.set_command(tlm::TLM_READ_COMMAND);
    payload.set_address(static_cast<std::uint64_t>(r.address));
    payload.set_data_length(static_cast<unsigned>(r.bytes));
    delay = dram.begin_of(clock);
    initiator.socket->b_transport(payload, delay);
    while (dram.begin_of(clock) < delay) ++clock;
    clock += sim::kDramHandshake.count();
  }
  EXPECT_EQ(clock - sim::kDramHandshake.count(), expected.clocks.count());
}

TEST(DramTarget, RefusesWhatItCannotServe) {
  const sim::SimulationContext context;
  DramTarget dram("dram", memory_chip("ddr4_8gb_x8_3200"));
  Initiator initiator("initiator", {}, {});
  initiator.socket.bind(dram.socket);
  sc_core::sc_start(sc_core::SC_ZERO_TIME);
  sc_core::sc_time delay = sc_core::SC_ZERO_TIME;
  tlm::tlm_generic_payload payload;
  payload.set_command(tlm::TLM_READ_COMMAND);
  payload.set_address(0);
  payload.set_data_length(0);
  initiator.socket->b_transport(payload, delay);
  EXPECT_EQ(payload.get_response_status(), tlm::TLM_BURST_ERROR_RESPONSE);
  payload.set_data_length(64);
  payload.set_address(~0ULL);
  initiator.socket->b_transport(payload, delay);
  EXPECT_EQ(payload.get_response_status(), tlm::TLM_ADDRESS_ERROR_RESPONSE);
}

TEST(DramTarget, NamesItsSocketWhereThatIsUnbound) {
  const sim::SimulationContext context;
  DramTarget dram("dram", memory_chip("ddr4_8gb_x8_3200"));
  EXPECT_THAT(tests::elaboration_error(), testing::HasSubstr("socket 'dram.socket' is not bound"));
}

TEST(DramTarget, SaysWhatIsWrongWithAChip) {
  const sim::SimulationContext context;
  EXPECT_THAT([] { DramTarget dram("dram", "v1000"); },
              testing::ThrowsMessage<std::runtime_error>(testing::HasSubstr("v1000: neither a device nor a file")));
}

}  // namespace
}  // namespace tilescope::systemc
