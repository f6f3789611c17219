// SPDX-License-Identifier: Apache-2.0
#pragma once
// The memory of every core, and of every channel of the DRAM, numbered behind those: the machine reads and writes them
// through this alone, and what no machine may do is a Fault.

#include <string>
#include <vector>

#include "backends/ipu_sim/detail/memory.h"
#include "backends/ipu_sim/machine.h"
#include "lower/bsp/supersteps.h"

namespace tilescope::ipu_sim {

class Cores {
 public:
  Cores(std::int64_t count, std::int64_t bytes, const lower::bsp::Dram& dram = {});

  // What sentences of faults call the superstep from now on.
  void at_step(std::int64_t step) { step_ = step; }
  [[noreturn]] void fault(std::int64_t core, const std::string& tensor, const std::string& what) const;

  // Arithmetic. The bytes where they lie, all of which were written.
  const std::byte* read(std::int64_t core, std::int64_t address, std::int64_t bytes, const std::string& tensor);
  // The same, or null where nothing wrote some of them.
  const std::byte* find(std::int64_t core, std::int64_t address, std::int64_t bytes, const std::string& tensor);
  void write(std::int64_t core, std::int64_t address, const std::byte* from, std::int64_t bytes,
             const std::string& tensor);

  // An exchange: first all that it sends and receives, then the copies.
  void begin_exchange() { ++exchange_; }
  void send(std::int64_t core, std::int64_t address, std::int64_t bytes, const std::string& tensor);
  void receive(std::int64_t core, std::int64_t address, std::int64_t bytes, const std::string& tensor);
  void copy(std::int64_t from, std::int64_t source, std::int64_t to, std::int64_t address, std::int64_t bytes,
            const std::string& tensor);

  // Bytes of one core's memory up to the last that anything wrote.
  std::int64_t used() const;

 private:
  Memory& of(std::int64_t core) { return cores_[static_cast<std::size_t>(core)]; }
  const Memory& of(std::int64_t core) const { return cores_[static_cast<std::size_t>(core)]; }
  void check_inside(std::int64_t core, std::int64_t address, std::int64_t bytes, const std::string& tensor) const;
  void check_written(std::int64_t core, std::int64_t address, std::int64_t bytes, const std::string& tensor) const;

  std::int64_t count_;
  std::vector<Memory> cores_;  // and channels
  std::int64_t step_ = 0, exchange_ = 0;
};

}  // namespace tilescope::ipu_sim
