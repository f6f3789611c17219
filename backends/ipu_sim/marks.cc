// SPDX-License-Identifier: Apache-2.0
#include "backends/ipu_sim/detail/marks.h"

#include <algorithm>
#include <bit>

#include "base/integer.h"

namespace tilescope::ipu_sim {
namespace {

constexpr std::int64_t kWord = 64, kGroup = 64 * kWord;

// Calls visit(word, mask) for the words that a range lies in, until it returns true; whether it did.
template <class Visit>
bool until(std::int64_t begin, std::int64_t count, const Visit& visit) {
  for (const std::int64_t end = begin + count; begin < end;) {
    const std::int64_t word = begin / kWord, from = begin % kWord, to = std::min(end - word * kWord, kWord);
    const std::uint64_t mask = (~std::uint64_t{0} >> (kWord - (to - from))) << from;
    if (visit(static_cast<std::size_t>(word), mask)) return true;
    begin = (word + 1) * kWord;
  }
  return false;
}

// Calls visit(group, begin, count) for the part of a range in each group.
template <class Visit>
void for_each_group(std::int64_t begin, std::int64_t count, const Visit& visit) {
  for (const std::int64_t end = begin + count; begin < end;) {
    const std::int64_t group = begin / kGroup, to = std::min(end, (group + 1) * kGroup);
    visit(static_cast<std::size_t>(group), begin, to - begin);
    begin = to;
  }
}

}  // namespace

Marks::Marks(std::int64_t count) : words_(static_cast<std::size_t>(base::ceil_div(count, kWord)), 0) {}

void Marks::set(std::int64_t begin, std::int64_t count) {
  until(begin, count, [&](std::size_t word, std::uint64_t mask) {
    words_[word] |= mask;
    return false;
  });
}

void Marks::clear(std::int64_t begin, std::int64_t count) {
  until(begin, count, [&](std::size_t word, std::uint64_t mask) {
    words_[word] &= ~mask;
    return false;
  });
}

std::optional<std::int64_t> Marks::first_set(std::int64_t begin, std::int64_t count) const {
  std::int64_t found = 0;
  const bool any = until(begin, count, [&](std::size_t word, std::uint64_t mask) {
    found = static_cast<std::int64_t>(word) * kWord + std::countr_zero(words_[word] & mask);
    return (words_[word] & mask) != 0;
  });
  return any ? std::optional(found) : std::nullopt;
}

std::optional<std::int64_t> Marks::first_clear(std::int64_t begin, std::int64_t count) const {
  std::int64_t found = 0;
  const bool any = until(begin, count, [&](std::size_t word, std::uint64_t mask) {
    found = static_cast<std::int64_t>(word) * kWord + std::countr_zero(~words_[word] & mask);
    return (~words_[word] & mask) != 0;
  });
  return any ? std::optional(found) : std::nullopt;
}

PhaseMarks::PhaseMarks(std::int64_t count)
    : marks_(base::ceil_div(count, kGroup) * kGroup),
      phases_(static_cast<std::size_t>(base::ceil_div(count, kGroup)), 0) {}

void PhaseMarks::set(std::int64_t begin, std::int64_t count, std::int64_t phase) {
  for_each_group(begin, count, [&](std::size_t group, std::int64_t from, std::int64_t n) {
    if (phases_[group] != phase) marks_.clear(static_cast<std::int64_t>(group) * kGroup, kGroup);
    phases_[group] = phase;
    marks_.set(from, n);
  });
}

std::optional<std::int64_t> PhaseMarks::first_set(std::int64_t begin, std::int64_t count, std::int64_t phase) const {
  std::optional<std::int64_t> found;
  for_each_group(begin, count, [&](std::size_t group, std::int64_t from, std::int64_t n) {
    if (!found && phases_[group] == phase) found = marks_.first_set(from, n);
  });
  return found;
}

}  // namespace tilescope::ipu_sim
