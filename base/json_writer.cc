#include <cmath>
#include <iterator>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/document.h"

namespace tilescope::base {
namespace {

// Bytes that are no UTF-8 become U+FFFD: a result must be readable whatever name a user gave.
std::string quoted(const std::string& text) {
  return nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

std::string number(double x) {
  if (!std::isfinite(x)) return "null";  // JSON knows neither infinity nor not-a-number
  std::string text = fmt::format("{}", x);
  const bool looks_whole = text.find_first_of(".e") == std::string::npos;
  return looks_whole ? text + ".0" : text;  // stays a double when read again
}

class Writer {
 public:
  explicit Writer(int indent) : indent_(indent) {}

  void write(const Value& value) {
    if (const auto* b = value.get_if<bool>()) out_ += *b ? "true" : "false";
    if (const auto* n = value.get_if<std::int64_t>()) fmt::format_to(std::back_inserter(out_), "{}", *n);
    if (const auto* x = value.get_if<double>()) out_ += number(*x);
    if (const auto* s = value.get_if<std::string>()) out_ += quoted(*s);
    if (value.is_null()) out_ += "null";
    if (const auto* list = value.get_if<List>()) write_items(*list, '[', ']');
    if (const auto* map = value.get_if<Map>()) write_items(*map, '{', '}');
  }

  std::string take() { return std::move(out_); }

 private:
  void write(const Entry& entry) {
    out_ += quoted(entry.key);
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
  std::string out_;
};

}  // namespace

std::string to_json(const Value& value, int indent) {
  Writer writer(indent);
  writer.write(value);
  return writer.take();
}

}  // namespace tilescope::base
