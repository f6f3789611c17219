// SPDX-License-Identifier: Apache-2.0
// YAML through yaml-cpp's events, which bear the place of every key and keep duplicates; its Node tree does neither.

#include <algorithm>
#include <charconv>
#include <initializer_list>
#include <limits>
#include <sstream>
#include <system_error>
#include <utility>

#include <fmt/format.h>
#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/parser.h>

#include "base/document.h"
#include "base/tree_builder.h"

namespace tilescope::base {
namespace {

// A document that yaml-cpp would take and we do not; thrown because an event handler has no other way to stop it.
struct Refused {
  Position at;
  std::string text;
};

bool is_one_of(std::string_view text, std::initializer_list<std::string_view> words) {
  return std::find(words.begin(), words.end(), text) != words.end();
}

template <class T, class... Format>
std::errc parse_whole(std::string_view text, T& out, Format... format) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out, format...);
  return error == std::errc{} && end != text.data() + text.size() ? std::errc::invalid_argument : error;
}

// The number that a plain scalar writes by the core schema, or nothing where it is text.
std::optional<Value> number_of(std::string_view text, Position at) {
  const std::string_view written = text;
  if (is_one_of(text, {".nan", ".NaN", ".NAN"})) return Value(std::numeric_limits<double>::quiet_NaN());
  const bool negative = text.starts_with('-');
  if (negative || text.starts_with('+')) text.remove_prefix(1);
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  if (is_one_of(text, {".inf", ".Inf", ".INF"})) return Value(negative ? -kInfinity : kInfinity);

  for (const auto& [prefix, base] : {std::pair{"0x", 16}, std::pair{"0o", 8}}) {
    std::uint64_t bits = 0;
    if (!written.starts_with(prefix) || parse_whole(text.substr(2), bits, base) != std::errc{}) continue;
    if (bits <= std::numeric_limits<std::int64_t>::max()) return Value(static_cast<std::int64_t>(bits));
  }
  // from_chars also reads "inf", "nan" and a second sign, which are text here.
  const std::size_t first = text.starts_with('.') ? 1 : 0;
  if (text.size() <= first || text[first] < '0' || text[first] > '9') return std::nullopt;
  if (negative) text = written;
  std::int64_t whole = 0;
  if (parse_whole(text, whole) == std::errc{}) return Value(whole);
  double real = 0;
  const std::errc error = parse_whole(text, real, std::chars_format::general);
  if (error == std::errc::result_out_of_range) throw Refused{at, number_complaint()};
  if (error != std::errc{}) return std::nullopt;
  return Value(real);
}

Value plain_scalar(const std::string& text, Position at) {
  if (is_one_of(text, {"true", "True", "TRUE"})) return Value(true);
  if (is_one_of(text, {"false", "False", "FALSE"})) return Value(false);
  return number_of(text, at).value_or(Value(text));
}

class TreeHandler : public YAML::EventHandler {
 public:
  TreeHandler(SourceId source, DocumentLimits limits) : source_(source), limits_(limits), tree_({source, 1, 1}) {}

  Position place_of(const YAML::Mark& mark) const {
    if (mark.is_null()) return {source_, 0, 0};
    return {source_, static_cast<std::uint32_t>(mark.line + 1), static_cast<std::uint32_t>(mark.column + 1)};
  }

  Value take() { return tree_.take(); }

