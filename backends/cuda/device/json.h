// SPDX-License-Identifier: Apache-2.0
#pragma once
// One flat JSON object, written entry by entry; rows have this form.

#include <charconv>
#include <cmath>
#include <cstdint>
#include <string>
#include <string_view>

namespace tilescope::cuda::device {

class JsonObject {
 public:
  void add(std::string_view key, std::string_view text) { add_raw(key, quoted(text)); }
  void add(std::string_view key, std::int64_t number) { add_raw(key, std::to_string(number)); }
  // A number that is not finite becomes null.
  void add(std::string_view key, double number) { add_raw(key, std::isfinite(number) ? shortest(number) : "null"); }
  // Adds a number where the whole text is a finite number, else the text.
  void add_note(std::string_view key, std::string_view text) {
    double number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error == std::errc() && end == text.data() + text.size() && std::isfinite(number))
      add(key, number);
    else
      add(key, text);
  }
  std::string text() const { return "{" + entries_ + "}"; }

  static std::string shortest(double number) {
    char digits[32];
    return {digits, std::to_chars(digits, digits + sizeof(digits), number).ptr};
  }
  static std::string quoted(std::string_view text) {
    std::string out = "\"";
    for (const char c : text) {
      if (c == '"' || c == '\\') out += '\\';
      if (static_cast<unsigned char>(c) < 0x20)
        out += ' ';
      else
        out += c;
    }
    return out + '"';
  }

 private:
  void add_raw(std::string_view key, std::string_view value) {
    if (!entries_.empty()) entries_ += ',';
    entries_ += quoted(key);
    entries_ += ':';
    entries_ += value;
  }

  std::string entries_;
};

}  // namespace tilescope::cuda::device
