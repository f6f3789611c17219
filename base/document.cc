// SPDX-License-Identifier: Apache-2.0
#include "base/document.h"

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <system_error>

#include <fmt/format.h>

#include "base/tree_builder.h"

namespace tilescope::base {
namespace {

// A text as one line of a message shows it: short, and without bytes that would break the line or steer a terminal.
std::string excerpt(std::string_view text) {
  constexpr std::size_t kLongest = 40;
  const bool cut = text.size() > kLongest;
  if (cut) {
    std::size_t end = kLongest;
    while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) --end;  // not inside a UTF-8 character
    text = text.substr(0, end);
  }
  std::string out(text);
  std::replace_if(
      out.begin(), out.end(), [](char c) { return static_cast<unsigned char>(c) < ' ' || c == '\x7F'; }, ' ');
  return cut ? out + "..." : out;
}

// Reads at most one byte more than the limit, which tells a longer input even where it has no size (a pipe).
std::string read_up_to_limit(std::ifstream& in, DocumentLimits limits) {
  std::string text;
  constexpr std::size_t kBlock = 1 << 16;
  while (in && text.size() <= limits.bytes) {
    const std::size_t before = text.size();
    text.resize(before + std::min(kBlock, limits.bytes + 1 - before));
    in.read(text.data() + before, static_cast<std::streamsize>(text.size() - before));
    text.resize(before + static_cast<std::size_t>(in.gcount()));
  }
  return text;
}

}  // namespace

const Value* Value::find(std::string_view key) const {
  const Map* map = get_if<Map>();
  if (map == nullptr) return nullptr;
  const auto entry = std::find_if(map->begin(), map->end(), [&](const Entry& e) { return e.key == key; });
  return entry == map->end() ? nullptr : &entry->value;
}

Value* Value::find(std::string_view key) { return const_cast<Value*>(std::as_const(*this).find(key)); }

std::string Value::describe() const {
  if (is_null()) return "nothing";
  if (is_list()) return "a list";
  if (is_map()) return "a map";
  if (const auto* text = get_if<std::string>()) return fmt::format("the text '{}'", excerpt(*text));
  if (get_if<bool>() != nullptr) return to_json(*this);
  if (const auto* x = get_if<double>(); x != nullptr && !std::isfinite(*x)) return fmt::format("the number {}", *x);
  return "the number " + to_json(*this);
}

std::optional<std::string> size_complaint(std::size_t bytes, DocumentLimits limits) {
  if (bytes <= limits.bytes) return std::nullopt;
  return fmt::format("{} bytes long; at most {} are accepted", bytes, limits.bytes);
}

std::string depth_complaint(DocumentLimits limits) { return fmt::format("nested more than {} deep", limits.depth); }

std::string number_complaint() { return "the number is beyond 64-bit floating point"; }

std::optional<std::string> read_file(const std::string& path, SourceId source, Diagnostics& diags,
                                     DocumentLimits limits) {
  const Position whole{source, 0, 0};
  const auto refuse = [&](std::string text) {
    diags.error(whole, std::move(text));
    return std::nullopt;
  };
  std::error_code failed;
  if (std::filesystem::is_directory(path, failed)) return refuse("cannot be read: it is a folder");
  errno = 0;
  std::ifstream in(path, std::ios::binary);
  if (!in) return refuse("cannot be read: " + std::generic_category().message(errno));
  const std::uintmax_t bytes = std::filesystem::file_size(path, failed);
  if (!failed)
    if (const auto complaint = size_complaint(bytes, limits)) return refuse(*complaint);
  std::string text = read_up_to_limit(in, limits);
  if (in.bad()) return refuse("cannot be read: " + std::generic_category().message(errno));
  if (text.size() > limits.bytes)
    return refuse(fmt::format("longer than the {} bytes that are accepted", limits.bytes));
  return text;
}

}  // namespace tilescope::base
