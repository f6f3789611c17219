// SPDX-License-Identifier: Apache-2.0
// A chip's caches and DRAM behind sockets: driven as a trace drives them they take its cycles, by every protocol.

#include <cmath>
#include <deque>
#include <fstream>
#include <map>
#include <tlm_utils/simple_initiator_socket.h>
#include <unistd.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "arch/hierarchy.h"
#include "sim/cache_trace.h"
#include "sim/ticks_of_time.h"
#include "tests/support/build.h"
#include "tests/unit/platform/alone.h"

namespace tilescope::systemc {
namespace {

using sim::Cycle;
using sim::operator""_cycles;
using Kind = sim::Injection::Kind;

constexpr std::int64_t kAnyNumber = std::numeric_limits<std::int64_t>::max();

// What sends the lines of a trace as sim/cache_trace.h says: cores in turn, each its own in order.
class Ports {
 public:
  struct Line {
    std::int64_t address = 0, bytes = 0;
    bool write = false;
    Cycle at{}, sent{}, done{-1};
  };
  Ports(std::vector<Line> l, std::size_t ports, std::int64_t window)
      : lines(std::move(l)), window_(window), next_(ports), under_way_(ports, 0) {
    for (std::size_t p = 0; p < ports; ++p) next_[p] = p;
  }

  // All that may be sent in a cycle in which these lines, by number, are answered.
  template <class Send>
  void cycle(Cycle now, std::vector<std::size_t>& answered, Send send) {
    for (std::size_t p = 0; p < next_.size(); ++p) go_on(p, now, send);
    std::sort(answered.begin(), answered.end());
    for (const std::size_t i : answered) {
      answer(i, now);
      --under_way_[i % next_.size()];
      go_on(i % next_.size(), now, send);
    }
    answered.clear();
  }
  void answer(std::size_t line, Cycle at) {
    lines[line].done = at;
    ++done;
  }
  // When something is sent that waits for nothing else.
  std::optional<Cycle> next_arrival() const {
    std::optional<Cycle> at;
    for (std::size_t p = 0; p < next_.size(); ++p)
      if (may_send(p)) at = std::min(at.value_or(lines[next_[p]].at), lines[next_[p]].at);
    return at;
  }

  std::vector<Line> lines;
  std::size_t done = 0;

 private:
  bool may_send(std::size_t p) const { return next_[p] < lines.size() && under_way_[p] < window_; }
  template <class Send>
  void go_on(std::size_t p, Cycle now, Send send) {
    for (; may_send(p) && lines[next_[p]].at <= now; next_[p] += next_.size(), ++under_way_[p]) {
      lines[next_[p]].sent = now;
      send(next_[p]);
    }
  }

  std::int64_t window_;
  std::vector<std::size_t> next_;
  std::vector<std::int64_t> under_way_;
};

// By the base protocol, through one socket or through one for every core.
class CachePlayer : public sc_core::sc_module {
 public:
  using Socket = tlm_utils::simple_initiator_socket<CachePlayer>;
  std::deque<Socket> sockets;

  CachePlayer(const sc_core::sc_module_name& name, CacheTarget& caches, Ports& ports, bool each_core)
      : sc_module(name),
        ports_(ports),
        time_(base::Hertz{static_cast<std::int64_t>(caches.clock_hz())}),
        payloads_(ports.lines.size()),
        cores_(static_cast<std::size_t>(caches.cores())),
        from_(ports.lines.size()) {
    for (std::size_t s = 0; s < (each_core ? cores_ : 1); ++s) {
      Socket& socket = sockets.emplace_back(("socket_" + std::to_string(s)).c_str());
      socket.register_nb_transport_bw(this, &CachePlayer::nb_transport_bw);
      socket.bind(caches.socket);
    }
    for (std::size_t i = 0; i < payloads_.size(); ++i) {
      const Ports::Line& l = ports.lines[i];
      payloads_[i].set_command(l.write ? tlm::TLM_WRITE_COMMAND : tlm::TLM_READ_COMMAND);
      payloads_[i].set_address(static_cast<std::uint64_t>(l.address));
      payloads_[i].set_data_length(static_cast<unsigned>(l.bytes));
      from_[i].core = static_cast<int>(i % cores_);
      if (!each_core) payloads_[i].set_extension(&from_[i]);
      number_[&payloads_[i]] = i;
    }
    SC_HAS_PROCESS(CachePlayer);
    SC_METHOD(send);
    sensitive << event_;
  }
  ~CachePlayer() override {
    for (tlm::tlm_generic_payload& p : payloads_) p.clear_extension<FromCore>();
  }

