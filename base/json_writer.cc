// SPDX-License-Identifier: Apache-2.0
#include "base/json_writer.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

#include <nlohmann/json.hpp>

namespace tilescope::base {
namespace {

// The characters that JSON writes as they are.
constexpr std::array<bool, 256> kPlain = [] {
  std::array<bool, 256> plain{};
  for (std::size_t c = ' '; c <= '~'; ++c) plain[c] = c != '"' && c != '\\';
  return plain;
}();

// Most texts are names of such characters; asking the library for those would cost most of a batch's time.
bool needs_no_escape(std::string_view text) {
  bool plain = true;
  for (const char c : text) plain &= kPlain[static_cast<unsigned char>(c)];
  return plain;
}

// Bytes that are no UTF-8 become U+FFFD: a result must be readable whatever name a user gave.
void append_quoted(const std::string& text, std::string& out) {
  if (needs_no_escape(text)) {
    out.push_back('"');
    out += text;
    out.push_back('"');
  } else {
    out += nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  }
}

// The shortest text that reads back to the same double, and stays a double when read again.
void append_number(double x, std::string& out) {
  if (!std::isfinite(x)) {
    out += "null";  // JSON knows neither infinity nor not-a-number
    return;
  }
  std::array<char, 32> text;
  const std::string_view written(text.data(), std::to_chars(text.data(), text.data() + text.size(), x).ptr);
  out += written;
  if (std::none_of(written.begin(), written.end(), [](char c) { return c == '.' || c == 'e'; })) out += ".0";
}

class Writer {
 public:
  Writer(int indent, std::string& out) : indent_(indent), out_(out) {}

  void write(const Value& value) {
    if (const auto* x = value.get_if<double>()) return append_number(*x, out_);
    if (const auto* n = value.get_if<std::int64_t>()) return append_integer(*n);
    if (const auto* s = value.get_if<std::string>()) return append_quoted(*s, out_);
    if (const auto* map = value.get_if<Map>()) return write_items(*map, '{', '}');
    if (const auto* list = value.get_if<List>()) return write_items(*list, '[', ']');
    if (const auto* b = value.get_if<bool>())
      out_ += *b ? "true" : "false";
    else
      out_ += "null";
  }

 private:
  void append_integer(std::int64_t n) {
    std::array<char, 24> text;
    out_ += std::string_view(text.data(), std::to_chars(text.data(), text.data() + text.size(), n).ptr);
  }

  void write(const Entry& entry) {
    append_quoted(entry.key, out_);
    out_ += indent_ < 0 ? ":" : ": ";
    write(entry.value);
  }

  template <class Items>
  void write_items(const Items& items, char open, char close) {
    out_ += open;
    ++depth_;
    for (const auto& item : items) {
      if (&item != &items.front()) out_ += ',';
      new_line();
      write(item);
    }
    --depth_;
    if (!items.empty()) new_line();
    out_ += close;
  }

  void new_line() {
    if (indent_ < 0) return;
    out_ += '\n';
    out_.append(static_cast<std::size_t>(indent_) * depth_, ' ');
  }

  int indent_;
  std::size_t depth_ = 0;
  std::string& out_;
};

}  // namespace

std::string to_json(const Value& value, int indent) {
  std::string out;
  append_json(value, out, indent);
  return out;
}

void append_json(const Value& value, std::string& out, int indent) { Writer(indent, out).write(value); }

}  // namespace tilescope::base
