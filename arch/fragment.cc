#include "arch/fragment.h"

#include <bit>
#include <charconv>

#include <fmt/format.h>

namespace tilescope::arch {
namespace {

// So many bits number more lanes and elements than any instruction has.
constexpr std::size_t kMaxBits = 20;

void add(const FragmentBit& bit, FragmentPlace& to) {
  switch (bit.axis) {
    case FragmentAxis::kNone:
      return;
    case FragmentAxis::kRow:
      to.row += bit.step;
      return;
    case FragmentAxis::kColumn:
      to.column += bit.step;
      return;
    case FragmentAxis::kDepth:
      to.depth += bit.step;
      return;
  }
}

void add(const std::vector<FragmentBit>& bits, std::int64_t number, FragmentPlace& to) {
  for (std::size_t b = 0; b < bits.size(); ++b)
    if ((number >> b & 1) != 0) add(bits[b], to);
}

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
  FragmentPlace place;
  add(lanes, lane, place);
  add(elements, element, place);
  return place;
}

std::optional<FragmentMap> fragment_map_of(std::string_view text, std::string& why) {
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
      if (slash) return why = "a second '/'; one parts the bits of lanes from those of elements", std::nullopt;
      slash = true;
      continue;
    }
    const std::optional<FragmentBit> bit = bit_of(word);
    if (!bit) {
      why = fmt::format("expected bits such as r1, c2, k4 (a power of two after r, c or k) or -, got '{}'", word);
      return std::nullopt;
    }
    std::vector<FragmentBit>& bits = slash ? map.elements : map.lanes;
    if (bits.size() == kMaxBits) return why = fmt::format("more than {} bits", kMaxBits), std::nullopt;
    bits.push_back(*bit);
  }
  if (!slash) return why = "expected the bits of lanes, '/', and the bits of elements", std::nullopt;
  return map;
}

std::string text_of(const FragmentMap& map) {
  const std::string elements = text_of(map.elements);
  return text_of(map.lanes) + (elements.empty() ? " /" : " / " + elements);
}

}  // namespace tilescope::arch