 private:
  void send() {
    ports_.cycle(time_.now(), answered_, [&](std::size_t i) {
      tlm::tlm_phase phase = tlm::BEGIN_REQ;
      sc_core::sc_time delay = sc_core::SC_ZERO_TIME;
      const std::size_t s = i % cores_ % sockets.size();
      RC_ASSERT(sockets[s]->nb_transport_fw(payloads_[i], phase, delay) == tlm::TLM_UPDATED);
    });
    if (const auto at = ports_.next_arrival()) event_.notify(time_.until(*at));
  }
  tlm::tlm_sync_enum nb_transport_bw(tlm::tlm_generic_payload& payload, tlm::tlm_phase& phase, sc_core::sc_time&) {
    RC_ASSERT(phase == tlm::BEGIN_RESP);
    RC_ASSERT(payload.is_response_ok());
    answered_.push_back(number_.at(&payload));
    event_.notify(sc_core::SC_ZERO_TIME);
    return tlm::TLM_COMPLETED;
  }

  Ports& ports_;
  sim::TicksOfTime<sim::Cycle> time_;
  std::deque<tlm::tlm_generic_payload> payloads_;
  std::size_t cores_;
  std::deque<FromCore> from_;
  std::map<const tlm::tlm_generic_payload*, std::size_t> number_;
  std::vector<std::size_t> answered_;
  sc_core::sc_event event_;
};

// In batches: all at once where nothing waits for an answer, else cycle by cycle.
void play_batches(CacheTarget& caches, Ports& ports, bool at_once, CachePlayer::Socket& socket) {
  const sim::TicksOfTime<sim::Cycle> time(base::Hertz{static_cast<std::int64_t>(caches.clock_hz())});
  std::map<Cycle, std::vector<std::size_t>> answers;
  Batch batch;
  tlm::tlm_generic_payload payload;
  payload.set_extension(&batch);
  for (Cycle now(at_once ? kAnyNumber : 0); ports.done < ports.lines.size(); ++now) {
    ports.cycle(now, answers[now], [&](std::size_t i) {
      const Ports::Line& l = ports.lines[i];
      batch.requests.push_back({i, static_cast<std::uint64_t>(l.address), static_cast<std::uint32_t>(l.bytes), l.write,
                                false, time.begin_of(at_once ? l.at : now),
                                static_cast<int>(i % static_cast<std::size_t>(caches.cores()))});
    });
    answers.erase(now);
    batch.until = at_once ? sc_core::sc_max_time() : time.begin_of(now + 1_cycles);
    sc_core::sc_time delay = sc_core::SC_ZERO_TIME;
    socket->b_transport(payload, delay);
    RC_ASSERT(payload.is_response_ok());
    for (const Batch::Answer& a : batch.answers) {
      const Cycle done = time.tick_of(a.done);
      RC_ASSERT(at_once || done > now);
      if (at_once)
        ports.answer(a.id, done);
      else
        answers[done].push_back(a.id);
    }
    batch.requests.clear();
    batch.answers.clear();
    if (at_once) break;
    RC_ASSERT(now < 10'000'000_cycles);
  }
  payload.clear_extension(&batch);
  RC_ASSERT(ports.done == ports.lines.size());
}

struct DrawnCaches {
  std::string chip;
  std::vector<std::string> overrides;
  std::vector<sim::TraceRequest> trace;
  sim::Injection injection;
};

// A cache of the memory's side behind the first one.
std::string chip_of_two_caches() {
  const std::string path = testing::TempDir() + "cache_target_test_" + std::to_string(::getpid()) + ".yaml";
  std::ofstream(path) << "extends: v100\nname: two\nmemory:\n  l3: {after: dram, scope: device, kind: cache, capacity: "
                         "1 MiB, slices: 64, width: 64 B, line: 128 B, sector: 64 B, ways: 16, latency: 300 cycles}\n";
  return path;
}

// Small caches and bounds now and then, so that lines leave and requests wait.
DrawnCaches any_traffic() {
  DrawnCaches d;
  d.chip = *rc::gen::element<std::string>("v100", "a100", "mi210", "k80", "rtx3090", "h100_pcie", "mi100", "t4", "");
  const bool two = d.chip.empty();
  if (two) d.chip = chip_of_two_caches();
  const auto sometimes = [&](int one_in, const std::string& path, const std::vector<std::string>& values) {
    if (*rc::gen::inRange(0, one_in) == 0) d.overrides.push_back(path + "=" + *rc::gen::elementOf(values));
  };
  sometimes(3, "memory.l2.mshrs", {"1", "4", "16"});
  sometimes(3, "memory.l2.queue", {"1", "4", "16"});
  sometimes(3, "memory.dram.write_backlog", {"1", "8"});
  if (!two && *rc::gen::inRange(0, 2) == 0) {
    d.overrides.push_back("memory.dram.write_granule=" + *rc::gen::element<std::string>("1 B", "32 B"));
    d.overrides.push_back("memory.l2.partial_write=" + *rc::gen::element<std::string>("masked", "fetched"));
  }
  d.injection.kind = *rc::gen::element(Kind::kSaturated, Kind::kWindow, Kind::kRate);
  d.injection.window = *rc::gen::element<std::int64_t>(1, 7, 200);
  d.injection.rate = *rc::gen::element(0.05, 0.5, 2.0);
  d.injection.timed = d.injection.kind != Kind::kRate && *rc::gen::arbitrary<bool>();
  // Cores that wait for lines and for their times at once send in an order that the turns make.
  if (d.injection.kind == Kind::kSaturated && !d.injection.timed) sometimes(2, "memory.l1.mshrs", {"1", "2", "5"});
  const std::int64_t places = *rc::gen::element<std::int64_t>(1 << 10, 1 << 16, 1 << 28);
  const int writes = *rc::gen::element(0, 1, 3);
  std::int64_t at = 0;
  for (int i = *rc::gen::inRange(1, 1500); i > 0; --i) {
    at += d.injection.timed ? *rc::gen::inRange(0, 4) : 0;
    d.trace.push_back({*rc::gen::inRange<std::int64_t>(0, places) * 16, *rc::gen::inRange<std::int64_t>(1, 300),
                       *rc::gen::inRange(0, 4) < writes, at});
  }
  return d;
}

arch::ArchSpec loaded(const DrawnCaches& d) {
  base::Diagnostics diags;
  std::vector<arch::Override> overrides;
  for (const std::string& o : d.overrides) overrides.push_back({o.substr(0, o.find('=')), o.substr(o.find('=') + 1)});
  const auto chip = arch::load_arch(d.chip, overrides, diags);
  if (!chip) RC_FAIL(testing::PrintToString(diags.formatted_errors()));
  return *chip;
}

Ports ports_for(const DrawnCaches& d, const arch::ArchSpec& chip, const CacheTarget& caches, double peak) {
  std::vector<Ports::Line> lines;
  std::int64_t moved = 0;
  const std::int64_t sector = arch::device_cache_of(chip)->sector.n;
  for (const sim::TraceRequest& r : d.trace)
    for (std::int64_t a = r.address, end = a + r.bytes, next = a; a < end; a = next) {
      next = std::min((a / caches.line_bytes() + 1) * caches.line_bytes(), end);
      const Cycle at(d.injection.kind == Kind::kRate
                         ? static_cast<std::int64_t>(std::ceil(static_cast<double>(moved) / (d.injection.rate * peak)))
                         : r.at);
      lines.push_back({a, next - a, r.write, at});
      moved += ((next - 1) / sector - a / sector + 1) * sector;
    }
  const bool one_port = d.injection.kind == Kind::kWindow;
  std::int64_t window = one_port ? d.injection.window : kAnyNumber;
  if (d.injection.kind == Kind::kSaturated && caches.misses_of_core() > 0) window = caches.misses_of_core();
  return {std::move(lines), one_port ? 1 : static_cast<std::size_t>(caches.cores()), window};
}

void require_the_same(const sim::CacheTraceResult& expected, const CacheTarget& caches, const Ports& ports,
                      bool from_arrival) {
  RC_ASSERT(caches.cycles() == expected.cycles.count());
  std::vector<std::int64_t> latencies;
  for (const Ports::Line& l : ports.lines)
    if (!l.write) latencies.push_back((l.done - (from_arrival ? l.at : l.sent)).count());
  const sim::LatencySummary latency = sim::summary_of(latencies);
  RC_ASSERT(latency.mean == expected.latency.mean);
  RC_ASSERT(latency.p50 == expected.latency.p50);
  RC_ASSERT(latency.max == expected.latency.max);
  const std::vector<LevelReport> levels = caches.levels();
  RC_ASSERT(levels.size() == expected.levels.size());
  for (std::size_t l = 0; l < levels.size(); ++l) {
    const sim::LevelStatistics& e = expected.levels[l].amounts;
    RC_ASSERT(levels[l].name == expected.levels[l].name);
    RC_ASSERT(levels[l].requests == e.requests);
    RC_ASSERT(levels[l].transactions == e.transactions);
    RC_ASSERT(levels[l].hits == e.hits);
    RC_ASSERT(levels[l].read_bytes == e.read_bytes);
    RC_ASSERT(levels[l].written_bytes == e.written_bytes);
  }
}

// Traffic, and what a trace makes of it.
struct Replayed {
  explicit Replayed(DrawnCaches d)
      : drawn(std::move(d)),
        chip(loaded(drawn)),
        expected(sim::replay_through_caches(drawn.trace, chip, drawn.injection)) {}

