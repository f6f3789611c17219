// SPDX-License-Identifier: Apache-2.0
#pragma once
// A hash table that numbers sequences of words, so that what was computed from a sequence can be stored by its number.

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

namespace tilescope::model {

class WordTable {
 public:
  struct Found {
    std::size_t number = 0;
    bool fresh = false;  // the sequence is new
  };
  // The number of a sequence; numbers start at 0, in the order in which sequences first occur. Allocates only for a new
  // sequence.
  Found number_of(std::span<const std::int64_t> words) {
    const std::uint64_t hash = hash_of(words);
    std::size_t at = hash & (places_.size() - 1);
    for (; places_[at] != 0; at = (at + 1) & (places_.size() - 1)) {
      const Entry& e = entries_[places_[at] - 1];
      const std::int64_t* known = words_.data() + e.begin;
      if (e.hash == hash && e.size == words.size() && std::equal(words.begin(), words.end(), known))
        return {places_[at] - 1, false};
    }
    entries_.push_back({hash, words_.size(), words.size()});
    words_.insert(words_.end(), words.begin(), words.end());
    places_[at] = static_cast<std::uint32_t>(entries_.size());
    if (2 * entries_.size() > places_.size()) add_places();
    return {entries_.size() - 1, true};
  }
  std::size_t size() const { return entries_.size(); }

 private:
  struct Entry {
    std::uint64_t hash = 0;
    std::size_t begin = 0, size = 0;  // of its words
  };

  static std::uint64_t hash_of(std::span<const std::int64_t> words) {
    std::uint64_t hash = 0;
    for (const std::int64_t w : words) {
      hash = (hash ^ static_cast<std::uint64_t>(w)) * 0x9e3779b97f4a7c15U;
      hash ^= hash >> 32;
    }
    return hash;
  }
  void add_places() {
    places_.assign(places_.size() * 2, 0);
    for (std::size_t e = 0; e < entries_.size(); ++e) {
      std::size_t at = entries_[e].hash & (places_.size() - 1);
      while (places_[at] != 0) at = (at + 1) & (places_.size() - 1);
      places_[at] = static_cast<std::uint32_t>(e + 1);
    }
  }

  static constexpr std::size_t kFirstPlaces = 1024;  // a power of two; growth doubles it

  std::vector<std::int64_t> words_;
  std::vector<Entry> entries_;
  std::vector<std::uint32_t> places_ = std::vector<std::uint32_t>(kFirstPlaces, 0);  // numbers from one on; 0: free
};

}  // namespace tilescope::model