  void OnDocumentStart(const YAML::Mark& mark) override {
    if (started_) throw Refused{place_of(mark), "a second document begins; only one is accepted"};
    started_ = true;
  }
  void OnDocumentEnd() override {}

  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    const Position at = checked_place(mark, kPlainTag, anchor);
    if (tree_.depth() == 0) return;  // an empty document is the null that the tree begins with
    const std::optional<Position> key = tree_.waiting_key();
    if (tree_.expects_key())
      tree_.key("null", at);
    else  // a value that is left out bears the mark of whatever follows it, often lines later
      tree_.add(nullptr, key && key->line != at.line ? *key : at);
  }

  void OnAlias(const YAML::Mark& mark, YAML::anchor_t) override {
    throw Refused{place_of(mark), "aliases (*name) are not accepted"};
  }

  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                const std::string& text) override {
    const Position at = checked_place(mark, tag, anchor);
    const bool plain = tag == kPlainTag;
    if (!tree_.expects_key()) {
      tree_.add(plain ? plain_scalar(text, at) : Value(text), at);
      return;
    }
    if (plain && text == "<<") throw Refused{at, "merge keys (<<) are not accepted"};
    tree_.key(text, at);
  }

  void OnSequenceStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value) override {
    begin(List{}, "a list", checked_place(mark, tag, anchor));
  }
  void OnSequenceEnd() override { tree_.end(); }

  void OnMapStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value) override {
    begin(Map{}, "a map", checked_place(mark, tag, anchor));
  }
  void OnMapEnd() override { tree_.end(); }

 private:
  // yaml-cpp's own tags for a node without one: plain scalars, lists and maps, and quoted scalars.
  static constexpr std::string_view kPlainTag = "?";
  static constexpr std::string_view kQuotedTag = "!";

  Position checked_place(const YAML::Mark& mark, std::string_view tag, YAML::anchor_t anchor) const {
    const Position at = place_of(mark);
    if (anchor != 0) throw Refused{at, "anchors (&name) are not accepted"};
    if (!tag.empty() && tag != kPlainTag && tag != kQuotedTag) throw Refused{at, "tags (!name) are not accepted"};
    return at;
  }

  void begin(Value container, std::string_view name, Position at) {
    if (tree_.expects_key())
      throw Refused{at, fmt::format("{} begins where a key is expected, or its bracket is not closed", name)};
    if (tree_.depth() == limits_.depth) throw Refused{at, depth_complaint(limits_)};
    tree_.begin(std::move(container), at);
  }

  SourceId source_;
  DocumentLimits limits_;
  TreeBuilder tree_;
  bool started_ = false;
};

// yaml-cpp takes a control character for the end of the input or for text; YAML has neither.
void refuse_control_characters(std::string_view text, SourceId source) {
  Position at{source, 1, 1};
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if ((byte < ' ' && c != '\t' && c != '\n' && c != '\r') || byte == 0x7F)
      throw Refused{at, fmt::format("the control character 0x{:02x} is not accepted", byte)};
    at = c == '\n' ? Position{source, at.line + 1, 1} : Position{source, at.line, at.column + 1};
  }
}

// yaml-cpp closes a text whose quote is still open at the end of the input; before an end-of-document mark it objects.
std::string with_end_mark(std::string_view text) {
  return fmt::format("{}{}...\n", text, text.ends_with('\n') ? "" : "\n");
}

std::string complaint_of(const YAML::Exception& error) {
  if (error.msg == YAML::ErrorMsg::DOC_IN_SCALAR) return "not valid YAML: a quote is not closed";
  return "not valid YAML: " + error.msg;
}

}  // namespace

std::optional<Value> read_yaml(std::string_view text, SourceId source, Diagnostics& diags, DocumentLimits limits) {
  if (auto complaint = size_complaint(text.size(), limits)) {
    diags.error({source, 0, 0}, std::move(*complaint));
    return std::nullopt;
  }
  TreeHandler handler(source, limits);
  try {
    refuse_control_characters(text, source);
    std::istringstream in(with_end_mark(text));
    YAML::Parser parser(in);
    while (parser.HandleNextDocument(handler)) continue;
    return handler.take();
  } catch (const Refused& refused) {
    diags.error(refused.at, refused.text);
  } catch (const YAML::Exception& error) {
    diags.error(handler.place_of(error.mark), complaint_of(error));
  }
  return std::nullopt;
}

}  // namespace tilescope::base