  Ports ports(const CacheTarget& caches) const { return ports_for(drawn, chip, caches, expected.peak); }
  void expect_of(const CacheTarget& caches, const Ports& ports) const {
    require_the_same(expected, caches, ports, drawn.injection.timed || drawn.injection.kind == Kind::kRate);
  }

  DrawnCaches drawn;
  arch::ArchSpec chip;
  sim::CacheTraceResult expected;
};

RC_GTEST_PROP(CacheTarget, TakesTheCyclesOfATrace, ()) {
  const Replayed trace(any_traffic());
  const sim::SimulationContext context;
  CacheTarget caches("caches", trace.drawn.chip, trace.drawn.overrides);
  Ports ports = trace.ports(caches);
  CachePlayer player("player", caches, ports, *rc::gen::arbitrary<bool>());
  sc_core::sc_start();
  RC_ASSERT(ports.done == ports.lines.size());
  caches.drain();
  trace.expect_of(caches, ports);
}

// A DramTarget behind the caches is the channels that it stands in for.
RC_GTEST_PROP(CacheTarget, TakesTheCyclesOfATraceBeforeADramTarget, ()) {
  const Replayed trace(any_traffic());
  const sim::SimulationContext context;
  CacheTarget caches("caches", trace.drawn.chip, trace.drawn.overrides, Protocol::kBatch);
  DramTarget dram("dram", trace.drawn.chip, {false, trace.drawn.overrides});
  caches.dram.bind(dram.socket);
  Ports ports = trace.ports(caches);
  CachePlayer player("player", caches, ports, *rc::gen::arbitrary<bool>());
  sc_core::sc_start();
  RC_ASSERT(ports.done == ports.lines.size());
  caches.drain();
  trace.expect_of(caches, ports);
}

RC_GTEST_PROP(CacheTarget, AnswersBatchesLikeATrace, ()) {
  const Replayed trace(any_traffic());
  const sim::SimulationContext context;
  CacheTarget caches("caches", trace.drawn.chip, trace.drawn.overrides);
  Ports ports = trace.ports(caches), none({}, 1, 1);
  CachePlayer player("player", caches, none, false);
  sc_core::sc_start(sc_core::SC_ZERO_TIME);
  play_batches(caches, ports, trace.drawn.injection.kind == Kind::kRate, player.sockets.front());
  caches.drain();
  trace.expect_of(caches, ports);
}

// One after the other: as a window of one has them.
RC_GTEST_PROP(CacheTarget, LooselyTimedRequestsAreAWindowOfOne, ()) {
  DrawnCaches d = any_traffic();
  d.injection = {Kind::kWindow, 1};
  for (sim::TraceRequest& r : d.trace) r.at = 0;
  const Replayed trace(std::move(d));
  const sim::SimulationContext context;
  CacheTarget caches("caches", trace.drawn.chip, trace.drawn.overrides);
  Ports ports = trace.ports(caches), none({}, 1, 1);
  CachePlayer player("player", caches, none, false);
  sc_core::sc_start(sc_core::SC_ZERO_TIME);
  tlm::tlm_generic_payload payload;
  FromCore from;
  payload.set_extension(&from);
  sc_core::sc_time delay;
  int core = 0;
  for (const Ports::Line& l : ports.lines) {
    payload.set_command(l.write ? tlm::TLM_WRITE_COMMAND : tlm::TLM_READ_COMMAND);
    payload.set_address(static_cast<std::uint64_t>(l.address));
    payload.set_data_length(static_cast<unsigned>(l.bytes));
    from.core = core++ % static_cast<int>(caches.cores());
    player.sockets.front()->b_transport(payload, delay);
    RC_ASSERT(payload.is_response_ok());
  }
  payload.clear_extension(&from);
  RC_ASSERT(delay == caches.begin_of(trace.expected.cycles.count()));
}

TEST(CacheTarget, RefusesWhatItCannotServe) {
  const sim::SimulationContext context;
  CacheTarget caches("caches", "v100");
  Ports none({}, 1, 1);
  CachePlayer player("player", caches, none, false);
  sc_core::sc_start(sc_core::SC_ZERO_TIME);
  tlm::tlm_generic_payload payload;
  const auto answer = [&](std::uint64_t address, unsigned bytes) {
    payload.set_command(tlm::TLM_READ_COMMAND);
    payload.set_address(address);
    payload.set_data_length(bytes);
    sc_core::sc_time delay = sc_core::SC_ZERO_TIME;
    player.sockets.front()->b_transport(payload, delay);
    return payload.get_response_status();
  };
  EXPECT_EQ(answer(0, 0), tlm::TLM_BURST_ERROR_RESPONSE);
  EXPECT_EQ(answer(~0ULL, 32), tlm::TLM_ADDRESS_ERROR_RESPONSE);
  FromCore from;
  from.core = 80;  // of 80
  payload.set_extension(&from);
  EXPECT_EQ(answer(0, 32), tlm::TLM_GENERIC_ERROR_RESPONSE);
  from.core = 79;
  EXPECT_EQ(answer(0, 32), tlm::TLM_OK_RESPONSE);
  payload.clear_extension(&from);
  Batch batch;
  batch.requests.push_back({0, 0, 32, false, false, {}, 80});
  payload.set_extension(&batch);
  EXPECT_EQ(answer(0, 32), tlm::TLM_GENERIC_ERROR_RESPONSE);
  payload.clear_extension(&batch);
}

TEST(CacheTarget, NamesItsSocketWhereThatIsUnbound) {
  const sim::SimulationContext context;
  CacheTarget caches("caches", "v100");
  EXPECT_THAT(tests::elaboration_error(), testing::HasSubstr("socket 'caches.socket' is not bound"));
}

TEST(CacheTarget, HasNoMorePortsThanTheChipHasCores) {
  const sim::SimulationContext context;
  CacheTarget caches("caches", "v100", {"core.count=2"});
  Ports none({}, 1, 1);
  CachePlayer one("one", caches, none, true), other("other", caches, none, false);
  EXPECT_THAT(tests::elaboration_error(),
              testing::HasSubstr("socket 'caches.socket' is bound to 3 initiators: the chip has 2 cores"));
}

TEST(CacheTarget, RefusesChipsWithoutACacheOfTheDevice) {
  const sim::SimulationContext context;
  const auto says = [](const std::string& chip, const std::vector<std::string>& overrides, const std::string& what) {
    EXPECT_THAT([&] { CacheTarget caches("caches", chip, overrides); },
                testing::ThrowsMessage<std::runtime_error>(testing::HasSubstr(what)))
        << chip;
  };
  says("ipu_gc200", {}, "ipu_gc200: has no level of kind dram");
  says("wormhole_n150", {}, "wormhole_n150: has no cache of the device; a DramTarget is its DRAM alone");
  says("v100", {"memory.dram.model=x.so"}, "the DRAM of a CacheTarget is the channels that the file describes");
  says("v1000", {}, "v1000: neither a device nor a file");
}

}  // namespace
}  // namespace tilescope::systemc
