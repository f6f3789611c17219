// SPDX-License-Identifier: Apache-2.0
// A user's memory behind a chip's caches.

#include <random>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/platform/alone.h"
#include "tests/unit/platform/ideal.h"

namespace tilescope::systemc {
namespace {

using sc_core::SC_NS;
using sc_core::sc_time;
using testing::AllOf;
using testing::HasSubstr;
using tests::Ideal;
using Way = Ideal::Way;

constexpr Way kWays[] = {Way::kBatch, Way::kAnnotates, Way::kWaits, Way::kPhases};

struct Access {
  std::uint64_t address = 0;
  bool write = false;
};

// Lines of 128 B, one after the other: by b_transport, or by the base protocol.
class Player : public sc_core::sc_module {
 public:
  tlm_utils::simple_initiator_socket<Player> socket;
  std::vector<sc_time> took;

  Player(const sc_core::sc_module_name& name, std::vector<Access> accesses, bool loose)
      : sc_module(name), socket("socket"), accesses_(std::move(accesses)), loose_(loose) {
    socket.register_nb_transport_bw(this, &Player::nb_transport_bw);
    SC_HAS_PROCESS(Player);
    SC_THREAD(run);
  }

 private:
  void run() {
    for (const Access& a : accesses_) {
      tlm::tlm_generic_payload payload;
      payload.set_command(a.write ? tlm::TLM_WRITE_COMMAND : tlm::TLM_READ_COMMAND);
      payload.set_address(a.address);
      payload.set_data_length(128);
      const sc_time begin = sc_core::sc_time_stamp();
      sc_time delay = sc_core::SC_ZERO_TIME;
      tlm::tlm_phase phase = tlm::BEGIN_REQ;
      if (loose_) {
        socket->b_transport(payload, delay);
        wait(delay);
      } else {
        ASSERT_EQ(socket->nb_transport_fw(payload, phase, delay), tlm::TLM_UPDATED);
        wait(done_);
      }
      EXPECT_TRUE(payload.is_response_ok());
      took.push_back(sc_core::sc_time_stamp() - begin);
    }
  }
  tlm::tlm_sync_enum nb_transport_bw(tlm::tlm_generic_payload&, tlm::tlm_phase& phase, sc_time&) {
    EXPECT_EQ(phase, tlm::BEGIN_RESP);
    done_.notify(sc_core::SC_ZERO_TIME);
    return tlm::TLM_COMPLETED;
  }

  std::vector<Access> accesses_;
  bool loose_;
  sc_core::sc_event done_;
};

// A cycle and a clock are a nanosecond.
const std::vector<std::string> kOneGhz = {"clock=1 GHz", "memory.dram.clock=1 GHz", "memory.l2.capacity=96 KiB"};

struct Played {
  std::vector<sc_time> took;
  std::vector<LevelReport> levels;
  std::int64_t asked_writes = 0;
};

Played play(Way way, int latency, const std::vector<Access>& accesses, bool loose) {
  const sim::SimulationContext context;
  CacheTarget caches("caches", "k80", kOneGhz, Ideal::protocol_of(way));
  Ideal memory("memory", way, sc_time(latency, SC_NS));
  Player player("player", accesses, loose);
  player.socket.bind(caches.socket);
  caches.dram.bind(memory.socket);
  sc_core::sc_start();
  caches.drain();
  Played out{player.took, caches.levels()};
  for (const Ideal::Seen& s : memory.seen) out.asked_writes += s.write ? s.bytes : 0;
  return out;
}

// A read that misses takes the memory's latency longer than one of none, the next one of the line does not.
TEST(CacheDram, AMissTakesTheLatencyOfTheMemory) {
  const std::vector<Access> twice = {{0, false}, {0, false}};
  for (const Way way : kWays)
    for (const bool loose : {false, true}) {
      SCOPED_TRACE(testing::Message() << static_cast<int>(way) << (loose ? " loose" : ""));
      const Played fast = play(way, 100, twice, loose), slow = play(way, 800, twice, loose);
      ASSERT_EQ(fast.took.size(), 2);
      ASSERT_EQ(slow.took.size(), 2);
      EXPECT_EQ(slow.took[0] - fast.took[0], sc_time(700, SC_NS));
      EXPECT_EQ(slow.took[1], fast.took[1]);
      EXPECT_EQ(fast.took[0], play(Way::kBatch, 100, twice, false).took[0]);
    }
}

// What is written back without a core that waits for it reaches the memory too.
TEST(CacheDram, WritesBackToTheMemory) {
  const auto seed = std::random_device()();
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  std::mt19937 random(seed);
  std::vector<Access> accesses;
  for (int i = 0; i < 3000; ++i) accesses.push_back({random() % 4096 * 128, random() % 2 == 0});
  std::int64_t written = -1;
  for (const Way way : kWays)
    for (const bool loose : {false, true}) {
      SCOPED_TRACE(testing::Message() << static_cast<int>(way) << (loose ? " loose" : ""));
      const Played p = play(way, 100, accesses, loose);
      ASSERT_EQ(p.took.size(), accesses.size());
      EXPECT_EQ(p.levels.front().name, "dram");
      EXPECT_EQ(p.levels.front().written_bytes, p.asked_writes);
      EXPECT_GT(p.asked_writes, 0);
      // One access after the other, so that all find the same lines.
      if (written < 0) written = p.asked_writes;
      EXPECT_EQ(p.asked_writes, written);
    }
}

TEST(CacheDram, MistakesAreNamed) {
#ifdef __SANITIZE_ADDRESS__
  GTEST_SKIP() << "AddressSanitizer does not know the stacks of SystemC's threads, which an exception leaves";
#endif
  const auto why_unsupported = [](Way way, Protocol protocol) -> std::string {
    try {
      const sim::SimulationContext context;
      CacheTarget caches("caches", "k80", kOneGhz, protocol);
      Ideal memory("memory", way, sc_time(100, SC_NS));
      Player player("player", {{0, false}}, false);
      player.socket.bind(caches.socket);
      caches.dram.bind(memory.socket);
      sc_core::sc_start();
    } catch (const std::exception& e) {
      return e.what();
    }
    return "is not refused";
  };
  for (const Protocol p : {Protocol::kLoose, Protocol::kBatch}) {
    EXPECT_THAT(why_unsupported(Way::kNever, p),
                AllOf(HasSubstr("caches.dram: the request of address 0x0"), HasSubstr("is not answered within")));
    EXPECT_THAT(why_unsupported(Way::kRefuses, p),
                HasSubstr("caches.dram: the memory answers TLM_ADDRESS_ERROR_RESPONSE to "));
  }
  EXPECT_THAT(why_unsupported(Way::kTwice, Protocol::kBatch), HasSubstr("caches.dram: answers request 0 twice"));
}

}  // namespace
}  // namespace tilescope::systemc
