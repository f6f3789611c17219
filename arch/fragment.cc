// SPDX-License-Identifier: Apache-2.0
#include "arch/fragment.h"

#include <bit>
#include <charconv>

#include <fmt/format.h>

#include "base/diagnostics.h"

namespace tilescope::arch {
namespace {

// So many bits number more lanes and elements than any instruction has.
constexpr std::size_t kMaxBits = 20;

constexpr std::string_view kLetters = "-rck";  // in the order of FragmentAxis

std::optional<FragmentBit> bit_of(std::string_view word) {
  if (word == "-") return FragmentBit{};
  const std::size_t axis = kLetters.find(word.front());
  std::int64_t step = 0;
  const auto [end, error] = std::from_chars(word.data() + 1, word.data() + word.size(), step);
  if (axis == std::string_view::npos || axis == 0 || error != std::errc{} || end != word.data() + word.size())
    return std::nullopt;
  if (step <= 0 || !std::has_single_bit(static_cast<std::uint64_t>(step)) || step > std::int64_t{1} << kMaxBits)
    return std::nullopt;
  return FragmentBit{static_cast<FragmentAxis>(axis), step};
}

std::string text_of(const std::vector<FragmentBit>& bits) {
  std::string out;
  for (const FragmentBit& b : bits) {
    if (!out.empty()) out += ' ';
    out += kLetters[static_cast<std::size_t>(b.axis)];
    if (b.axis != FragmentAxis::kNone) out += std::to_string(b.step);
  }
  return out;
}

}  // namespace

FragmentPlace FragmentMap::place_of(std::int64_t lane, std::int64_t element) const {
  const FragmentPlace of_lane = arch::place_of(lanes, lane), of_element = arch::place_of(elements, element);
  return {of_lane.row + of_element.row, of_lane.column + of_element.column, of_lane.depth + of_element.depth};
}

std::optional<FragmentMap> fragment_map_of(std::string_view text, base::Diagnostics& diags) {
  const auto refuse = [&](std::string why) {
    diags.error({}, std::move(why));
    return std::nullopt;
  };
  FragmentMap map;
  bool slash = false;
  for (std::size_t at = 0; at < text.size();) {
    if (text[at] == ' ') {
      ++at;
      continue;
    }
    const std::string_view word = text.substr(at, text.find(' ', at) - at);
    at += word.size();
    if (word == "/") {
      if (slash) return refuse("a second '/'; one parts the bits of lanes from those of elements");
      slash = true;
      continue;
    }
    const std::optional<FragmentBit> bit = bit_of(word);
    if (!bit)
      return refuse(
          fmt::format("expected bits such as r1, c2, k4 (a power of two after r, c or k) or -, got '{}'", word));
    std::vector<FragmentBit>& bits = slash ? map.elements : map.lanes;
    if (bits.size() == kMaxBits) return refuse(fmt::format("more than {} bits", kMaxBits));
    bits.push_back(*bit);
  }
  if (!slash) return refuse("expected the bits of lanes, '/', and the bits of elements");
  return map;
}

std::string text_of(const FragmentMap& map) {
  const std::string elements = text_of(map.elements);
  return text_of(map.lanes) + (elements.empty() ? " /" : " / " + elements);
}

}  // namespace tilescope::arch
