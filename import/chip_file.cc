// SPDX-License-Identifier: Apache-2.0
#include "import/chip_file.h"

#include <algorithm>
#include <cctype>

#include <fmt/format.h>

#include "arch/override.h"

namespace tilescope::importers {
namespace {

using base::Value;

// A map or a list of named entries while it is put together; or one figure.
struct Node {
  std::string key, value, comment;
  bool is_entry = false;  // of a list, by its name
  std::vector<Node> below;

  Node& child(const std::string& name, bool entry) {
    const auto found = std::find_if(below.begin(), below.end(), [&](const Node& n) { return n.key == name; });
    if (found != below.end()) return *found;
    return below.emplace_back(Node{name, {}, {}, entry, {}});
  }
};

// Adds the one leaf of a document that an override has.
void add(Node& to, const Value& document, const FileFigure& figure) {
  if (const auto* map = document.get_if<base::Map>(); map != nullptr && !map->empty()) {
    for (const base::Entry& e : *map) add(to.child(e.key, false), e.value, figure);
    return;
  }
  const auto* list = document.get_if<base::List>();
  const Value* name = list != nullptr && !list->empty() ? list->front().find("name") : nullptr;
  if (name != nullptr) {
    Node& entry = to.child(*name->get_if<std::string>(), true);
    for (const base::Entry& e : *list->front().get_if<base::Map>())
      if (e.key != "name") add(entry.child(e.key, false), e.value, figure);
    return;
  }
  to.value = figure.value;
  to.comment = figure.comment;
}

constexpr std::size_t kCommentColumn = 32, kWidth = 120;

// A line with its comment behind it, or before it where both do not fit a line.
std::string line_of(std::string line, const std::string& comment, std::size_t indent) {
  if (comment.empty()) return line + '\n';
  line.resize(std::max(line.size() + 1, kCommentColumn), ' ');
  if (line.size() + comment.size() + 3 <= kWidth) return line + "# " + comment + '\n';
  std::string first;
  std::string_view rest = comment;
  while (!rest.empty()) {
    const std::size_t room = kWidth - indent - 2;
    std::size_t end = rest.size() <= room ? rest.size() : rest.rfind(' ', room);
    if (end == std::string_view::npos || end == 0) end = std::min(rest.size(), room);
    first += std::string(indent, ' ') + "# " + std::string(rest.substr(0, end)) + '\n';
    rest.remove_prefix(std::min(rest.size(), end + 1));
  }
  line.erase(line.find_last_not_of(' ') + 1);
  return first + line + '\n';
}

void print(const Node& node, std::size_t indent, std::string& out) {
  for (const Node& n : node.below) {
    const std::string blanks(indent, ' ');
    if (n.is_entry) {
      out += blanks + "- name: " + in_quotes(n.key) + '\n';
      print(n, indent + 2, out);
    } else if (n.below.empty()) {
      out += line_of(fmt::format("{}{}: {}", blanks, n.key, in_quotes(n.value)), n.comment, indent);
    } else {
      out += fmt::format("{}{}:\n", blanks, n.key);
      print(n, indent + 2, out);
    }
  }
}

}  // namespace

std::string in_quotes(std::string_view text) {
  const bool plain = !text.empty() && text.front() != ' ' && text.back() != ' ' &&
                     std::all_of(text.begin(), text.end(), [](unsigned char c) {
                       return std::isalnum(c) != 0 || std::string_view(" ._+-/()^").find(char(c)) != std::string::npos;
                     });
  if (plain && std::isalnum(static_cast<unsigned char>(text.front())) != 0) return std::string(text);
  std::string out = "'";
  for (const char c : text) {
    if (static_cast<unsigned char>(c) < ' ' || c == 0x7F) {
      out += ' ';
      continue;
    }
    out += c;
    if (c == '\'') out += c;
  }
  return out + "'";
}

std::string chip_name_of(std::string_view text) {
  std::string out;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (std::isalnum(byte) != 0)
      out += static_cast<char>(std::tolower(byte));
    else if (!out.empty() && out.back() != '_')
      out += '_';
  }
  while (!out.empty() && out.back() == '_') out.pop_back();
  return out.empty() || std::isdigit(static_cast<unsigned char>(out.front())) != 0 ? "chip_" + out : out;
}

std::string text_of(const ChipFile& file, const Value& chip, base::Diagnostics& diags) {
  std::string out;
  for (const std::string& line : file.head) out += "# " + line + '\n';
  if (!file.extends.empty()) out += fmt::format("extends: {}\n", file.extends);
  out += fmt::format("name: {}\n", file.name);
  if (!file.title.empty()) out += fmt::format("title: {}\n", in_quotes(file.title));
  if (!file.chip_class.empty()) out += fmt::format("class: {}\n", file.chip_class);
  Node root;
  for (const FileFigure& figure : file.figures)
    if (const auto document = arch::document_of({figure.path, in_quotes(figure.value)}, chip, diags))
      add(root, *document, figure);
  print(root, 0, out);
  return out;
}

}  // namespace tilescope::importers
