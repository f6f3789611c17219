// SPDX-License-Identifier: Apache-2.0
#pragma once
// The memory hierarchy from a thread to DRAM. Every level of a chip has one role in it, or a reason why the chip's
// class does not support it. Models, simulator and tables find levels by role and call them by the chip's own names.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "arch/spec.h"
#include "base/fixed_vector.h"

namespace tilescope::arch {

// Multiples of which arrays begin at, as device allocators place them (CUDA programming guide, 5.3.2: cudaMalloc).
inline constexpr base::Bytes kAllocationAlignment{256};

// From the thread outwards.
enum class Role : std::uint8_t { kRegisters, kTensorMemory, kScratchpad, kCoreCache, kDeviceCache, kDram };

// The most caches of device scope that model and simulator support; the loader refuses more.
inline constexpr std::size_t kMaxDeviceCaches = 4;

// The role of a level in a class of chips.
struct Standing {
  std::optional<Role> role;
  // If there is no role: what the level is, and why the class does not support it.
  std::string why;
  // If there is no role: whether the level may be described all the same. It is then checked, and refused only by code
  // that would have to use it.
  bool described = false;
};
Standing standing_of(const Level& level, ChipClass chip_class);

// The levels of a chip by role; null or empty where it has none. Points into the chip.
struct Hierarchy {
  const RegisterLevel* registers = nullptr;
  const TensorLevel* tensor_memory = nullptr;   // of a core
  const ScratchpadLevel* scratchpad = nullptr;  // of a core
  const CacheLevel* core_cache = nullptr;       // of a core (L1)
  // From the cache that requests of the cores reach first (L2) to the one next to the DRAM.
  base::FixedVector<const CacheLevel*, kMaxDeviceCaches> device_caches;
  const DramLevel* dram = nullptr;
};
Hierarchy hierarchy_of(const ArchSpec& a);

// Levels that the chip describes and that have no role in its class, outermost first.
std::vector<const Level*> levels_without_role(const ArchSpec& a);

// The level of that name, or null.
const Level* level_named(const ArchSpec& a, std::string_view name);

// The level of one role, or null; of several device caches the innermost one.
const DramLevel* dram_of(const ArchSpec& a);
const CacheLevel* device_cache_of(const ArchSpec& a);
const CacheLevel* core_cache_of(const ArchSpec& a);
const ScratchpadLevel* scratchpad_of(const ArchSpec& a);
const RegisterLevel* registers_of(const ArchSpec& a);
const TensorLevel* tensor_memory_of(const ArchSpec& a);

// "dram, cache of device scope, ...": what a level is, in words.
std::string in_words(const Level& level);

}  // namespace tilescope::arch
