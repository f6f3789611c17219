// SPDX-License-Identifier: Apache-2.0
// Stores of parts of sectors: what the device's cache keeps or fetches of them and what the DRAM reads to merge them,
// against a plain map of bytes.

#include <map>
#include <random>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "sim/gpu/detail/machine.h"
#include "sim/memory/detail/device_memory.h"
#include "tests/unit/sim/kernels.h"

namespace tilescope::sim {
namespace {

using namespace tests;

using Changes = std::vector<arch::Override>;

arch::ArchSpec v100_with(const std::string& partial_write, const std::string& granule, Changes more = {}) {
  more.push_back({"memory.l2.partial_write", partial_write});
  if (!granule.empty()) more.push_back({"memory.dram.write_granule", granule});
  return chip("v100", more);
}

struct Store {
  std::int64_t address = 0, bytes = 0;
};

// A device's memory that is given stores, each within one line.
class Stored {
 public:
  explicit Stored(const arch::ArchSpec& c) : machine_(machine_of(c)), memory_(machine_.memory, statistics_) {}

  void store(const Store& s, int core = 0) {
    const LineShape& shape = machine_.memory.shape;
    const std::vector<std::int64_t> at = {s.address};
    const auto touches = touched_lines(at, s.bytes, shape);
    const auto written = written_lines(at, s.bytes, shape, touches);
    for (std::size_t t = 0; t < touches.size(); ++t)
      accept({.core = core,
              .write = true,
              .line = touches[t].line,
              .sectors = touches[t].sectors,
              .at = now_,
              .written = written.empty() ? Written{} : written[t]});
  }
  void load(std::int64_t line, std::uint32_t sectors, int core = 0) {
    accept({.core = core, .line = line, .sectors = sectors, .at = now_});
  }
  // Drives everything out that was written: reads three times what the cache holds, further on.
  void drive_out() {
    const std::int64_t lines = memory_.bytes_of_caches().front() / machine_.memory.shape.line;
    for (std::int64_t l = 0; l < 3 * lines; ++l) load(1'000'000 + l, 0xf);
    flushed_ = 3 * memory_.bytes_of_caches().front();
  }
  LevelStatistics dram() {
    memory_.run({}, 1'000'000'000_cycles, replies_);
    LevelStatistics d = statistics_.level(LevelRole::kDram);
    d.read_bytes -= flushed_;
    return d;
  }

 private:
  void accept(const MemoryRequest& r) {
    memory_.run({&r, 1}, {}, replies_);
    now_ += 10_cycles;
  }

  Machine machine_;
  Statistics statistics_;
  DeviceMemory memory_;
  std::vector<MemoryReply> replies_;
  std::int64_t flushed_ = 0;
  Cycle now_{};
};

const Changes kSmall = {{"memory.l2.capacity", "384 KiB"}};

std::vector<Store> random_stores(int n) {
  std::mt19937 random(7);
  std::vector<Store> out;
  for (int i = 0; i < n; ++i) {
    const std::int64_t bytes = std::int64_t{1} << random() % 6;
    out.push_back({static_cast<std::int64_t>(random() % 16384) / bytes * bytes, bytes});
  }
  return out;
}

// What is written of bursts of 32 B, byte by byte: bursts, and those with a granule that is covered in part.
struct WrittenBursts {
  std::int64_t bursts = 0, merged = 0;
};
WrittenBursts counted(const std::vector<Store>& stores, std::int64_t granule) {
  std::set<std::int64_t> bytes, bursts, merged;
  for (const Store& s : stores)
    for (std::int64_t b = 0; b < s.bytes; ++b) bytes.insert(s.address + b);
  std::map<std::int64_t, std::int64_t> covered;
  for (const std::int64_t b : bytes) ++covered[b / granule];
  for (const auto& [g, n] : covered) {
    bursts.insert(g * granule / 32);
    if (n < granule) merged.insert(g * granule / 32);
  }
  return {std::ssize(bursts), std::ssize(merged)};
}

TEST(PartialWrites, OfMaskedSectorsAreMergedByTheDramWhenTheyLeave) {
  for (const int n : {10, 300, 3000}) {
    const std::vector<Store> stores = random_stores(n);
    for (const std::int64_t granule : {1, 8, 32}) {
      SCOPED_TRACE(testing::Message() << n << " stores, " << granule << " B");
      Stored s(v100_with("masked", std::to_string(granule) + " B", kSmall));
      for (const Store& store : stores) s.store(store);
      EXPECT_EQ(s.dram().read_bytes, 0);
      s.drive_out();
      const WrittenBursts c = counted(stores, granule);
      EXPECT_EQ(s.dram().written_bytes, 32 * c.bursts);
      EXPECT_EQ(s.dram().read_bytes, 32 * c.merged);
      EXPECT_EQ(c.merged > 0, granule > 1);
    }
  }
}

// Four bytes of each of four sectors, then another four, then all.
TEST(PartialWrites, ThatTogetherCoverASectorAreOne) {
  const auto read_bytes = [](std::int64_t covered) {
    Stored s(v100_with("masked", "32 B", kSmall));
    for (std::int64_t at = 0; at < covered; at += 4)
      for (std::int64_t sector = 0; sector < 4; ++sector) s.store({128 * 5 + 32 * sector + at, 4});
    s.drive_out();
    return s.dram().read_bytes;
  };
  EXPECT_EQ(read_bytes(4), 4 * 32);
  EXPECT_EQ(read_bytes(28), 4 * 32);
  EXPECT_EQ(read_bytes(32), 0);
}

TEST(PartialWrites, OfWhatTheCacheHoldsAreWhole) {
  for (const char* partly : {"masked", "fetched"}) {
    Stored s(v100_with(partly, "32 B", kSmall));
    s.load(5, 0xf);
    EXPECT_EQ(s.dram().read_bytes, 128);
    s.store({5 * 128 + 8, 4});
    s.drive_out();
    EXPECT_EQ(s.dram().read_bytes, 128) << partly;
    EXPECT_EQ(s.dram().written_bytes, 32) << partly;
  }
}

// A read of a masked sector has the rest fetched, once; what leaves then is whole.
TEST(PartialWrites, AreCompletedByAReader) {
  Stored s(v100_with("masked", "32 B", kSmall));
  s.store({5 * 128 + 8, 4});
  s.load(5, 1);
  EXPECT_EQ(s.dram().read_bytes, 32);
  s.load(5, 1);
  EXPECT_EQ(s.dram().read_bytes, 32);
  s.drive_out();
  EXPECT_EQ(s.dram().read_bytes, 32);
  EXPECT_EQ(s.dram().written_bytes, 32);
}

// Each sector that is there for the first time because of a part is fetched at once, whatever covers it later.
TEST(PartialWrites, OfACacheWithoutMasksFetchTheRest) {
  Stored s(v100_with("fetched", "", kSmall));
  for (std::int64_t at = 0; at < 32; at += 4) s.store({5 * 128 + at, 4});
  s.store({5 * 128 + 32, 32});
  EXPECT_EQ(s.dram().read_bytes, 32);
  s.load(5, 3);
  s.drive_out();
  EXPECT_EQ(s.dram().read_bytes, 32);
  EXPECT_EQ(s.dram().written_bytes, 64);
}

// A code over two sectors: one of them alone is merged, both together, or one beside a clean one, are not.
TEST(PartialWrites, OfACodeWiderThanASectorNeedBoth) {
  const Changes wide = {{"memory.l2.capacity", "384 KiB"},
                        {"memory.dram.burst", "4"},
                        {"memory.dram.channels", "32"},
                        {"memory.dram.width", "128 bit"}};
  const auto dram = [&](std::uint32_t loaded, std::uint32_t written) {
    Stored s(v100_with("masked", "64 B", wide));
    if (loaded != 0) s.load(5, loaded);
    for (std::int64_t sector = 0; sector < 4; ++sector)
      if ((written >> sector & 1) != 0) s.store({5 * 128 + 32 * sector, 32});
    const std::int64_t before = s.dram().read_bytes;
    s.drive_out();
    return std::pair{s.dram().read_bytes - before, s.dram().written_bytes};
  };
  EXPECT_EQ(dram(0, 0b0001), std::pair(std::int64_t{64}, std::int64_t{64}));
  EXPECT_EQ(dram(0, 0b0011), std::pair(std::int64_t{0}, std::int64_t{64}));
  EXPECT_EQ(dram(0, 0b0101), std::pair(std::int64_t{128}, std::int64_t{128}));
  EXPECT_EQ(dram(0b0010, 0b0001), std::pair(std::int64_t{0}, std::int64_t{64}));
}

// The bytes go with the line from partition to partition.
TEST(PartialWrites, OfTwoPartitionsAreOneSector) {
  Stored s(chip("a100", {{"memory.l2.partial_write", "masked"}, {"memory.dram.write_granule", "32 B"}}));
  for (std::int64_t at = 0; at < 32; at += 4) s.store({5 * 128 + at, 4}, static_cast<int>(at / 4 % 2));
  s.store({6 * 128, 4}, 0);
  s.store({6 * 128 + 8, 4}, 1);
  s.drive_out();
  EXPECT_EQ(s.dram().read_bytes, 32);
  EXPECT_EQ(s.dram().written_bytes, 64);
}

// Every thread writes four floats, a float of every `apart`, over more than the cache holds.
lower::Module strided_stores(std::int64_t blocks, std::int64_t apart) {
  HandKernel k(blocks, 256);
  const int b = k.global("B", blocks * 256 * 4 * apart, lower::Role::kOutput), r = k.registers("r", 4);
  const int i = k.loop("i", 4);
  k.add(loop_over(i, {copy({b, affine({{0, 1024 * apart}, {1, apart}, {i, 256 * apart}})}, {r, affine({{i, 1}})}, 1)},
                  4));
  return std::move(k).take();
}

TEST(PartialWrites, OfAKernelCostAReadForEachSector) {
  const Changes small = {{"memory.l2.capacity", "384 KiB"}};
  const lower::Module strided = strided_stores(500, 8), dense = strided_stores(500, 1);
  const auto bytes = [&](const lower::Module& m, const arch::ArchSpec& c) {
    const SimReport r = simulated(m, c);
    return std::pair{level(r, "dram").read_bytes, level(r, "dram").written_bytes};
  };
  const auto plain = bytes(strided, chip("v100", small));
  EXPECT_EQ(plain.first, 0);
  EXPECT_EQ(bytes(strided, v100_with("masked", "1 B", small)), plain);
  const auto merged = bytes(strided, v100_with("masked", "32 B", small));
  EXPECT_NEAR(static_cast<double>(merged.first), static_cast<double>(merged.second), 4 * 32 * 1000);
  EXPECT_GT(merged.second, 500 * 1024 * 32 - (1 << 20));
  const auto fetched = bytes(strided, v100_with("fetched", "", small));
  EXPECT_EQ(fetched.first, 500 * 1024 * 32);
  for (const auto& c : {v100_with("masked", "32 B", small), v100_with("fetched", "", small)})
    EXPECT_EQ(bytes(dense, c).first, 0);
}

TEST(PartialWrites, OfASampledSimulationAreNearThoseOfTheWhole) {
  const lower::Module m = strided_stores(2000, 8);
  for (const auto& c : {v100_with("masked", "32 B", kSmall), v100_with("fetched", "", kSmall)}) {
    const SimReport full = simulated(m, c), sampled = simulated(m, c, Mode::kSampled);
    EXPECT_NEAR(running_cycles(sampled) / running_cycles(full), 1, 0.05);
    const auto read = [](const SimReport& report) { return static_cast<double>(level(report, "dram").read_bytes); };
    EXPECT_GT(read(full), 0);
    EXPECT_NEAR(read(sampled) / read(full), 1, 0.05);
  }
}

TEST(PartialWrites, AreNeverFasterThanWholeOnes) {
  const Changes small = {{"memory.l2.capacity", "384 KiB"}};
  const lower::Module strided = strided_stores(500, 8);
  const double plain = running_cycles(simulated(strided, chip("v100", small)));
  EXPECT_EQ(running_cycles(simulated(strided, v100_with("masked", "1 B", small))), plain);
  EXPECT_GT(running_cycles(simulated(strided, v100_with("masked", "32 B", small))), 1.5 * plain);
  EXPECT_GT(running_cycles(simulated(strided, v100_with("fetched", "", small))), 1.5 * plain);
}

}  // namespace
}  // namespace tilescope::sim
