// SPDX-License-Identifier: Apache-2.0
// JSON through nlohmann's SAX parser. It tells no places, but reads one character at a time through the iterator it is
// given: an iterator that shares its position with the handler tells where each token ends, and the next one begins
// after the blanks and separators that follow.

#include <algorithm>
#include <iterator>
#include <limits>

#include <nlohmann/json.hpp>

#include "base/document.h"
#include "base/simdjson_reader.h"
#include "base/tree_builder.h"

namespace tilescope::base {
namespace {

// An input iterator over text whose position lives outside it, so that every copy moves with the parser's own.
class SharedIterator {
 public:
  using iterator_category = std::input_iterator_tag;
  using value_type = char;
  using difference_type = std::ptrdiff_t;
  using pointer = const char*;
  using reference = const char&;

  explicit SharedIterator(const char*& at) : at_(&at) {}

  const char& operator*() const { return **at_; }
  SharedIterator& operator++() {
    ++*at_;
    return *this;
  }
  bool operator==(const SharedIterator& other) const { return *at_ == *other.at_; }
  bool operator!=(const SharedIterator& other) const { return *at_ != *other.at_; }

 private:
  const char** at_;
};

// nlohmann calls these by name; each returns whether to go on.
class TreeHandler {
 public:
  TreeHandler(std::string_view text, Position begin, DocumentLimits limits, Diagnostics& diags)
      : begin_(text.data()),
        end_(text.data() + text.size()),
        counted_(begin_),
        counted_at_(begin),
        limits_(limits),
        diags_(diags),
        tree_(begin) {}

  // Reads the whole text into the tree.
  std::optional<Value> read() {
    const char* end = end_;
    if (!nlohmann::json::sax_parse(SharedIterator(cursor_), SharedIterator(end), this)) return std::nullopt;
    // The parser takes a NUL for the end of the text.
    if (const char* nul = std::find(begin_, end_, '\0'); nul != end_) {
      diags_.error(place_of(nul), "not valid JSON: a NUL character");
      return std::nullopt;
    }
    return tree_.take();
  }

  bool null() { return add(nullptr); }
  bool boolean(bool v) { return add(v); }
  bool number_integer(std::int64_t v) { return add(v); }
  bool number_unsigned(std::uint64_t v) {
    // The YAML reader does the same: a whole number of more than 63 bits is a double.
    if (v > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())) return add(static_cast<double>(v));
    return add(static_cast<std::int64_t>(v));
  }
  bool number_float(double v, const std::string&) { return add(v); }
  bool string(std::string& text) { return add(std::move(text)); }
  bool binary(std::vector<std::uint8_t>&) { return false; }  // no text makes this event

  bool start_object(std::size_t) { return begin(Map{}); }
  bool start_array(std::size_t) { return begin(List{}); }
  bool end_object() { return end(); }
  bool end_array() { return end(); }
  bool key(std::string& text) {
    tree_.key(std::move(text), next_place());
    return true;
  }

  bool parse_error(std::size_t characters_read, const std::string&, const nlohmann::detail::exception& error) {
    constexpr int kOutOfRange = 406;
    if (error.id == kOutOfRange) {
      diags_.error(place_of(token_start()), number_complaint());
      return false;
    }
    // "...: syntax error while parsing value - unexpected ']'; last read: '...'" becomes "unexpected ']'", at the
    // unexpected token; within a token that is itself wrong, at the character that is.
    std::string_view text = error.what();
    if (const auto dash = text.find(" - "); dash != text.npos) text.remove_prefix(dash + 3);
    const char* last_read = std::min(begin_ + characters_read - 1, end_);
    if (text.starts_with("unexpected")) last_read = std::min(last_read, token_start());
    diags_.error(place_of(last_read), "not valid JSON: " + std::string(text.substr(0, text.find("; last read"))));
    return false;
  }

 private:
  bool add(Value value) {
    tree_.add(std::move(value), next_place());
    return true;
  }
  bool begin(Value container) {
    const Position at = next_place();
    if (tree_.depth() == limits_.depth) {
      diags_.error(at, depth_complaint(limits_));
      return false;
    }
    tree_.begin(std::move(container), at);
    return true;
  }
  bool end() {
    tree_.end();
    token_end_ = cursor_;
    return true;
  }

  // The place of the token that was just read.
  Position next_place() {
    const char* start = token_start();
    token_end_ = cursor_;
    return place_of(start);
  }

  // The parser may have read one character beyond a number: a blank, a separator or a closing bracket, never the
  // beginning of a token.
  const char* token_start() const {
    const char* p = token_end_;
    while (p != end_ && std::string_view(" \t\r\n,:]}").find(*p) != std::string_view::npos) ++p;
    return p;
  }

  // Counts the lines from the last place on, so that all places together cost one pass over the text.
  Position place_of(const char* p) {
    for (; counted_ < p; ++counted_) {
      if (*counted_ == '\n')
        counted_at_ = {counted_at_.source, counted_at_.line + 1, 1};
      else
        ++counted_at_.column;
    }
    return counted_at_;
  }

  const char* begin_;
  const char* end_;
  const char* cursor_ = begin_;
  const char* token_end_ = begin_;
  const char* counted_;
  Position counted_at_;
  DocumentLimits limits_;
  Diagnostics& diags_;
  TreeBuilder tree_;
};

// A text, where it begins, and where to report what is wrong with all of it.
struct Input {
  std::string_view text;
  Position begin;
  Position whole;
};

std::optional<Value> read(Input in, DocumentLimits limits, Diagnostics& diags) {
  if (auto complaint = size_complaint(in.text.size(), limits)) {
    diags.error(in.whole, std::move(*complaint));
    return std::nullopt;
  }
  constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
  if (in.text.starts_with(kByteOrderMark)) in.text.remove_prefix(kByteOrderMark.size());
  return TreeHandler(in.text, in.begin, limits, diags).read();
}

}  // namespace

std::optional<Value> read_json(std::string_view text, SourceId source, Diagnostics& diags, DocumentLimits limits) {
  return read({text, {source, 1, 1}, {source, 0, 0}}, limits, diags);
}

std::optional<Value> read_json_line(std::string_view text, SourceId source, std::uint32_t line, Diagnostics& diags) {
  const Position begin{source, line, 1};
  const DocumentLimits limits;
  if (!size_complaint(text.size(), limits))
    if (auto value = read_object_fast(text, begin, limits)) return value;
  return read({text, begin, begin}, limits, diags);
}

}  // namespace tilescope::base
