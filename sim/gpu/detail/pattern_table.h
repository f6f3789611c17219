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

  // How often everything has been forgotten: what was found since the last time is still there.
  std::int64_t forgotten() const { return forgotten_; }

  Value& insert(std::span<const std::int64_t> key, Value value) {
    if (entries_.size() >= kMaxEntries) {
      ++forgotten_;
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
  std::int64_t forgotten_ = 0;
};

// What a warp found last in such a table. It finds that again, and looks nothing up, while the uniforms that the key is
// made of are what they were and the table has not forgotten it: in the steps of a loop that the key does not change
// in.
template <class Found>
class LastFound {
 public:
  // Null where it has to be looked up. `of`: positions of those uniforms, always the same.
  const Found* find(const std::vector<int>& of, const std::vector<std::int64_t>& uniforms,
                    std::int64_t forgotten) const {
    if (forgotten_ != forgotten) return nullptr;
    for (std::size_t i = 0; i < of.size(); ++i)
      if (values_[i] != uniforms[static_cast<std::size_t>(of[i])]) return nullptr;
    return &found_;
  }
  const Found& keep(const std::vector<int>& of, const std::vector<std::int64_t>& uniforms, std::int64_t forgotten,
                    Found found) {
    values_.resize(of.size());
    for (std::size_t i = 0; i < of.size(); ++i) values_[i] = uniforms[static_cast<std::size_t>(of[i])];
    forgotten_ = forgotten;
    return found_ = found;
  }

 private:
  std::vector<std::int64_t> values_;
  std::int64_t forgotten_ = -1;  // as often as the table had when it was kept
  Found found_{};
};

}  // namespace tilescope::sim
