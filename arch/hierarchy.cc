// SPDX-License-Identifier: Apache-2.0
#include "arch/hierarchy.h"

#include <fmt/format.h>

#include "arch/key.h"

namespace tilescope::arch {
namespace {

Standing unknown(std::string why) { return {std::nullopt, std::move(why), false}; }

Standing place_in_gpu(const Level& level) {
  const Scope scope = spec_of(level).scope;
  if (scope == Scope::kCluster)
    return {std::nullopt, fmt::format("no reader of class gpu uses a {} yet", in_words(level)), true};
  switch (kind_of(level)) {
    case Kind::kDram:
      if (scope == Scope::kDevice) return {Role::kDram, {}, false};
      return unknown(fmt::format("no reader of class gpu knows a {}; a dram has device scope", in_words(level)));
    case Kind::kCache:
      if (scope == Scope::kDevice) return {Role::kDeviceCache, {}, false};
      if (scope == Scope::kCore) return {Role::kCoreCache, {}, false};
      return unknown(
          fmt::format("no reader of class gpu knows a {}; a cache has device or core scope", in_words(level)));
    case Kind::kScratchpad:
      if (scope == Scope::kCore) return {Role::kScratchpad, {}, false};
      return unknown(fmt::format("no reader of class gpu knows a {}; a scratchpad has core scope", in_words(level)));
    case Kind::kRegister:
      if (scope == Scope::kThread) return {Role::kRegisters, {}, false};
      return unknown(fmt::format("no reader of class gpu knows a {}; registers have thread scope", in_words(level)));
    case Kind::kTensor:
      if (scope == Scope::kCore) return {Role::kTensorMemory, {}, false};
      return unknown(fmt::format("no reader of class gpu knows a {}; a tensor memory has core scope", in_words(level)));
  }
  return {};
}

// What a chip of class bsp must not have, arch/bsp_checks.cc says.
Standing place_in_bsp(const Level& level) {
  switch (kind_of(level)) {
    case Kind::kDram:
      return {Role::kDram, {}, false};
    case Kind::kCache:
      return {Role::kDeviceCache, {}, false};
    case Kind::kScratchpad:
      return {Role::kScratchpad, {}, false};
    case Kind::kRegister:
      return {Role::kRegisters, {}, false};
    case Kind::kTensor:
      return unknown(fmt::format("no reader of class bsp knows a {}", in_words(level)));
  }
  return {};
}

Standing place_in_memory(const Level& level) {
  if (kind_of(level) == Kind::kDram && spec_of(level).scope == Scope::kDevice) return {Role::kDram, {}, false};
  return unknown(fmt::format("no reader of class memory knows a {}; such a chip is a dram of device scope alone",
                             in_words(level)));
}

template <class Spec, class Holds>
const Spec* last_level(const ArchSpec& a, Holds holds) {
  const Spec* found = nullptr;
  for (const Level& l : a.memory)
    if (const Spec* s = std::get_if<Spec>(&l); s != nullptr && holds(*s)) found = s;
  return found;
}

template <class Spec>
const Spec* level_of(const ArchSpec& a) {
  return last_level<Spec>(a, [](const Spec& s) { return s.scope != Scope::kCluster; });
}

}  // namespace

std::string in_words(const Level& level) {
  return fmt::format("{} of {} scope", name_of_choice(kind_of(level)), name_of_choice(spec_of(level).scope));
}

Standing standing_of(const Level& level, ChipClass chip_class) {
  switch (chip_class) {
    case ChipClass::kGpu:
      return place_in_gpu(level);
    case ChipClass::kBsp:
      return place_in_bsp(level);
    case ChipClass::kMemory:
      return place_in_memory(level);
  }
  return {};
}

const DramLevel* dram_of(const ArchSpec& a) { return level_of<DramLevel>(a); }
const CacheLevel* device_cache_of(const ArchSpec& a) {
  return last_level<CacheLevel>(a, [](const CacheLevel& l) { return l.scope == Scope::kDevice; });
}
const CacheLevel* core_cache_of(const ArchSpec& a) {
  return last_level<CacheLevel>(a, [](const CacheLevel& l) { return l.scope == Scope::kCore; });
}
const ScratchpadLevel* scratchpad_of(const ArchSpec& a) { return level_of<ScratchpadLevel>(a); }
const RegisterLevel* registers_of(const ArchSpec& a) { return level_of<RegisterLevel>(a); }
const TensorLevel* tensor_memory_of(const ArchSpec& a) { return level_of<TensorLevel>(a); }

Hierarchy hierarchy_of(const ArchSpec& a) {
  Hierarchy h{registers_of(a), tensor_memory_of(a), scratchpad_of(a), core_cache_of(a), {}, dram_of(a)};
  for (auto l = a.memory.rbegin(); l != a.memory.rend(); ++l)
    if (const auto* cache = std::get_if<CacheLevel>(&*l); cache != nullptr && cache->scope == Scope::kDevice)
      if (h.device_caches.size() < kMaxDeviceCaches) h.device_caches.push_back(cache);
  return h;
}

std::vector<const Level*> levels_without_role(const ArchSpec& a) {
  std::vector<const Level*> out;
  for (const Level& l : a.memory)
    if (!standing_of(l, a.chip_class).role) out.push_back(&l);
  return out;
}

const Level* level_named(const ArchSpec& a, std::string_view name) {
  for (const Level& l : a.memory)
    if (spec_of(l).name == name) return &l;
  return nullptr;
}

}  // namespace tilescope::arch
