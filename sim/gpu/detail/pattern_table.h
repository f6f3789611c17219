// SPDX-License-Identifier: Apache-2.0
#pragma once
// Values by short lists of integers: what is remembered of accesses and segments. Forgets everything when it is full,
// which bounds memory and changes nothing else.

#include <algorithm>
#include <bit>
#include <cstdint>
#include <deque>
#include <span>
#include <utility>
#include <vector>

namespace tilescope::sim {

template <class Value>
class PatternTable {
 public:
  // Null where nothing is known under the key; good until the next insertion.
  Value* find(std::span<const std::int64_t> key) {
    if (slots_.empty()) return nullptr;
    const std::uint64_t hash = hash_of(key);
    for (std::size_t at = hash & mask_; slots_[at] != kFree; at = (at + 1) & mask_) {
      Entry& e = entries_[slots_[at]];
      if (e.hash == hash && std::ranges::equal(std::span(keys_).subspan(e.key, e.length), key)) return &e.value;
    }
    return nullptr;
  }

  Value& insert(std::span<const std::int64_t> key, Value value) {
    if (entries_.size() >= kMaxEntries) {
      entries_.clear();
      keys_.clear();
      slots_.clear();
    }
    if (2 * (entries_.size() + 1) > slots_.size()) grow();
    entries_.push_back({hash_of(key), keys_.size(), key.size(), std::move(value)});
    keys_.insert(keys_.end(), key.begin(), key.end());
    place(entries_.size() - 1);
    return entries_.back().value;
  }

 private:
  static constexpr std::uint32_t kFree = ~std::uint32_t{0};
  static constexpr std::size_t kMaxEntries = 1 << 14;

  struct Entry {
    std::uint64_t hash;
    std::size_t key, length;  // in keys_
    Value value;
  };

  static std::uint64_t hash_of(std::span<const std::int64_t> key) {
    std::uint64_t h = key.size();
    for (const std::int64_t k : key) h = (std::rotl(h, 23) ^ static_cast<std::uint64_t>(k)) * 0x9e3779b97f4a7c15ULL;
    return h ^ (h >> 32);
  }
  void place(std::size_t entry) {
    std::size_t at = entries_[entry].hash & mask_;
    while (slots_[at] != kFree) at = (at + 1) & mask_;
    slots_[at] = static_cast<std::uint32_t>(entry);
  }
  void grow() {
    slots_.assign(std::max<std::size_t>(16, 4 * entries_.size()), kFree);
    slots_.resize(std::bit_ceil(slots_.size()), kFree);
    mask_ = slots_.size() - 1;
    for (std::size_t e = 0; e < entries_.size(); ++e) place(e);
  }

  std::vector<std::uint32_t> slots_;
  std::size_t mask_ = 0;
  std::deque<Entry> entries_;
  std::vector<std::int64_t> keys_;
};

}  // namespace tilescope::sim
