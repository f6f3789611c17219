// SPDX-License-Identifier: Apache-2.0
#pragma once
// A memory model in a shared library with the C interface of include/tilescope/dram_plugin.h.

#include <memory>
#include <string>

#include "sim/memory/dram_timing.h"
#include "sim/memory/foreign_memory.h"

namespace tilescope::sim {

struct PluginConfig {
  std::string path;   // of the library
  std::string place;  // `file:line:col: key` in the file that names the library
  std::string chip;
  double clock_hz = 0;
  std::int64_t channels = 1, burst_bytes = 1, line_bytes = 1, capacity = 0;
};

// Loads the library and makes its memory. Throws SimError at `place` where the file is no library, lacks a symbol, has
// another version or makes no memory.
std::unique_ptr<ForeignMemory<Clock>> load_dram_plugin(const PluginConfig& config);

}  // namespace tilescope::sim
