// SPDX-License-Identifier: Apache-2.0
#include "arch/ports.h"

#include <algorithm>
#include <charconv>
#include <optional>

#include <fmt/format.h>

#include "base/check.h"

namespace tilescope::arch {
namespace {

// "r3c0".
std::optional<MeshPlace> place_of(std::string_view word) {
  MeshPlace place;
  for (auto [letter, number] : {std::pair('r', &place.row), std::pair('c', &place.column)}) {
    if (word.empty() || word.front() != letter) return std::nullopt;
    word.remove_prefix(1);
    const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), *number);
    if (error != std::errc() || *number < 0) return std::nullopt;
    word.remove_prefix(static_cast<std::size_t>(end - word.data()));
  }
  if (!word.empty()) return std::nullopt;
  return place;
}

}  // namespace

std::vector<MeshPlace> read_ports(std::string_view text, std::string& wrong) {
  std::vector<MeshPlace> out;
  for (std::size_t at = 0; (at = text.find_first_not_of(' ', at)) != std::string_view::npos;) {
    const std::string_view word = text.substr(at, text.find(' ', at) - at);
    at += word.size();
    const auto place = place_of(word);
    if (!place)
      wrong = fmt::format("expected places such as 'r0c0 r3c0', got '{}'", word);
    else if (std::find(out.begin(), out.end(), *place) != out.end())
      wrong = fmt::format("'{}' stands there twice", word);
    else
      out.push_back(*place);
    if (!wrong.empty()) return {};
  }
  if (out.empty()) wrong = "expected places such as 'r0c0 r3c0', one at least";
  return out;
}

std::vector<MeshPlace> ports_of(const DramLevel& dram) {
  std::string wrong;
  std::vector<MeshPlace> ports;
  if (dram.ports) ports = read_ports(*dram.ports, wrong);
  base::check(!ports.empty(), "a checked DRAM between cores has ports");
  return ports;
}

std::vector<MeshPlace> places_of_channels(const DramLevel& dram) {
  const std::vector<MeshPlace> ports = ports_of(dram);
  std::vector<MeshPlace> out;
  for (std::int64_t c = 0; c < dram.channels; ++c) out.push_back(ports[static_cast<std::size_t>(c) % ports.size()]);
  return out;
}

}  // namespace tilescope::arch
